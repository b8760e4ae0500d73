#!/usr/bin/env node
// A node with a set of values: it reads messages, and acts every 100 ms.
const lines = require('readline').createInterface({ input: process.stdin });
const values = new Set();
let name, others;

function send(dest, body) {
  process.stdout.write(JSON.stringify({ src: name, dest, body }) + '\n');
}

// Handle a message of a client or of another node.
function receive(source, body) {
  if (body.type === 'broadcast') {
    values.add(body.message);
    send(source, { type: 'broadcast_ok', in_reply_to: body.msg_id });
  } else if (body.type === 'read') {
    send(source, { type: 'read_ok', messages: [...values], in_reply_to: body.msg_id });
  }
}

// Act, every 100 ms.
function tick() {
}

lines.on('line', (line) => {
  const { src, body } = JSON.parse(line);
  if (body.type === 'init') {
    name = body.node_id;
    others = body.node_ids.filter((node) => node !== name);
    send(src, { type: 'init_ok', in_reply_to: body.msg_id });
    setInterval(tick, 100);
  } else if (name) {
    receive(src, body);
  }
});
lines.on('close', () => process.exit(0)); // the run is over
