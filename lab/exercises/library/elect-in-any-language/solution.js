#!/usr/bin/env node
// The highest node that is alive halts all others, and then leads them.
const SILENT_MS = 500;
const lines = require('readline').createInterface({ input: process.stdin });
const number = (node) => Number(node.slice(1));
const started = Date.now();
const heard = {};
const halted = new Set();
let name, others, leader = null, haltedBy = null, campaign = null, campaigns = 0, begun = 0;

function send(dest, body) {
  process.stdout.write(JSON.stringify({ src: name, dest, body }) + '\n');
}

// Follow this node, or nobody; say so if it is new.
function follow(node) {
  if (node !== leader) {
    leader = node;
    send('lab', { type: 'lab_state', status: node ? 'Normal' : 'Election', coordinator: node });
  }
}

// Handle a message of another node.
function receive(source, body) {
  heard[source] = Date.now();
  const isHigher = number(source) > number(name);
  if (body.type === 'alive' && isHigher && body.leader === source && [null, source].includes(haltedBy)) {
    follow(source);
  } else if (body.type === 'halt' && isHigher) {
    [haltedBy, campaign] = [source, null];
    follow(null);
    send(source, { type: 'halted', campaign: body.campaign });
  } else if (body.type === 'halted' && body.campaign === campaign) {
    halted.add(source);
  }
}

// Tell all that this node is alive; notice who is not; halt the others before leading them.
function tick() {
  const now = Date.now();
  others.forEach((node) => send(node, { type: 'alive', leader }));
  const alive = others.filter((node) => now - (heard[node] || started) < SILENT_MS);
  if (!alive.includes(haltedBy)) haltedBy = null;
  if (leader !== null && leader !== name && !alive.includes(leader)) follow(null);
  if (alive.some((node) => number(node) > number(name))) {
    campaign = null;
  } else if (leader === null && haltedBy === null && campaign === null) {
    [campaign, begun] = [++campaigns, now];
    halted.clear();
    others.forEach((node) => send(node, { type: 'halt', campaign }));
  } else if (campaign !== null && (others.every((node) => halted.has(node)) || now - begun > SILENT_MS)) {
    campaign = null;
    follow(name);
  }
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
