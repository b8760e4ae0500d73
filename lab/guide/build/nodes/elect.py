#!/usr/bin/env python3
"""The highest node that is heard leads. Each says every 100 ms that it is alive."""

import json
import os
import select
import time
from typing import Any


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    line = json.dumps({"src": name, "dest": target, "body": body})
    os.write(1, line.encode() + b"\n")


name, others, leader = "", [], None
heard: dict[str, float] = {}
rest, next_s = b"", 0.0
while True:
    readable, _, _ = select.select([0], [], [], max(0.0, next_s - time.monotonic()))
    data = os.read(0, 65536) if readable else b""
    if readable and not data:
        break  # the laboratory has ended the run
    *lines, rest = (rest + data).split(b"\n")
    for message in map(json.loads, lines):
        body = message["body"]
        if body["type"] == "init":
            name, others = body["node_id"], [each for each in body["node_ids"] if each != body["node_id"]]
            send(message["src"], type="init_ok", in_reply_to=body["msg_id"])
        elif body["type"] == "alive":
            heard[message["src"]] = time.monotonic()
    now_s = time.monotonic()
    if name and now_s >= next_s:
        next_s = now_s + 0.1
        for each in others:
            send(each, type="alive")
        alive = sorted([name, *(each for each in others if now_s - heard.get(each, 0.0) < 0.5)])
        if leader != max(alive, key=lambda each: int(each[1:])):
            leader = max(alive, key=lambda each: int(each[1:]))
            send("lab", type="lab_state", status="Normal", coordinator=leader, group=alive)
