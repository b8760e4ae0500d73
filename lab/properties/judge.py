"""The judge: records in, verdicts out, in one pass whose cost is near linear in their number.

It looks at recorded facts alone, so it judges a live run as it goes, a recording, a simulation and an explored
run alike. A node's course is cut into epochs, in each of which it says the same by every promised assertion;
``Causality`` tells which epochs are concurrent, ``Pairs`` which of those break an assertion, ``Conditions``
which assumptions do not hold, ``Liveness`` who has to agree with whom: a bounded response to what happened last.
``Claims`` keeps what nobody may claim again, ``Books`` what the logs and accounts of all nodes say together.

A recording may come from anybody: what cannot be is passed over, and nothing is raised.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.causality import Causality, Clock
from lab.kernel import Fired, Received, Started, Step, Wait
from lab.properties.assertions import A2, A4, AGREEMENTS, ASSERTIONS, BOOKED, CLAIMS, ENDS, RAISES
from lab.properties.books import Books
from lab.properties.claims import Claims
from lab.properties.conditions import Conditions
from lab.properties.liveness import Liveness
from lab.properties.pairs import Epoch, Pairs, Said, described
from lab.properties.verdicts import Broken, LocalState, Verdict, Violation, verdict_of
from lab.recording.records import PROCESS_AFTER, Fault, Header, Injected, Process, Record, Routed
from lab.recording.snapshot import NodeState
from lab.units import format_us

__all__ = ["MOST_KEPT", "Judge"]

MOST_KEPT = 1000
"""So many violations are kept with their witnesses, and the first of each sort; the rest are counted."""


class _Told(Struct):
    """The violation of a pair that was told last: the record of each one's state, the lower node's first."""

    records: tuple[int, int]
    failure: bool


class Judge:
    """Judges the records shown to ``observe``, in their order, from the header on.

    ``violations`` are those found so far, in the order of the records that show them. What is judged is what
    the header's protocol promises, and that no node fails by an error of its own. ``within_us`` is how long after
    the last fault all nodes must have agreed (A2, A4), ``relies_on`` what the header says; see ``Conditions``.
    """

    def __init__(self, header: Header) -> None:
        info, nodes = header.protocol, header.nodes
        self.violations: list[Violation] = []
        self.number = -1
        self.at_us = 0
        self.within_us = info.settles_within_us or 30 * header.timing.t_us
        self._promised = [name for name in ASSERTIONS if name in info.promises and name != RAISES.id]
        self.relies_on = {ENDS.id: (4,), **info.relies_on}  # when it is asked, all else has long been whole
        promised = next((each for each in (A2, A4) if each.id in self._promised), None)
        self._liveness = None if promised is None else Liveness(promised)
        self._tm_us = header.timing.tm_us
        self._causality = Causality(nodes)
        self._conditions = Conditions(header.timing.tm_us, header.timing.tp_us, self.within_us)
        self.broken_at = self._conditions.broken_at
        self._agreements = [AGREEMENTS[name] for name in self._promised if name in AGREEMENTS]
        self._pairs = [Pairs(agreement, place, nodes) for place, agreement in enumerate(self._agreements)]
        self._claims = Claims(CLAIMS[name] for name in self._promised if name in CLAIMS)
        self._books = Books() if any(name in BOOKED for name in self._promised) else None
        self._views = {node: NodeState(node) for node in nodes}
        self._waits: dict[int, tuple[Wait, ...]] = dict.fromkeys(nodes, ())
        self._epochs = {node: self._epoch(view, self._says(view)) for node, view in self._views.items()}
        self._in_flight: dict[tuple[int, int], tuple[Clock, int, int]] = {}
        self._copies: dict[tuple[int, int], int] = {}
        self._told: dict[tuple[str, int, int], _Told] = {}
        self._astray: list[NodeState] = []
        self._late_since_us: int | None = None
        self._counts: dict[tuple[str, bool], int] = {}

    @property
    def decided_us(self) -> int:
        """When it is known whether the nodes agree again after what happened last, and whether what was open then
        has ended; 0 while a fault forbids it.
        """
        last_us = []
        if self._liveness is not None and self._at_rest:
            last_us.append(self._conditions.disturbed_us)
        if self._books is not None and self._whole:
            last_us.append(max(self._conditions.disturbed_us, self._books.newest_us))
        return max(last_us) + self.within_us + 1 if last_us else 0

    @property
    def late(self) -> Broken | None:
        """What was last observed to take longer than it may, while no fault was the cause; None: nothing was."""
        return self._conditions.late

    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each promised assertion, and, if any node failed by an error of its own, for that."""
        found = [*self._promised, *([RAISES.id] if (RAISES.id, True) in self._counts else [])]
        # of many violations not all are kept, but all are counted
        return tuple(
            replace(
                verdict_of(name, self.violations),
                failures=self._counts.get((name, True), 0),
                outside=self._counts.get((name, False), 0),
            )
            for name in found
        )

    def observe(self, record: Record | None) -> None:
        """Take the next record; None stands for one that could not be read."""
        self.number += 1
        self._conditions.record = self.number
        if isinstance(record, Step):  # first, for nearly all of them are
            self.at_us = max(self.at_us, record.at_us)
            self._step(record)
        elif record is None or isinstance(record, Header):
            return
        else:
            self.at_us = max(self.at_us, record.at_us)
            self._other(record)
        if self._liveness is not None:
            self._look_at_liveness(self._liveness)
        if self._books is not None:
            self._look_at_books(self._books)
        if self._conditions.broken and self._settled:
            self._conditions.agreed(self.at_us)

    def _other(self, record: Record) -> None:
        if isinstance(record, Routed):
            self._routed(record)
        elif isinstance(record, Process):
            self._process(record)
        elif isinstance(record, Fault):
            self._conditions.fault(record, self.at_us)
            self._look_who_is_astray()
        elif isinstance(record, Injected):
            message = record.message
            self._in_flight[message.source, message.serial] = (self._causality.nothing, self.at_us, message.target)

    # what happens

    def _step(self, step: Step) -> None:
        node, given = step.node, step.input
        view = self._views.get(node)
        if view is None:
            return  # no node of this run
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
            state = {**before, **step.stored, **step.changed}  # what is logged is looked at once, as it comes
            self._enter(NodeState(node, view.process, state=state))
            if self._books is not None:
                self._books.enter(node, step.logged.get("log", ()), state, self.number, self.at_us)
        if step.sent:
            stamp = self._causality.stamp(node, self.number)
            for message in step.sent:
                self._in_flight[node, message.serial] = (stamp, step.at_us, message.target)
        if step.failed and self._counts_now(RAISES.id, True):
            said = step.failed.rpartition("\n")[2]
            failed = LocalState(node, self.number, step.at_us, f"raised {said}")
            beside = _in_order(self._conditions.broken)
            self.violations.append(Violation(RAISES.id, self.number, self.at_us, (failed,), {}, (), said, beside))

    def _received(self, node: int, source: int, serial: int, at_us: int) -> None:
        flight = self._in_flight.get((source, serial))
        if flight is not None:
            self._causality.received(node, flight[0])
            self._conditions.arrived(source, serial, node, flight[1], at_us)
        self._take(source, serial)

    def _take(self, source: int, serial: int) -> None:
        """One copy of the message is on its way no more."""
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
            self._take(*key)

    def _process(self, record: Process) -> None:
        self._conditions.process(record, self.at_us)
        node, view = record.node, self._views.get(record.node)
        if view is None or record.event not in PROCESS_AFTER:
            return
        state = {"status": "Down"} if record.event in ("killed", "failed", "started") else view.state
        self._enter(NodeState(node, PROCESS_AFTER[record.event], state=state))
        if record.event in ("killed", "failed"):
            self._waits[node] = ()
            self._causality.died(node, self.number)

    # pairs

    def _enter(self, view: NodeState) -> None:
        """A node is in this local state now, which is a new epoch where anything that matters has changed."""
        was, ended = self._views[view.id], self._epochs[view.id]
        self._views[view.id] = view
        for name, states, text in self._claims.second(was, view, self.number, self.at_us):
            self._tell(name, states, text)
        says = self._says(view)
        same = was.status == view.status and was.coordinator == view.coordinator and was.group == view.group
        goes_on = says == ended.says and same
        if not goes_on:
            ended.over, ended.broken = self.number, self._conditions.broken
            epoch = self._epochs[view.id] = self._epoch(view, says)
            for pairs in self._pairs:
                for other in pairs.offenders(epoch):
                    self._disagree(pairs.agreement.id, other, epoch)
        if not goes_on or was.process != view.process:
            self._look_who_is_astray()

    def _epoch(self, view: NodeState, says: tuple[Said, ...]) -> Epoch:
        number = max(self.number, 0)  # before the first record they are in their first epochs already
        stamp = self._causality.stamp(view.id, number)
        return Epoch(view.id, number, self.at_us, stamp, described(view), says)

    def _says(self, view: NodeState) -> tuple[Said, ...]:
        return tuple(agreement.says(view) for agreement in self._agreements)

    def _disagree(self, name: str, older: Epoch, newer: Epoch) -> None:
        broken, beside = self._broken(name, older.broken)
        low, high = (older, newer) if older.node < newer.node else (newer, older)
        told = self._told.get((name, low.node, high.node))
        if (
            told is not None
            and (told.records[0] == low.record or told.records[1] == high.record)
            and (told.failure or broken)
        ):
            return  # one of the two has been told of already, and it was no better
        self._told[name, low.node, high.node] = _Told((low.record, high.record), not broken)
        if self._counts_now(name, not broken):
            states = (self._state(older, older.text), self._state(newer, newer.text))
            text = " while ".join(f"node {state.node} is {state.text}" for state in states)
            cut = dict(zip(self._causality.nodes, map(max, older.clock, newer.clock), strict=True))
            self.violations.append(Violation(name, self.number, self.at_us, states, cut, broken, text, beside))

    def _tell(self, name: str, states: tuple[LocalState, ...], text: str) -> None:
        broken, beside = self._broken(name, {})
        if self._counts_now(name, not broken):
            self.violations.append(Violation(name, self.number, self.at_us, states, {}, broken, text, beside))

    def _state(self, epoch: Epoch, text: str) -> LocalState:
        return LocalState(epoch.node, epoch.record, epoch.at_us, text)

    def _broken(self, name: str, before: dict[int, Broken]) -> tuple[tuple[Broken, ...], tuple[Broken, ...]]:
        """What is broken now or was ``before``: the assumptions that matter to this assertion, and the others."""
        broken = {**before, **self._conditions.broken}
        forged, wiped = self._conditions.forged, self._conditions.wiped
        if ASSERTIONS[name].marked:
            broken |= {each: why for each, why in ((3, forged), (4, wiped)) if why is not None}
        for overdue in self._overdue():
            broken.setdefault(overdue.assumption, overdue)
        relied = self.relies_on.get(name, tuple(broken))
        if forged is not None:
            relied = (*relied, 3)  # who can do without it can do with copies, but not with lies
        matter = {each: why for each, why in broken.items() if each in relied}
        return _in_order(matter), _in_order({each: why for each, why in broken.items() if each not in relied})

    def _overdue(self) -> Iterator[Broken]:
        """What the messages break that should have arrived by now."""
        for (source, serial), (stamp, sent_us, target) in self._in_flight.items():
            under_way_us = self.at_us - sent_us
            if under_way_us <= self._tm_us:
                break  # they are in the order in which they were sent
            broken = self._conditions.overdue(source, serial, target, sent_us, self.at_us)
            if broken is not None and target in self._views and self._views[target].process == "running":
                said = format_us(round(under_way_us, -3))
                why = f"a message of {source} to {target} has been on its way for {said}"
                yield Broken(broken, why, stamp[self._causality.place[source]])

    # liveness

    @property
    def _at_rest(self) -> bool:
        assert self._liveness is not None
        return self._conditions.apart if self._liveness.of_groups else self._conditions.calm

    def _look_who_is_astray(self) -> None:
        if self._liveness is not None:
            self._astray = self._liveness.astray(self._views, self._conditions.cut)

    def _look_at_liveness(self, liveness: Liveness) -> None:
        conditions = self._conditions
        if not self._astray:
            self._late_since_us = None
        elif (
            self._at_rest
            and self.at_us - conditions.disturbed_us > self.within_us
            and self._late_since_us != conditions.disturbed_us
        ):
            self._late_since_us = conditions.disturbed_us
            # nothing has been broken for as long as the protocol may take: whatever it was, it is no excuse now
            if self._counts_now(liveness.assertion.id, True):
                self.violations.append(self._too_late(liveness))

    def _too_late(self, liveness: Liveness) -> Violation:
        passed = format_us(round(self.at_us - self._conditions.disturbed_us, -3))
        astray = [self._epochs[view.id] for view in self._astray]
        states = tuple(self._state(epoch, epoch.text) for epoch in astray)
        said = "; ".join(f"{state.node} {state.text}" for state in states)
        text = f"{passed} after the last fault the nodes have not agreed: {said}"
        # all else that may have been broken has been whole again for long enough
        beside = _in_order(self._conditions.broken) if self._conditions.cut else ()
        return Violation(liveness.assertion.id, self.number, self.at_us, states, {}, (), text, beside)

    @property
    def _whole(self) -> bool:
        """Whether all nodes are up and nothing keeps them apart."""
        return self._conditions.calm and all(view.process == "running" for view in self._views.values())

    @property
    def _settled(self) -> bool:
        """Whether all that may take a while has come to its end: an election, a transaction."""
        judged = self._liveness is not None or self._books is not None
        return judged and not self._astray and (self._books is None or self._books.oldest_us is None)

    def _look_at_books(self, books: Books) -> None:
        """What became of transactions, and whether any has been open for too long."""
        found = [*books.offences()]
        disturbed_us, oldest_us = self._conditions.disturbed_us, books.oldest_us
        if oldest_us is not None and self.at_us - max(oldest_us, disturbed_us) > self.within_us and self._whole:
            found += books.unended(disturbed_us)
        for offence in found:
            if offence.assertion in self._promised:
                self._tell(*offence)

    # counting

    def _counts_now(self, name: str, failure: bool) -> bool:
        """Count a violation; whether it is to be kept with its witness."""
        count = self._counts[name, failure] = self._counts.get((name, failure), 0) + 1
        return count == 1 or len(self.violations) < MOST_KEPT


def _in_order(broken: dict[int, Broken]) -> tuple[Broken, ...]:
    return tuple(broken[assumption] for assumption in sorted(broken))
