"""The books of all nodes together: what their logs say of each transaction, and what money there is (A6, A7, A8).

A6 and A7 are about facts that only become more: a log grows, and what was in it once was decided once. So it is
enough to look at a transaction whenever a line about it is written: every prefix of a recording is a consistent
state, and so is every state that is explored. The books of a node that is down are what it had last.

A8 is about settled states, in which no transaction is open at any node: only then is no money on its way.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lab.properties.assertions import A6, A7, A8, ENDS
from lab.properties.verdicts import LocalState
from lab.protocols.accounts import format_cents
from lab.units import format_us

__all__ = ["Books", "Name", "Offence", "booked", "is_open"]

Name = tuple[int, int]
"""The name of a transaction: its coordinator, and that node's count of them."""

_MOST_CENTS = 10**15
"""What a recording has beyond it is no amount."""


class Offence(NamedTuple):
    """What does not hold, the states in which that is seen, and what is to be said."""

    assertion: str
    states: tuple[LocalState, ...]
    text: str


class _Page:
    """One transaction: the node's state in which it said what, the first of each node. ``told`` has what was."""

    def __init__(self, name: Name) -> None:
        self.name = _said(name)
        self.participants: set[int] = set()
        self.yes: dict[int, LocalState] = {}
        self.no: dict[int, LocalState] = {}
        self.committed: dict[int, LocalState] = {}
        self.aborted: dict[int, LocalState] = {}
        self.told: set[str] = set()

    def write(self, node: int, entry: Mapping[str, Any], record: int, at_us: int) -> None:
        """A line of the node's log."""
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

    def _state(self, node: int, record: int, at_us: int, does: str) -> LocalState:
        return LocalState(node, record, at_us, f"the node that {does} {self.name}")

    def offences(self) -> Iterator[Offence]:
        """What does not hold of it, and was not told."""
        committed = next(iter(self.committed.values()), None)
        if committed is None:
            return
        aborted = next(iter(self.aborted.values()), None)
        if aborted is not None:
            said = f"transaction {self.name} is committed at {committed.node} and aborted at {aborted.node}"
            yield from self._tell(Offence(A6.id, (committed, aborted), said))
        # whoever led its termination may have had no part in it
        for node in sorted((self.participants or self.committed.keys()) - self.yes.keys()):
            refused = self.no.get(node)
            said = f"transaction {self.name} is committed at {committed.node}, and {node} "
            said += "has not voted YES" if refused is None else "voted NO"
            yield from self._tell(Offence(A7.id, (committed, *([] if refused is None else [refused])), said))

    def _tell(self, offence: Offence) -> Iterator[Offence]:
        if offence.assertion not in self.told:
            self.told.add(offence.assertion)
            yield offence


class Books:
    """The books of nodes whose states are shown to ``enter``."""

    def __init__(self) -> None:
        self._pages: dict[Name, _Page] = {}
        self._written: dict[Name, None] = {}
        self._is_new = False
        self._first: dict[int, int] = {}
        self._now: dict[int, int] = {}
        self._seen: dict[int, LocalState] = {}
        self._balanced: dict[int, int] = {}
        self._amiss = 0
        self._open: dict[tuple[int, Name], LocalState] = {}
        self._open_at: dict[int, set[Name]] = {}
        self._unended: tuple[Name, int] | None = None
        self.newest_us = 0
        """When a transaction was last seen to be open that had not been."""

    @property
    def oldest_us(self) -> int | None:
        """Since when that is open which is open for longest; None: nothing is."""
        return next((state.at_us for state in self._open.values()), None)

    def enter(self, node: int, entries: Iterable[Any], state: Mapping[str, Any], record: int, at_us: int) -> None:
        """The node wrote these entries, and is in this state from the record with that number on."""
        for entry in entries:
            name = _name(entry)
            if name is not None:
                self._pages.setdefault(name, _Page(name)).write(node, entry, record, at_us)
                self._written[name] = None
        self._is_new = True
        cents = _cents(state)
        self._first.setdefault(node, cents)
        if self._now.get(node) != cents:
            self._now[node] = cents
            text = f"a node with {format_cents(cents)}, what it has handed out among it"
            self._seen[node] = LocalState(node, record, at_us, text)
        self._look_what_is_open(node, _open(state), record, at_us)

    def _look_what_is_open(self, node: int, names: set[Name], record: int, at_us: int) -> None:
        before = self._open_at.get(node, set())
        if names == before:
            return
        for name in sorted(before - names):
            del self._open[node, name]
        for name in sorted(names - before):
            self._open[node, name] = LocalState(node, record, at_us, f"a node with {_said(name)} open")
            self.newest_us = at_us
        self._open_at[node] = names

    def offences(self) -> Iterator[Offence]:
        """What does not hold, as what was entered since the last look shows."""
        for name in self._written:
            yield from self._pages[name].offences()
        self._written = {}
        if self._is_new and not self._open:
            yield from self._look_at_money()
        self._is_new = False

    def _look_at_money(self) -> Iterator[Offence]:
        first, now = sum(self._first.values()), sum(self._now.values())
        if first == now:
            self._balanced = dict(self._now)
        elif now - first != self._amiss:
            changed = [node for node, cents in sorted(self._now.items()) if self._balanced.get(node) != cents]
            word = "lost" if now < first else "too much"
            said = (
                f"{format_cents(abs(now - first))} is {word}: with no transaction open, all accounts and what was "
                f"handed out come to {format_cents(now)}, at first to {format_cents(first)}"
            )
            yield Offence(A8.id, tuple(self._seen[node] for node in changed), said)
        self._amiss = now - first

    def unended(self, disturbed_us: int) -> Iterator[Offence]:
        """That what is open for longest has not ended, though nothing has happened since then; said once."""
        (_, name), first = next(iter(self._open.items()))
        if self._unended != (name, disturbed_us):
            self._unended = name, disturbed_us
            states = tuple(state for (_, each), state in self._open.items() if each == name)
            nodes = " and ".join(str(state.node) for state in states)
            since = format_us(round(max(first.at_us, disturbed_us), -3))
            said = (
                f"transaction {_said(name)} is still open at {nodes}, though nothing has gone wrong since {since}"
            )
            yield Offence(ENDS.id, states, said)


def booked(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the books have of a state."""
    what_is_open = [{"transaction": name} for name in sorted(_open(state))]
    return {"log": state.get("log", []), "balances": [("", _cents(state))], "open": what_is_open}


def is_open(state: Mapping[str, Any]) -> bool:
    """Whether a node in this state has an open transaction."""
    return bool(_open(state))


def _said(name: Name) -> str:
    return f"{name[0]}.{name[1]}"


def _name(entry: Any) -> Name | None:
    match entry:
        case {"transaction": [int(node), int(number)]}:
            return node, number
    return None


def _open(state: Mapping[str, Any]) -> set[Name]:
    open_ = state.get("open")
    names = map(_name, open_) if isinstance(open_, list | tuple) else ()
    return {name for name in names if name is not None}


def _cents(state: Mapping[str, Any]) -> int:
    """The money of a node: what its accounts hold, and what it has handed out."""
    balances = state.get("balances")
    held = balances if isinstance(balances, list | tuple) else ()
    return sum(map(_amount, (*held, ("", state.get("dispensed")))))


def _amount(held: Any) -> int:
    match held:
        case [_, int(cents)] if abs(cents) < _MOST_CENTS:
            return cents
    return 0
