#!/usr/bin/env python3
"""A value goes to all others once."""

import json
import os
import select
import time
from typing import Any


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    line = json.dumps({"src": name, "dest": target, "body": body})
    os.write(1, line.encode() + b"\n")


def learn(new: list[int], source: str = "") -> None:
    """Add the values, and tell all others of those that are new, once."""
    added = [each for each in new if each not in values]
    values.update(added)
    for each in others:
        if added and each != source:
            send(each, type="gossip", values=added)


def receive(source: str, body: dict[str, Any]) -> None:
    """Handle a message of a client or of another node."""
    match body["type"]:
        case "broadcast":
            learn([body["message"]])
            send(source, type="broadcast_ok", in_reply_to=body["msg_id"])
        case "read":
            send(source, type="read_ok", messages=sorted(values), in_reply_to=body["msg_id"])
        case "gossip":
            learn(body["values"], source)


def tick() -> None:
    """Act, every 100 ms."""


name, others = "", []
values: set[int] = set()
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
        next_s = time.monotonic() + 0.1
        if name:
            tick()
