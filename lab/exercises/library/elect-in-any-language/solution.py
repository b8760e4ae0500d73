#!/usr/bin/env python3
"""The highest node that is alive halts all others, and then leads them."""

import json
import os
import select
import time
from typing import Any


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    line = json.dumps({"src": name, "dest": target, "body": body})
    os.write(1, line.encode() + b"\n")


def number(node: str) -> int:
    """Return the number of a node: 10 for n10."""
    return int(node[1:])


def follow(node: str | None) -> None:
    """Follow this node, or nobody; say so if it is new."""
    global leader
    if node != leader:
        leader = node
        send("lab", type="lab_state", status="Normal" if node else "Election", coordinator=node)


def receive(source: str, body: dict[str, Any]) -> None:
    """Handle a message of another node."""
    global halted_by, campaign
    heard[source] = time.monotonic()
    match body["type"]:
        case "alive":
            if body["leader"] == source and halted_by in (None, source) and number(source) > number(name):
                follow(source)
        case "halt" if number(source) > number(name):
            halted_by, campaign = source, None
            follow(None)
            send(source, type="halted", campaign=body["campaign"])
        case "halted" if campaign is not None and body["campaign"] == campaign:
            halted.add(source)


def tick() -> None:
    """Tell all that this node is alive; notice who is not; halt the others before leading them."""
    global halted_by, campaign, campaigns, begun_s
    now_s = time.monotonic()
    for each in others:
        send(each, type="alive", leader=leader)
    alive = {each for each in others if now_s - heard.get(each, started_s) < SILENT_S}
    if halted_by not in alive:
        halted_by = None
    if leader is not None and leader != name and leader not in alive:
        follow(None)
    if any(number(each) > number(name) for each in alive):
        campaign = None
    elif leader is None and halted_by is None and campaign is None:
        campaigns += 1
        campaign, begun_s = campaigns, now_s
        halted.clear()
        for each in others:
            send(each, type="halt", campaign=campaign)
    elif campaign is not None and (halted >= set(others) or now_s - begun_s > SILENT_S):
        campaign = None
        follow(name)


SILENT_S = 0.5
started_s = time.monotonic()
heard: dict[str, float] = {}
leader: str | None = None
halted_by: str | None = None
halted: set[str] = set()
campaign: int | None = None
campaigns, begun_s = 0, 0.0
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
