"""Run a script in simulation, in memory, and express the outcome of a run as expectations."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.elections import agreed_coordinator
from lab.analysis.script_log import inert_results, line_result
from lab.kernel import Protocol
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.recording.cluster_state import ClusterState
from lab.recording.records import End, Fault, Header, Link, Record
from lab.recording.snapshot import NodeState
from lab.scenario.report import matches_violation
from lab.script.parse import read_script
from lab.script.predicates import And, Compare, Is, Predicate, Suspicions
from lab.script.statements import Expect, Expectation, ExpectViolation
from lab.script.values import Attribute, Count, Number
from lab.worlds.campaign.campaign import judging_log
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

_DISTURBED = 3
_STATUSES = {"Normal": "normal", "Election": "election", "Reorganization": "reorganization"}


class ScriptTrial(Struct, frozen=True):
    """A run of a script.

    ``idle``: the numbers of the lines that changed nothing, or whose fault was inert; ``missing``: those of the
    lines that never ran or were refused.
    """

    cluster: ClusterState
    judge: Judge
    records: list[Record]
    idle: frozenset[int]
    missing: frozenset[int]


def simulated_header(header: Header) -> Header:
    """Return the header of the same run in simulation, with the links' defaults of a scenario if none were set."""
    timing, link = header.timing, header.link
    if header.world == "live" and link == Link():
        link = Link(timing.tm_us // 4, timing.tm_us // 8)
    return replace(header, world="simulated", link=link, parent=None)


def disturbed_headers(header: Header) -> list[Header]:
    """Return variants with other seeds, and with latencies as low as live ones, to test for robustness."""
    quick = Link(header.timing.tm_us // 50, header.timing.tm_us // 50)
    links = [header.link, quick]
    return [replace(header, seed=header.seed + n, link=link) for link in links for n in range(1, _DISTURBED + 1)]


def try_script(protocol: type[Protocol], header: Header, script: Sequence[str], end_us: int) -> ScriptTrial:
    """Run the script. Raises RunawayError if its messages multiply without bound."""
    watch_steps()
    log, judge = judging_log(header)
    simulation = Simulation(protocol, log)
    simulation.director.add_script(read_script("\n".join(script)))
    simulation.start()
    simulation.run_to(end_us)
    simulation.finish()
    log.append(End(simulation.now_us, "its time was up"))
    numbered = list(enumerate(log.records))
    results = [
        result for each in numbered if (result := line_result(*each)) is not None and result.how != "refused"
    ]
    missing = frozenset(range(1, len(script) + 1)) - {result.line for result in results}
    idle = frozenset(
        result.line for result in [*results, *inert_results(numbered, log.cluster)] if not result.succeeded
    )
    return ScriptTrial(log.cluster, judge, log.records, idle, missing)


def faults_of(records: list[Record]) -> list[Fault]:
    """Return the records of the faults, each where it came into force."""
    return [record for record in records if isinstance(record, Fault) and not record.lifted]


# the outcome of a run as expectations


class ExpectedOutcome(Struct, frozen=True):
    """The expectations of a run.

    ``agreed``: all nodes agree on a coordinator; None if they did not. ``end``: what else holds at the end.
    ``verdicts``: which assertions are violated, and which are not.
    """

    agreed: Predicate | None
    end: tuple[Predicate, ...]
    verdicts: tuple[ExpectViolation, ...]

    def missed(self, cluster: ClusterState, judge: Judge) -> list[Expectation]:
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
        return found


def expected_outcome(
    cluster: ClusterState, judge: Judge, faults: list[Fault], live: bool = False
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
    return ExpectedOutcome(agreed, tuple(end), tuple(_verdicts(judge, faults, live)))


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


def _verdicts(judge: Judge, faults: list[Fault], live: bool) -> Iterator[ExpectViolation]:
    verdicts = judge.verdicts()
    if not any(verdict.first for verdict in verdicts):
        if verdicts:
            yield ExpectViolation(none=True)
        return
    for verdict in verdicts:
        if verdict.first is None:
            yield ExpectViolation(verdict.assertion, none=True)
            continue
        cause = _cause(verdict.first, faults)
        if cause or verdict.first.is_failure or not live:
            yield ExpectViolation(verdict.assertion, cause)


def _cause(violation: Violation, faults: list[Fault]) -> str:
    """Return the kind of one of these faults that broke an assumption; empty if there is none."""
    made = {fault.kind for fault in faults}
    return next((kind for broken in violation.broken for kind in broken.kinds if kind in made), "")
