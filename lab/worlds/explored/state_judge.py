"""The verdict on a single explored state, by all promised assertions.

States are judged by what assertions observe of the nodes, by the cut in force, and by what properties of the
history remember. A built-in assertion observes little of a local state: most local states look the same to all of
them. So what they observe is interned as a view class, and each combination of view classes is judged once. A
property of the user's own may observe all fields of a node.
"""

from collections.abc import Hashable
from itertools import combinations
from typing import NamedTuple

import msgspec

from lab.properties.assertions import A2, A4, AUDITED, BUILT_IN_ASSUMPTIONS, ENDS, RAISES
from lab.properties.declarations import (
    Agreement,
    Assertion,
    Counterexample,
    Declared,
    Eventually,
    Invariant,
    LeadsTo,
    OverHistory,
    Pairwise,
    PropertyError,
    evaluate,
)
from lab.properties.ledger_audit import LedgerAudit, audited_fields, has_decision, is_open
from lab.properties.registry import RunProperties
from lab.properties.states import GlobalState, LocalState
from lab.recording.snapshot import NodeState
from lab.worlds.explored.local_states import LocalStates
from lab.worlds.explored.moves import Moves
from lab.worlds.explored.states import CUT, CUTS, KILLS, MEMORIES, State


class StateVerdict(NamedTuple):
    """The verdict on a state. ``violated`` are assertions, ``unmet`` assumptions by name.

    ``owed`` has a bit for each liveness property that does not hold, but must in the end; ``met`` for each that
    holds.
    """

    violated: tuple[str, ...]
    unmet: tuple[str, ...]
    owed: int
    met: int


class StateJudge:
    """Judge states of nodes with these ids by the properties of a run.

    ``liveness`` are the liveness properties: the first of A2, A4 and ENDS, and all others.
    """

    def __init__(
        self,
        properties: RunProperties,
        ids: tuple[int, ...],
        locals_: LocalStates,
        moves: Moves,
    ) -> None:
        assertions = properties.assertions
        built_in = next((each for each in (A2, A4, ENDS) if each in assertions), None)
        others = [each for each in assertions if isinstance(each, Eventually) and each not in (A2, A4)]
        self.liveness: list[Assertion] = [*([] if built_in is None else [built_in]), *others]
        self._required: list[Assertion] = self.liveness or [A2]
        self._agreements = [each for each in assertions if isinstance(each, Agreement)]
        self._pairwise = [each for each in assertions if isinstance(each, Pairwise)]
        self._invariants = [each for each in assertions if isinstance(each, Invariant)]
        self._assumptions = properties.assumptions
        self._relies_on = properties.relies_on
        self._assertions = {each.id: each for each in assertions}
        self._audited_names = [each.id for each in assertions if each.id in AUDITED]
        read = {name for each in (*self._invariants, *others) if not each.place for name in each.reads}
        self._reads = tuple(sorted(read - {"status", "coordinator", "group"}))
        is_own = properties.types is not None
        self._needs_past = is_own or not set(properties.assumptions).isdisjoint(BUILT_IN_ASSUMPTIONS)
        self._begun: tuple[int, int, tuple[int, ...]] | None = None
        self._first: dict[int, NodeState] = {}
        self._types = properties.types
        self._ids = ids
        self._locals = locals_
        self._moves = moves
        self._view_classes: list[int] = []
        self._views: list[LocalState] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[tuple[int, ...], StateVerdict] = {}
        self._pairs: dict[tuple[str, int, int], bool] = {}
        self._concerned: dict[str, set[int]] = {each.id: set() for each in self._agreements}
        self._judged: set[str] = set()
        self.errors: dict[str, str] = {}
        self._is_decided = False

    def begin(self, kills: int, cuts: int, breaks: tuple[int, ...]) -> None:
        """Note the numbers of kills and cuts left at the origins, and the assumptions broken from there on."""
        self._begun = kills, cuts, breaks

    def why_not_judged(self, name: str) -> str:  # noqa: PLR0911 - one for each kind of assertion
        """Return why an assertion was judged in no state so far; empty if it was."""
        if name == RAISES.id:
            return ""
        assertion, memories = self._assertions[name], self._moves.memories
        if error := self.errors.get(name) or memories.errors.get(name):
            return f"an error in its code: {error}"
        match assertion:
            case Agreement() if len(self._concerned[name]) < 2:
                who = "only one node" if self._concerned[name] else "no node"
                return f"{who} was {assertion.concerned} in any state"
            case OverHistory() if name not in memories.judged:
                return f"no {assertion.noun} was {assertion.done} in any state"
            case Pairwise() if name not in self._judged:
                return "no two nodes were in states of the kind that it speaks of"
            case Invariant() if name not in self._judged:
                return "no state was of the kind that it speaks of"
            case LeadsTo():
                return "exploration does not follow what is owed; lab check does"
            case _ if name in self._audited_names and not self._is_decided:
                return "no transaction was decided in any state"
        return "" if assertion.function or name in AUDITED else "its code is not loaded"

    def judge(self, state: State) -> StateVerdict:
        view_classes = self._view_classes
        if len(view_classes) < len(self._locals):
            view_classes += [self._view_class(view) for view in self._locals.views[len(view_classes) :]]
        classes = tuple([view_classes[local] for local in state[: len(self._ids)]])
        past = self._past(state) if self._needs_past else (0, 0)
        key = (*classes, state[CUT], *past)
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._known[key] = self._judge(classes, state[CUT], past)
        remembered = self._moves.memories.violated[state[MEMORIES]]
        return verdict._replace(violated=(*verdict.violated, *remembered)) if remembered else verdict

    def _past(self, state: State) -> tuple[int, int]:
        """Return how many kills and cuts there were before the state."""
        if self._begun is None:
            return 0, 0
        kills, cuts, _ = self._begun
        return kills - state[KILLS], cuts - state[CUTS]

    def _view_class(self, view: NodeState) -> int:
        state = LocalState(view.id, view.process, state=view.state)
        if self._types is not None:
            state = self._types.local_state(view)
        claims = tuple(agreement.value_of(state) for agreement in self._agreements)
        for agreement, claim in zip(self._agreements, claims, strict=True):
            if claim is not None:
                self._concerned[agreement.id].add(view.id)
        self._is_decided = self._is_decided or bool(self._audited_names and has_decision(view.state))
        ledger = msgspec.json.encode(audited_fields(view.state)) if self._audited_names else b""
        whole = b"" if self._types is None else msgspec.json.encode(view.state, order="deterministic")
        read = msgspec.json.encode([view.state.get(name) for name in self._reads], order="deterministic")
        observed = (view.id, view.process, view.status, view.coordinator, view.group, claims, ledger, read, whole)
        number = self._numbers.setdefault(observed, len(self._views))
        if number == len(self._views):
            self._views.append(state)
            if view.process == "running":
                self._first.setdefault(view.id, view)
        return number

    def _judge(self, classes: tuple[int, ...], cut: int, past: tuple[int, int]) -> StateVerdict:
        views = [self._views[observed] for observed in classes]
        state = GlobalState(dict(zip(self._ids, views, strict=True)), self._types)
        state.cut = self._moves.cuts.links_of(cut)
        kills, cuts = past
        state.failures = kills + sum(view.process == "failed" for view in views)
        if self._begun is not None:
            state.ever_broken = frozenset((*self._begun[-1], *((8,) if cuts else ())))
        violated = [
            each.id
            for each in self._agreements
            if any(each.disagree(one, other) for one, other in combinations(views, 2))
        ]
        violated += [each.id for each in self._pairwise if self._has_bad_pair(each, classes)]
        violated += [each.id for each in self._invariants if self._is_violated(each, state)]
        if any(view.process == "failed" for view in views):
            violated.append(RAISES.id)
        if self._audited_names:
            violated += self._audited(views)
        unmet = tuple(each.id for each in self._assumptions if self._is_violated(each, state))
        owed = met = 0
        for place, required in enumerate(self._required):
            # during a cut, A4 is judged among nodes that can reach each other, and A2 not at all
            excused = bool(cut) and not getattr(required, "despite_cuts", False)
            if excused or not set(unmet).isdisjoint(self._relies_on.get(required.id, ())):
                continue
            holds = self._holds(required, state)
            owed |= (holds is False) << place
            met |= (holds is True) << place
        return StateVerdict(tuple(violated), unmet, owed, met)

    def _holds(self, required: Assertion, state: GlobalState) -> bool | None:
        """Return whether a liveness property holds in the state; None if it has nothing to say of it."""
        if required is ENDS:
            whole = not state.cut and len(state.running) == len(state.ids)
            is_running = bool(state.running)
            return not (whole and any(is_open(view.state) for view in state)) if is_running else None
        found = self._evaluate(required, state)
        return None if found is None else found is True

    def _is_violated(self, declared: Declared, state: GlobalState) -> bool:
        found = self._evaluate(declared, state)
        if found is not None:
            self._judged.add(declared.id)
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
                self._judged.add(pairwise.id)
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

    def _audited(self, views: list[LocalState]) -> list[str]:
        """Return the assertions that a ledger audit violates.

        The audit enters each node's first view, and then its present one.
        """
        ledger = LedgerAudit()
        for view in (*self._first.values(), *views):
            ledger.enter(view.id, view.state.get("log", ()), view.state, 0, 0)
        found = {violation.assertion for violation in ledger.violations()}
        return [name for name in self._audited_names if name in found]
