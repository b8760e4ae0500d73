#!/usr/bin/env python3
"""A node that broadcasts: it sends the others each message until they acknowledge it, or, wrongly, ``once``."""

import json
import os
import select
import sys
import time
from typing import Any

RETRY_S = 0.3
once = "once" in sys.argv[1:]
name, others = "", list[str]()
known: dict[int, None] = {}
unacknowledged: dict[tuple[str, int], float] = {}


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    os.write(1, json.dumps({"src": name, "dest": target, "body": body}).encode() + b"\n")


def learn(value: int, source: str) -> None:
    """Keep a new message, and tell the others."""
    if value not in known:
        known[value] = None
        for each in others:
            if each != source:
                send(each, type="gossip", message=value)
                if not once:
                    unacknowledged[each, value] = time.monotonic() + RETRY_S


def receive(message: dict[str, Any]) -> None:
    """Handle a message."""
    global name, others
    source, body = message["src"], message["body"]
    answer = {"in_reply_to": body.get("msg_id")}
    match body["type"]:
        case "init":
            name, others = body["node_id"], [each for each in body["node_ids"] if each != body["node_id"]]
            send(source, type="init_ok", **answer)
        case "topology":
            send(source, type="topology_ok", **answer)
        case "broadcast":
            learn(body["message"], source)
            send(source, type="broadcast_ok", **answer)
        case "read":
            send(source, type="read_ok", messages=list(known), **answer)
        case "gossip":
            learn(body["message"], source)
            send(source, type="gossip_ok", message=body["message"])
        case "gossip_ok":
            unacknowledged.pop((source, body["message"]), None)


rest = b""
while True:
    if select.select([0], [], [], 0.1)[0]:
        data = os.read(0, 65536)
        if not data:
            break  # the laboratory has ended the run
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            receive(json.loads(line))
    now_s = time.monotonic()
    for (target, value), due_s in list(unacknowledged.items()):
        if now_s >= due_s:
            unacknowledged[target, value] = now_s + RETRY_S
            send(target, type="gossip", message=value)
