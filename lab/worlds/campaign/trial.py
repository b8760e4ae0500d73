"""One run of a campaign: a schedule, carried out in virtual time and judged as it goes."""

import functools

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol
from lab.properties import Judge, Violation
from lab.recording.memory import Log, MemoryLog
from lab.recording.records import STRUCK_BY, End, Fault, Header, Process, Record, Routed
from lab.script import At, Scripted, parse
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.simulated.runaway import most_records, runaway_said
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

__all__ = ["RunawayError", "Touched", "Trial", "carry_out", "header_for", "judged_log", "tally"]


class RunawayError(Exception):
    """The messages of a run multiply; the text is for the user."""


class Trial(Struct):
    """A run that was carried out. ``end_us``: when it was over, and everything in it judged."""

    schedule: Schedule
    records: list[Record]
    violations: list[Violation]
    end_us: int


def header_for(base: Header, schedule: Schedule) -> Header:
    """The campaign's header, for this schedule."""
    run = f"{base.protocol.name} seed {schedule.seed}"
    return replace(base, run=run, nodes=schedule.nodes, link=schedule.link, seed=schedule.seed)


def carry_out(protocol: type[Protocol], base: Header, schedule: Schedule, extend: bool = True) -> Trial:
    """Run it to its end, and, to ``extend``, on until it is known whether the nodes agree again. RunawayError."""
    log, judge = judged_log(header_for(base, schedule))
    simulation = started(protocol, log.header, schedule, log)
    simulation.run_to(schedule.end_us)
    most_us = schedule.end_us + 4 * judge.within_us
    while extend and simulation.now_us < min(judge.decided_us, most_us):
        simulation.run_to(min(judge.decided_us, most_us))
    log.append(End(simulation.now_us, "its time was up"))
    return Trial(schedule, log.records, judge.violations, simulation.now_us)


def judged_log(header: Header) -> tuple[MemoryLog, Judge]:
    """A log whose records the judge sees as they come. RunawayError where they become too many."""
    judge = Judge(header)
    judge.observe(header)
    nodes = len(header.nodes)
    most = most_records(nodes)

    def observe(record: Record) -> None:
        judge.observe(record)
        if judge.number > most:
            raise RunawayError(f"seed {header.seed}: {runaway_said(nodes, judge.at_us)}")

    return MemoryLog(header, observe), judge


def started(protocol: type[Protocol], header: Header, schedule: Schedule, log: Log) -> Simulation:
    """The simulation of this schedule, with every node just come up; steps are watched from now on."""
    watch_steps()
    simulation = Simulation(protocol, header, log)
    for strike in schedule.strikes:
        simulation.director.add(_scripted(strike))
    simulation.start()
    return simulation


def _scripted(strike: ScheduledFault) -> Scripted:
    read = _parse(f"on {strike.on} {strike.command}" if strike.on else strike.command)
    then = () if read.trigger is None else (read.trigger,)
    return replace(read, trigger=At(strike.at_us), source=str(strike), then=then)


_parse = functools.lru_cache(4096)(parse)  # the same commands come again and again, at other times


class Touched(Struct):
    """How many faults of a kind there were, and how many of them touched something."""

    faults: int = 0
    touched: int = 0


def tally(records: list[Record]) -> dict[str, Touched]:
    """The faults of a run, by kind."""
    kinds: dict[int, Fault] = {}
    touched: set[int] = set()
    for record in records:
        if isinstance(record, Fault):
            if not record.lifted:
                kinds.setdefault(record.id, record)
        elif isinstance(record, Routed):
            touched.update(record.by)
        elif isinstance(record, Process) and record.event in STRUCK_BY:
            kind = STRUCK_BY[record.event]
            touched.update(n for n, fault in kinds.items() if fault.kind == kind and record.node in fault.nodes)
    found: dict[str, Touched] = {}
    for number, fault in kinds.items():
        count = found.setdefault(fault.kind, Touched())
        count.faults += 1
        count.touched += number in touched
    return found
