"""A program for tests: it does what it is asked to, and says whom it hears. Its first argument is a mood.

echo      answers each request
late      answers init only when it is asked to
ends      ends with status 3 after init, with a last word on standard error
garbage   writes lines that are no messages before each answer
deaf      reads nothing after init
"""

import json
import os
import sys
import time
from typing import Any


def main(mood: str) -> None:
    """Read lines until the end of the input."""
    name = ""
    for line in sys.stdin:
        message = json.loads(line)
        body = message["body"]
        if body["type"] == "init":
            name, others = body["node_id"], [each for each in body["node_ids"] if each != body["node_id"]]
            if mood == "ends":
                print("my last word", file=sys.stderr, flush=True)
                sys.exit(3)
            answer(name, message, type="init_ok", in_reply_to=body["msg_id"])
            print(f"{name} is process {os.getpid()}", file=sys.stderr, flush=True)
            while mood == "deaf":
                time.sleep(1)
        elif body["type"] == "ask_all":
            for each in others:
                write(name, each, type="are_you_there", msg_id=body["msg_id"])
        elif body["type"] == "are_you_there":
            if mood == "garbage":
                os.write(1, b"I am no message\n\xff\xfe\n{}\n\n")
            answer(name, message, type="i_am_there", in_reply_to=body["msg_id"])
        elif body["type"] == "i_am_there":
            write(name, "lab", type="lab_state", status="Normal", heard=message["src"])
        elif "msg_id" in body:
            answer(name, message, **{**body, "type": f"{body['type']}_ok", "in_reply_to": body["msg_id"]})


def answer(name: str, message: dict[str, Any], **body: Any) -> None:
    """Answer a message."""
    write(name, message["src"], **body)


def write(name: str, target: str, **body: Any) -> None:
    """Write a message."""
    print(json.dumps({"src": name, "dest": target, "body": body}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
