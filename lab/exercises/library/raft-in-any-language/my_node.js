#!/usr/bin/env node
// A node that elects: it reads messages, and acts every 50 ms.
const lines = require('readline').createInterface({ input: process.stdin });
let name, others;

function send(dest, body) {
  process.stdout.write(JSON.stringify({ src: name, dest, body }) + '\n');
}

// Handle a message of another node.
function receive(source, body) {
}

// Act, every 50 ms. Say whom you follow whenever that changes, with send('lab', { type: 'lab_state', … }).
function tick() {
}

lines.on('line', (line) => {
  const { src, body } = JSON.parse(line);
  if (body.type === 'init') {
    name = body.node_id;
    others = body.node_ids.filter((node) => node !== name);
    send(src, { type: 'init_ok', in_reply_to: body.msg_id });
    setInterval(tick, 50);
  } else if (name) {
    receive(src, body);
  }
});
lines.on('close', () => process.exit(0)); // the run is over
