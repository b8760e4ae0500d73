"""Search for a script that reproduces a recording, with a trigger for every command that changed something.

A script is run in simulation, in memory, and its outcome, expressed as expectations, is compared with that of the
recording. Each command has several candidate triggers, from robust to exact (``anchors``). The search first
assigns every command its most robust trigger. If the outcome is different, it looks for an assignment with the
same outcome, and then replaces each trigger by the most robust one that preserves it. Commands without effect are
removed as long as the outcome stays the same. A script that has the same outcome with other seeds and delays too
is preferred.

A script can be shrunk to the commands and nodes that its outcome needs; the outcome then includes the sequence of
coordinators on which all agreed, not only the final state.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.client_history import ClientHistory, check_clients
from lab.analysis.elections import ElectionLog, agreed_coordinator
from lab.analysis.history import History
from lab.analysis.script_log import inert_results, line_result
from lab.kernel import Protocol
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.recording.cluster_state import ClusterState
from lab.recording.records import TIME_LIMIT_REACHED, End, Fault, Header, Link, Record, header_in
from lab.recording.snapshot import NodeState
from lab.scenario.command_history import Anchor, CommandHistory, GivenCommand, anchors, exact_anchors, rounded_up
from lab.scenario.file import LONGEST_US
from lab.scenario.report import matches_violation
from lab.script.parse import read_script
from lab.script.predicates import And, Compare, Is, Predicate, Suspicions
from lab.script.scope import NodeNames
from lab.script.statements import Expect, Expectation, ExpectViolation
from lab.script.values import Attribute, Count, Number
from lab.worlds.campaign.finding import fewer, shrink
from lab.worlds.campaign.schedule import ScheduledFault
from lab.worlds.campaign.trial import RunawayError, judging_log, start_simulation
from lab.worlds.loading.settings import usual_link

_DISTURBED = 3
_STATUSES = {"Normal": "normal", "Election": "election", "Reorganization": "reorganization"}


class ScriptTrial(Struct, frozen=True):
    """A run of a script.

    ``idle``: the numbers of the lines that changed nothing, or whose fault was inert; ``missing``: those of the
    lines that never ran or were refused.
    """

    cluster: ClusterState
    judge: Judge
    clients: ClientHistory
    records: list[Record]
    idle: frozenset[int]
    missing: frozenset[int]


def simulated_header(header: Header) -> Header:
    """Return the header of the same run in simulation, with the links' defaults of a scenario if none were set."""
    timing, link = header.timing, header.link
    if header.world == "live" and link == Link():
        link = usual_link(timing, simulated=True)
    return replace(header, world="simulated", link=link, parent=None)


def disturbed_headers(header: Header) -> list[Header]:
    """Return variants with other seeds, and with latencies as low as live ones, to test for robustness."""
    quick = Link(header.timing.tm_us // 50, header.timing.tm_us // 50)
    links = [header.link, quick]
    return [replace(header, seed=header.seed + n, link=link) for link in links for n in range(1, _DISTURBED + 1)]


def try_script(protocol: type[Protocol], header: Header, script: Sequence[str], end_us: int) -> ScriptTrial:
    """Run the script. Raises RunawayError if its messages multiply without bound."""
    log, judge = judging_log(header)
    simulation = start_simulation(protocol, log, read_script("\n".join(script), names=NodeNames.of(header)))
    simulation.run_to(end_us)
    simulation.finish()
    log.append(End(simulation.now_us, TIME_LIMIT_REACHED))
    numbered = list(enumerate(log.records))
    results = [
        result for each in numbered if (result := line_result(*each)) is not None and result.how != "refused"
    ]
    missing = frozenset(range(1, len(script) + 1)) - {result.line for result in results}
    idle = frozenset(
        result.line for result in [*results, *inert_results(numbered, log.cluster)] if not result.succeeded
    )
    clients = ClientHistory(header)
    for record in log.records:
        clients.observe(record)
    return ScriptTrial(log.cluster, judge, clients, log.records, idle, missing)


def faults_of(records: list[Record]) -> list[Fault]:
    """Return the records of the faults, each where it came into force."""
    return [record for record in records if isinstance(record, Fault) and not record.lifted]


# the outcome of a run as expectations


class ExpectedOutcome(Struct, frozen=True):
    """The expectations of a run.

    ``agreed``: all nodes agree on a coordinator; None if they did not. ``end``: what else holds at the end.
    ``verdicts``: which assertions are violated, and which are not; ``of_clients`` is the one on their history.
    """

    agreed: Predicate | None
    end: tuple[Predicate, ...]
    verdicts: tuple[ExpectViolation, ...]
    of_clients: ExpectViolation | None = None

    @property
    def stated(self) -> tuple[ExpectViolation, ...]:
        """The verdicts that a scenario states: that the history of clients is right need not be."""
        wrong = () if self.of_clients is None or self.of_clients.none else (self.of_clients,)
        return (*self.verdicts, *wrong)

    def missed(
        self, cluster: ClusterState, judge: Judge, clients: ClientHistory | None = None
    ) -> list[Expectation]:
        """Return the expectations that another run, which ended in this state, does not meet."""
        found: list[Expectation] = [
            Expect(each)
            for each in (self.agreed, *self.end)
            if each is not None and not each.holds(cluster, Suspicions())
        ]
        for verdict in self.verdicts:
            hit = any(matches_violation(verdict, violation) for violation in judge.violations)
            if hit == verdict.none:
                found.append(verdict)
        if self.of_clients is not None and clients is not None and verdict_on(clients) != self.of_clients:
            found.append(self.of_clients)
        return found


def verdict_on(clients: ClientHistory) -> ExpectViolation | None:
    """Return the verdict on the history of clients as an expectation; None if there is none."""
    result = check_clients(clients)
    if result is None or result.word not in ("holds", "fails"):
        return None
    return ExpectViolation(clients.workload, none=result.word == "holds")


def expected_outcome(
    cluster: ClusterState, judge: Judge, clients: ClientHistory, faults: list[Fault], live: bool = False
) -> ExpectedOutcome:
    """Return the outcome of a run with these faults.

    Violations in a ``live`` run that are due to a slow machine are not expected.
    """
    leader = agreed_coordinator(cluster.nodes)
    views = list(cluster.nodes.values())
    end = [_processes(views)]
    if leader is None:
        end += list(_apart(cluster))
        agreed = None
    else:
        agreed = _following(leader, views)
        end.append(Is("all", "normal"))
    of_clients = verdict_on(clients)
    verdicts = tuple(_verdicts(judge, faults, live, of_clients is not None and not of_clients.none))
    return ExpectedOutcome(agreed, tuple(end), verdicts, of_clients)


def _following(leader: int, views: list[NodeState]) -> Predicate:
    if any(view.process == "paused" for view in views):  # the state of a paused node is ignored
        return And((Is("all", "normal"), Is(leader, "leads")))
    return Compare("==", Attribute("all", "coordinator"), Number(leader))


def _processes(views: list[NodeState]) -> Predicate:
    """Return the predicate that all nodes run, or that these are paused or down and so many are up."""
    if all(view.process == "running" for view in views):
        return Is("all", "running")
    states = {"running": "running", "paused": "paused"}
    parts = tuple(Is(view.id, states.get(view.process, "down")) for view in views if view.process != "running")
    running = Compare("==", Count("live"), Number(sum(view.process in states for view in views)))
    return And((*parts, running))


def _apart(cluster: ClusterState) -> Iterator[Predicate]:
    """Yield predicates for nodes that do not agree: whom each of them follows, and the number of groups.

    Nothing is expected of a node that has just been started and has no status yet.
    """
    elects = False
    for view in cluster.nodes.values():
        if view.process not in ("running", "paused") or "coordinator" not in view.state:
            continue
        elects = True
        if view.status not in _STATUSES:
            continue
        is_in: Predicate = Is(view.id, _STATUSES[view.status])
        if view.status == "Normal" and view.coordinator is not None:
            is_in = And((is_in, Compare("==", Attribute(view.id, "coordinator"), Number(view.coordinator))))
        yield is_in
    if elects:
        counts = (Compare("==", Count("groups"), Number(n)) for n in range(len(cluster.nodes) + 1))
        yield next(each for each in counts if each.holds(cluster, Suspicions()))


def _verdicts(
    judge: Judge, faults: list[Fault], live: bool, one_by_one: bool = False
) -> Iterator[ExpectViolation]:
    verdicts = judge.verdicts()
    if not one_by_one and not any(verdict.first for verdict in verdicts):
        if any(verdict.word == "holds" for verdict in verdicts):
            yield ExpectViolation(none=True)
        return
    for verdict in verdicts:
        if verdict.first is None:
            if verdict.word == "holds":
                yield ExpectViolation(verdict.assertion, none=True)
            continue
        cause = _cause(verdict.first, faults)
        if cause or verdict.first.is_failure or not live:
            yield ExpectViolation(verdict.assertion, cause)


def _cause(violation: Violation, faults: list[Fault]) -> str:
    """Return the kind of one of these faults that broke an assumption; empty if there is none."""
    made = {fault.kind for fault in faults}
    return next((kind for broken in violation.broken for kind in broken.kinds if kind in made), "")


# the search


_LEAST_NODES = 2


class DraftLine(Struct, frozen=True):
    """A command and its anchor."""

    given: GivenCommand
    anchor: Anchor

    def __str__(self) -> str:
        return f"{self.anchor} {self.given.command}".strip()


class Draft(Struct, frozen=True):
    """The commands of a scenario without its expectations; its nodes, and the time of its end."""

    nodes: tuple[int, ...]
    lines: tuple[DraftLine, ...]
    end_us: int


class TriedDraft(Struct, frozen=True):
    """A draft that was run, and the expectations that it ``missed``.

    ``idle`` are the lines without effect, ``missing`` those that never ran. ``trial`` is None if the run was given
    up as endless.
    """

    draft: Draft
    missed: tuple[Expectation, ...]
    idle: tuple[DraftLine, ...] = ()
    missing: tuple[DraftLine, ...] = ()
    trial: ScriptTrial | None = None

    @property
    def is_same(self) -> bool:
        """True if the outcome is the same."""
        return self.trial is not None and not self.missed

    @property
    def is_good(self) -> bool:
        """True if the outcome is the same and every line has an effect."""
        return self.is_same and not self.idle and not self.missing

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The distance of the draft from a good one: lower is better."""
        return not self.is_same, len(self.missing) + len(self.missed), len(self.idle)


_Selection = Callable[[CommandHistory, GivenCommand | None, GivenCommand], Anchor]


def _most_robust(history: CommandHistory, before: GivenCommand | None, given: GivenCommand) -> Anchor:
    return anchors(history, before, given)[0]


_SELECTIONS: tuple[_Selection, ...] = (
    _most_robust,
    lambda history, before, given: anchors(history, before, given)[:2][-1],
    lambda history, before, given: exact_anchors(history, given)[0],  # as it was typed
    lambda history, before, given: exact_anchors(history, given)[-2:][0],  # by the message that triggered it
    lambda history, before, given: exact_anchors(history, given)[-1],  # by the clock
)
"""The ways to select an anchor for a command that was given after another, from robust to exact."""


class ScriptSearch:
    """A search for a script; ``on_progress`` is called with the number of runs so far."""

    def __init__(
        self,
        history: CommandHistory,
        protocol: type[Protocol],
        outcome: ExpectedOutcome,
        on_progress: Callable[[int], None],
    ) -> None:
        self.outcome = outcome
        self._history = history
        self._protocol = protocol
        self._header = simulated_header(history.header)
        self.has_roles = bool(history.header.roles or history.header.members)
        self._on_progress = on_progress
        self._tried = 0
        self._known: dict[Draft, TriedDraft] = {}

    def find(self) -> TriedDraft:
        """Return the most robust draft with the same outcome; if there is none, the one with the closest."""
        best: TriedDraft | None = None
        for end_us in self._ends():
            for select in _SELECTIONS:
                found = self._cleaned(select, end_us)
                if best is None or found.rank < best.rank:
                    best = found
                if found.is_good and self.is_steady(found):
                    return self._improved(found)
            if best is not None and best.is_good:
                break
        assert best is not None
        return self._improved(best) if best.is_same else best

    def attempt(self, draft: Draft) -> TriedDraft:
        """Return the result of running the draft, which is run only the first time."""
        found = self._known.get(draft)
        if found is None:
            found = self._known[draft] = self._attempt(draft, self._header)
        return found

    def is_steady(self, found: TriedDraft) -> bool:
        """Return whether the outcome is the same with other seeds and delays."""
        return all(self._attempt(found.draft, header).is_good for header in disturbed_headers(self._header))

    def robust(self, given: Iterable[GivenCommand]) -> tuple[DraftLine, ...]:
        """Return these commands, each with its most robust anchor."""
        return self._assign(_most_robust, given)

    def _attempt(self, draft: Draft, header: Header) -> TriedDraft:
        self._tried += 1
        self._on_progress(self._tried)
        try:
            trial = try_script(
                self._protocol, replace(header, nodes=draft.nodes), [*map(str, draft.lines)], draft.end_us
            )
        except RunawayError:
            return TriedDraft(draft, ())
        missed = self.outcome.missed(trial.cluster, trial.judge, trial.clients)
        idle, missing = (
            tuple(line for number, line in enumerate(draft.lines, 1) if number in numbers)
            for numbers in (trial.idle, trial.missing)
        )
        return TriedDraft(draft, tuple(missed), idle, missing, trial)

    def _ends(self) -> Iterator[int]:
        """Yield possible ends: after enough time for an agreement, at a round time, and the end of the recording.

        If the history was cut, the effects of the commands are over by the first of these. A recording is never
        longer than a scenario may be.
        """
        history = self._history
        end_us = max(history.cluster.at_us, 1_000)
        settled_us = history.last_us + history.within_us
        first_us = settled_us if history.is_cut else max(end_us, settled_us)
        ends = dict.fromkeys([rounded_up(first_us), rounded_up(end_us), end_us])
        yield from (each for each in ends if each <= LONGEST_US)

    def _assign(self, select: _Selection, given: Iterable[GivenCommand]) -> tuple[DraftLine, ...]:
        """Return these commands, each with the anchor that ``select`` returns for it and the one before it."""
        commands = tuple(given)
        pairs = zip((None, *commands), commands, strict=False)
        return tuple(DraftLine(each, select(self._history, before, each)) for before, each in pairs)

    def _cleaned(self, select: _Selection, end_us: int) -> TriedDraft:
        """Return the draft with these anchors, without the commands that can be left out."""
        draft = Draft(self._history.header.nodes, self._assign(select, self._history.given), end_us)
        return self.cleaned(draft, lambda lines: self._assign(select, (line.given for line in lines)))

    def cleaned(self, draft: Draft, again: Callable[[tuple[DraftLine, ...]], tuple[DraftLine, ...]]) -> TriedDraft:
        """Run the draft; remove idle lines while it gets no worse. ``again`` reassigns the anchors of the rest."""
        found = self.attempt(draft)
        while found.idle and not found.missing:
            lines = tuple(line for line in found.draft.lines if line not in found.idle)
            cleaner = self.attempt(replace(draft, lines=again(lines)))
            if cleaner.rank > found.rank:
                break
            found = cleaner
        return found

    def _improved(self, found: TriedDraft) -> TriedDraft:
        """Give each command, first to last, the most robust anchor that preserves the outcome."""
        for place, line in enumerate(found.draft.lines):
            before = found.draft.lines[place - 1].given if place else None
            for anchor in anchors(self._history, before, line.given):
                if anchor == line.anchor:
                    break
                lines = list(found.draft.lines)
                lines[place] = replace(line, anchor=anchor)
                better = self.attempt(replace(found.draft, lines=tuple(lines)))
                if better.rank <= found.rank:
                    found = better
                    break
        return found


# shrinking


def shrink_script(search: ScriptSearch, found: TriedDraft) -> TriedDraft | None:
    """Return the smallest draft with the same outcome; None if it would have no commands.

    It may have fewer nodes; ``search.outcome`` is changed to match.
    """
    return _Shrinking(search, found).run()


def _leaders(found: TriedDraft) -> list[int]:
    """Return the sequence of coordinators on which all agreed."""
    assert found.trial is not None
    header, records = header_in(found.trial.records), found.trial.records[1:]
    history, agreed = History(header), []
    elections = history.add(ElectionLog(history.cluster))
    for record in records:
        history.observe(record)
        if elections.coordinator is not None:
            agreed.append(elections.coordinator)
    return [leader for leader, _ in groupby(agreed)]


def _without_a_line_before(lines: tuple[DraftLine, ...]) -> tuple[DraftLine, ...]:
    """Clear ``follows`` of the first line."""
    first = tuple(replace(line, anchor=replace(line.anchor, follows=False)) for line in lines[:1])
    return (*first, *lines[1:])


class _Shrinking:
    def __init__(self, search: ScriptSearch, found: TriedDraft) -> None:
        self._search = search
        self._least = found
        self._leaders = _leaders(found)

    def run(self) -> TriedDraft | None:
        """Remove lines, then nodes, until none can be removed."""
        had_lines = bool(self._least.draft.lines)
        shrink(lambda: self._least.draft, (self._lines,), self._keep)
        if had_lines and not self._least.draft.lines:
            return None
        while any(self._keep_without(node) for node in self._spare_nodes()):
            pass
        return self._least

    def _keep(self, draft: Draft) -> bool:
        found = self._search.cleaned(draft, _without_a_line_before)
        kept = found.rank <= self._least.rank and _leaders(found) == self._leaders
        if kept:
            self._least = found
        return kept

    def _lines(self, draft: Draft) -> Iterator[Draft]:
        """Yield smaller drafts; the lines after removed ones keep their anchors, or get new robust ones."""
        for lines in fewer(draft.lines):
            yield replace(draft, lines=_without_a_line_before(lines))
            yield replace(draft, lines=self._search.robust(line.given for line in lines))

    def _spare_nodes(self) -> list[int]:
        """Return the running nodes that no line names and that do not lead, the lowest first.

        None while there are clients, whose ids and work follow from the nodes.
        """
        if self._search.has_roles:
            return []
        draft, trial = self._least.draft, self._least.trial
        assert trial is not None
        nodes = trial.cluster.nodes
        leader = agreed_coordinator(nodes)
        if leader is None or len(draft.nodes) <= _LEAST_NODES:
            return []
        named = {leader}.union(*(ScheduledFault(0, "", str(line)).named_nodes() for line in draft.lines))
        return [node for node in draft.nodes if node not in named and nodes[node].process == "running"]

    def _keep_without(self, node: int) -> bool:
        """Drop the node if agreement and all verdicts stay the same. Return whether it was dropped."""
        search, draft = self._search, self._least.draft
        before = search.outcome
        found = search.attempt(replace(draft, nodes=tuple(each for each in draft.nodes if each != node)))
        if found.trial is None:
            return False
        outcome = expected_outcome(
            found.trial.cluster, found.trial.judge, found.trial.clients, faults_of(found.trial.records)
        )
        fewer_now = replace(found, missed=())
        is_same = all(
            getattr(outcome, name) == getattr(before, name) for name in ("agreed", "verdicts", "of_clients")
        )
        if not is_same or fewer_now.rank > self._least.rank or _leaders(found) != self._leaders:
            return False
        search.outcome, self._least = outcome, fewer_now
        return True
