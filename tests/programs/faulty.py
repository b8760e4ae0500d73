"""A program that answers operations of clients in the wrong way that its argument names."""

import json
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
            name = body["node_id"]
        elif fault == "crash":
            print("about to fail\n", file=sys.stderr)
            raise KeyError(body["type"])
        else:
            answer |= {"echo": body["echo"]} if fault != "no-field" else {}
            if fault == "another-type":
                answer["type"] = "banana"
            if fault == "code-as-text":
                answer |= {"type": "error", "code": "abort"}
            if fault == "unknown-code":
                answer |= {"type": "error", "code": 5}
        print(json.dumps({"src": message["dest"], "dest": message["src"], "body": answer}), flush=True)
    print(f"{name} ends", file=sys.stderr)


if __name__ == "__main__":
    main()
