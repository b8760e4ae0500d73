"""Judge a run: records in, verdicts out, in one pass of nearly linear cost.

The judge uses recorded facts only, so it judges a live run in progress, a recording, a simulation and an
explored run alike. Each property has a checker for its kind (``lab.properties.checks``). The states of a node are
divided into epochs, in each of which what matters to the properties of pairs stays the same; ``Causality``
determines which epochs are concurrent. ``Conditions`` tracks which assumptions are broken, and the last
disturbance, after which liveness properties must hold within a bound.

A recording may come from anywhere: impossible records are skipped, and nothing is raised.
"""

from bisect import insort
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.causality import Causality, Clock
from lab.kernel import Fired, Log, Received, Started, Step, Waits, Wrote
from lab.properties.assertions import ASSERTIONS, ASSUMPTION_NUMBERS, RAISES, describe_state
from lab.properties.checks import (
    AgreementChecker,
    AnyChecker,
    Epoch,
    EventuallyChecker,
    HistoryChecker,
    InvariantChecker,
    LeadsToChecker,
    PairChecker,
    StateChecker,
)
from lab.properties.conditions import Conditions
from lab.properties.declarations import (
    Agreement,
    Assertion,
    Assumption,
    Counterexample,
    Eventually,
    Invariant,
    LeadsTo,
    OverHistory,
    Pairwise,
    PropertyError,
    evaluate,
)
from lab.properties.history_verdict import HistoryVerdict
from lab.properties.registry import RunProperties
from lab.properties.states import GlobalState, LocalState, plain_entries
from lab.properties.verdicts import ERROR_IN_CODE, Broken, Evidence, Verdict, Violation, WitnessState, verdict_of
from lab.recording.records import PROCESS_AFTER, Fault, Header, Injected, Process, Record, Routed, Stall
from lab.units import format_us

MOST_KEPT = 1000
"""Beyond this many, only the first violation of each sort is kept with its witness; the rest are counted."""


class _ReportedPair(Struct):
    """The last reported violation of a pair of nodes: the records of the two states, the lower node's first."""

    records: tuple[int, int]
    failure: bool


_NOT_LOADED = "its code is not loaded: name its file with --protocol or --properties"


class Judge:
    """A judge of the records passed to ``observe``, in order, from the header on.

    ``violations`` are those found so far, in the order of the records that show them. The judge checks the
    assertions that the protocol promises, and that no node fails because of an error in its code; ``has_run`` is
    True once a node has made a step. ``within_us``
    is the bound on the time from the last fault until all nodes agree (A2, A4), ``relies_on`` is taken from the
    header; see ``Conditions``.
    """

    def __init__(self, header: Header) -> None:
        info, nodes = header.protocol, header.nodes
        self.violations: list[Violation] = []
        self.number = -1
        self.at_us = 0
        self.has_run = False
        self.within_us = info.settles_within_us or 30 * header.timing.t_us
        properties = RunProperties.of(info)
        self.assertions = {each.id: each for each in (*properties.assertions, RAISES)}
        self.relies_on = properties.relies_on
        if header.members:  # nobody promises anything of nodes of another protocol
            self.relies_on = {name: tuple(dict.fromkeys((1, *on))) for name, on in self.relies_on.items()}
        self._tm_us = header.timing.tm_us
        self._causality = Causality(header.all_nodes)
        self._others = frozenset(header.names)
        self._clients = header.clients
        self._conditions = Conditions(header.timing, header.link, self.within_us, _broken_by_mix(header))
        self.broken_at = self._conditions.broken_at
        self._checkers = _Checkers(properties.assertions, header, self.within_us)
        self._assumptions = properties.assumptions
        self._types = properties.types
        self._views = {node: LocalState(node) for node in nodes}
        self._assumption_errors: dict[str, str] = {}
        self._state = GlobalState(self._views, self._types)
        self._changed = False
        self._changed_fields: set[str] = set()
        self._unmet: list[EventuallyChecker] = []
        self._assumed: dict[str, list[str]] = {}
        self._shown_since: dict[int, tuple[int, int]] = {}
        self._waits = {node: Waits() for node in nodes}
        self._epochs = {node: self._epoch(view, self._values(view)) for node, view in self._views.items()}
        self._in_flight: dict[tuple[int, int], tuple[Clock, int, int]] = {}
        self._copies: dict[tuple[int, int], int] = {}
        self._later_copies: dict[tuple[int, int], int] = {}
        self._reported: dict[tuple[str, int, int], _ReportedPair] = {}
        self._excused: dict[str, bool] = {}
        self._counts: dict[tuple[str, bool], int] = {}
        self._concluded: dict[str, Evidence] = {}

    def conclude(self, history: HistoryVerdict) -> None:
        """Add the verdict on the history of the clients, which is judged as a whole when the run is over.

        It is one more assertion of the run, without any assumption, as if it had been judged all along.
        """
        name = history.assertion
        self.assertions[name] = ASSERTIONS[name]
        self.relies_on = {**self.relies_on, name: ()}
        self._concluded[name] = history.evidence
        if history.violation is not None:
            insort(self.violations, history.violation, key=lambda violation: violation.record)
            self._count(name, True)

    @property
    def decided_us(self) -> int:
        """Time at which the liveness properties are decided; 0 while a fault prevents that."""
        owed = [each for each in self._checkers.bounded if self._is_required(each.assertion)]
        last_us = [max(self._disturbed_us(each.assertion), each.newest_us) + each.within_us for each in owed]
        return max(last_us) + 1 if last_us else 0

    @property
    def late(self) -> Broken | None:
        """The last delay observed beyond its bound without a fault as its cause, or None."""
        return self._conditions.late

    @property
    def stall(self) -> Stall | None:
        """The stall that was the last disturbance, while the bound after it is not over."""
        conditions = self._conditions
        return conditions.stall if self.at_us - conditions.disturbed_us <= self.within_us else None

    @property
    def owing(self) -> frozenset[str]:
        """The assertions that ask for something which has not come yet, and may still come in time."""
        return frozenset(
            name
            for name, checker in self._checkers.by_name.items()
            if isinstance(checker, EventuallyChecker | LeadsToChecker) and checker.is_owing
        )

    @property
    def debts(self) -> int:
        """The number of things that are owed: for each assertion, item and node."""
        return sum(
            checker.debts
            for checker in self._checkers.by_name.values()
            if isinstance(checker, EventuallyChecker | LeadsToChecker)
        )

    @property
    def lasting(self) -> tuple[Broken, ...]:
        """The assumptions that do not hold throughout the run."""
        return _in_order(self._conditions.lasting)

    @property
    def ever_broken(self) -> frozenset[int]:
        """The numbers of the assumptions that did not hold at some record."""
        return self._conditions.ever_broken

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return a verdict for each promised assertion and, if a node failed by an error, for *raises*."""
        found = [name for name in self.assertions if name != RAISES.id or (RAISES.id, True) in self._counts]
        # not all violations are kept, but all are counted
        return tuple(
            replace(
                verdict_of(name, self.violations, self.evidence(name)),
                failures=self._counts.get((name, True), 0),
                excused=self._counts.get((name, False), 0),
            )
            for name in found
        )

    def evidence(self, name: str) -> Evidence:
        """Return what the verdict on an assertion rests on, or why it was not judged."""
        if not self.has_run:
            return Evidence("no node made a step")
        if name == RAISES.id:
            return Evidence("every step", 0)
        if name in self._concluded:
            return self._concluded[name]
        checker = self._checkers.by_name.get(name)
        if checker is None:
            return Evidence(_NOT_LOADED)
        found = Evidence(f"{ERROR_IN_CODE}: {checker.error}") if checker.error else checker.evidence
        if name in self.owing and self.stall is not None and not checker.error:
            why = self.stall.text
            found = replace(found, text=why if found.since is None else f"{found.text}; {why}")
        violation = next((each for each in self.violations if each.assertion == name), None)
        if found.since is None and violation is not None:
            return replace(found, since=violation.record)
        return found

    @property
    def errors(self) -> dict[str, str]:
        """The errors in the code of assertions, which are judged no more from the first on, and of assumptions."""
        found = {name: checker.error for name, checker in self._checkers.by_name.items() if checker.error}
        return {**found, **self._assumption_errors}

    @property
    def not_loaded(self) -> dict[str, str]:
        """Why assertions are not judged whose code is not loaded, by assertion."""
        return {name: _NOT_LOADED for name in self.assertions if name not in {RAISES.id, *self._checkers.by_name}}

    def evidence_at(self, name: str, number: int) -> Evidence:
        """Return the same as it was after an earlier record; its text is then unknown, and empty."""
        found = self.evidence(name)
        if number >= self.number:
            return found
        return Evidence("", found.since if found.since is not None and found.since <= number else None)

    def observe(self, record: Record | None) -> None:
        """Judge the next record; None stands for one that could not be read."""
        self.number += 1
        self._conditions.record = self.number
        if isinstance(record, Step):  # the most frequent kind comes first
            self.at_us = max(self.at_us, record.at_us)
            self._step(record)
        elif record is None or isinstance(record, Header):
            return
        else:
            self.at_us = max(self.at_us, record.at_us)
            self._other(record)
        if self._changed or self._changed_fields or self._conditions.ever_broken is not self._state.ever_broken:
            self._update_state()
        for eventually in self._unmet:
            self._check_eventually(eventually)
        for leads_to in self._checkers.leads_to:
            self._check_leads_to(leads_to)
        if self._conditions.broken and self._settled:
            self._conditions.agreed(self.at_us)

    def _other(self, record: Record) -> None:
        if isinstance(record, Routed):
            self._routed(record)
        elif isinstance(record, Process):
            self._process(record)
        elif isinstance(record, Stall):
            self._conditions.stalled(record, self.at_us)
            self._changed = True
        elif isinstance(record, Fault):
            self._conditions.fault(record, self.at_us)
            self._changed = True
        elif isinstance(record, Injected):
            message = record.message
            self._in_flight[message.source, message.serial] = (self._causality.zero, self.at_us, message.target)

    # what happens

    def _step(self, step: Step) -> None:
        node, given = step.node, step.input
        view = self._views.get(node)
        if view is None:
            self._step_outside(step)
            return
        self.has_run = True
        due_us = step.at_us
        if isinstance(given, Received):
            due_us = self._received(node, given.source, given.serial, step.at_us)
        elif isinstance(given, Fired | Wrote):  # a program has timers of its own
            self._causality.fired(node)
            wait = self._waits[node].of(given.procedure) if isinstance(given, Fired) else None
            if wait is not None and wait.until_us is not None:
                self._conditions.fired(node, max(wait.until_us, wait.since_us), step.at_us)
        if step.changes_procedures:  # for whom one still waits does not matter
            self._waits[node].apply(step)
        if step.changes_state or isinstance(given, Started):
            before = given.stored if isinstance(given, Started) else view.state
            if isinstance(given, Started) and self._types is not None:
                initial = LocalState(
                    node, view.process, state=given.stored, values=self._types.initial(given.stored)
                )
                self._views[node] = initial
            values = step.values_after(before)
            state = {**before, **values}
            for name, entries in step.logged.items():
                log = before.get(name)
                state[name] = (log if isinstance(log, Log) else Log(plain_entries(log))) + entries
            changed = LocalState(node, view.process, state=state, values=self._typed(step, view, values))
            self._enter_history(self._views[node], changed)
            self._enter(changed)
        if step.sent:
            stamp = self._causality.stamp(node, self.number)
            waits = step.stores and self._conditions.has_slow_disk(node, step.at_us)
            for message in step.sent:
                self._in_flight[node, message.serial] = (stamp, due_us if waits else step.at_us, message.target)
                if waits:
                    self._conditions.wait_for_disk(node, message.serial)
        if step.failed:
            error = step.failed.rpartition("\n")[2]
            self._fail(node, step.at_us, error, f"raised {error}")

    def _fail(self, node: int, at_us: int, error: str, state: str) -> None:
        """Note that a node has failed by an error of its own."""
        if self._count(RAISES.id, True):
            failed = WitnessState(node, self.number, at_us, state)
            other_broken = _in_order(self._conditions.broken)
            self.violations.append(
                Violation(RAISES.id, self.number, self.at_us, (failed,), {}, (), error, other_broken)
            )

    def _step_outside(self, step: Step) -> None:
        """Note what a client or a service learns and passes on: it orders the states of the cluster's nodes."""
        if step.node not in self._others:
            return  # no node of this run
        given = step.input
        if isinstance(given, Received):
            self._received(step.node, given.source, given.serial, step.at_us)
        elif isinstance(given, Fired):
            self._causality.fired(step.node)
        if step.sent:
            stamp = self._causality.stamp(step.node, self.number)
            for message in step.sent:
                self._in_flight[step.node, message.serial] = (stamp, step.at_us, message.target)

    def _typed(self, step: Step, view: LocalState, changed: dict[str, Any]) -> dict[str, Any]:
        """Return the typed values of the fields after a step, if a property of the user's own needs them."""
        if self._types is None:
            return {}
        given = step.input
        before = self._types.initial(given.stored) if isinstance(given, Started) else view.values
        values = {**before, **self._types.typed(changed)}
        if step.logged:
            self._types.append(values, step.logged)
        return values

    def _received(self, node: int, source: int, serial: int, at_us: int) -> int:
        """Note that a node takes a message in; return when it should have had it at the latest, or now."""
        flight = self._in_flight.get((source, serial))
        if flight is None:
            self._remove_copy(source, serial)
            return at_us
        stamp, sent_us, _ = flight
        self._causality.received(node, stamp)
        if serial < 0 or at_us - sent_us > self._tm_us:
            if not self._is_later_copy((source, serial)) and self._clients.isdisjoint((source, node)):
                self._conditions.arrived(source, serial, node, sent_us, at_us)
            at_us = min(at_us, sent_us + self._tm_us)
        self._remove_copy(source, serial)
        return at_us

    def _is_later_copy(self, key: tuple[int, int]) -> bool:
        """Return whether the next of a message to end its way is a copy that takes longer than the original.

        The original ends first. What a copy takes is no delay of a message (8): it should not be there at all (3).
        """
        return bool(self._later_copies) and self._later_copies.get(key, 0) > self._copies.get(key, 0)

    def _remove_copy(self, source: int, serial: int) -> None:
        """Note that one copy of the message is no longer in flight."""
        key = (source, serial)
        if self._later_copies and self._is_later_copy(key):
            later = self._later_copies.pop(key)
            if later > 1:
                self._later_copies[key] = later - 1
        copies = self._copies.pop(key, 0) if self._copies else 0
        if not copies:
            self._conditions.gone(key, self.at_us)
            self._in_flight.pop(key, None)
        elif copies > 1:
            self._copies[key] = copies - 1

    def _routed(self, routed: Routed) -> None:
        key = (routed.source, routed.serial)
        self._conditions.routed(routed)
        if routed.fate == "duplicated":
            self._copies[key] = self._copies.get(key, 0) + 1
            if routed.due_us is not None:
                self._later_copies[key] = self._later_copies.get(key, 0) + 1
        elif routed.fate == "dropped":
            self._remove_copy(*key)

    def _process(self, record: Process) -> None:
        if record.node in self._clients:
            return  # what a client does, and when, no node relies on
        self._conditions.process(record, self.at_us)
        node, view = record.node, self._views.get(record.node)
        if view is None or record.event not in PROCESS_AFTER:
            return
        state = {"status": "Down"} if record.event in ("killed", "failed", "started") else view.state
        lives = state is view.state
        process = PROCESS_AFTER[record.event]
        self._enter(LocalState(node, process, state=state, values=view.values if lives else {}))
        if record.has_erred:
            self._fail(node, record.at_us, record.why, "failed")
        if record.event in ("killed", "failed"):
            self._waits[node] = Waits()
            self._causality.crashed(node, self.number)

    # what has happened

    def _enter_history(self, before: LocalState, after: LocalState) -> None:
        """Judge a change of a node's local state by what has happened so far."""
        for history in self._checkers.histories:
            violation = history.enter(before, after, self.number, self.at_us)
            if violation is not None:
                self._report(history.assertion.id, *violation)

    # pairs

    def _enter(self, view: LocalState) -> None:
        """Enter a local state of a node, and begin an epoch if anything that matters has changed."""
        was, ended = self._views[view.id], self._epochs[view.id]
        self._views[view.id] = view
        values = self._values(view)
        same = was.status == view.status and was.coordinator == view.coordinator and was.group == view.group
        goes_on = values == ended.values and same and was.values == view.values
        if not goes_on:
            ended.over, ended.broken = self.number, self._conditions.broken
            epoch = self._epochs[view.id] = self._epoch(view, values)
            for pairs in self._checkers.pairs:
                for other, text in pairs.conflicts(epoch):
                    self._disagree(pairs.assertion.id, other, epoch, text)
        if not goes_on or was.process != view.process:
            self._changed = True
        else:
            changed = [name for name in self._checkers.reads if was.state.get(name) != view.state.get(name)]
            if changed:
                self._changed_fields.update(changed)
                self._shown_since[view.id] = self.number, self.at_us

    def _epoch(self, view: LocalState, values: tuple[Any, ...]) -> Epoch:
        number = max(self.number, 0)  # the first epochs begin before the first record
        stamp = self._causality.stamp(view.id, number)
        return Epoch(view.id, number, self.at_us, stamp, describe_state(view), view, values)

    def _values(self, view: LocalState) -> tuple[Any, ...]:
        return tuple(checker.value_of(view) for checker in self._checkers.pairs)

    def _disagree(self, name: str, older: Epoch, newer: Epoch, text: str) -> None:
        broken, other_broken = self._broken(name, older.broken)
        low, high = (older, newer) if older.node < newer.node else (newer, older)
        reported = self._reported.get((name, low.node, high.node))
        if (
            reported is not None
            and (reported.records[0] == low.record or reported.records[1] == high.record)
            and (reported.failure or broken)
        ):
            return  # a violation with one of these states was reported, and this one is no worse
        self._reported[name, low.node, high.node] = _ReportedPair((low.record, high.record), not broken)
        if self._count(name, not broken):
            states = (self._state_of(older, older.text), self._state_of(newer, newer.text))
            text = text or " while ".join(f"node {state.node} is {state.text}" for state in states)
            clocks = zip(self._causality.nodes, map(max, older.clock, newer.clock), strict=True)
            cut = {node: record for node, record in clocks if node in self._views}
            self.violations.append(
                Violation(name, self.number, self.at_us, states, cut, broken, text, other_broken)
            )

    def _report(self, name: str, states: tuple[WitnessState, ...], text: str) -> None:
        broken, other_broken = self._broken(name, {})
        if self._count(name, not broken):
            self.violations.append(
                Violation(name, self.number, self.at_us, states, {}, broken, text, other_broken)
            )

    def _state_of(self, epoch: Epoch, text: str) -> WitnessState:
        return WitnessState(epoch.node, epoch.record, epoch.at_us, text)

    def _broken(self, name: str, before: dict[int | str, Broken]) -> tuple[tuple[Broken, ...], tuple[Broken, ...]]:
        """Return the assumptions broken now or ``before``: those on which the assertion relies, and the others."""
        broken = {**before, **self._conditions.broken}
        forged, wiped = self._conditions.forged, self._conditions.wiped
        if self.assertions[name].marked:
            broken |= {each: why for each, why in ((3, forged), (4, wiped)) if why is not None}
        self._add_broken_by_late_messages(broken)
        relied = self.relies_on.get(name, ASSUMPTION_NUMBERS)
        if forged is not None:
            relied = (*relied, 3)  # a protocol that does not rely on 3 tolerates copies, not forgeries
        matter = {each: why for each, why in broken.items() if each in relied}
        others: dict[int | str, Broken] = {
            each: why for each, why in broken.items() if each not in relied and isinstance(each, int)
        }
        return _in_order(matter), _in_order(others)

    def _add_broken_by_late_messages(self, broken: dict[int | str, Broken]) -> None:
        """Add the assumptions that messages which are overdue break: each by the oldest of them."""
        for (source, serial), (stamp, sent_us, target) in self._in_flight.items():
            in_flight_us = self.at_us - sent_us
            if in_flight_us <= self._tm_us or (8 in broken and 9 in broken):
                break  # in the order sent: the rest are younger
            if self._is_later_copy((source, serial)):
                continue
            assumption = self._conditions.overdue(source, serial, target, sent_us, self.at_us)
            if assumption is None or assumption in broken:
                continue
            if target in self._views and self._views[target].process == "running":
                duration = format_us(round(in_flight_us, -3))
                why = f"a message of {source} to {target} has been in flight for {duration}"
                broken[assumption] = Broken(assumption, why, stamp[self._causality.place[source]])

    # global states

    def _update_state(self) -> None:
        """Judge the global state after a record that changed it."""
        state, conditions = self._state, self._conditions
        only = set() if self._changed or conditions.ever_broken is not state.ever_broken else self._changed_fields
        self._changed, self._changed_fields = False, set()
        state.refresh()
        state.at_us, state.cut = self.at_us, conditions.cut
        state.broken = frozenset(each for each in conditions.broken if isinstance(each, int))
        state.ever_broken, state.failures = conditions.ever_broken, conditions.failures
        for assumption in self._assumptions:
            conditions.assume(assumption.id, self._violation_of(assumption, state), self.at_us)
        for checker in self._checkers.of_states:
            if not only or not only.isdisjoint(checker.assertion.reads):
                checker.update(state, self.number)
        self._unmet = [each for each in self._checkers.eventually if each.violation is not None]
        for invariant in self._checkers.invariants:
            name, violation = invariant.assertion.id, invariant.violation
            if violation is None:
                self._excused.pop(name, None)
                continue
            is_excused = bool(self._broken(name, {})[0])
            if self._excused.get(name) is None or (self._excused[name] and not is_excused):
                self._excused[name] = is_excused
                self._report(name, self._witness(violation), violation.text)

    def _witness(self, violation: Counterexample) -> tuple[WitnessState, ...]:
        """Return the states that show a violation: those of the nodes it names, or of all that are alive."""
        named = [node for node in violation.nodes if node in self._epochs]
        return tuple(map(self._witness_of, named or self._state.nodes))

    def _witness_of(self, node: int) -> WitnessState:
        """Return the present state of a node, from the record on that changed what properties of states read."""
        epoch = self._epochs[node]
        record, at_us = self._shown_since.get(node, (-1, 0))
        if record <= epoch.record:
            return self._state_of(epoch, epoch.text)
        return WitnessState(node, record, at_us, describe_state(self._views[node]))

    def _violation_of(self, assumption: Assumption, state: GlobalState) -> str | None:
        """Return how a state violates an assumption of the user's own; None if it holds. An error violates it."""
        try:
            found = evaluate(assumption, state)
        except PropertyError as error:
            self._assumption_errors.setdefault(assumption.id, str(error))
            return str(error)
        return found.text if isinstance(found, Counterexample) else None

    # liveness

    def _is_required(self, assertion: Eventually | LeadsTo) -> bool:
        conditions = self._conditions
        at_rest = conditions.apart if assertion.despite_cuts else conditions.calm
        return at_rest and conditions.unmet.isdisjoint(self._own_assumptions(assertion))

    def _disturbed_us(self, assertion: Assertion) -> int:
        """Return the time since which the assertion is required, if it is."""
        conditions = self._conditions
        met_us = (conditions.met_us.get(each, 0) for each in self._own_assumptions(assertion))
        return max(conditions.disturbed_us, *met_us, 0)

    def _own_assumptions(self, assertion: Assertion) -> list[str]:
        known = self._assumed.get(assertion.id)
        if known is None:
            known = [each for each in self.relies_on.get(assertion.id, ()) if isinstance(each, str)]
            self._assumed[assertion.id] = known
        return known

    def _check_eventually(self, checker: EventuallyChecker) -> None:
        violation, assertion = checker.violation, checker.assertion
        if violation is None or not self._is_required(assertion):
            return
        disturbed_us = self._disturbed_us(assertion)
        if checker.is_overdue(self.at_us, disturbed_us):
            text = f": {violation.text}"
            if not assertion.place:
                described = "; ".join(f"{state.node} {state.text}" for state in self._witness(violation))
                text = f" {violation.text}: {described}"
            passed = format_us(round(self.at_us - disturbed_us, -3))
            is_at_start = not self._conditions.is_struck and disturbed_us == self._conditions.disturbed_us
            disturbance = "start" if is_at_start else "last fault"
            self._add_overdue(assertion, violation, f"{passed} after the {disturbance}{text}")

    def _check_leads_to(self, checker: LeadsToChecker) -> None:
        assertion = checker.assertion
        if self._is_required(assertion):
            for violation in checker.overdue(self.at_us, self._disturbed_us(assertion)):
                self._add_overdue(assertion, violation, violation.text)

    def _add_overdue(self, assertion: Assertion, violation: Counterexample, text: str) -> None:
        """Add a violation of liveness: for as long as the bound nothing was broken, so nothing excuses it now.

        Only what a wipe destroyed may be missed for good.
        """
        if assertion.marked or self._conditions.lasting:
            self._report(assertion.id, self._witness(violation), text)
        elif self._count(assertion.id, True):
            # only a cut can still break an assumption: all others have held for long enough
            broken = _in_order(self._conditions.broken) if self._conditions.cut else ()
            states = self._witness(violation)
            self.violations.append(Violation(assertion.id, self.number, self.at_us, states, {}, (), text, broken))

    @property
    def _settled(self) -> bool:
        """True if no election and no transaction is in progress."""
        settling = [each for each in self._checkers.leads_to if each.assertion.settles]
        if not (self._checkers.eventually or settling):
            return False
        return not self._unmet and not any(each.is_owing for each in settling)

    # counting

    def _count(self, name: str, failure: bool) -> bool:
        """Count a violation; return whether to keep it with its witness."""
        count = self._counts[name, failure] = self._counts.get((name, failure), 0) + 1
        return count == 1 or len(self.violations) < MOST_KEPT


def _broken_by_mix(header: Header) -> dict[int | str, Broken]:
    """Return assumption 1 if not all nodes of the cluster execute the same protocol."""
    return {1: Broken(1, header.title, 0)} if header.members else {}


def _in_order(broken: dict[int | str, Broken]) -> tuple[Broken, ...]:
    return tuple(broken[each] for each in sorted(broken, key=lambda each: (isinstance(each, str), each)))


class _Checkers:
    """The checkers of a run's assertions, by kind."""

    def __init__(self, assertions: Iterable[Assertion], header: Header, settles_us: int) -> None:
        nodes, timing, parameters = header.nodes, header.timing, header.protocol.parameters
        self.pairs: list[AgreementChecker | PairChecker] = []
        self.invariants: list[InvariantChecker] = []
        self.eventually: list[EventuallyChecker] = []
        self.leads_to: list[LeadsToChecker] = []
        self.histories: list[HistoryChecker] = []
        for each in assertions:
            match each:
                case Agreement():
                    self.pairs.append(AgreementChecker(each, len(self.pairs), nodes))
                case Pairwise():
                    self.pairs.append(PairChecker(each, len(self.pairs), nodes))
                case Invariant():
                    self.invariants.append(InvariantChecker(each))
                case Eventually():
                    self.eventually.append(EventuallyChecker(each, each.within_us(timing, parameters, settles_us)))
                case LeadsTo():
                    self.leads_to.append(LeadsToChecker(each, each.within_us(timing, parameters, settles_us)))
                case OverHistory():
                    self.histories.append(HistoryChecker(each))
        self.of_states: list[StateChecker] = [*self.eventually, *self.leads_to, *self.invariants]
        read = {name for each in self.of_states for name in each.assertion.reads}
        self.reads = tuple(sorted(read - {"status", "coordinator", "group"}))
        """The fields that properties of states read, beside those of which a change always begins an epoch."""
        checkers: list[AnyChecker] = [*self.pairs, *self.histories, *self.of_states]
        self.by_name = {each.assertion.id: each for each in checkers}
        self.bounded: list[EventuallyChecker | LeadsToChecker] = [*self.eventually, *self.leads_to]
