"""One run of a campaign: a schedule, executed in virtual time and judged as it goes."""

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.recording.records import FAULT_KIND_SEEN, End, Fault, Header, Process, Record, Routed
from lab.recording.writer import MemoryLog, RecordLog
from lab.script.parse import parse
from lab.script.statements import At, Statement
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.simulated.execution import describe_runaway, most_records
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps


class RunawayError(Exception):
    """The messages of a run multiply; the text is for the user."""


class Trial(Struct):
    """A completed run. ``end_us``: when it was over, and everything in it judged."""

    schedule: Schedule
    records: list[Record]
    violations: list[Violation]
    end_us: int


def header_for(base: Header, schedule: Schedule) -> Header:
    """Return the campaign's header, for this schedule."""
    run = f"{base.protocol.name} seed {schedule.seed}"
    return replace(base, run=run, nodes=schedule.nodes, link=schedule.link, seed=schedule.seed)


def run_trial(protocol: type[Protocol], base: Header, schedule: Schedule, extend: bool = True) -> Trial:
    """Run a schedule to its end and judge it. Raises RunawayError.

    With ``extend``, continue until it is known whether the nodes agree again.
    """
    log, judge = judging_log(header_for(base, schedule))
    simulation = start_simulation(protocol, log.header, schedule, log)
    simulation.run_to(schedule.end_us)
    most_us = schedule.end_us + 4 * judge.within_us
    while extend and simulation.now_us < min(judge.decided_us, most_us):
        simulation.run_to(min(judge.decided_us, most_us))
    log.append(End(simulation.now_us, "its time was up"))
    return Trial(schedule, log.records, judge.violations, simulation.now_us)


def judging_log(header: Header) -> tuple[MemoryLog, Judge]:
    """Return a log, and the judge of its records. The log raises RunawayError if there are too many."""
    judge = Judge(header)
    judge.observe(header)
    nodes = len(header.nodes)
    most = most_records(nodes)

    def observe(record: Record) -> None:
        judge.observe(record)
        if judge.number > most:
            raise RunawayError(f"seed {header.seed}: {describe_runaway(nodes, judge.at_us)}")

    return MemoryLog(header, observe), judge


def start_simulation(protocol: type[Protocol], header: Header, schedule: Schedule, log: RecordLog) -> Simulation:
    """Start the simulation of this schedule; steps are watched from now on."""
    watch_steps()
    simulation = Simulation(protocol, log)
    for fault in schedule.faults:
        simulation.director.add(_scripted(fault))
    simulation.start()
    return simulation


def _scripted(fault: ScheduledFault) -> Statement:
    read = parse(f"on {fault.on} {fault.command}" if fault.on else fault.command)
    return replace(read, triggers=(At(fault.at_us), *read.triggers), source=str(fault))


class FaultCount(Struct):
    """The number of faults of a kind, and how many of them touched something."""

    faults: int = 0
    touched: int = 0


def count_faults(records: list[Record]) -> dict[str, FaultCount]:
    """Count the faults of a run, by kind."""
    kinds: dict[int, Fault] = {}
    touched: set[int] = set()
    for record in records:
        if isinstance(record, Fault):
            if not record.lifted:
                kinds.setdefault(record.id, record)
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
