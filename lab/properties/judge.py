"""Judge a run: records in, verdicts out, in one pass of nearly linear cost.

The judge uses recorded facts only, so it judges a live run in progress, a recording, a simulation and an explored
run alike. The states of a node are divided into epochs, in each of which its values for all promised agreements
stay the same. ``Causality`` determines which epochs are concurrent, ``PairChecker`` which of these violate an
agreement, ``Conditions`` which assumptions are broken, and ``Liveness`` which nodes must agree, as a bounded
response to the last disturbance. ``UniquenessChecker`` finds second claims, ``LedgerAudit`` audits the logs and
accounts of all nodes.

A recording may come from anywhere: impossible records are skipped, and nothing is raised.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.causality import Causality, Clock
from lab.kernel import Fired, Received, Started, Step, Wait
from lab.properties.assertions import A2, A4, AGREEMENTS, ASSERTIONS, AUDITED, ENDS, RAISES, UNIQUENESS
from lab.properties.checks import Epoch, KeyedValue, Liveness, PairChecker, UniquenessChecker, describe_state
from lab.properties.conditions import Conditions
from lab.properties.ledger_audit import LedgerAudit
from lab.properties.verdicts import Broken, Evidence, LocalState, Occurrences, Verdict, Violation, verdict_of
from lab.recording.records import PROCESS_AFTER, Fault, Header, Injected, Process, Record, Routed
from lab.recording.snapshot import NodeState
from lab.units import format_count, format_us

MOST_KEPT = 1000
"""Beyond this many, only the first violation of each sort is kept with its witness; the rest are counted."""


class _ReportedPair(Struct):
    """The last reported violation of a pair of nodes: the records of the two states, the lower node's first."""

    records: tuple[int, int]
    failure: bool


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
        self.within_us = info.settles_within_us or 30 * header.timing.t_us
        self._promised = [name for name in ASSERTIONS if name in info.promises and name != RAISES.id]
        # ENDS is judged only when all other assumptions have long held
        self.relies_on = {ENDS.id: (4,), **info.relies_on}
        promised = next((each for each in (A2, A4) if each.id in self._promised), None)
        self._liveness = None if promised is None else Liveness(promised)
        self._tm_us = header.timing.tm_us
        self._causality = Causality(nodes)
        self._conditions = Conditions(header.timing.tm_us, header.timing.tp_us, self.within_us)
        self.broken_at = self._conditions.broken_at
        self._agreements = [AGREEMENTS[name] for name in self._promised if name in AGREEMENTS]
        self._pairs = [PairChecker(agreement, place, nodes) for place, agreement in enumerate(self._agreements)]
        self._uniqueness = UniquenessChecker(UNIQUENESS[name] for name in self._promised if name in UNIQUENESS)
        self._audit = LedgerAudit() if any(name in AUDITED for name in self._promised) else None
        self._views = {node: NodeState(node) for node in nodes}
        self._waits: dict[int, tuple[Wait, ...]] = dict.fromkeys(nodes, ())
        self._epochs = {node: self._epoch(view, self._values(view)) for node, view in self._views.items()}
        self._in_flight: dict[tuple[int, int], tuple[Clock, int, int]] = {}
        self._copies: dict[tuple[int, int], int] = {}
        self._reported: dict[tuple[str, int, int], _ReportedPair] = {}
        self._disagreeing: list[NodeState] = []
        self._late_since_us: int | None = None
        self._counts: dict[tuple[str, bool], int] = {}
        self.has_run = False
        self._agrees = False
        self._agreed = Occurrences()
        self._agreed_us = 0

    @property
    def decided_us(self) -> int:
        """Time at which the liveness properties are decided; 0 while a fault prevents that."""
        last_us = []
        if self._liveness is not None and self._at_rest:
            last_us.append(self._conditions.disturbed_us)
        if self._audit is not None and self._whole:
            last_us.append(max(self._conditions.disturbed_us, self._audit.newest_us))
        return max(last_us) + self.within_us + 1 if last_us else 0

    @property
    def late(self) -> Broken | None:
        """The last delay observed beyond its bound without a fault as its cause, or None."""
        return self._conditions.late

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return a verdict for each promised assertion and, if a node failed by an error, for *raises*."""
        found = [*self._promised, *([RAISES.id] if (RAISES.id, True) in self._counts else [])]
        # not all violations are kept, but all are counted
        return tuple(
            replace(
                verdict_of(name, self.violations, self.evidence(name)),
                failures=self._counts.get((name, True), 0),
                outside=self._counts.get((name, False), 0),
            )
            for name in found
        )

    def evidence(self, name: str) -> Evidence:
        """Return what the verdict on an assertion rests on, or why it was not judged."""
        if not self.has_run:
            return Evidence("no node made a step")
        if name == RAISES.id:
            return Evidence("every step", 0)
        pairs = next((each for each in self._pairs if each.agreement.id == name), None)
        if pairs is not None:
            found = pairs.evidence
        elif name in UNIQUENESS:
            found = self._uniqueness.evidence(UNIQUENESS[name])
        elif name in AUDITED and self._audit is not None:
            found = self._audit.evidence(name)
        else:
            found = self._evidence_of_agreement()
        return found

    def evidence_at(self, name: str, number: int) -> Evidence:
        """Return the same as it was after an earlier record; its text is then unknown, and empty."""
        found = self.evidence(name)
        if number >= self.number:
            return found
        return Evidence("", found.since if found.since is not None and found.since <= number else None)

    def _evidence_of_agreement(self) -> Evidence:
        bound = f"the bound of {format_us(self.within_us)}"
        if not self._agreed.count:
            return Evidence(f"the nodes never agreed, and {bound} is not over")
        text = (
            f"agreed {format_count(self._agreed.count, 'time')}, last at {format_us(round(self._agreed_us, -3))}"
        )
        text = text if self._agrees else f"{text}; since then {bound} is not over"
        return Evidence(text, self._agreed.since, self._agreed.count, "agreement")

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
        if self._liveness is not None:
            self._check_liveness(self._liveness)
        if self._audit is not None:
            self._check_ledgers(self._audit)
        if self._conditions.broken and self._settled:
            self._conditions.agreed(self.at_us)

    def _other(self, record: Record) -> None:
        if isinstance(record, Routed):
            self._routed(record)
        elif isinstance(record, Process):
            self._process(record)
        elif isinstance(record, Fault):
            self._conditions.fault(record, self.at_us)
            self._update_disagreeing()
        elif isinstance(record, Injected):
            message = record.message
            self._in_flight[message.source, message.serial] = (self._causality.zero, self.at_us, message.target)

    # what happens

    def _step(self, step: Step) -> None:
        node, given = step.node, step.input
        view = self._views.get(node)
        if view is None:
            return  # no node of this run
        self.has_run = True
        if isinstance(given, Received):
            self._received(node, given.source, given.serial, step.at_us)
        elif isinstance(given, Fired):
            self._causality.fired(node)
            for wait in self._waits[node]:
                if wait.procedure == given.procedure and wait.until_us is not None:
                    self._conditions.fired(node, wait.until_us, step.at_us)
        self._waits[node] = step.waits
        if step.changes_state or isinstance(given, Started):
            before = given.stored if isinstance(given, Started) else view.state
            state = {**before, **step.stored, **step.changed}  # logged entries go to the audit once, below
            self._enter(NodeState(node, view.process, state=state))
            if self._audit is not None:
                self._audit.enter(node, step.logged.get("log", ()), state, self.number, self.at_us)
        if step.sent:
            stamp = self._causality.stamp(node, self.number)
            for message in step.sent:
                self._in_flight[node, message.serial] = (stamp, step.at_us, message.target)
        if step.failed and self._count(RAISES.id, True):
            error = step.failed.rpartition("\n")[2]
            failed = LocalState(node, self.number, step.at_us, f"raised {error}")
            other_broken = _in_order(self._conditions.broken)
            self.violations.append(
                Violation(RAISES.id, self.number, self.at_us, (failed,), {}, (), error, other_broken)
            )

    def _received(self, node: int, source: int, serial: int, at_us: int) -> None:
        flight = self._in_flight.get((source, serial))
        if flight is not None:
            self._causality.received(node, flight[0])
            self._conditions.arrived(source, serial, node, flight[1], at_us)
        self._remove_copy(source, serial)

    def _remove_copy(self, source: int, serial: int) -> None:
        """Note that one copy of the message is no longer in flight."""
        key = (source, serial)
        copies = self._copies.pop(key, 0) if self._copies else 0
        if not copies:
            self._conditions.gone(source, serial, self.at_us)
            self._in_flight.pop(key, None)
        elif copies > 1:
            self._copies[key] = copies - 1

    def _routed(self, routed: Routed) -> None:
        key = (routed.source, routed.serial)
        self._conditions.routed(routed)
        if routed.fate == "duplicated":
            self._copies[key] = self._copies.get(key, 0) + 1
        elif routed.fate == "dropped":
            self._remove_copy(*key)

    def _process(self, record: Process) -> None:
        self._conditions.process(record, self.at_us)
        node, view = record.node, self._views.get(record.node)
        if view is None or record.event not in PROCESS_AFTER:
            return
        state = {"status": "Down"} if record.event in ("killed", "failed", "started") else view.state
        self._enter(NodeState(node, PROCESS_AFTER[record.event], state=state))
        if record.event in ("killed", "failed"):
            self._waits[node] = ()
            self._causality.crashed(node, self.number)

    # pairs

    def _enter(self, view: NodeState) -> None:
        """Enter a local state of a node, and begin an epoch if anything that matters has changed."""
        was, ended = self._views[view.id], self._epochs[view.id]
        self._views[view.id] = view
        for name, states, text in self._uniqueness.second(was, view, self.number, self.at_us):
            self._report(name, states, text)
        values = self._values(view)
        same = was.status == view.status and was.coordinator == view.coordinator and was.group == view.group
        goes_on = values == ended.values and same
        if not goes_on:
            ended.over, ended.broken = self.number, self._conditions.broken
            epoch = self._epochs[view.id] = self._epoch(view, values)
            for pairs in self._pairs:
                for other in pairs.conflicts(epoch):
                    self._disagree(pairs.agreement.id, other, epoch)
        if not goes_on or was.process != view.process:
            self._update_disagreeing()

    def _epoch(self, view: NodeState, values: tuple[KeyedValue, ...]) -> Epoch:
        number = max(self.number, 0)  # the first epochs begin before the first record
        stamp = self._causality.stamp(view.id, number)
        return Epoch(view.id, number, self.at_us, stamp, describe_state(view), values)

    def _values(self, view: NodeState) -> tuple[KeyedValue, ...]:
        return tuple(agreement.value_of(view) for agreement in self._agreements)

    def _disagree(self, name: str, older: Epoch, newer: Epoch) -> None:
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
            states = (self._state(older, older.text), self._state(newer, newer.text))
            text = " while ".join(f"node {state.node} is {state.text}" for state in states)
            cut = dict(zip(self._causality.nodes, map(max, older.clock, newer.clock), strict=True))
            self.violations.append(
                Violation(name, self.number, self.at_us, states, cut, broken, text, other_broken)
            )

    def _report(self, name: str, states: tuple[LocalState, ...], text: str) -> None:
        broken, other_broken = self._broken(name, {})
        if self._count(name, not broken):
            self.violations.append(
                Violation(name, self.number, self.at_us, states, {}, broken, text, other_broken)
            )

    def _state(self, epoch: Epoch, text: str) -> LocalState:
        return LocalState(epoch.node, epoch.record, epoch.at_us, text)

    def _broken(self, name: str, before: dict[int, Broken]) -> tuple[tuple[Broken, ...], tuple[Broken, ...]]:
        """Return the assumptions broken now or ``before``: those on which the assertion relies, and the others."""
        broken = {**before, **self._conditions.broken}
        forged, wiped = self._conditions.forged, self._conditions.wiped
        if ASSERTIONS[name].marked:
            broken |= {each: why for each, why in ((3, forged), (4, wiped)) if why is not None}
        for overdue in self._overdue():
            broken.setdefault(overdue.assumption, overdue)
        relied = self.relies_on.get(name, tuple(broken))
        if forged is not None:
            relied = (*relied, 3)  # a protocol that does not rely on 3 tolerates copies, not forgeries
        matter = {each: why for each, why in broken.items() if each in relied}
        return _in_order(matter), _in_order({each: why for each, why in broken.items() if each not in relied})

    def _overdue(self) -> Iterator[Broken]:
        """Yield the assumptions broken by messages that are overdue."""
        for (source, serial), (stamp, sent_us, target) in self._in_flight.items():
            in_flight_us = self.at_us - sent_us
            if in_flight_us <= self._tm_us:
                break  # in the order sent: the rest are younger
            broken = self._conditions.overdue(source, serial, target, sent_us, self.at_us)
            if broken is not None and target in self._views and self._views[target].process == "running":
                duration = format_us(round(in_flight_us, -3))
                why = f"a message of {source} to {target} has been in flight for {duration}"
                yield Broken(broken, why, stamp[self._causality.place[source]])

    # liveness

    @property
    def _at_rest(self) -> bool:
        assert self._liveness is not None
        return self._conditions.apart if self._liveness.of_groups else self._conditions.calm

    def _update_disagreeing(self) -> None:
        if self._liveness is None:
            return
        self._disagreeing = self._liveness.disagreeing(self._views, self._conditions.cut)
        any_running = any(view.process == "running" for view in self._views.values())
        agreed, self._agrees = self._agrees, any_running and not self._disagreeing
        if self._agrees and not agreed:
            self._agreed.add(max(0, self.number))
            self._agreed_us = self.at_us

    def _check_liveness(self, liveness: Liveness) -> None:
        conditions = self._conditions
        if not self._disagreeing:
            self._late_since_us = None
        elif (
            self._at_rest
            and self.at_us - conditions.disturbed_us > self.within_us
            and self._late_since_us != conditions.disturbed_us
        ):
            self._late_since_us = conditions.disturbed_us
            # nothing has been broken for as long as the protocol may take, so nothing excuses it now
            if self._count(liveness.assertion.id, True):
                self.violations.append(self._liveness_violation(liveness))

    def _liveness_violation(self, liveness: Liveness) -> Violation:
        passed = format_us(round(self.at_us - self._conditions.disturbed_us, -3))
        disagreeing = [self._epochs[view.id] for view in self._disagreeing]
        states = tuple(self._state(epoch, epoch.text) for epoch in disagreeing)
        described = "; ".join(f"{state.node} {state.text}" for state in states)
        text = f"{passed} after the last fault the nodes have not agreed: {described}"
        # only a cut can still break an assumption: all others have held for long enough
        other_broken = _in_order(self._conditions.broken) if self._conditions.cut else ()
        return Violation(liveness.assertion.id, self.number, self.at_us, states, {}, (), text, other_broken)

    @property
    def _whole(self) -> bool:
        """True if all nodes are up and no fault separates them."""
        return self._conditions.calm and all(view.process == "running" for view in self._views.values())

    @property
    def _settled(self) -> bool:
        """True if no election and no transaction is in progress."""
        judged = self._liveness is not None or self._audit is not None
        return judged and not self._disagreeing and (self._audit is None or self._audit.oldest_us is None)

    def _check_ledgers(self, audit: LedgerAudit) -> None:
        """Report violations of the audit, and a transaction that is open for too long."""
        found = [*audit.violations()]
        disturbed_us, oldest_us = self._conditions.disturbed_us, audit.oldest_us
        if oldest_us is not None and self.at_us - max(oldest_us, disturbed_us) > self.within_us and self._whole:
            found += audit.unended(disturbed_us)
        for violation in found:
            if violation.assertion in self._promised:
                self._report(*violation)

    # counting

    def _count(self, name: str, failure: bool) -> bool:
        """Count a violation; return whether to keep it with its witness."""
        count = self._counts[name, failure] = self._counts.get((name, failure), 0) + 1
        return count == 1 or len(self.violations) < MOST_KEPT


def _in_order(broken: dict[int, Broken]) -> tuple[Broken, ...]:
    return tuple(broken[assumption] for assumption in sorted(broken))
