"""A program that answers operations of clients in the wrong way that its argument names."""

import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer until the end of the input."""
    fault = sys.argv[1]
    if fault == "not-started":
        print('{"record":"not_started"', flush=True)
    if fault == "long-line":
        print(json.dumps({"src": "n1", "dest": "n1", "body": {"type": "x", "text": "x" * 1_200_000}}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        body = message["body"]
        answer: dict[str, Any] = {"type": f"{body['type']}_ok", "in_reply_to": body["msg_id"]}
        if body["type"] == "init":
            if fault == "no-init":
                continue
            if fault == "init-error":
                answer |= {"type": "error", "code": 13, "text": "no disk"}
            name = body["node_id"]
        elif fault == "crash":
            sys.stderr.write("about to fail\nthe last words")
            sys.stderr.flush()
            os._exit(1)
        else:
            answer |= {"echo": body["echo"]} if fault != "no-field" else {}
            if fault == "another-type":
                answer["type"] = "banana"
            if fault == "code-as-text":
                answer |= {"type": "error", "code": "abort"}
            if fault == "reply-as-text":
                answer["in_reply_to"] = str(body["msg_id"])
            if fault == "unknown-code":
                answer |= {"type": "error", "code": 5}
        sender = "n9" if fault == "another-sender" and body["type"] != "init" else message["dest"]
        print(json.dumps({"src": sender, "dest": message["src"], "body": answer}), flush=True)
    print(f"{name} ends", file=sys.stderr)


if __name__ == "__main__":
    main()
