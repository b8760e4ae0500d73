#!/usr/bin/env node
// The highest node that is heard leads. Each says every 100 ms that it is alive.
const lines = require('readline').createInterface({ input: process.stdin });
const number = (node) => Number(node.slice(1));
const heard = {};
let name, others, leader;

function send(dest, body) {
  process.stdout.write(JSON.stringify({ src: name, dest, body }) + '\n');
}

lines.on('line', (line) => {
  const { src, body } = JSON.parse(line);
  if (body.type === 'init') {
    name = body.node_id;
    others = body.node_ids.filter((node) => node !== name);
    send(src, { type: 'init_ok', in_reply_to: body.msg_id });
    setInterval(tick, 100);
  } else if (body.type === 'alive') {
    heard[src] = Date.now();
  }
});
lines.on('close', () => process.exit(0)); // the laboratory has ended the run

function tick() {
  others.forEach((node) => send(node, { type: 'alive' }));
  const alive = [name, ...others.filter((node) => Date.now() - (heard[node] || 0) < 500)];
  const highest = alive.reduce((one, other) => (number(one) > number(other) ? one : other));
  if (leader !== highest) {
    leader = highest;
    send('lab', { type: 'lab_state', status: 'Normal', coordinator: leader, group: alive });
  }
}
