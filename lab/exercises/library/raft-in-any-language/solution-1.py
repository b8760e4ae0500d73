#!/usr/bin/env python3
"""A node leads a term with the votes of a majority; the others follow it for ever."""

import json
import os
import random
import select
import time
from typing import Any


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    line = json.dumps({"src": name, "dest": target, "body": body})
    os.write(1, line.encode() + b"\n")


def follow(node: str | None) -> None:
    """Follow this node in the current term, or nobody; say so if it is new."""
    global leader, reported
    leader = node
    if (node, term) != reported:
        reported = node, term
        send("lab", type="lab_state", status="Normal" if node else "Election", coordinator=node, term=term)


def learn(later: int) -> None:
    """Enter a later term, in which this node has not voted."""
    global term, voted_for
    if later > term:
        term, voted_for = later, None
        follow(None)


def wait() -> None:
    """Wait for a leader, for a random time."""
    global patient_until_s
    patient_until_s = time.monotonic() + random.uniform(LEAST_WAIT_S, 2 * LEAST_WAIT_S)


def is_majority(some: set[str]) -> bool:
    """Return whether these nodes and this one are a majority of all."""
    return 2 * (len(some) + 1) > len(others) + 1


def receive(source: str, body: dict[str, Any]) -> None:
    """Handle a message of another node; one of an earlier term only tells that it is alive."""
    global voted_for
    learn(body["term"])
    is_current = body["term"] == term
    match body["type"]:
        case "request_vote" if is_current and voted_for in (None, source):
            voted_for = source
            wait()
            send(source, type="vote", term=term)
        case "request_vote":
            send(source, type="later", term=term)
        case "vote" if is_current and voted_for == name and leader is None:
            votes.add(source)
            if is_majority(votes):
                follow(name)
        case "heartbeat" if is_current:
            wait()
            follow(source)
        case "heartbeat":
            send(source, type="later", term=term)


def tick() -> None:
    """Lead, or begin a campaign after too long a silence."""
    global voted_for
    if leader == name:
        for each in others:
            send(each, type="heartbeat", term=term)
    elif leader is None and time.monotonic() > patient_until_s:
        learn(term + 1)
        voted_for = name
        votes.clear()
        wait()
        for each in others:
            send(each, type="request_vote", term=term)


LEAST_WAIT_S = 0.6
term = 0
voted_for: str | None = None
leader: str | None = None
reported: tuple[str | None, int] = (None, 0)
votes: set[str] = set()
patient_until_s = 0.0
wait()
name, others = "", []
rest, next_s = b"", 0.0
while True:
    readable, _, _ = select.select([0], [], [], max(0.0, next_s - time.monotonic()))
    data = os.read(0, 65536) if readable else b""
    if readable and not data:
        break  # the run is over
    *lines, rest = (rest + data).split(b"\n")
    for message in map(json.loads, lines):
        body = message["body"]
        if body["type"] == "init":
            name, others = body["node_id"], [each for each in body["node_ids"] if each != body["node_id"]]
            send(message["src"], type="init_ok", in_reply_to=body["msg_id"])
        elif name:
            receive(message["src"], body)
    if time.monotonic() >= next_s:
        next_s = time.monotonic() + 0.05
        if name:
            tick()
