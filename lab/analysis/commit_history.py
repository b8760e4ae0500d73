"""What became of the transactions of a run: what each cost, how long it took, who was blocked, what was locked.

A transaction is *decided* by the first entry in any log that commits or aborts it: a NO is the end of it too.
A node is *blocked* over a transaction that it has promised to commit: from when the coordinator is down or stands
still, or it says itself that it asked everybody and has to wait, until it knows the outcome; only while it runs.
Locks are held as long as nodes show it.

Of the messages about a transaction, the commit protocol's own are what its coordinator asks and tells, with the
answers: all but the work, the outcome told again to whoever did not acknowledge it, the acknowledgements, and what
ends it when the coordinator is silent.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.leadership import Span, lasting
from lab.kernel import Message, Step
from lab.protocols.transaction import Entry, Open, State, Transaction
from lab.recording.conversion import converted
from lab.recording.records import Process, Record

__all__ = ["PURPOSES", "CommitLog", "Commits", "Held", "Purpose", "Transacted"]

Outcome = Literal["committed", "aborted"]
Purpose = Literal["own", "work", "again", "acknowledgement", "termination", "election"]
"""What a message is for; *again*: to tell the outcome once more; *election*: for no transaction."""
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

_OUTCOMES: dict[str, Outcome] = {"committed": "committed", "aborted": "aborted"}
_WORDS = ("Commit", "Abort")
_OWN = ("Prepare", "PreCommit", *_WORDS)
_PROMISED = (State.UNCERTAIN, State.COMMITABLE, State.ABORTABLE)


class Transacted(Struct):
    """A transaction, which has so many participants besides its coordinator.

    ``voted``: it came to a vote. ``outcome`` None: it is open. ``known_us``: when the last of these participants
    came to know it. ``messages`` are the commit protocol's own, ``writes`` the steps of any node that put an entry
    about it into safe storage.
    """

    began_us: int
    participants: int
    voted: bool = False
    outcome: Outcome | None = None
    decided_us: int | None = None
    known_us: int | None = None
    messages: int = 0
    writes: int = 0

    @property
    def is_committed(self) -> bool:
        """Whether it is."""
        return self.outcome == "committed"


class Held(Struct, frozen=True):
    """A node was blocked for ``us`` over one transaction; those ``missing`` were down or stood still meanwhile."""

    us: int
    node: int
    transaction: Transaction
    participants: tuple[int, ...]
    missing: tuple[int, ...]


class Commits(Struct, frozen=True):
    """All of a run: ``blocked_us`` has each time that a node was blocked, ``locked_us`` that a lock was held.

    ``longest``: which transaction blocked a node for longest.
    """

    transactions: tuple[Transacted, ...]
    messages: dict[Purpose, int]
    blocked_us: tuple[int, ...]
    locked_us: tuple[int, ...]
    longest: Held | None = None


class _Sent(Struct, frozen=True):
    """What a request was about, and what it and its answer are for."""

    about: Transaction | None
    purpose: Purpose
    answer: Purpose


class _About(Struct):
    transaction: Transaction | None = None
    orphan: "_About | None" = None


class _Hold(Struct):
    """A node is blocked over a transaction."""

    node: int
    open: Open
    span: Span
    missing: set[int] = set()


class _Node(Struct):
    number: int
    is_up: bool = False
    open: tuple[Open, ...] = ()
    blocked_on: frozenset[Transaction] = frozenset()
    blocked: list[Span] = []
    holds: dict[Transaction, _Hold] = {}
    locked: dict[tuple[str, Transaction], Span] = {}


class CommitLog:
    """A fold: show it every record. Whatever else has the names of the bank's state is passed over."""

    def __init__(self, heartbeats: Iterable[str] = ()) -> None:
        self.transactions: dict[Transaction, Transacted] = {}
        self._heartbeats = frozenset(heartbeats)
        self._messages: Counter[Purpose] = Counter()
        self._untold: dict[Transaction, set[int]] = {}
        self._requests: dict[tuple[int, int], _Sent] = {}
        self._told: set[tuple[Transaction, int]] = set()
        self._holds: list[_Hold] = []
        self._nodes: dict[int, _Node] = {}
        self._locks: list[Span] = []

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        if isinstance(record, Step):
            self._step(record)
        elif isinstance(record, Process) and record.event != "wiped":
            node = self._node(record.node)
            node.is_up = record.event in ("started", "resumed")
            if record.event in ("killed", "failed"):
                node.open = ()
                self._lock(node, [], record.at_us)
            for each in self._nodes.values():
                self._look_who_is_blocked(each, record.at_us)

    def commits(self, now_us: int) -> Commits:
        """What has come of it by now."""
        blocked = [span for node in self._nodes.values() for span in node.blocked]
        return Commits(
            tuple(self.transactions.values()),
            dict(self._messages),
            tuple(span.us(now_us) for span in blocked),
            tuple(span.us(now_us) for span in self._locks),
            self._longest(now_us),
        )

    def _longest(self, now_us: int) -> Held | None:
        if not self._holds:
            return None
        found = max(self._holds, key=lambda hold: hold.span.us(now_us))
        told, missing = found.open, tuple(sorted(found.missing))
        return Held(found.span.us(now_us), found.node, told.transaction, told.participants, missing)

    def _step(self, step: Step) -> None:
        entries = converted(step.logged.get("log"), list[Entry]) or []
        for entry in entries:
            self._write(entry, step)
        for transaction in {entry.transaction: None for entry in entries}:
            if transaction in self.transactions:
                self.transactions[transaction].writes += 1
        for message in step.sent:
            self._count(message)
        node = self._node(step.node)
        if "locks" in step.changed:
            self._lock(node, converted(step.changed["locks"], list[tuple[str, Transaction]]) or [], step.at_us)
        if "open" in step.changed:
            node.open = converted(step.changed["open"], tuple[Open, ...]) or ()
            self._look_who_is_blocked(node, step.at_us)

    # what is logged

    def _write(self, entry: Entry, step: Step) -> None:
        name = entry.transaction
        if entry.what == "begin" and name not in self.transactions:
            self.transactions[name] = Transacted(step.at_us, len(set(entry.participants) - {name.node}))
            self._untold[name] = set(entry.participants) - {name.node}
        transaction = self.transactions.get(name)
        if transaction is None:
            return
        transaction.voted |= entry.what == "prepared"
        outcome = _OUTCOMES.get(entry.what)
        if outcome is None:
            return
        if transaction.outcome is None:
            transaction.outcome, transaction.decided_us = outcome, step.at_us
        self._untold[name].discard(step.node)
        if not self._untold[name] and transaction.known_us is None:
            transaction.known_us = step.at_us

    # what is sent

    def _count(self, message: Message) -> None:
        if message.answers:
            asked = self._requests.get((message.target, message.answers))
            if asked is None:
                return
            about, purpose = asked.about, asked.answer
        else:
            asked = self._requests[message.source, message.serial] = self._sent(message)
            about, purpose = asked.about, asked.purpose
        if message.kind not in self._heartbeats:
            self._messages[purpose] += 1
        if purpose == "own" and about in self.transactions:
            self.transactions[about].messages += 1

    def _sent(self, message: Message) -> _Sent:
        sent = _request(message)
        if sent.about is None or sent.answer != "acknowledgement":
            return sent
        told = (sent.about, message.target)
        if told in self._told:
            return replace(sent, purpose="again")
        self._told.add(told)
        return sent

    # what is waited for, and locked

    def _node(self, node: int) -> _Node:
        return self._nodes.setdefault(node, _Node(node))

    def _look_who_is_blocked(self, node: _Node, at_us: int) -> None:
        promised = [each for each in node.open if each.state in _PROMISED]
        node.blocked_on = frozenset(
            each.transaction
            for each in promised
            if each.transaction in node.blocked_on
            or each.blocked_us is not None
            or not self._node(each.transaction.node).is_up
        )
        lasting(node.blocked, node.is_up and bool(node.blocked_on), at_us)
        self._hold(node, [each for each in promised if node.is_up and each.transaction in node.blocked_on], at_us)

    def _hold(self, node: _Node, blocking: list[Open], at_us: int) -> None:
        before, node.holds = node.holds, {}
        for each in blocking:
            hold = before.pop(each.transaction, None)
            if hold is None:
                hold = _Hold(node.number, each, Span(at_us))
                self._holds.append(hold)
            hold.missing.update(other for other in each.participants if not self._node(other).is_up)
            node.holds[each.transaction] = hold
        for hold in before.values():
            hold.span.ended_us = at_us

    def _lock(self, node: _Node, locks: list[tuple[str, Transaction]], at_us: int) -> None:
        held = {lock: node.locked.get(lock) or Span(at_us) for lock in locks}
        for lock, span in node.locked.items():
            if lock not in held:
                span.ended_us = at_us
        self._locks += [span for lock, span in held.items() if lock not in node.locked]
        node.locked = held


def _request(message: Message) -> _Sent:
    found = _read_body(message)
    about = found.transaction if found.orphan is None else found.orphan.transaction
    if about is None:
        return _Sent(None, "election", "election")
    if message.kind == "Perform":
        return _Sent(about, "work", "work")
    if message.kind not in _OWN or message.source != about.node:
        return _Sent(about, "termination", "termination")
    return _Sent(about, "own", "acknowledgement" if message.kind in _WORDS else "own")


def _read_body(message: Message) -> _About:
    try:
        return _decoder.decode(message.body)
    except (msgspec.DecodeError, RecursionError):
        return _About()


_decoder = msgspec.json.Decoder(_About)
