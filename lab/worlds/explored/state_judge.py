"""The verdict on a single explored state, by all promised assertions.

States are judged by what assertions observe of the nodes, by the cut in force, and by what properties of the
history remember. A built-in assertion observes little of a local state: most local states look the same to all of
them. So what they observe is interned as a view class, and each combination of view classes is judged once. A
property of the user's own may observe all fields of a node.
"""

from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.properties.assertions import A2, A4, ASSUMPTION_NUMBERS, ENDS, RAISES, no_failure_yet
from lab.properties.declarations import (
    Agreement,
    Counterexample,
    Declared,
    Eventually,
    Invariant,
    KeyedValue,
    LeadsTo,
    OverHistory,
    Pairwise,
    PropertyError,
    evaluate,
    owed_items,
)
from lab.properties.registry import RunProperties
from lab.properties.states import GlobalState, LocalState, TimelessState
from lab.properties.verdicts import ERROR_IN_CODE
from lab.recording.snapshot import NodeState
from lab.worlds.explored.local_states import LocalStates
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.states import CUT, CUTS, KILLS, MEMORIES, PAUSED, PAUSES, State
from lab.worlds.explored.successors import Successors


class StateVerdict(Struct, gc=False):
    """The verdict on states that look the same; ``states`` is how many there are so far.

    ``violated`` are assertions, each with the assumptions, by number or name, that it needs and that do not hold.
    ``owed`` has a bit for each obligation that is not met, but must be in the end.
    """

    violated: tuple[tuple[str, tuple[int | str, ...]], ...]
    owed: int
    states: int = 0


class Obligation(NamedTuple):
    """A property that must hold in the end, or an ``item`` that it says is pending, to be gone in the end."""

    assertion: str
    item: str = ""


class StateJudge:
    """Judge states of nodes with these ids by the properties of a run.

    ``liveness`` are the liveness properties: the first of A2, A4 and ENDS, and all others. ``obligations`` are all
    that were found, each with its bit; ``met`` are the names of the liveness properties that held, or by which an
    item was pending, in some state.
    """

    def __init__(
        self,
        properties: RunProperties,
        ids: tuple[int, ...],
        locals_: LocalStates,
        moves: Moves,
        successors: Successors,
    ) -> None:
        assertions = properties.assertions
        built_in = next((each for each in (A2, A4, ENDS) if each in assertions), None)
        others = [
            each for each in assertions if isinstance(each, Eventually | LeadsTo) and each not in (A2, A4, ENDS)
        ]
        self.liveness: list[Eventually | LeadsTo] = [*([] if built_in is None else [built_in]), *others]
        self.met: set[str] = set()
        self.obligations: dict[Obligation, int] = {}
        self._settled = A2 if built_in is None else built_in
        self._agreements = [each for each in assertions if isinstance(each, Agreement)]
        self._pairwise = [each for each in assertions if isinstance(each, Pairwise)]
        self._invariants = [each for each in assertions if isinstance(each, Invariant)]
        self._assumptions = properties.assumptions
        self._relies_on = properties.relies_on
        self._assertions = {each.id: each for each in assertions}
        read = {name for each in (*self._invariants, *others) if not each.place for name in each.reads}
        self._reads = tuple(sorted(read - {"status", "coordinator", "group"}))
        is_own = properties.types is not None
        self._needs_past = is_own or no_failure_yet in properties.assumptions
        self._begun: tuple[int, int, int, tuple[int, ...]] = (0, 0, 0, ())
        self._types = properties.types
        self._auxiliary = locals_.auxiliary
        self._ids = ids
        self._locals = locals_
        self._moves = moves
        self._successors = successors
        self._judged = successors.mask(*range(len(ids)), KILLS, CUTS, PAUSES, PAUSED, CUT, MEMORIES)
        self._verdicts: dict[int, StateVerdict] = {}
        self._view_classes: list[int] = []
        self._paused_classes: dict[int, int] = {}
        self._views: list[LocalState] = []
        self._claims: list[tuple[KeyedValue, ...]] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[tuple[int, ...], StateVerdict] = {}
        self._pairs: dict[tuple[str, int, int], bool] = {}
        self._concerned: dict[str, set[int]] = {each.id: set() for each in self._agreements}
        self._spoken_of: set[str] = set()
        self.errors: dict[str, str] = {}

    def begin(self, kills: int, cuts: int, pauses: int, breaks: tuple[int, ...]) -> None:
        """Note the numbers of faults left at the origins, and the assumptions broken from there on."""
        self._begun = kills, cuts, pauses, breaks

    def why_not_judged(self, name: str) -> str:  # noqa: PLR0911 - one for each kind of assertion
        """Return why an assertion was judged in no state so far; empty if it was."""
        if name == RAISES.id:
            return ""
        assertion, memories = self._assertions[name], self._moves.memories
        relied = (self.errors.get(each, "") for each in self._relies_on.get(name, ()) if isinstance(each, str))
        if error := self.errors.get(name) or memories.errors.get(name) or next(filter(None, relied), ""):
            return f"{ERROR_IN_CODE}: {error}"
        match assertion:
            case Agreement() if len(self._concerned[name]) < 2:
                who = "only one node" if self._concerned[name] else "no node"
                return f"{who} was {assertion.concerned} in any state"
            case OverHistory() if name not in memories.judged:
                return f"no {assertion.noun} was {assertion.done} in any state"
            case Pairwise() if name not in self._spoken_of:
                return "no two nodes were in states of the kind that it speaks of"
            case Invariant() if name not in self._spoken_of:
                return "no state was of the kind that it speaks of"
            case LeadsTo() if name not in self.met:
                return f"no {assertion.noun} was pending in any state"
        return "" if assertion.function else "its code is not loaded"

    @property
    def verdicts(self) -> Iterable[StateVerdict]:
        """The verdicts on all states judged so far."""
        return self._known.values()

    def judge(self, packed: int) -> StateVerdict:
        """Return the verdict on a packed state."""
        verdict = self._verdicts.get(packed & self._judged)
        if verdict is None:
            verdict = self._verdicts[packed & self._judged] = self._observe(self._successors.unpack(packed))
        return verdict

    def broken(self, assertion: str, state: State, unmet: tuple[str, ...] = ()) -> tuple[int | str, ...]:
        """Return the assumptions that do not hold, of those that the assertion needs.

        Liveness does not need the absence of cuts and pauses, because it is judged only among nodes that no cut
        separates, while none is paused.
        """
        if assertion == RAISES.id:
            return ()
        _, cuts, pauses = self._past(state)
        is_safety = all(assertion != each.id for each in self.liveness)
        broken = {*self._begun[-1], *((8,) if cuts and is_safety else ()), *((9,) if pauses and is_safety else ())}
        relied = self._relies_on.get(assertion, ASSUMPTION_NUMBERS)
        return tuple(each for each in (*sorted(broken), *unmet) if each in relied)

    def _observe(self, state: State) -> StateVerdict:
        view_classes = self._view_classes
        if len(view_classes) < len(self._locals):
            view_classes += [self._view_class(view) for view in self._locals.views[len(view_classes) :]]
        classes = tuple([view_classes[local] for local in state[: len(self._ids)]])
        if state[PAUSED]:
            classes = self._with_paused(state, classes)
        key = (*classes, state[CUT], state[MEMORIES], *self._past(state))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._judge(classes, state)
        return known

    def _with_paused(self, state: State, classes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the view classes with those of the paused nodes as such."""
        paused = self._moves.pauses.of[state[PAUSED]]
        found = list(classes)
        for place in paused:
            local = state[place]
            known = self._paused_classes.get(local)
            if known is None:
                view = replace(self._locals.views[local], process="paused")
                known = self._paused_classes[local] = self._view_class(view)
            found[place] = known
        return tuple(found)

    def _past(self, state: State) -> tuple[int, int, int]:
        """Return how many kills, cuts and pauses there were before the state; no kills if they do not matter."""
        kills, cuts, pauses, _ = self._begun
        return kills - state[KILLS] if self._needs_past else 0, cuts - state[CUTS], pauses - state[PAUSES]

    def _typed(self, view: NodeState) -> LocalState:
        if self._types is not None:
            return self._types.local_state(view, without=self._auxiliary)
        return LocalState(view.id, view.process, state=view.state)

    def _view_class(self, view: NodeState) -> int:
        state = self._typed(view)
        claims = tuple(self._claim(agreement, state) for agreement in self._agreements)
        for agreement, claim in zip(self._agreements, claims, strict=True):
            if claim is not None:
                self._concerned[agreement.id].add(view.id)
        whole = b"" if self._types is None else msgspec.json.encode(view.state, order="deterministic")
        read = msgspec.json.encode([view.state.get(name) for name in self._reads], order="deterministic")
        observed = (view.id, view.process, view.status, view.coordinator, view.group, claims, read, whole)
        number = self._numbers.setdefault(observed, len(self._views))
        if number == len(self._views):
            self._views.append(state)
            self._claims.append(claims)
        return number

    def _claim(self, agreement: Agreement, state: LocalState) -> KeyedValue:
        """Return the key and the value of a local state; None if the agreement has an error in its code."""
        if agreement.id in self.errors:
            return None
        try:
            return agreement.value_of(state)
        except PropertyError as error:
            self.errors[agreement.id] = str(error)
            return None

    def _judge(self, classes: tuple[int, ...], state: State) -> StateVerdict:
        views = [self._views[observed] for observed in classes]
        whole = TimelessState(dict(zip(self._ids, views, strict=True)), self._types)
        whole.cut = self._moves.cuts.links_of(state[CUT])
        kills, cuts, pauses = self._past(state)
        paused = any(view.process == "paused" for view in views)
        whole.broken = frozenset((*self._begun[-1], *((8,) if whole.cut else ()), *((9,) if paused else ())))
        whole.failures = kills + sum(view.process == "failed" for view in views)
        whole.ever_broken = frozenset((*self._begun[-1], *((8,) if cuts else ()), *((9,) if pauses else ())))
        claims = zip(*(self._claims[observed] for observed in classes), strict=True)
        violated = [each.id for each, made in zip(self._agreements, claims, strict=True) if _differ(made)]
        violated += [each.id for each in self._pairwise if self._has_bad_pair(each, classes)]
        violated += [each.id for each in self._invariants if self._is_violated(each, whole)]
        if any(view.process == "failed" for view in views):
            violated.append(RAISES.id)
        violated += self._moves.memories.violated[state[MEMORIES]]
        # an error violates it, as in a run
        assumptions = self._assumptions
        unmet = tuple(each.id for each in assumptions if self._is_violated(each, whole) or each.id in self.errors)
        owed = 0
        for liveness in self.liveness:
            for obligation in self._owed(liveness, whole, unmet):
                owed |= 1 << self.obligations.setdefault(obligation, len(self.obligations))
        return StateVerdict(tuple((name, self.broken(name, state, unmet)) for name in violated), owed)

    def is_settled(self, state: State) -> bool:
        """Return whether all is done in the state that a cluster without faults must do."""
        views = [self._locals.views[local] for local in state[: len(self._ids)]]
        whole = TimelessState({view.id: self._typed(view) for view in views}, self._types)
        return not list(self._owed(self._settled, whole, ()))

    def _owed(
        self, liveness: Eventually | LeadsTo, state: GlobalState, unmet: tuple[str, ...]
    ) -> Iterator[Obligation]:
        """Yield what a liveness property requires that is not met in the state."""
        # during a cut, A4 is judged among nodes that can reach each other, and A2 not; during a pause, neither is
        is_paused = any(node.process == "paused" for node in state)
        excused = is_paused or (bool(state.cut) and not liveness.despite_cuts)
        if excused or not set(unmet).isdisjoint(self._relies_on.get(liveness.id, ())):
            return
        if isinstance(liveness, Eventually):
            found = self._evaluate(liveness, state)
            if found is True:
                self.met.add(liveness.id)
            elif found is not None:
                yield Obligation(liveness.id)
            return
        for item in self._items(liveness, state):
            self.met.add(liveness.id)
            yield Obligation(liveness.id, item)

    def _items(self, leads_to: LeadsTo, state: GlobalState) -> list[str]:
        """Return the pending items of the state."""
        if leads_to.id in self.errors:
            return []
        try:
            return [item.text for item in owed_items(leads_to, state)]
        except PropertyError as error:
            self.errors[leads_to.id] = str(error)
            return []

    def _is_violated(self, declared: Declared, state: GlobalState) -> bool:
        found = self._evaluate(declared, state)
        if found is not None:
            self._spoken_of.add(declared.id)
        return isinstance(found, Counterexample)

    def _has_bad_pair(self, pairwise: Pairwise, classes: tuple[int, ...]) -> bool:
        return any(self._is_bad_pair(pairwise, one, other) for one, other in combinations(classes, 2))

    def _is_bad_pair(self, pairwise: Pairwise, one: int, other: int) -> bool:
        key = (pairwise.id, one, other)
        known = self._pairs.get(key)
        if known is None:
            states = (self._views[one], self._views[other])
            found = self._evaluate(pairwise, *states) if all(each.values for each in states) else None
            if found is not None:
                self._spoken_of.add(pairwise.id)
            known = self._pairs[key] = isinstance(found, Counterexample)
        return known

    def _evaluate(self, declared: Declared, *arguments: object) -> bool | Counterexample | None:
        if declared.id in self.errors:
            return None
        try:
            return evaluate(declared, *arguments)
        except PropertyError as error:
            self.errors[declared.id] = str(error)
            return None


def _differ(claims: Iterable[KeyedValue]) -> bool:
    """Return whether two nodes have different values for one key."""
    values: dict[Hashable, Hashable] = {}
    return any(values.setdefault(key, value) != value for key, value in filter(None, claims))
