"""A program that passes on what it gets: twenty tokens are on their way on each link, for as long as it runs."""

import json
import os
import sys

OUTSTANDING = 20


def main() -> None:
    """Answer each token with a token, until the end of the input."""
    name = ""
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        replies = []
        for line in lines:
            message = json.loads(line)
            body = message["body"]
            if body["type"] == "token":
                replies.append((message["src"], body))
            elif body["type"] == "init":
                name = body["node_id"]
                replies.append((message["src"], {"type": "init_ok", "in_reply_to": body["msg_id"]}))
                others = [each for each in body["node_ids"] if each != name]
                replies += [(each, {"type": "token"}) for each in others for _ in range(OUTSTANDING)]
        written = [json.dumps({"src": name, "dest": to, "body": body}) for to, body in replies]
        sys.stdout.write("".join(f"{line}\n" for line in written))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
