#!/usr/bin/env python3
"""A value goes to each other node again and again, until that one has acknowledged it."""

import json
import os
import select
import time
from collections import defaultdict
from typing import Any


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    line = json.dumps({"src": name, "dest": target, "body": body})
    os.write(1, line.encode() + b"\n")


def learn(new: list[int]) -> None:
    """Add the values; all others have to be told of those that are new."""
    for each in others:
        missing[each].update(set(new) - values)
    values.update(new)


def receive(source: str, body: dict[str, Any]) -> None:
    """Handle a message of a client or of another node."""
    match body["type"]:
        case "broadcast":
            learn([body["message"]])
            send(source, type="broadcast_ok", in_reply_to=body["msg_id"])
        case "read":
            send(source, type="read_ok", messages=sorted(values), in_reply_to=body["msg_id"])
        case "gossip":
            learn(body["values"])
            missing[source].difference_update(body["values"])
            send(source, type="got", values=body["values"])
        case "got":
            missing[source].difference_update(body["values"])


def tick() -> None:
    """Send each other node what it has not acknowledged."""
    for each in others:
        if missing[each]:
            send(each, type="gossip", values=sorted(missing[each]))


name, others = "", []
values: set[int] = set()
missing: defaultdict[str, set[int]] = defaultdict(set)
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
