"""Runs of no protocol: nodes that enter any state at any time, and send messages to any node.

Each ``Act`` does the next thing that is possible, so any list of acts is a run.
"""

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Struct

from lab.kernel import Fired, Message, Received, Started, Step, Timing
from lab.recording.records import Header, Link, Process, ProtocolInfo, Record, Routed

__all__ = ["Act", "acts", "header", "run_of"]

STATUSES = ("Down", "Election", "Reorganization", "Normal", "Normal")
LINE_TYPES = (*("fire",) * 2, *("receive",) * 3, "kill", "fail", "restart", "pause", "duplicate", "drop")
NOTHING = msgspec.Raw(b"{}")


def header(nodes: tuple[int, ...] = (1, 2, 3), **info: Any) -> Header:
    """Return a header that promises everything."""
    given: dict[str, Any] = {"promises": ("A1.1", "A1.2", "A2"), "settles_within_us": 1_000_000, **info}
    protocol = ProtocolInfo("none", {}, "none.py", "", **given)
    return Header(1, "0", "test", "", "simulated", protocol, nodes, Timing(50_000, 20_000), Link(), 1)


class Act(Struct, frozen=True):
    """One event; the meaning of the numbers depends on ``what``."""

    what: str
    node: int
    pick: int
    state: tuple[str, int, int] | None
    targets: tuple[int, ...]


def acts(nodes: int, most: int) -> st.SearchStrategy[list[Act]]:
    """Return a strategy for lists of acts of this number of nodes."""
    ids = st.integers(1, nodes)
    state = st.none() | st.tuples(st.sampled_from(STATUSES), ids, st.integers(1, 2))
    whats = st.sampled_from(
        ["fire", "fire", "receive", "receive", "receive", "kill", "fail", "restart", "pause", "duplicate", "drop"]
    )
    targets = st.lists(ids, max_size=2).map(tuple)
    return st.lists(st.builds(Act, whats, ids, st.integers(0, 5), state, targets), max_size=most)


class _Synthetic:
    def __init__(self, nodes: tuple[int, ...]) -> None:
        promises = ("A1.1", "A1.2", "A2", "A3.1", "A3.2")
        self.records: list[Record] = [header(nodes, promises=promises)]
        self.up: dict[int, str] = {}
        self.lives = dict.fromkeys(nodes, 0)
        self.serials = dict.fromkeys(nodes, 1)
        self.flying: list[Message] = []
        for node in nodes:
            self.start(node)

    @property
    def at_us(self) -> int:
        return len(self.records) * 1000

    def start(self, node: int) -> None:
        self.lives[node] += 1
        self.up[node] = "running"
        self.records.append(Process(self.at_us, node, "started", self.lives[node]))
        given = Started({}, self.lives[node], self.serials[node])
        self.records.append(Step(self.at_us, node, self.lives[node], given, {"status": "Down"}))

    def step(self, act: Act, given: Received | Fired) -> None:
        changed: dict[str, Any] = {}
        if act.state is not None:
            status, coordinator, version = act.state
            changed = {"status": status, "coordinator": coordinator, "definition": {"version": version}}
            if act.pick > 2:
                changed["group"] = [act.pick % 2, 1]
        sent = []
        for target in act.targets:
            if target != act.node:
                sent.append(Message(act.node, target, self.serials[act.node], "Say", NOTHING))
                self.serials[act.node] += 1
        self.flying += sent
        self.records.append(Step(self.at_us, act.node, self.lives[act.node], given, changed, sent=tuple(sent)))

    def act(self, act: Act) -> None:
        node, state = act.node, self.up.get(act.node)
        if act.what in ("duplicate", "drop"):
            if self.flying:
                self.route(act, self.flying[act.pick % len(self.flying)])
        elif state is None:
            if act.what == "restart":
                self.start(node)
        elif act.what in ("kill", "fail"):
            del self.up[node]
            self.records.append(Process(self.at_us, node, "killed" if act.what == "kill" else "failed"))
        elif act.what == "pause" or state == "paused":
            now = self.up[node] = "running" if state == "paused" else "paused"
            self.records.append(Process(self.at_us, node, "resumed" if now == "running" else "paused"))
        elif act.what == "fire":
            self.step(act, Fired("timer"))
        else:
            here = [message for message in self.flying if message.target == node]
            if here:
                message = here[act.pick % len(here)]
                self.flying.remove(message)
                self.step(act, Received(message.source, message.serial))

    def route(self, act: Act, message: Message) -> None:
        if act.what == "drop":
            self.flying.remove(message)
            self.records.append(Routed(self.at_us, message.source, message.serial, "dropped", "lost"))
        else:
            self.flying.append(message)
            self.records.append(Routed(self.at_us, message.source, message.serial, "duplicated"))


def run_of(nodes: int, happened: list[Act]) -> list[Record]:
    """Return the records of a run."""
    run = _Synthetic(tuple(range(1, nodes + 1)))
    for act in happened:
        run.act(act)
    return run.records
