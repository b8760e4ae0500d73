"""The checks behind the assertions, one class for each kind.

Pairs: for each node, key and value, the last epoch of the node with that value is kept, the newest last. When a
node begins an epoch, its value is compared with those of every other node in epochs that it does not know to be
over: these are concurrent with the new epoch. The scan stops at the first conflict, or at the first epoch that is
over, because all earlier epochs are over too.

An error in the code of a property ends its check: from then on it is not judged, and ``error`` says why.
"""

from collections.abc import Hashable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.causality import Clock
from lab.properties.declarations import (
    Agreement,
    Assertion,
    Counterexample,
    Eventually,
    Invariant,
    KeyedValue,
    LeadsTo,
    Memory,
    OverHistory,
    Pairwise,
    PropertyError,
    evaluate,
    owed_items,
)
from lab.properties.states import GlobalState, LocalState
from lab.properties.verdicts import Broken, Evidence, Occurrences, WitnessState
from lab.units import format_count, format_us


class Epoch(Struct):
    """A local state of a node from ``record`` on, for as long as the part that matters stays the same.

    ``values`` holds the part that matters to each property of pairs. ``over`` is the record that ended the epoch,
    ``broken`` the assumptions that did not hold then.
    """

    node: int
    record: int
    at_us: int
    clock: Clock
    text: str
    state: LocalState
    values: tuple[Any, ...]
    over: int | None = None
    broken: dict[int | str, Broken] = {}

    def is_over_for(self, clock: Clock, place: int) -> bool:
        """Return whether the epoch is over before a state with this clock; ``place`` is the node's place in it."""
        return self.over is not None and clock[place] >= self.over


# pairs of nodes


class AgreementChecker:
    """The epochs of ``nodes``, checked for one agreement, which is at index ``place`` of their ``values``."""

    def __init__(self, agreement: Agreement, place: int, nodes: tuple[int, ...]) -> None:
        self.assertion = agreement
        self.error = ""
        self._place = place
        self._epochs: list[dict[Hashable, dict[Hashable, Epoch]]] = [{} for _ in nodes]
        self._places = {node: place for place, node in enumerate(nodes)}
        self._concerned: set[int] = set()
        self._states = 0
        self._pairs = 0
        self._since: int | None = None

    def value_of(self, state: LocalState) -> KeyedValue:
        """Return the key and the value of a local state."""
        if self.error:
            return None
        try:
            return self.assertion.value_of(state)
        except PropertyError as error:
            self.error = str(error)
            return None

    @property
    def evidence(self) -> Evidence:
        """The states looked at; two nodes must have been concerned, or else they could not have disagreed."""
        if self._since is None:
            who = f"only node {min(self._concerned)}" if self._concerned else "no node"
            return Evidence(f"{who} was ever {self.assertion.concerned}")
        pairs = format_count(self._pairs, "pair")
        states = format_count(self._states, "state")
        return Evidence(
            f"{states} of {len(self._concerned)} nodes, {pairs} of them concurrent",
            self._since,
            self._states,
            "state",
            self._pairs,
        )

    def conflicts(self, epoch: Epoch) -> Iterator[tuple[Epoch, str]]:
        """Yield the epochs that conflict with this one, which begins now: at most one of each other node."""
        keyed_value = epoch.values[self._place]
        if keyed_value is None:
            return
        key, value = keyed_value
        own = self._places[epoch.node]
        self._states += 1
        self._concerned.add(epoch.node)
        if self._since is None and len(self._concerned) > 1:
            self._since = epoch.record
        for place, by_key in enumerate(self._epochs):
            if place == own or key not in by_key:
                continue
            for theirs, last in reversed(by_key[key].items()):
                if last.is_over_for(epoch.clock, place):
                    break
                self._pairs += 1
                if theirs != value:
                    yield last, ""
                    break
        mine = self._epochs[own].setdefault(key, {})
        mine.pop(value, None)
        mine[value] = epoch


class PairChecker:
    """The epochs of ``nodes``, checked for one property of pairs, at index ``place`` of their ``values``."""

    def __init__(self, pairwise: Pairwise, place: int, nodes: tuple[int, ...]) -> None:
        self.assertion = pairwise
        self.error = ""
        self._place = place
        self._epochs: list[list[Epoch]] = [[] for _ in nodes]
        self._places = {node: place for place, node in enumerate(nodes)}
        self._clocks: list[Clock] = [()] * len(nodes)
        self._judged = Occurrences()

    def value_of(self, state: LocalState) -> dict[str, Any] | None:
        """Return the part of a local state that matters: all of it, of a node that is alive."""
        return state.values or None

    @property
    def evidence(self) -> Evidence:
        """The pairs of concurrent states that the property had something to say of."""
        if not self._judged.count:
            return Evidence("no two concurrent states were of the kind that it speaks of")
        text = f"{format_count(self._judged.count, 'pair')} of concurrent states"
        return Evidence(text, self._judged.since, self._judged.count, "pair")

    def conflicts(self, epoch: Epoch) -> Iterator[tuple[Epoch, str]]:
        """Yield the epochs that conflict with this one, which begins now: at most one of each other node."""
        own = self._places[epoch.node]
        self._clocks[own] = epoch.clock
        if epoch.values[self._place] is None or self.error:
            return
        for place, epochs in enumerate(self._epochs):
            for last in reversed(epochs) if place != own else ():
                if last.is_over_for(epoch.clock, place):
                    break
                found = self._judge(last.state, epoch.state)
                if found is not None:
                    self._judged.add(epoch.record)
                if isinstance(found, Counterexample):
                    yield last, found.text
                    break
        mine = self._epochs[own]
        mine.append(epoch)
        if len(mine) % _FORGET_EVERY == 0:
            others = [clock for place, clock in enumerate(self._clocks) if place != own]
            mine[:] = [
                each for each in mine if not all(clock and each.is_over_for(clock, own) for clock in others)
            ]

    def _judge(self, one: LocalState, other: LocalState) -> bool | Counterexample | None:
        try:
            return evaluate(self.assertion, *((one, other) if one.id < other.id else (other, one)))
        except PropertyError as error:
            self.error = str(error)
            return None


_FORGET_EVERY = 64
"""Epochs of a node that are over for all others are forgotten whenever it has so many more."""


# global states


class _StateChecker:
    """A property of global states. ``violation`` is how the last state violates it, or None."""

    def __init__(self, assertion: Assertion) -> None:
        self.assertion = assertion
        self.error = ""
        self.violation: Counterexample | None = None

    def _evaluate(self, *arguments: Any) -> Any:
        if self.error:
            return None
        try:
            return evaluate(self.assertion, *arguments)
        except PropertyError as error:
            self.error = str(error)
            return None


class InvariantChecker(_StateChecker):
    """An invariant, checked in the states passed to ``update``."""

    def __init__(self, invariant: Invariant) -> None:
        super().__init__(invariant)
        self._judged = Occurrences()

    @property
    def evidence(self) -> Evidence:
        """The states that the invariant had something to say of."""
        if not self._judged.count:
            return Evidence("no state was of the kind that it speaks of")
        return Evidence(format_count(self._judged.count, "state"), self._judged.since, self._judged.count, "state")

    def update(self, state: GlobalState, record: int) -> None:
        """Judge the state after this record."""
        found = self._evaluate(state)
        if found is not None:
            self._judged.add(record)
        self.violation = found if isinstance(found, Counterexample) else None


class EventuallyChecker(_StateChecker):
    """A property that must hold a bounded time after the last disturbance; ``is_met`` tells whether it does now.

    ``reported_us`` is the disturbance after which its violation was reported.
    """

    assertion: Eventually

    def __init__(self, eventually: Eventually, within_us: int) -> None:
        super().__init__(eventually)
        self.within_us = within_us
        self.is_met = False
        self.newest_us = 0  # it is required from the start
        self.reported_us: int | None = None
        self._met = Occurrences()
        self._met_us = 0

    @property
    def evidence(self) -> Evidence:
        """The number of times that the property came to hold."""
        bound = f"the bound of {format_us(self.within_us)}"
        verb = self.assertion.met
        who = "the nodes" if verb == "agreed" else "it"
        if not self._met.count:
            return Evidence(f"{who} never {verb}, and {bound} is not over")
        text = f"{verb} {format_count(self._met.count, 'time')}, last at {format_us(round(self._met_us, -3))}"
        if not self.is_met:
            over = (
                f"it was not required for as long as {bound}" if self.assertion.place else f"{bound} is not over"
            )
            text = f"{text}; since then {over}"
        return Evidence(text, self._met.since, self._met.count, "agreement" if verb == "agreed" else "time")

    @property
    def is_owing(self) -> bool:
        """True if the property does not hold now."""
        return not self.is_met

    @property
    def debts(self) -> int:
        """The number of things that are owed: 1 or none."""
        return int(self.is_owing)

    def update(self, state: GlobalState, record: int) -> None:
        """Judge the state after this record."""
        found = self._evaluate(state)
        self.violation = found if isinstance(found, Counterexample) else None
        if self.violation is None:
            self.reported_us = None
        was_met, self.is_met = self.is_met, found is True
        if self.is_met and not was_met:
            self._met.add(max(0, record))
            self._met_us = state.at_us

    def is_overdue(self, at_us: int, disturbed_us: int) -> bool:
        """Return whether a property that does not hold should by now, and note it: once for each disturbance."""
        if at_us - disturbed_us <= self.within_us or self.reported_us == disturbed_us:
            return False
        self.reported_us = disturbed_us
        return True


class LeadsToChecker(_StateChecker):
    """The pending items, each with the time since which it is pending."""

    assertion: LeadsTo

    def __init__(self, leads_to: LeadsTo, within_us: int) -> None:
        super().__init__(leads_to)
        self.within_us = within_us
        self._owed: dict[str, tuple[Counterexample, int]] = {}
        self._reported: dict[str, int] = {}
        self._done = Occurrences()

    @property
    def evidence(self) -> Evidence:
        """The number of items that were pending and then done."""
        count, noun, done = self._done.count, self.assertion.noun, self.assertion.done
        if not count:
            bound = f", and the bound of {format_us(self.within_us)} for a pending one is not over"
            return Evidence(f"no {noun} was {done}{bound if self._owed else ''}")
        return Evidence(f"{format_count(count, noun)} {done} in time", self._done.since, count, noun)

    @property
    def is_owing(self) -> bool:
        """True if an item is pending."""
        return bool(self._owed)

    @property
    def debts(self) -> int:
        """The number of nodes at which items are pending, summed over the items."""
        return sum(max(1, len(item.nodes)) for item, _ in self._owed.values())

    @property
    def newest_us(self) -> int:
        """The time since which the newest item is pending; 0 if none is."""
        return next((since_us for _, since_us in reversed(self._owed.values())), 0)

    def update(self, state: GlobalState, record: int) -> None:
        """Take the pending items of the state after this record."""
        if self.error:
            return
        try:
            owed = {item.text: item for item in owed_items(self.assertion, state)}
        except PropertyError as error:
            self.error = str(error)
            return
        for text in [text for text in self._owed if text not in owed]:
            item, _ = self._owed.pop(text)
            is_done = all(node in state.running for node in item.nodes)  # or else a crash took it away
            if self._reported.pop(text, None) is None and is_done:
                self._done.add(record)
        for text, item in owed.items():
            _, since_us = self._owed.get(text, (item, state.at_us))
            self._owed[text] = item, since_us

    def overdue(self, at_us: int, disturbed_us: int) -> Iterator[Counterexample]:
        """Yield what should be done by now: once for each disturbance."""
        for text, (item, since_us) in self._owed.items():
            owed_us = max(since_us, disturbed_us)
            if at_us - owed_us <= self.within_us:
                return  # the rest are younger
            if self._reported.get(text) != disturbed_us:
                self._reported[text] = disturbed_us
                yield Counterexample(f"{text}, since {format_us(round(since_us, -3))}", item.nodes)


# what has happened


class HistoryChecker(_StateChecker):
    """A property of the history, with its memory."""

    assertion: OverHistory

    def __init__(self, over_history: OverHistory) -> None:
        super().__init__(over_history)
        self._judged = Occurrences()
        self._memory = _WitnessMemory(over_history)

    @property
    def evidence(self) -> Evidence:
        """The changes that the property had something to say of."""
        noun, done = self.assertion.noun, self.assertion.done
        if not self._judged.count:
            return Evidence(f"no {noun} was {done}")
        text = f"{format_count(self._judged.count, noun)} {done}"
        return Evidence(text, self._judged.since, self._judged.count, noun)

    def enter(
        self, before: LocalState, after: LocalState, record: int, at_us: int
    ) -> tuple[tuple[WitnessState, ...], str] | None:
        """Judge the change of a node's state with this record; return its violation: the states, and a text."""
        memory = self._memory
        memory.now = WitnessState(after.id, record, at_us, "")
        found = self._evaluate(memory, before, after)
        if found is not None:
            self._judged.add(record)
        if not isinstance(found, Counterexample):
            return None
        return memory.witness_of(found), found.text


class _WitnessMemory(Memory):
    """A memory that knows the states that were noted, and with which each item was first claimed.

    ``now`` is the state whose change is judged.
    """

    now = WitnessState(0, 0, 0, "")

    def __init__(self, over_history: OverHistory) -> None:
        super().__init__()
        self._states: dict[Hashable, WitnessState] = {}
        self._done = over_history.done if over_history.done != "judged" else "claimed"

    def witness_of(self, found: Counterexample) -> tuple[WitnessState, ...]:
        """Return the states of the past that show a violation; those that it does not name are the present one."""
        states = (self._states.get(key) for key in found.shown_by)
        known = tuple(state for state in states if state is not None)
        if isinstance(found, _SecondClaim):
            return *known, replace(self.now, text=known[0].text)
        return known or (replace(self.now, text="the node that breaks it"),)

    def note(self, key: Hashable, value: Any, by: LocalState, shows: str) -> None:
        super().note(key, value, by, shows)
        self._states[key] = replace(self.now, node=by.id, text=shows)

    def node_of(self, key: Hashable) -> int:
        return self._states[key].node

    def first_claim(self, item: Hashable) -> None:
        self._states[item] = replace(self.now, text=f"the node by which {item} is {self._done}")

    def second_claim(self, item: Hashable) -> Counterexample:
        first = self._states[item]
        when = format_us(round(first.at_us, -3))
        text = (
            f"{item}, {self._done} by node {first.node} at {when}, is {self._done} again by node {self.now.node}"
        )
        return _SecondClaim(text, shown_by=(item,))


class _SecondClaim(Counterexample, frozen=True):
    """A violation that the first claim of an item and the present state show together."""


StateChecker = InvariantChecker | EventuallyChecker | LeadsToChecker
AnyChecker = AgreementChecker | PairChecker | StateChecker | HistoryChecker
