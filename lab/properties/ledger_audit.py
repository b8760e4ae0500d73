"""Audit the ledgers of all nodes together: the outcome of each transaction, and the money (A6, A7, A8).

A6 and A7 are stable facts: a log only grows, and an outcome once logged was decided. So it is enough to check a
transaction when an entry about it is written: every prefix of a recording is a consistent cut, and so is every
explored state. A node that is down counts with its last ledger.

A8 applies to settled states, in which no transaction is open at any node: only then is no money in transit.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lab.properties.assertions import A6, A7, A8, ENDS, MOST_CENTS
from lab.properties.verdicts import Evidence, Occurrences, WitnessState
from lab.protocols.accounts import format_cents
from lab.units import format_count, format_us

TransactionName = tuple[int, int]
"""The name of a transaction: its coordinator, and that node's count of them."""


class AuditViolation(NamedTuple):
    """A violated assertion, the local states that show it, and a description."""

    assertion: str
    states: tuple[WitnessState, ...]
    text: str


class _TransactionAudit:
    """One transaction: for each vote and outcome, the first local state of each node that has it.

    ``reported`` holds the assertions already reported as violated.
    """

    def __init__(self, name: TransactionName) -> None:
        self.name = _format_name(name)
        self.participants: set[int] = set()
        self.yes: dict[int, WitnessState] = {}
        self.no: dict[int, WitnessState] = {}
        self.committed: dict[int, WitnessState] = {}
        self.aborted: dict[int, WitnessState] = {}
        self.reported: set[str] = set()

    def add(self, node: int, entry: Mapping[str, Any], record: int, at_us: int) -> None:
        """Add an entry of a node's log."""
        what = entry.get("what")
        if what in ("begin", "prepared"):
            participants = entry.get("participants")
            if isinstance(participants, list | tuple):
                self.participants.update(each for each in participants if isinstance(each, int))
        if what == "prepared" and node not in self.no:
            self.yes.setdefault(node, self._state(node, record, at_us, "votes YES on"))
        elif what == "aborted":
            if node not in self.yes:
                self.no.setdefault(node, self._state(node, record, at_us, "votes NO on"))
            self.aborted.setdefault(node, self._state(node, record, at_us, "aborts"))
        elif what == "committed":
            self.committed.setdefault(node, self._state(node, record, at_us, "commits"))

    @property
    def is_decided(self) -> bool:
        """True if a node has committed or aborted it."""
        return bool(self.committed or self.aborted)

    def _state(self, node: int, record: int, at_us: int, does: str) -> WitnessState:
        return WitnessState(node, record, at_us, f"the node that {does} {self.name}")

    def violations(self) -> Iterator[AuditViolation]:
        """Yield the violations of A6 and A7 that were not reported before."""
        committed = next(iter(self.committed.values()), None)
        if committed is None:
            return
        aborted = next(iter(self.aborted.values()), None)
        if aborted is not None:
            text = f"transaction {self.name} is committed at {committed.node} and aborted at {aborted.node}"
            yield from self._report_once(AuditViolation(A6.id, (committed, aborted), text))
        # the node that led its termination may have had no part in it, and no vote
        for node in sorted((self.participants or self.committed.keys()) - self.yes.keys()):
            refused = self.no.get(node)
            text = f"transaction {self.name} is committed at {committed.node}, and {node} "
            text += "has not voted YES" if refused is None else "voted NO"
            yield from self._report_once(
                AuditViolation(A7.id, (committed, *([] if refused is None else [refused])), text)
            )

    def _report_once(self, violation: AuditViolation) -> Iterator[AuditViolation]:
        if violation.assertion not in self.reported:
            self.reported.add(violation.assertion)
            yield violation


class LedgerAudit:
    """The ledgers of the nodes whose states are passed to ``enter``."""

    def __init__(self) -> None:
        self._transactions: dict[TransactionName, _TransactionAudit] = {}
        self._written: dict[TransactionName, None] = {}
        self._is_new = False
        self._record = 0
        self._first: dict[int, int] = {}
        self._now: dict[int, int] = {}
        self._money_states: dict[int, WitnessState] = {}
        self._balanced: dict[int, int] = {}
        self._difference = 0
        self._open: dict[tuple[int, TransactionName], WitnessState] = {}
        self._open_at: dict[int, set[TransactionName]] = {}
        self._unended: tuple[TransactionName, int] | None = None
        self.newest_us = 0
        """The last time at which a transaction became open at a node."""
        self._decided = Occurrences()
        self._settled = Occurrences()
        self._ended = Occurrences()

    def evidence(self, assertion: str) -> Evidence:
        """Return how many transactions, or settled states, an assertion was judged by."""
        found, noun, what, without = {
            A8.id: (
                self._settled,
                "state",
                "after a decision, without an open transaction",
                "was decided and ended",
            ),
            ENDS.id: (self._ended, "transaction", "ended at every node", "has ended"),
        }.get(assertion, (self._decided, "transaction", "decided", "was decided"))
        if not found.count:
            return Evidence(f"no transaction {without}")
        return Evidence(f"{format_count(found.count, noun)} {what}", found.since, found.count, noun)

    @property
    def oldest_us(self) -> int | None:
        """The time since which the transaction open for longest is open, or None."""
        return next((state.at_us for state in self._open.values()), None)

    def enter(self, node: int, entries: Iterable[Any], state: Mapping[str, Any], record: int, at_us: int) -> None:
        """Add log entries written by a node, and its state from this record on."""
        for entry in entries:
            name = _name(entry)
            if name is not None:
                transaction = self._transactions.setdefault(name, _TransactionAudit(name))
                was_decided = transaction.is_decided
                transaction.add(node, entry, record, at_us)
                if transaction.is_decided and not was_decided:
                    self._decided.add(record)
                self._written[name] = None
        self._is_new = True
        self._record = record
        cents = _cents(state)
        self._first.setdefault(node, cents)
        if self._now.get(node) != cents:
            self._now[node] = cents
            text = f"a node with {format_cents(cents)}, cash handed out included"
            self._money_states[node] = WitnessState(node, record, at_us, text)
        self._update_open(node, _open(state), record, at_us)

    def _update_open(self, node: int, names: set[TransactionName], record: int, at_us: int) -> None:
        before = self._open_at.get(node, set())
        if names == before:
            return
        for name in sorted(before - names):
            del self._open[node, name]
            if name in self._transactions and self._transactions[name].is_decided and not self._is_open(name):
                self._ended.add(record)
        for name in sorted(names - before):
            self._open[node, name] = WitnessState(node, record, at_us, f"a node with {_format_name(name)} open")
            self.newest_us = at_us
        self._open_at[node] = names

    def _is_open(self, name: TransactionName) -> bool:
        return any(each == name for _, each in self._open)

    def violations(self) -> Iterator[AuditViolation]:
        """Yield the violations shown by what was entered since the last call."""
        for name in self._written:
            yield from self._transactions[name].violations()
        self._written = {}
        if self._is_new and not self._open:
            if self._decided.count:
                self._settled.add(self._record)
            yield from self._check_money()
        self._is_new = False

    def _check_money(self) -> Iterator[AuditViolation]:
        first, now = sum(self._first.values()), sum(self._now.values())
        if first == now:
            self._balanced = dict(self._now)
        elif now - first != self._difference:
            changed = [node for node, cents in sorted(self._now.items()) if self._balanced.get(node) != cents]
            word = "lost" if now < first else "too much"
            text = (
                f"{format_cents(abs(now - first))} is {word}: with no transaction open, all accounts and the cash "
                f"handed out add up to {format_cents(now)}, at first to {format_cents(first)}"
            )
            yield AuditViolation(A8.id, tuple(self._money_states[node] for node in changed), text)
        self._difference = now - first

    def unended(self, disturbed_us: int) -> Iterator[AuditViolation]:
        """Yield once that the transaction open for longest has not ended since the last disturbance."""
        (_, name), first = next(iter(self._open.items()))
        if self._unended != (name, disturbed_us):
            self._unended = name, disturbed_us
            states = tuple(state for (_, each), state in self._open.items() if each == name)
            nodes = " and ".join(str(state.node) for state in states)
            since = format_us(round(max(first.at_us, disturbed_us), -3))
            text = (
                f"transaction {_format_name(name)} is still open at {nodes}, without a disturbance since {since}"
            )
            yield AuditViolation(ENDS.id, states, text)


def audited_fields(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a state that the audit depends on."""
    open_transactions = [{"transaction": name} for name in sorted(_open(state))]
    return {"log": state.get("log", []), "balances": [("", _cents(state))], "open": open_transactions}


def has_decision(state: Mapping[str, Any]) -> bool:
    """Return whether the log of a node in this state commits or aborts a transaction."""
    log = state.get("log")
    entries = log if isinstance(log, list | tuple) else ()
    return any(isinstance(entry, dict) and entry.get("what") in ("committed", "aborted") for entry in entries)


def is_open(state: Mapping[str, Any]) -> bool:
    """Return whether a node in this state has an open transaction."""
    return bool(_open(state))


def _format_name(name: TransactionName) -> str:
    return f"{name[0]}.{name[1]}"


def _name(entry: Any) -> TransactionName | None:
    match entry:
        case {"transaction": [int(node), int(number)]}:
            return node, number
    return None


def _open(state: Mapping[str, Any]) -> set[TransactionName]:
    open_ = state.get("open")
    names = map(_name, open_) if isinstance(open_, list | tuple) else ()
    return {name for name in names if name is not None}


def _cents(state: Mapping[str, Any]) -> int:
    """Return the money of a node: its accounts, and the cash it has handed out."""
    balances = state.get("balances")
    held = balances if isinstance(balances, list | tuple) else ()
    return sum(map(_amount, (*held, ("", state.get("cash_out")))))


def _amount(held: Any) -> int:
    match held:
        case [_, int(cents)] if abs(cents) < MOST_CENTS:
            return cents
    return 0
