"""The services, each by itself: what they answer, and what their histories allow."""

from random import Random
from typing import Any

import msgspec
import pytest

from lab.histories.linearizability import check_linearizability
from lab.histories.models import KeyValue
from lab.histories.operations import ErrorReply, HistoryBuilder
from lab.kernel import Message, Node, Started, Step, Timing
from lab.protocols.services import SERVICES

CLIENTS = (1, 2, 3)


class Service:
    """A service that is asked by hand; each answer comes at once."""

    def __init__(self, name: str, seed: int = 1) -> None:
        self._node = Node(SERVICES[name], 9, (9, *CLIENTS), Timing(1, 1), None, seed)
        self._stored: dict[str, Any] = {}
        self._serial = 0
        self.restart(1)

    def restart(self, incarnation: int) -> None:
        """Crash, and start again from stable storage."""
        self._node = Node(type(self._node.protocol), 9, (9, *CLIENTS), Timing(1, 1), None, incarnation)
        self._stepped(self._node.step(Started(self._stored, incarnation, 1), 0))

    def ask(self, client: int, kind: str, **body: Any) -> tuple[str, dict[str, Any]]:
        """Return the kind of the answer, and its body."""
        self._serial += 1
        encoded = msgspec.Raw(msgspec.json.encode({"type": kind.lower(), "msg_id": self._serial, **body}))
        step = self._stepped(self._node.step(Message(client, 9, self._serial, kind, encoded), 1))
        (answer,) = step.sent
        assert (answer.target, answer.reply_to) == (client, self._serial)
        return answer.kind, msgspec.json.decode(answer.body)

    def _stepped(self, step: Step) -> Step:
        assert not step.failed
        self._stored |= step.stored
        return step


@pytest.mark.parametrize("name", ["lin-kv", "seq-kv"])
def test_a_store_answers_as_specified(name: str) -> None:
    """One client sees its own writes; a key that is missing, and a value that is another, have codes."""
    store = Service(name)
    assert store.ask(1, "Read", key="a")[1]["code"] == 20
    assert store.ask(1, "Cas", key="a", **{"from": 1, "to": 2})[1]["code"] == 20
    assert store.ask(1, "Write", key="a", value=[1, {"b": None}])[0] == "WriteOk"
    assert store.ask(1, "Read", key="a") == ("ReadOk", {"value": [1, {"b": None}]})
    assert store.ask(1, "Cas", key="a", **{"from": 1, "to": 2})[1]["code"] == 22
    assert store.ask(1, "Cas", key="a", **{"from": [1, {"b": None}], "to": 2})[0] == "CasOk"
    assert store.ask(1, "Read", key="a") == ("ReadOk", {"value": 2})
    assert store.ask(1, "Cas", key="c", **{"from": 0, "to": 1}, create_if_not_exists=True)[0] == "CasOk"
    assert store.ask(1, "Read", key="c") == ("ReadOk", {"value": 1})


@pytest.mark.parametrize("name", ["lin-kv", "seq-kv", "lww-kv"])
@pytest.mark.parametrize(
    ("kind", "body"), [("Read", {}), ("Write", {"key": 1}), ("Write", {"value": 1}), ("Cas", {"key": 1, "to": 2})]
)
def test_a_malformed_request_is_refused(name: str, kind: str, body: dict[str, Any]) -> None:
    """With the code for it, and the service goes on."""
    store = Service(name)
    assert store.ask(1, kind, **body)[1]["code"] == 12
    assert store.ask(1, "Write", key=1, value=1)[0] == "WriteOk"


@pytest.mark.parametrize("name", ["lin-kv", "seq-kv", "lww-kv"])
def test_a_crash_loses_nothing(name: str) -> None:
    """The store is in stable storage."""
    store = Service(name)
    store.ask(1, "Write", key=1, value="kept")
    store.restart(2)
    found = [store.ask(1, "Read", key=1) for _ in range(20)]
    assert ("ReadOk", {"value": "kept"}) in found


def test_timestamps_only_grow() -> None:
    """From 0, also after a crash."""
    oracle = Service("lin-tso")
    first = [oracle.ask(client, "Ts")[1]["ts"] for client in (1, 2, 1)]
    oracle.restart(2)
    assert [*first, oracle.ask(3, "Ts")[1]["ts"]] == [0, 1, 2, 3]


def test_seq_kv_shows_old_states_but_never_goes_back() -> None:
    """Another client may read what is no longer there, within 32 states; what it has seen only gets newer."""
    store, seen = Service("seq-kv"), list[int]()
    for value in range(200):
        store.ask(1, "Write", key="a", value=value)
        kind, body = store.ask(2, "Read", key="a")
        seen.append(body["value"] if kind == "ReadOk" else -1)
        assert value - 32 <= seen[-1] <= value
    assert seen == sorted(seen)
    assert any(shown < value for value, shown in enumerate(seen)), "it is never stale: that is lin-kv"
    assert store.ask(1, "Read", key="a") == ("ReadOk", {"value": 199})


def test_seq_kv_keeps_a_key_that_is_not_written_any_more() -> None:
    """Of each key, the last version, however old."""
    store = Service("seq-kv")
    store.ask(1, "Write", key="old", value="here")
    for value in range(100):
        store.ask(1, "Write", key="new", value=value)
    assert {store.ask(3, "Read", key="old")[1].get("value") for _ in range(50)} == {"here"}


def test_lww_kv_loses_a_write_to_a_later_one_elsewhere() -> None:
    """Two replicas: a client may not see its own write; in the end all see the same."""
    store = Service("lww-kv")
    missed = 0
    for value in range(100):
        store.ask(1, "Write", key="a", value=value)
        missed += store.ask(1, "Read", key="a") != ("ReadOk", {"value": value})
    assert missed
    last = [store.ask(2, "Read", key="a")[1]["value"] for _ in range(40)]
    assert len({*last[20:]}) == 1


@pytest.mark.parametrize(("name", "is_linearizable"), [("lin-kv", True), ("seq-kv", False), ("lww-kv", False)])
def test_what_the_checker_finds(name: str, is_linearizable: bool) -> None:
    """Three clients, one after the other: only lin-kv is linearizable."""
    store, random, history = Service(name), Random(1), HistoryBuilder()
    for number in range(300):
        client, key = random.choice(CLIENTS), random.randint(0, 2)
        if random.random() < 0.5:
            history.invoke(f"c{client}", "write", [key, number])
            store.ask(client, "Write", key=key, value=number)
            history.complete(f"c{client}", "ok", [key, number])
        else:
            history.invoke(f"c{client}", "read", [key, None])
            kind, body = store.ask(client, "Read", key=key)
            if kind == "ReadOk":
                history.complete(f"c{client}", "ok", [key, body["value"]])
            else:
                history.complete(f"c{client}", "fail", None, 0, ErrorReply(body["code"]))
    found = check_linearizability(history.history(), KeyValue())
    assert (found.word == "holds") is is_linearizable, str(found)
