#!/usr/bin/env node
// A node leads a term with the votes of a majority, as long as a majority answers it.
const LEAST_WAIT_MS = 600;
const lines = require('readline').createInterface({ input: process.stdin });
const votes = new Set();
const heard = {};
let name, others, term = 0, votedFor = null, leader = null, reported = 'null 0', patientUntil = 0;

function send(dest, body) {
  process.stdout.write(JSON.stringify({ src: name, dest, body }) + '\n');
}

// Follow this node in the current term, or nobody; say so if it is new.
function follow(node) {
  leader = node;
  if (`${node} ${term}` !== reported) {
    reported = `${node} ${term}`;
    send('lab', { type: 'lab_state', status: node ? 'Normal' : 'Election', coordinator: node, term });
  }
}

// Enter a later term, in which this node has not voted.
function learn(later) {
  if (later > term) {
    [term, votedFor] = [later, null];
    follow(null);
  }
}

// Wait for a leader, for a random time.
function wait() {
  patientUntil = Date.now() + LEAST_WAIT_MS * (1 + Math.random());
}

// Return whether so many nodes and this one are a majority of all.
const isMajority = (some) => 2 * (some + 1) > others.length + 1;

// Handle a message of another node; one of an earlier term only tells that it is alive.
function receive(source, body) {
  learn(body.term);
  const isCurrent = body.term === term;
  if (body.type === 'request_vote' && isCurrent && [null, source].includes(votedFor)) {
    votedFor = source;
    wait();
    send(source, { type: 'vote', term });
  } else if (body.type === 'request_vote') {
    send(source, { type: 'later', term });
  } else if (body.type === 'vote' && isCurrent && votedFor === name && leader === null) {
    votes.add(source);
    if (isMajority(votes.size)) {
      others.forEach((node) => { heard[node] = Date.now(); });
      follow(name);
    }
  } else if (body.type === 'heartbeat') {
    if (isCurrent) {
      wait();
      follow(source);
    }
    send(source, { type: 'heard', term });
  } else if (body.type === 'heard') {
    heard[source] = Date.now();
  }
}

// Lead, and step down without a majority; or begin a campaign after too long a silence.
function tick() {
  const now = Date.now();
  if (leader === name) {
    if (isMajority(others.filter((node) => now - heard[node] < LEAST_WAIT_MS).length)) {
      others.forEach((node) => send(node, { type: 'heartbeat', term }));
    } else {
      wait();
      follow(null);
    }
  } else if (now > patientUntil) {
    learn(term + 1);
    votedFor = name;
    votes.clear();
    wait();
    others.forEach((node) => send(node, { type: 'request_vote', term }));
  }
}

lines.on('line', (line) => {
  const { src, body } = JSON.parse(line);
  if (body.type === 'init') {
    name = body.node_id;
    others = body.node_ids.filter((node) => node !== name);
    send(src, { type: 'init_ok', in_reply_to: body.msg_id });
    wait();
    setInterval(tick, 50);
  } else if (name) {
    receive(src, body);
  }
});
lines.on('close', () => process.exit(0)); // the run is over
