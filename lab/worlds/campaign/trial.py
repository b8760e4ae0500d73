"""One run of a campaign: a schedule is simulated to its end, and judged."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol, Step
from lab.properties.history_verdict import OperationCounts, judge_history, workload_of
from lab.properties.judge import Judge
from lab.properties.verdicts import Evidence, Violation
from lab.protocols import Algorithm
from lab.recording.records import FAULT_KIND_SEEN, TIME_LIMIT_REACHED, End, Fault, Header, Process, Record, Routed
from lab.recording.writer import MemoryLog, RecordLog
from lab.script.statements import Statement
from lab.worlds.campaign.coverage import TracedSimulation, Way, WayTrace
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan
from lab.worlds.campaign.situations import NO_SITUATIONS, SituationReader, Situations
from lab.worlds.campaign.striker import Striker, scripted
from lab.worlds.campaign.systematic import EventCollector, TreeRun
from lab.worlds.loading.config import settling_us
from lab.worlds.loading.roles import roles_of, tail_us, wanted_in
from lab.worlds.simulated.execution import describe_runaway, most_records
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps


class RunawayError(Exception):
    """The messages of a run multiply; the text is for the user."""


class Trial(Struct):
    """A completed run. ``end_us``: when it was over, and everything in it judged.

    ``judged``: the evidence of each assertion that was judged, without its text.
    ``broken``: the numbers of the assumptions broken in it. ``errors``: the errors in the code of assertions.
    ``given_up``: it ended early, as its messages multiplied under broken assumptions.
    ``situations`` are those reached, if they were asked for, ``struck`` those in which a fault struck, if the run
    was struck as it went. ``events``: what could happen next, if that was asked for. ``operations``: those of the
    clients, if there are any; their history is one of the assertions.
    """

    schedule: Schedule
    records: list[Record]
    violations: list[Violation]
    end_us: int
    judged: dict[str, Evidence]
    broken: frozenset[int]
    errors: dict[str, str]
    given_up: bool = False
    situations: Situations = NO_SITUATIONS
    struck: tuple[int, ...] = ()
    events: tuple[ScheduledFault, ...] = ()
    operations: OperationCounts = OperationCounts()


def header_for(protocol: type[Algorithm], base: Header, schedule: Schedule) -> Header:
    """Return the campaign's header, for this schedule; fewer nodes have less time to settle.

    A header that does not have the protocol's own bound keeps the bound that it has: an exercise sets it. Clients
    and services get the ids above those of the nodes.
    """
    run = f"{base.protocol.name} seed {schedule.seed}"
    info = base.protocol
    most_us, settles_us = (
        settling_us(protocol, info.parameters, base.timing, len(nodes)) for nodes in (base.nodes, schedule.nodes)
    )
    if info.settles_within_us == most_us:
        info = replace(info, settles_within_us=settles_us)
    wanted = wanted_in(base.roles, schedule.clients or len(schedule.nodes))
    roles = roles_of(wanted, protocol, schedule.nodes, base.timing, schedule.end_us)
    return replace(
        base,
        run=run,
        protocol=info,
        nodes=schedule.nodes,
        link=schedule.link,
        seed=schedule.seed,
        roles=roles,
    )


def with_tail(protocol: type[Algorithm], base: Header, schedule: Schedule) -> Schedule:
    """Return the schedule of a whole run with clients: one that goes on for a while after its last fault.

    Clients call until shortly before the end of a run. So that depends on the schedule alone, and not, as in
    other runs, on what is yet to be judged.
    """
    settles_us = header_for(protocol, base, schedule).protocol.settles_within_us or 30 * base.timing.t_us
    longer_us = tail_us(wanted_in(base.roles, 1), base.timing, schedule.end_us, settles_us)
    return replace(schedule, end_us=schedule.end_us + longer_us)


def run_trial(
    protocol: type[Algorithm],
    base: Header,
    schedule: Schedule,
    extend: bool = True,
    strikes: tuple[SchedulePlan, dict[int, int]] | None = None,
    branch: tuple[SchedulePlan, TreeRun] | None = None,
    with_situations: bool = False,
    ways: set[Way] | None = None,
) -> Trial:
    """Run a schedule to its end and judge it. Raises RunawayError if messages multiply, all assumptions intact.

    With ``extend``, continue until it is known whether the nodes agree again; with clients, for a fixed time. With
    ``strikes``, a plan and how often faults have struck in each situation, the run is struck as it goes; its
    schedule then has these faults. With ``branch``, the run of that one, what can happen next in it is found too.
    ``with_situations``, those that it reaches are found: a fifth more work. To ``ways``, those through the
    protocol's file are added: half as much work again.
    """
    reader = SituationReader(protocol, with_points=strikes is not None or branch is not None)
    striker = None if strikes is None else Striker(*strikes, schedule, reader)
    collector = None if branch is None else EventCollector(*branch, schedule, reader)
    observer = striker or collector or (reader if with_situations else None)
    trace = None if ways is None else WayTrace(protocol, ways)
    end_us = schedule.end_us
    has_clients = bool(workload_of(base))
    with trace or nullcontext():
        if has_clients and extend:
            end_us = with_tail(protocol, base, schedule).end_us
        header = header_for(protocol, base, replace(schedule, end_us=end_us))
    reader.outside = frozenset(header.names)
    log, judge = judging_log(header) if observer is None else judging_log(header, observer.observe)
    watch_steps()
    simulation = Simulation(protocol, log) if trace is None else TracedSimulation(protocol, log, trace)
    if striker is not None:
        striker.director = simulation.director
    for fault in schedule.faults:
        simulation.director.add(scripted(fault))
    most_us = end_us if has_clients else end_us + 4 * judge.within_us
    given_up = False
    try:
        simulation.start()
        simulation.run_to(end_us)
        while extend and simulation.now_us < min(judge.decided_us, most_us):
            simulation.run_to(min(judge.decided_us, most_us))
        log.append(End(simulation.now_us, TIME_LIMIT_REACHED))
    except RunawayError:
        if not judge.ever_broken:
            raise
        given_up = True
    evidence = {each.assertion: replace(each.evidence, text="") for each in judge.verdicts()}
    violations, history = judge.violations, judge_history(log.records)
    if history is not None:
        evidence[history.assertion] = replace(history.evidence, text="")
        violations = [*violations, history.violation] if history.violation is not None else violations
    trial = Trial(
        schedule,
        log.records,
        violations,
        simulation.now_us,
        {name: each for name, each in evidence.items() if each.since is not None},
        judge.ever_broken,
        judge.errors,
        given_up,
        reader.situations(violations) if with_situations else NO_SITUATIONS,
        events=() if collector is None else collector.finish(),
        operations=OperationCounts() if history is None else history.operations,
    )
    return trial if striker is None else replace(trial, schedule=striker.schedule, struck=tuple(striker.struck))


def judging_log(header: Header, then: Callable[[Record], object] = lambda record: None) -> tuple[MemoryLog, Judge]:
    """Return a log, and the judge of its records. The log raises RunawayError if there are too many.

    ``then`` is called with each record once it is judged.
    """
    judge = Judge(header)
    judge.observe(header)
    nodes = len(header.all_nodes)
    most = most_records(nodes)

    def observe(record: Record) -> None:
        judge.observe(record)
        if judge.number > most:
            raise RunawayError(f"seed {header.seed}: {describe_runaway(nodes, judge.at_us)}")
        then(record)

    return MemoryLog(header, observe), judge


def start_simulation(protocol: type[Protocol], log: RecordLog, script: Iterable[Statement]) -> Simulation:
    """Start the simulation of a run with this script; steps are watched from now on."""
    watch_steps()
    simulation = Simulation(protocol, log)
    simulation.director.add_script(script)
    simulation.start()
    return simulation


class SearchGoal(Struct, frozen=True):
    """The violations to find: failures; with ``strict``, all; with ``assertion``, all of that assertion."""

    assertion: str = ""
    strict: bool = False

    def matches(self, violation: Violation) -> bool:
        if self.assertion:
            return violation.assertion == self.assertion
        return self.strict or violation.is_failure


class FaultCount(Struct):
    """The number of faults of a kind, and how many of them touched something."""

    faults: int = 0
    touched: int = 0


def count_faults(records: list[Record]) -> dict[str, FaultCount]:
    """Count the faults of a run, by kind."""
    kinds: dict[int, Fault] = {}
    touched: set[int] = set()
    slow: dict[int, tuple[int, ...]] = {}
    for record in records:
        if isinstance(record, Step):  # the most frequent kind comes first
            if slow and record.stores:
                touched.update(number for number, nodes in slow.items() if record.node in nodes)
        elif isinstance(record, Fault):
            if not record.lifted:
                kinds.setdefault(record.id, record)
            if record.kind == "slow-disk":
                slow[record.id] = () if record.lifted else record.nodes
        elif isinstance(record, Routed):
            touched.update(record.by)
        elif isinstance(record, Process) and record.event in FAULT_KIND_SEEN:
            kind = FAULT_KIND_SEEN[record.event]
            touched.update(n for n, fault in kinds.items() if fault.kind == kind and record.node in fault.nodes)
    found: dict[str, FaultCount] = {}
    for number, fault in kinds.items():
        count = found.setdefault(fault.kind, FaultCount())
        count.faults += 1
        count.touched += number in touched
    return found
