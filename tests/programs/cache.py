#!/usr/bin/env python3
"""A node that passes on what it is asked to the service lin-kv; or a ``stale`` one, with a cache.

The stale one answers reads from what it last read, when the service does not answer in time.
"""

import json
import os
import select
import sys
import time
from typing import Any

TIMEOUT_S = 0.4
UNKNOWN = 13
is_stale = "stale" in sys.argv[1:]
name, asked, unread = "", 0, b""
cache: dict[str, Any] = {}
waiting: list[dict[str, Any]] = []


def send(target: str, **body: Any) -> None:
    """Write a message, as one line."""
    sys.stdout.write(json.dumps({"src": name, "dest": target, "body": body}) + "\n")
    sys.stdout.flush()


def receive(until_s: float | None = None) -> dict[str, Any] | None:
    """Return the next message; None at that monotonic time, in seconds, or at the end of the run."""
    global unread
    while b"\n" not in unread:
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        if not select.select([0], [], [], left_s)[0]:
            return None
        read = os.read(0, 65_536)
        if not read:
            return None
        unread += read
    line, _, unread = unread.partition(b"\n")
    found: dict[str, Any] = json.loads(line)
    return found


def ask(**body: Any) -> dict[str, Any] | None:
    """Ask the service; return its answer, or None if there is none in time. What others ask meanwhile waits."""
    global asked
    asked += 1
    send("lin-kv", msg_id=asked, **body)
    until_s = time.monotonic() + TIMEOUT_S
    while (message := receive(until_s)) is not None:
        answer: dict[str, Any] = message["body"]
        if message["src"] == "lin-kv":
            if answer.get("in_reply_to") == asked:
                return answer
        else:
            waiting.append(message)
    return None


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to an operation."""
    key = str(request["key"])
    answer = ask(**{field: value for field, value in request.items() if field != "msg_id"})
    if answer is None and request["type"] == "read" and is_stale and key in cache:
        return {"type": "read_ok", "value": cache[key]}
    if answer is None:
        return {"type": "error", "code": UNKNOWN, "text": "the store does not answer"}
    if answer["type"] == "read_ok":
        cache[key] = answer["value"]
    return {field: value for field, value in answer.items() if field not in ("msg_id", "in_reply_to")}


while (message := waiting.pop(0) if waiting else receive()) is not None:
    source, body = message["src"], message["body"]
    if body["type"] == "init":
        name = body["node_id"]
        send(source, type="init_ok", in_reply_to=body["msg_id"])
    elif body["type"] in ("read", "write", "cas"):
        send(source, in_reply_to=body["msg_id"], **serve(body))
