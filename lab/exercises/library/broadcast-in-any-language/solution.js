#!/usr/bin/env node
// A value goes to each other node again and again, until that one has acknowledged it.
const lines = require('readline').createInterface({ input: process.stdin });
const values = new Set();
const missing = {}; // by node: what it has not acknowledged
let name, others;

function send(dest, body) {
  process.stdout.write(JSON.stringify({ src: name, dest, body }) + '\n');
}

// Add the values; all others have to be told of those that are new.
function learn(added) {
  for (const value of added.filter((each) => !values.has(each))) {
    values.add(value);
    others.forEach((node) => missing[node].add(value));
  }
}

// Handle a message of a client or of another node.
function receive(source, body) {
  if (body.type === 'broadcast') {
    learn([body.message]);
    send(source, { type: 'broadcast_ok', in_reply_to: body.msg_id });
  } else if (body.type === 'read') {
    send(source, { type: 'read_ok', messages: [...values], in_reply_to: body.msg_id });
  } else if (body.type === 'gossip') {
    learn(body.values);
    body.values.forEach((value) => missing[source].delete(value));
    send(source, { type: 'got', values: body.values });
  } else if (body.type === 'got') {
    body.values.forEach((value) => missing[source].delete(value));
  }
}

// Send each other node what it has not acknowledged.
function tick() {
  for (const node of others) {
    if (missing[node].size > 0) send(node, { type: 'gossip', values: [...missing[node]] });
  }
}

lines.on('line', (line) => {
  const { src, body } = JSON.parse(line);
  if (body.type === 'init') {
    name = body.node_id;
    others = body.node_ids.filter((node) => node !== name);
    others.forEach((node) => { missing[node] = new Set(); });
    send(src, { type: 'init_ok', in_reply_to: body.msg_id });
    setInterval(tick, 100);
  } else if (name) {
    receive(src, body);
  }
});
lines.on('close', () => process.exit(0)); // the run is over
