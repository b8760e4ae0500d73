#!/usr/bin/env python3
"""The highest node that is heard leads."""

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


def receive(source: str, body: dict[str, Any]) -> None:
    """Note that a node is alive."""
    heard[source] = time.monotonic()


def tick() -> None:
    """Follow the highest node that was heard of late."""
    global leader
    for each in others:
        send(each, type="alive")
    now_s = time.monotonic()
    highest = max((name, *(each for each in others if now_s - heard.get(each, 0.0) < 0.5)), key=number)
    if leader != highest:
        leader = highest
        send("lab", type="lab_state", status="Normal", coordinator=leader)


leader: str | None = None
heard: dict[str, float] = {}
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
