"""A program that answers the messages of bully, for the lowest node of a cluster: it follows, and never leads."""

import json
import sys
from typing import Any

ANSWERS: dict[str, dict[str, Any]] = {
    "are_you_up": {},
    "are_you_normal": {"normal": True},
    "enter_election": {"definition": {}, "version": 0},
    "set_coordinator": {},
    "new_state": {},
}


def main() -> None:
    """Answer until the end of the input; show whom it follows."""
    name = ""
    for line in sys.stdin:
        message = json.loads(line)
        body, source = message["body"], message["src"]
        kind = body["type"]
        if kind == "init":
            name = body["node_id"]
            write(name, source, type="init_ok", in_reply_to=body["msg_id"])
        elif kind in ANSWERS:
            if kind == "new_state":
                members = [f"n{each}" for each in body["definition"]["members"]]
                write(name, "lab", type="lab_state", status="Normal", coordinator=source, group=members)
            write(name, source, type=f"{kind}_answer", in_reply_to=body["msg_id"], **ANSWERS[kind])


def write(source: str, dest: str, **body: Any) -> None:
    """Write a message, as one line."""
    print(json.dumps({"src": source, "dest": dest, "body": body}), flush=True)


if __name__ == "__main__":
    main()
