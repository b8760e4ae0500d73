"""A program for tests that serves every workload, alone. ``wrong`` forgets every third update.

Its second argument is the workload, if that is known.
"""

import json
import sys
from typing import Any


class Server:
    """What the node knows."""

    def __init__(self, is_wrong: bool, workload: str) -> None:
        self.workload = workload
        self.is_wrong = is_wrong
        self.updates = 0
        self.values: dict[str, Any] = {}
        self.elements: list[Any] = []
        self.sum = 0
        self.logs: dict[str, list[Any]] = {}
        self.numbers = 0

    def forgets(self) -> bool:
        """Return whether to forget this."""
        self.updates += 1
        return self.is_wrong and self.updates % 3 == 0

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body of the answer, without its type if that is the usual one."""
        return getattr(self, f"on_{body['type']}")(body) or {}

    def on_echo(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"echo": body["echo"]}

    def on_generate(self, body: dict[str, Any]) -> dict[str, Any]:
        self.numbers += not self.forgets()
        return {"id": self.numbers}

    def on_ts(self, body: dict[str, Any]) -> dict[str, Any]:
        self.numbers += 1
        return {"ts": self.numbers - 1}

    def on_topology(self, body: dict[str, Any]) -> None:
        assert body["topology"]

    def on_broadcast(self, body: dict[str, Any]) -> None:
        if not self.forgets():
            self.elements.append(body["message"])

    def on_add(self, body: dict[str, Any]) -> None:
        if "element" in body:
            self.elements.append(body["element"])
        elif not self.forgets():
            self.sum += body["delta"]

    def on_read(self, body: dict[str, Any]) -> dict[str, Any]:
        if "key" not in body:
            of_workload = {"broadcast": {"messages": self.elements}, "g-set": {"value": self.elements}}
            return of_workload.get(self.workload, {"value": self.sum})
        known = self.values.get(str(body["key"]))
        return {"type": "error", "code": 20} if known is None else {"value": known}

    def on_write(self, body: dict[str, Any]) -> None:
        if not self.forgets():
            self.values[str(body["key"])] = body["value"]

    def on_cas(self, body: dict[str, Any]) -> dict[str, Any] | None:
        known = self.values.get(str(body["key"]))
        if known != body["from"]:
            return {"type": "error", "code": 20 if known is None else 22}
        self.values[str(body["key"])] = body["to"]
        return None

    def on_send(self, body: dict[str, Any]) -> dict[str, Any]:
        log = self.logs.setdefault(body["key"], [])
        log.append(body["msg"])
        return {"offset": len(log) - 1}

    def on_poll(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["offsets"].items()
        return {"msgs": {key: [*enumerate(self.logs.get(key, []))][offset:] for key, offset in asked}}

    def on_commit_offsets(self, body: dict[str, Any]) -> None:
        """Nothing is read from there."""

    def on_txn(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"txn": [self.step(*each) for each in body["txn"]]}

    def step(self, f: str, key: int, value: Any) -> list[Any]:
        """Do one step of a transaction; return it, with what was read."""
        if f == "r":
            return [f, key, self.values.get(str(key))]
        if self.forgets():
            return [f, key, value]
        self.values[str(key)] = [*self.values.get(str(key), []), value] if f == "append" else value
        return [f, key, value]


def main(mood: str, workload: str = "") -> None:
    """Answer until the end of the input."""
    server = Server(mood == "wrong", workload)
    for line in sys.stdin:
        message = json.loads(line)
        body = message["body"]
        answer = {} if body["type"] == "init" else server.answer(body)
        answer = {"type": f"{body['type']}_ok", "in_reply_to": body["msg_id"], **answer}
        print(json.dumps({"src": message["dest"], "dest": message["src"], "body": answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
