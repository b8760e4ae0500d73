"""Collect the history of the transactions of a run: costs, durations, blocked nodes, locks.

A transaction is *decided* by the first entry in any log that commits or aborts it; a NO vote decides it too. A
node is *blocked* over a transaction that it has promised to commit while the node runs and does not know the
outcome, from the time at which the coordinator is down or paused, or at which the node itself reports that it is
blocked after asking all others. Locks are held as long as the states of nodes show them.

The commit protocol's *own* messages about a transaction are the requests of its coordinator and the replies to
them. Not counted among them are the work, repeated notices of the outcome, acknowledgements, and the termination
protocol that runs while the coordinator is silent.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.elections import Span, extend_spans
from lab.kernel import Message, Step
from lab.protocols.transaction import Entry, OpenTransaction, State, Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.records import PROCESS_AFTER, Process, Record, convert_or_none


class DecidedTransactions:
    """An incremental count of outcomes in logs.

    ``read`` goes on where it stopped in a log, or starts over if it is given another log.
    """

    def __init__(self) -> None:
        self._logs: dict[int, list[Any]] = {}
        self._entries: dict[str, Counter[tuple[int, int]]] = {"committed": Counter(), "aborted": Counter()}

    def count(self, outcome: str) -> int:
        """Return the number of transactions with this outcome (committed, aborted) in at least one log."""
        return len(self._entries[outcome])

    def read(self, node: int, log: list[Any]) -> None:
        """Read the new entries of a node's log; ``log`` is the whole log in the node's state."""
        before = self._logs.get(node, [])
        if log is before:
            return
        known = len(before)
        if known and (len(log) < known or log[known - 1] is not before[-1]):  # it was wiped, or read from storage
            self._add(before, -1)
            known = 0
        self._add(log[known:], 1)
        self._logs[node] = log

    @property
    def split(self) -> list[tuple[int, int]]:
        """Transactions that are committed in some logs and aborted in others."""
        return sorted(self._entries["committed"].keys() & self._entries["aborted"].keys())

    def _add(self, entries: list[Any], times: int) -> None:
        for outcome, name in filter(None, map(outcome_of, entries)):
            counter = self._entries[outcome]
            counter[name] += times
            if not counter[name]:
                del counter[name]


def decided_in(cluster: ClusterState) -> DecidedTransactions:
    """Return the outcomes in the logs of all nodes as of now."""
    decided = cluster.derived(DecidedTransactions)
    for view in cluster.nodes.values():
        log = view.state.get("log")
        decided.read(view.id, log if isinstance(log, list) else [])
    return decided


def outcome_of(entry: Any) -> tuple[str, tuple[int, int]] | None:
    """Return (committed or aborted, the transaction) for an entry that decides one, else None."""
    match entry:
        case {"what": "committed" | "aborted" as what, "transaction": [int(node), int(number)]}:
            return what, (node, number)
    return None


TransactionOutcome = Literal["committed", "aborted"]
Purpose = Literal["own", "work", "again", "acknowledgement", "termination", "election"]
"""The purpose of a message; *again*: a repeated notice of the outcome; *election*: no transaction."""
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

_OUTCOMES: dict[str, TransactionOutcome] = {"committed": "committed", "aborted": "aborted"}
_DECISIONS = ("Commit", "Abort")
_OWN = ("Prepare", "PreCommit", *_DECISIONS)
_ORDER = tuple(State)
_FIELDS = frozenset(("locks", "open"))
_PROMISED = (State.UNCERTAIN, State.COMMITABLE, State.ABORTABLE)


class TransactionHistory(Struct):
    """A transaction. ``participants`` is the number of participants besides its coordinator.

    ``voted``: a vote was taken. ``outcome`` is None while it is open. ``known_us`` is the time at which the last
    of these participants learned the outcome. ``messages`` counts the commit protocol's own, ``writes`` the steps
    of any node that wrote an entry about it to stable storage.
    """

    began_us: int
    participants: int
    voted: bool = False
    outcome: TransactionOutcome | None = None
    decided_us: int | None = None
    known_us: int | None = None
    messages: int = 0
    writes: int = 0

    @property
    def is_committed(self) -> bool:
        return self.outcome == "committed"


class BlockedInterval(Struct, frozen=True):
    """A node was blocked for ``us`` over a transaction, while the ``missing`` participants were down or paused."""

    us: int
    node: int
    transaction: Transaction
    participants: tuple[int, ...]
    missing: tuple[int, ...]


class CommitHistory(Struct, frozen=True):
    """All transactions of a run. ``blocked_us`` and ``locked_us`` hold the durations of all blocks and locks.

    ``longest`` is the longest time for which one transaction blocked a node.
    """

    transactions: tuple[TransactionHistory, ...]
    messages: dict[Purpose, int]
    blocked_us: tuple[int, ...]
    locked_us: tuple[int, ...]
    longest: BlockedInterval | None = None


class _Request(Struct, frozen=True):
    """The transaction of a request, its purpose, and the purpose of the reply."""

    transaction: Transaction | None
    purpose: Purpose
    reply: Purpose


class _Body(Struct):
    transaction: Transaction | None = None
    in_doubt: "_Body | None" = None


class _OpenInterval(Struct):
    """An interval in which a node is blocked over a transaction."""

    node: int
    open: OpenTransaction
    span: Span
    missing: set[int] = set()


class _Node(Struct):
    number: int
    is_running: bool = False
    open: tuple[OpenTransaction, ...] = ()
    fields: dict[str, Any] = {}
    blocked_on: frozenset[Transaction] = frozenset()
    blocked: list[Span] = []
    holds: dict[Transaction, _OpenInterval] = {}
    locked: dict[tuple[str, Transaction], Span] = {}


class CommitLog:
    """Collect the history from all records; values that only share a name with the bank's state are ignored.

    ``states_at_once`` are the pairs of states in which two participants were at once in one transaction: Skeen's
    concurrency sets, as far as they were reached. A node that crashes stays in its state.
    """

    def __init__(self, heartbeats: Iterable[str] = ()) -> None:
        self.transactions: dict[Transaction, TransactionHistory] = {}
        self.states_at_once: set[tuple[str, str]] = set()
        self._states: dict[Transaction, dict[int, State]] = {}
        self._heartbeats = frozenset(heartbeats)
        self._messages: Counter[Purpose] = Counter()
        self._uninformed: dict[Transaction, set[int]] = {}
        self._requests: dict[tuple[int, int], _Request] = {}
        self._notices: set[tuple[Transaction, int]] = set()
        self._holds: list[_OpenInterval] = []
        self._nodes: dict[int, _Node] = {}
        self._locks: list[Span] = []

    def observe(self, record: Record | None) -> None:
        """Add the next record."""
        if isinstance(record, Step):
            self._step(record)
        elif isinstance(record, Process) and record.event in PROCESS_AFTER:
            node = self._node(record.node)
            node.is_running = record.event in ("started", "resumed")
            if record.event in ("killed", "failed"):
                node.open = ()
                self._lock(node, [], record.at_us)
            for each in self._nodes.values():
                self._update_blocked(each, record.at_us)

    def commits(self, now_us: int) -> CommitHistory:
        """Return the history as of now."""
        blocked = [span for node in self._nodes.values() for span in node.blocked]
        return CommitHistory(
            tuple(self.transactions.values()),
            dict(self._messages),
            tuple(span.us(now_us) for span in blocked),
            tuple(span.us(now_us) for span in self._locks),
            self._longest(now_us),
        )

    def _longest(self, now_us: int) -> BlockedInterval | None:
        if not self._holds:
            return None
        found = max(self._holds, key=lambda hold: hold.span.us(now_us))
        transaction, missing = found.open, tuple(sorted(found.missing))
        return BlockedInterval(
            found.span.us(now_us), found.node, transaction.transaction, transaction.participants, missing
        )

    def _step(self, step: Step) -> None:
        entries = convert_or_none(step.logged.get("log"), list[Entry]) or []
        for entry in entries:
            self._write(entry, step)
        for transaction in {entry.transaction: None for entry in entries}:
            if transaction in self.transactions:
                self.transactions[transaction].writes += 1
        for message in step.sent:
            self._count(message)
        node = self._node(step.node)
        if not _FIELDS.isdisjoint(step.changed) or not _FIELDS.isdisjoint(step.edits):
            changed = step.values_after(node.fields)
            node.fields = {**node.fields, **{name: changed[name] for name in _FIELDS & changed.keys()}}
        else:
            changed = {}
        if "locks" in changed:
            self._lock(node, convert_or_none(changed["locks"], list[tuple[str, Transaction]]) or [], step.at_us)
        if "open" in changed:
            node.open = convert_or_none(changed["open"], tuple[OpenTransaction, ...]) or ()
            for each in node.open:
                self._note_state(each.transaction, step.node, each.state)
            self._update_blocked(node, step.at_us)

    # log entries

    def _write(self, entry: Entry, step: Step) -> None:
        name = entry.transaction
        if entry.what == "begin" and name not in self.transactions:
            self.transactions[name] = TransactionHistory(step.at_us, len(set(entry.participants) - {name.node}))
            self._uninformed[name] = set(entry.participants) - {name.node}
        transaction = self.transactions.get(name)
        if transaction is None:
            return
        transaction.voted |= entry.what == "prepared"
        outcome = _OUTCOMES.get(entry.what)
        if outcome is None:
            return
        self._note_state(name, step.node, State(outcome))
        if transaction.outcome is None:
            transaction.outcome, transaction.decided_us = outcome, step.at_us
        self._uninformed[name].discard(step.node)
        if not self._uninformed[name] and transaction.known_us is None:
            transaction.known_us = step.at_us

    def _note_state(self, transaction: Transaction, node: int, state: State) -> None:
        states = self._states.setdefault(transaction, {})
        if states.get(node) is state:
            return
        states[node] = state
        for other, theirs in states.items():
            if other != node:
                first, second = sorted((state, theirs), key=_ORDER.index)
                self.states_at_once.add((first.value, second.value))

    # messages

    def _count(self, message: Message) -> None:
        if message.reply_to:
            request = self._requests.get((message.target, message.reply_to))
            if request is None:
                return
            transaction, purpose = request.transaction, request.reply
        else:
            request = self._requests[message.source, message.serial] = self._request_for(message)
            transaction, purpose = request.transaction, request.purpose
        if message.kind not in self._heartbeats:
            self._messages[purpose] += 1
        if purpose == "own" and transaction in self.transactions:
            self.transactions[transaction].messages += 1

    def _request_for(self, message: Message) -> _Request:
        request = _classify(message)
        if request.transaction is None or request.reply != "acknowledgement":
            return request
        notice = (request.transaction, message.target)
        if notice in self._notices:
            return replace(request, purpose="again")
        self._notices.add(notice)
        return request

    # blocked nodes and locks

    def _node(self, node: int) -> _Node:
        return self._nodes.setdefault(node, _Node(node))

    def _update_blocked(self, node: _Node, at_us: int) -> None:
        promised = [each for each in node.open if each.state in _PROMISED]
        node.blocked_on = frozenset(
            each.transaction
            for each in promised
            if each.transaction in node.blocked_on
            or each.blocked_since_us is not None
            or not self._node(each.transaction.node).is_running
        )
        extend_spans(node.blocked, node.is_running and bool(node.blocked_on), at_us)
        self._hold(
            node, [each for each in promised if node.is_running and each.transaction in node.blocked_on], at_us
        )

    def _hold(self, node: _Node, blocking: list[OpenTransaction], at_us: int) -> None:
        before, node.holds = node.holds, {}
        for each in blocking:
            hold = before.pop(each.transaction, None)
            if hold is None:
                hold = _OpenInterval(node.number, each, Span(at_us))
                self._holds.append(hold)
            hold.missing.update(other for other in each.participants if not self._node(other).is_running)
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


def _classify(message: Message) -> _Request:
    found = _read_body(message)
    transaction = found.transaction if found.in_doubt is None else found.in_doubt.transaction
    if transaction is None:
        return _Request(None, "election", "election")
    if message.kind == "Perform":
        return _Request(transaction, "work", "work")
    if message.kind not in _OWN or message.source != transaction.node:
        return _Request(transaction, "termination", "termination")
    return _Request(transaction, "own", "acknowledgement" if message.kind in _DECISIONS else "own")


def _read_body(message: Message) -> _Body:
    try:
        return _decoder.decode(message.body)
    except (msgspec.DecodeError, RecursionError):
        return _Body()


_decoder = msgspec.json.Decoder(_Body)


class SplitOutcome(Struct, frozen=True, order=True):
    """A transaction with two outcomes, and the nodes with each in their logs."""

    transaction: Transaction
    committed: tuple[int, ...]
    aborted: tuple[int, ...]


def split_outcomes(cluster: ClusterState) -> tuple[SplitOutcome, ...]:
    """Return all split outcomes at that record, sorted by transaction."""
    # the logs are read again only if there is a split outcome
    return tuple(
        SplitOutcome(
            Transaction(*name), _nodes_with(cluster, name, "committed"), _nodes_with(cluster, name, "aborted")
        )
        for name in decided_in(cluster).split
    )


def _nodes_with(cluster: ClusterState, name: tuple[int, int], outcome: str) -> tuple[int, ...]:
    return tuple(
        node
        for node, view in sorted(cluster.nodes.items())
        if isinstance(log := view.state.get("log"), list) and any(outcome_of(e) == (outcome, name) for e in log)
    )
