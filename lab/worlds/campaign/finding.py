"""A campaign's finding: shrunk, written as a recording and as a script, and the command that runs it again.

Shrinking finds a minimal schedule that still violates the assertion. Each pass tries schedules that are simpler in
one way. One that still violates the same assertion, and breaks no other assumption, replaces the one it came from.
The passes repeat until none of them finds anything:

    faults      remove them, half of them at a time, then fewer (Zeller's ddmin)
    nodes       remove one, with the faults that name it
    messages    give all of them less latency, and no jitter
    chances     hit every message instead of some
    instants    strike at an instant instead of at a message; earlier; at a round number
    end         stop right after the violation
    clients     have fewer, which call for a shorter time, in a campaign that has clients

That may take long, so it can be given an end. What is then left is no minimum, and says so.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lab.properties.history_verdict import HistoryViolation, workload_of
from lab.properties.verdicts import Violation
from lab.protocols import LENSES, Algorithm
from lab.protocols.clients import Client
from lab.protocols.workloads import WORKLOADS
from lab.recording.records import TIME_LIMIT_REACHED, Commanded, End, Header, Link, Record, header_in
from lab.recording.writer import Writer
from lab.script.parse import read_script
from lab.text import UserError
from lab.units import format_us
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.campaign.trial import (
    RunawayError,
    SearchGoal,
    Trial,
    header_for,
    run_trial,
    start_simulation,
)
from lab.worlds.loading.roles import wanted_in
from lab.worlds.loading.targets import split_sandbox, split_target

T = TypeVar("T")

_LEAST_US = 1_000
"""The least latency: with none, messages could circulate forever at one instant."""
_PERCENT = re.compile(r"\d+%")
_AMOUNT = re.compile(r"±?\d[\d.]*(?:us|µs|ms|s|min|m|%)")
_NODE = re.compile(r"\d+")


def shrink(
    least: Callable[[], T], passes: Sequence[Callable[[T], Iterator[T]]], keep: Callable[[T], bool]
) -> None:
    """Repeat the passes, each over the ``least`` so far, until ``keep`` accepts nothing any more.

    ``keep`` tries a simpler item, and makes it the least if it still has the property sought.
    """
    smaller = True
    while smaller:
        smaller = False
        for simpler in passes:
            while any(keep(each) for each in simpler(least())):
                smaller = True


def fewer(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yield the items with some removed: all, each half, then smaller parts (Zeller's ddmin)."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


OUT_OF_TIME = "the time is over"
INTERRUPTED = "it was interrupted"
"""Why smaller schedules are left untried."""


def is_past(ends_s: float | None) -> bool:
    """Return whether this monotonic time, in seconds, is over; None: never."""
    return ends_s is not None and time.monotonic() >= ends_s


class Shrinking:
    """Shrinks ``trial``, in which ``violation`` was found. ``run_trial`` runs a schedule to its end, no further.

    ``tried`` is the number of runs so far. ``trial`` and ``violation`` are the smallest found so far, ``untried``
    is why smaller ones are left untried. At the monotonic time ``ends_s``, in seconds, no more are tried.
    """

    def __init__(
        self,
        trial: Trial,
        violation: Violation,
        run_trial: Callable[[Schedule], Trial],
        ends_s: float | None = None,
    ) -> None:
        self.trial = trial
        self.violation = violation
        self.tried = 0
        self.untried = INTERRUPTED
        self._ends_s = ends_s
        self._is_out_of_time = False
        self._seen = {trial.schedule}
        self._run_trial = run_trial
        self._broken = {broken.assumption for broken in violation.broken}
        self._has_clients = bool(workload_of(header_in(trial.records)))

    def run(self, progress: Callable[[int], None] = lambda tried: None) -> None:
        """Shrink until nothing gets any smaller; ``progress`` is called with the number of runs so far."""
        self._progress = progress
        passes = [self._faults, self._nodes, self._ids, self._messages, self._chances, self._instants]
        if self._has_clients:
            self._keep(replace(self.trial.schedule, end_us=self.trial.end_us))  # the same run: it ends there
            passes.append(self._clients)
            if not self._rests_on_last_reads:
                passes.append(self._ends)
        else:
            self._keep(replace(self.trial.schedule, end_us=_end_us(self.violation)))
        shrink(lambda: self.trial.schedule, passes, self._keep)
        self.untried = OUT_OF_TIME if self._is_out_of_time else ""

    @property
    def _rests_on_last_reads(self) -> bool:
        """True if the cluster needs time to come to rest before the end of the run."""
        violation = self.violation
        return isinstance(violation, HistoryViolation) and WORKLOADS[violation.assertion].final is not None

    def _keep(self, schedule: Schedule) -> bool:
        """Try a schedule; if it shows the same violation, continue from it, cut off after the violation."""
        if self._is_out_of_time or schedule in self._seen:
            return False
        if is_past(self._ends_s):
            self._is_out_of_time = True
            return False
        self._seen.add(schedule)
        self.tried += 1
        self._progress(self.tried)
        try:
            trial = self._run_trial(schedule)
        except RunawayError:
            return False
        found = next(filter(self._is_same_violation, trial.violations), None)
        if found is None:
            return False
        self.trial, self.violation = trial, found
        ended = _end_us(found)
        if isinstance(found, HistoryViolation):
            ended += _timeout_us(trial)  # clients call nothing in the last moments of a run
        if ended < schedule.end_us:
            left = tuple(fault for fault in schedule.faults if fault.at_us <= found.at_us)
            self._keep(replace(schedule, end_us=ended, faults=left))
        return True

    def _is_same_violation(self, violation: Violation) -> bool:
        wanted = self.violation
        return (
            violation.assertion == wanted.assertion
            and violation.is_failure == wanted.is_failure
            and {broken.assumption for broken in violation.broken} <= self._broken
        )

    # passes: each yields simpler schedules, the boldest first

    @staticmethod
    def _faults(schedule: Schedule) -> Iterator[Schedule]:
        for faults in fewer(schedule.faults):
            yield replace(schedule, faults=faults)

    @staticmethod
    def _nodes(schedule: Schedule) -> Iterator[Schedule]:
        """Leave a node out, if there is one for each with a client."""
        if len(schedule.nodes) > 2:
            for node in schedule.nodes:
                left = schedule.without_node(node)
                if schedule.clients == len(schedule.nodes):
                    yield left.with_clients(len(left.nodes))
                yield left

    @staticmethod
    def _ids(schedule: Schedule) -> Iterator[Schedule]:
        """Give the nodes the ids 1, 2, 3 and so on."""
        names = {node: place for place, node in enumerate(schedule.nodes, start=1)}
        yield schedule.renamed(names)

    @staticmethod
    def _messages(schedule: Schedule) -> Iterator[Schedule]:
        link = schedule.link
        if link.jitter_us:
            yield replace(schedule, link=Link(link.latency_us + link.jitter_us))
            yield replace(schedule, link=Link(link.latency_us))
        for less_us in (_LEAST_US, link.latency_us // 2):
            if _LEAST_US <= less_us < link.latency_us:
                yield replace(schedule, link=Link(less_us, min(link.jitter_us, less_us)))

    @staticmethod
    def _chances(schedule: Schedule) -> Iterator[Schedule]:
        for place, fault in enumerate(schedule.faults):
            certain = replace(fault, command=_PERCENT.sub("100%", fault.command))
            yield replace(schedule, faults=(*schedule.faults[:place], certain, *schedule.faults[place + 1 :]))

    @staticmethod
    def _clients(schedule: Schedule) -> Iterator[Schedule]:
        clients = schedule.clients or len(schedule.nodes)
        for fewer_clients in dict.fromkeys((1, 2, clients // 2, clients - 1)):
            if 0 < fewer_clients < clients:
                yield schedule.with_clients(fewer_clients)

    def _ends(self, schedule: Schedule) -> Iterator[Schedule]:
        """End earlier, though not before the last fault; the clients then end earlier, too."""
        for numerator in (1, 2, 3):
            end_us = schedule.end_us * numerator // 4 // 100_000 * 100_000
            if schedule.last_us < end_us:
                yield replace(schedule, end_us=end_us)

    def _instants(self, schedule: Schedule) -> Iterator[Schedule]:
        for place, fault in enumerate(schedule.faults):
            for simpler in (*self._at_instant(fault), *_simpler(fault)):
                faults = (*schedule.faults[:place], simpler, *schedule.faults[place + 1 :])
                yield replace(schedule, faults=tuple(sorted(faults, key=lambda fault: fault.at_us)))

    def _at_instant(self, fault: ScheduledFault) -> Iterator[ScheduledFault]:
        """Yield the fault at an instant instead of at a message: when that came, or a little later."""
        if fault.on:
            for record in self.trial.records:
                if isinstance(record, Commanded) and record.text == str(fault):
                    for grain_us in (100_000, 1_000):
                        yield ScheduledFault((record.at_us // grain_us + 1) * grain_us, "", fault.command)


def _end_us(violation: Violation) -> int:
    """Return an instant shortly after the violation, in whole milliseconds."""
    return (violation.at_us // 1_000 + 1) * 1_000


def _timeout_us(trial: Trial) -> int:
    """Return for how long the clients of a run wait for an answer."""
    clients = next(role for role in header_in(trial.records).roles if role.protocol == Client.name)
    return int(clients.parameters["timeout_us"])


def _simpler(fault: ScheduledFault) -> Iterator[ScheduledFault]:
    if fault.on:
        yield replace(fault, on="")
        if "->" in fault.on:
            yield replace(fault, on=fault.on.rpartition(" ")[0])
    for earlier_us in (0, fault.at_us // 2_000 * 1_000, fault.at_us - 100_000):
        if 0 <= earlier_us < fault.at_us:
            yield replace(fault, at_us=earlier_us)
    for grain_us in (1_000_000, 100_000, 10_000):
        if fault.at_us % grain_us:
            yield replace(fault, at_us=fault.at_us // grain_us * grain_us)


# findings


class NotRepeatedError(UserError):
    """A run violated an assertion, but does not when it is executed again."""


class Finding(Struct, frozen=True):
    """The schedule as drawn, the shrunk one, the violation that it shows, and the number of runs tried.

    ``records`` are those of the shrunk run, with the header first. ``untried``: why smaller schedules are left
    untried; empty if the shrunk one is minimal.
    """

    drawn: Schedule
    least: Schedule
    violation: Violation
    tried: int
    records: list[Record]
    untried: str = ""

    @property
    def is_minimal(self) -> bool:
        return not self.untried


def shrink_finding(
    protocol: type[Algorithm],
    base: Header,
    goal: SearchGoal,
    drawn: Schedule,
    progress: Callable[[int], None] = lambda tried: None,
    ends_s: float | None = None,
) -> tuple[Finding, bool]:
    """Run the schedule again, and shrink the first violation that matches the goal. Raises NotRepeatedError.

    Ctrl-C ends that with what is found so far, and so does the monotonic time ``ends_s``, in seconds; return also
    whether Ctrl-C was pressed.
    """
    trial = run_trial(protocol, base, drawn)
    violation = next(filter(goal.matches, trial.violations), None)
    if violation is None:
        raise NotRepeatedError(
            f"not deterministic: the run with seed {drawn.seed} differs when it is executed again"
        )
    shrinking = Shrinking(
        trial, violation, lambda schedule: run_trial(protocol, base, schedule, extend=False), ends_s
    )
    interrupted = False
    try:
        shrinking.run(progress)
    except KeyboardInterrupt:
        interrupted = True
    least = shrinking.trial
    violation, tried = shrinking.violation, shrinking.tried
    return Finding(drawn, least.schedule, violation, tried, least.records, shrinking.untried), interrupted


class ShrunkFinding(Struct, frozen=True):
    """A shrunk finding as a campaign keeps it: the assertion violated, and the schedule that shows it.

    ``broken`` are the assumptions broken, ``text`` is the violation in words. ``recording`` is the file of a live
    run, which cannot be executed again; its schedule is as it was drawn.
    """

    assertion: str
    broken: tuple[int | str, ...]
    text: str
    schedule: Schedule
    recording: str = ""

    @property
    def size(self) -> tuple[int, ...]:
        """The key to sort by: fewest faults, nodes and triggers first, then the earliest end, then the seed."""
        schedule = self.schedule
        triggers = sum(bool(fault.on) for fault in schedule.faults)
        return len(schedule.faults), len(schedule.nodes), triggers, schedule.end_us, schedule.seed

    @property
    def shape(self) -> str:
        """What is alike in two that show the same: see ``shape_of``."""
        schedule = self.schedule
        commands = [f"{fault.trigger}{fault.command}" for fault in schedule.faults]
        return shape_of(schedule.nodes, commands, schedule.named_outside())


def shape_of(
    nodes: Sequence[int], commands: Sequence[str], others: Mapping[int, str] = MappingProxyType({})
) -> str:
    """Return the commands with their triggers, without times and amounts.

    Of n nodes the highest is ``n``, the next ``n-1``. ``others`` are names of nodes outside the cluster.
    """
    names = {node: f"n-{rank}" if rank else "n" for rank, node in enumerate(reversed(nodes))} | dict(others)

    def abstract(command: str) -> str:
        text = _AMOUNT.sub("", command)
        return " ".join(_NODE.sub(lambda match: names.get(int(match[0]), match[0]), text).split())

    return "; ".join(map(abstract, commands)) or "no fault"


def counterexample_of(protocol: type[Algorithm], base: Header, goal: SearchGoal, drawn: Schedule) -> ShrunkFinding:
    """Shrink what this schedule violates. Raises NotRepeatedError; KeyboardInterrupt at Ctrl-C."""
    finding, interrupted = shrink_finding(protocol, base, goal, drawn)
    if interrupted:
        raise KeyboardInterrupt
    violation = finding.violation
    broken = tuple(each.assumption for each in violation.broken)
    return ShrunkFinding(violation.assertion, broken, str(violation), finding.least)


def write_finding(protocol: type[Algorithm], base: Header, finding: Finding, path: Path, command: str) -> Path:
    """Write the recording to ``path`` and the script beside it; return the script's path. Raises OSError."""
    return write_run(protocol, base, finding.least, path, (str(finding.violation), command))


def write_run(
    protocol: type[Algorithm], base: Header, schedule: Schedule, path: Path, remarks: Sequence[str]
) -> Path:
    """Write the recording of the schedule's run to ``path``, and its script with remarks beside it, like that."""
    text = schedule.script(*remarks)
    writer = Writer(path, replace(header_for(protocol, base, schedule), scenario=text))
    simulation = start_simulation(protocol, writer, read_script(text))
    simulation.run_to(schedule.end_us)
    writer.append(End(simulation.now_us, TIME_LIMIT_REACHED))
    writer.close()
    script = path.with_suffix(".script")
    script.write_text(text, "utf-8")
    return script


_PROGRAM = "program="


def format_rerun(target: str, base: Header, schedule: Schedule, script: Path) -> str:
    """Return the command line that simulates the run again."""
    named, sandboxed = split_sandbox(target)
    words = [f"lab run {quote(named)} --sim", *_conditions(base, schedule)]
    words += (f"--set {quote(setting)}" for setting in base.protocol.settings)
    words += ["--sandbox"] * sandboxed
    return " ".join([*words, *_outside(base, schedule), _script(schedule, script)])


def format_live_rerun(target: str, base: Header, schedule: Schedule, script: Path) -> str:
    """Return the command line that makes a live run of the program under this schedule once more."""
    words = [f"lab run --program {quote(base.protocol.parameters['program'])}"]
    lens, properties = split_target(target)
    if lens != next(iter(LENSES)):
        words.append(f"--lens {quote(lens.removeprefix('program-') if lens in LENSES else lens)}")
    if properties:
        words.append(f"--properties {quote(properties)}")
    words += _conditions(base, schedule)
    settings = (each for each in base.protocol.settings if not each.startswith(_PROGRAM))
    words += (f"--set {quote(setting)}" for setting in settings)
    return " ".join([*words, *_outside(base, schedule), _script(schedule, script)])


def _conditions(base: Header, schedule: Schedule) -> Iterator[str]:
    """Yield the options for the nodes, the timing and the links."""
    timing, link = base.timing, schedule.link
    yield f"--nodes {','.join(map(str, schedule.nodes))} --seed {schedule.seed}"
    yield f"--tm {format_us(timing.tm_us)} --tp {format_us(timing.tp_us)}"
    yield f"--latency {format_us(link.latency_us)} --jitter {format_us(link.jitter_us)}"


def _outside(base: Header, schedule: Schedule) -> Iterator[str]:
    """Yield the options for the clients and services."""
    wanted = wanted_in(base.roles, schedule.clients or len(schedule.nodes))
    if wanted.services:
        yield f"--service {','.join(wanted.services)}"
    if wanted.workload is not None:
        yield f"--workload {wanted.workload} --clients {wanted.clients} --rate {wanted.rate}"
    if wanted.model:
        yield f"--model {quote(wanted.model)}"


def _script(schedule: Schedule, script: Path) -> str:
    return f"--script {quote(str(script))} --headless --for {format_us(schedule.end_us)}"
