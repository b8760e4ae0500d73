"""A program that is a service: a store of keys, as ``lin-kv`` is one."""

import json
import sys
from typing import Any


def main() -> None:
    """Answer until the end of the input."""
    name, values = "", dict[str, Any]()
    for line in sys.stdin:
        message = json.loads(line)
        body, source = message["body"], message["src"]
        answer: dict[str, Any] = {"in_reply_to": body["msg_id"]}
        match body["type"]:
            case "init":
                name = body["node_id"]
                print(f"I am {name} among {' '.join(body['node_ids'])}", file=sys.stderr, flush=True)
                answer["type"] = "init_ok"
            case "write":
                values[str(body["key"])] = body["value"]
                answer["type"] = "write_ok"
            case "read" if str(body["key"]) in values:
                answer |= {"type": "read_ok", "value": values[str(body["key"])]}
            case _:
                answer |= {"type": "error", "code": 20, "text": "there is no such key"}
        print(json.dumps({"src": name, "dest": source, "body": answer}), flush=True)


if __name__ == "__main__":
    main()
