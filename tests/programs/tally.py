#!/usr/bin/env python3
"""A counter in the service seq-kv, as in the guide; or one that ``writes`` what it has read, and loses updates."""

import json
import sys
from typing import Any

writes = "writes" in sys.argv[1:]
name, asked = "", 0
waiting: list[dict[str, Any]] = []


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    sys.stdout.write(json.dumps({"src": name, "dest": target, "body": body}) + "\n")
    sys.stdout.flush()


def ask(**body: Any) -> dict[str, Any]:
    """Ask the service; return its answer. What others ask meanwhile waits."""
    global asked
    asked += 1
    send("seq-kv", msg_id=asked, **body)
    while True:
        message = json.loads(sys.stdin.readline())
        answer: dict[str, Any] = message["body"]
        if message["src"] == "seq-kv" and answer.get("in_reply_to") == asked:
            return answer
        waiting.append(message)


def value() -> int:
    """Return the sum, after a write: seq-kv may otherwise show an old one."""
    ask(type="write", key=name, value=asked)
    found: int = ask(type="read", key="sum").get("value", 0)
    return found


def add(delta: int) -> None:
    """Add to the sum."""
    found = value()
    if writes:
        ask(type="write", key="sum", value=found + delta)
        return
    step = {"from": found, "to": found + delta, "create_if_not_exists": True}
    while ask(type="cas", key="sum", **step)["type"] != "cas_ok":
        found = value()
        step = {"from": found, "to": found + delta, "create_if_not_exists": True}


while True:
    line = None if waiting else sys.stdin.readline()
    if line == "":
        break  # the laboratory has ended the run
    message = waiting.pop(0) if line is None else json.loads(line)
    source, body = message["src"], message["body"]
    if body["type"] == "init":
        name = body["node_id"]
        send(source, type="init_ok", in_reply_to=body["msg_id"])
    elif body["type"] == "add":
        add(body["delta"])
        send(source, type="add_ok", in_reply_to=body["msg_id"])
    elif body["type"] == "read":
        send(source, type="read_ok", in_reply_to=body["msg_id"], value=value())
