"""Campaigns on programs: drawn schedules of faults in live runs, several at a time.

The schedule is reproducible, the run is not: what a program does, and when, depends on the machine. So a finding
is repeated, and says in how many of the repetitions it came again.

A slow machine must not accuse a program. An answer that is wrong at any speed is a finding at once. Whatever may
have been a matter of time, such as a message that is not everywhere at the end, or two nodes that lead, counts
only if the machine kept its times (no stall was recorded), and if it comes again in a run of twice the time. If it
does not, it is *unconfirmed*.

Many faults strike at a message. Which kinds of messages a program has is not known before. So a campaign begins
with a run without faults, and the kinds seen in it are part of the campaign's plan: its file has them, and a
campaign that goes on draws the same schedules.
"""

import hashlib
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from lab.foreign_file import RefusedFileError, read_foreign
from lab.kernel import Step, Timing
from lab.properties.assertions import RAISES
from lab.properties.history_verdict import HistoryViolation, OperationCounts, judge_history, workload_of
from lab.properties.judge import Judge
from lab.properties.verdicts import Evidence, Violation
from lab.protocols import Algorithm
from lab.protocols.clients import Client
from lab.protocols.workloads import WORKLOADS
from lab.recording.reader import open_recording
from lab.recording.records import Header, Link, Record, Stall, header_in
from lab.text import UserError
from lab.worlds.campaign.campaign import Campaign, LivePlan, RunOutcome, count_violations
from lab.worlds.campaign.finding import INTERRUPTED, OUT_OF_TIME, ShrunkFinding, fewer, is_past, shrink
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, draw
from lab.worlds.campaign.situations import NO_SITUATIONS, majorities_in
from lab.worlds.campaign.trial import count_faults, header_for
from lab.worlds.campaign.workers import in_order
from lab.worlds.launch import HostFailedError, HostProcess
from lab.worlds.loading.config import RunConfig, header_of, new_run_name
from lab.worlds.loading.program_confinement import ConfinedProgram

LIVE_FAULTS = ("kill", "pause", "partition", "delay", "loss", "duplicate", "reorder")
"""The kinds that strike programs; their storage is their own affair."""
OVERHEAD_US = 1_500_000
"""About how long it takes to start a run, to end it, and to judge it."""
_MOMENTS = ("send", "before send", "deliver")
_RETURNS = ("heal", "join", "resume", "restart")
_T_IN_RUN = 50
"""Faults are drawn as for a T of which a run has so many: then most schedules fit into it."""
_FIRST_US = 2_000_000
"""The first fault comes when the programs have started."""
_LIFTED_PERCENT, _LIFTED_PERCENT_BEFORE_LAST_READS = 70, 48
"""All faults are over after this much of a run."""
_PATIENCE = 2
"""A run in which something is confirmed takes so many times as long."""
_GRACE_S = 60.0
"""A host that has not ended so long after the end of its run never will."""
_POLL_S = 0.05
_DIGITS = 12
_MOST_CANDIDATES = 20
"""So many smaller schedules are tried at most: each takes some live runs."""


class LiveRunFailedError(UserError):
    """A live run could not be made; the text is for the user."""


def program_digest(command: str) -> str:
    """Return the digest of a command, and of the files that it names."""
    digest = hashlib.sha256(command.encode())
    for word in shlex.split(command):
        if Path(word).is_file():
            with suppress(OSError, RefusedFileError):
                digest.update(read_foreign(Path(word)))
    return digest.hexdigest()[:_DIGITS]


def live_header(
    target: str, protocol: type[Algorithm], count: int, timing: Timing, parameters: dict[str, Any]
) -> Header:
    """Return the header that the live runs of a campaign have in common."""
    nodes = tuple(range(1, count + 1))
    return replace(header_of(RunConfig("", target, nodes, timing, parameters, Link(), 0, ""), protocol), began="")


def live_schedule_plan(nodes: tuple[int, int], faults: tuple[str, ...], run_us: int) -> SchedulePlan:
    """Return the plan of schedules that fit into runs of this time."""
    t_us = run_us // _T_IN_RUN // 5_000 * 5_000
    tm_us = t_us * 2 // 5
    return SchedulePlan(nodes, faults, Timing(tm_us, t_us - 2 * tm_us), (), gaps=False, moments=_MOMENTS)


def striking_at(campaign: Campaign, kinds: tuple[str, ...]) -> Campaign:
    """Return the campaign with faults that wait for messages of these kinds."""
    return replace(campaign, plan=replace(campaign.plan, kinds=kinds))


def draw_live(campaign: Campaign, seed: int) -> Schedule:
    """Return the schedule of the run with this seed, whose end is that of the run.

    It is stretched so that its faults are over early enough for the programs to recover, and not earlier. Before
    last reads, what ends a fault waits for no message, nor for one on a link, which may come too late.
    """
    run_us, drawn = live_plan_of(campaign).run_us, draw(campaign.plan, seed)
    has_last_reads = _has_last_reads(campaign.base)
    percent = _LIFTED_PERCENT_BEFORE_LAST_READS if has_last_reads else _LIFTED_PERCENT
    first_us = min(_FIRST_US, run_us // 5)
    room_us = run_us * percent // 100 - first_us
    faults = tuple(
        replace(
            fault,
            at_us=(first_us + fault.at_us * room_us // drawn.end_us) // 1_000 * 1_000,
            on=_soon(fault) if has_last_reads else fault.on,
        )
        for fault in drawn.faults
    )
    return replace(drawn, faults=faults, end_us=run_us)


def _soon(fault: ScheduledFault) -> str:
    """Return the trigger of a fault without its link; that of what ends a fault is dropped."""
    if fault.command.startswith(_RETURNS):
        return ""
    return fault.on.rpartition(" ")[0] if "->" in fault.on else fault.on


def kinds_of(records: Iterable[Record], since_us: int = 0) -> tuple[str, ...]:
    """Return the kinds of the messages sent since then, sorted; those between nodes of the cluster twice."""
    found: set[str] = set()
    inside: set[str] = set()
    nodes: tuple[int, ...] = ()
    for record in records:
        if isinstance(record, Header):
            nodes = record.nodes
        elif isinstance(record, Step) and record.at_us >= since_us:
            found |= {message.kind for message in record.sent}
            if record.node in nodes:
                inside |= {message.kind for message in record.sent if message.target in nodes}
    return tuple(sorted([*found, *inside]))


def depends_on_time(violation: Violation) -> bool:
    """Return whether a slow machine might have caused what looks like a violation.

    Of histories only what is judged by last reads does: all else is wrong at any speed.
    """
    if isinstance(violation, HistoryViolation):
        return WORKLOADS[violation.assertion].final is not None
    return True


class LiveTrial(Struct, frozen=True):
    """A live run that is over, and judged. ``recording`` is its file; ``stalled_us`` are the times of stalls.

    ``owing``: the assertions that were not met at its end, when there was still time.
    """

    schedule: Schedule
    recording: Path
    records: list[Record]
    violations: list[Violation]
    judged: dict[str, Evidence]
    broken: frozenset[int]
    operations: OperationCounts
    stalled_us: tuple[int, ...]
    owing: frozenset[str] = frozenset()
    errors: dict[str, str] = {}

    @classmethod
    def read(cls, schedule: Schedule, recording: Path) -> "LiveTrial":
        """Judge the recording of a run."""
        with closing(open_recording(recording)) as store:
            records = [each for each in store.records() if each is not None]
            judge = Judge(store.header)
        for record in records:
            judge.observe(record)
        judged = {each.assertion: replace(each.evidence, text="") for each in judge.verdicts()}
        violations, history = list(judge.violations), judge_history(records)
        if history is not None:
            judged[history.assertion] = replace(history.evidence, text="")
            violations += [] if history.violation is None else [history.violation]
        return cls(
            schedule,
            recording,
            records,
            violations,
            {name: each for name, each in judged.items() if each.since is not None},
            judge.ever_broken,
            OperationCounts() if history is None else history.operations,
            tuple(each.at_us for each in records if isinstance(each, Stall)),
            judge.owing,
            judge.errors,
        )

    @property
    def header(self) -> Header:
        return header_in(self.records)

    def shows(self, violation: Violation) -> bool:
        """Return whether the same assertion is violated in it, and no stall may be the cause."""
        return any(
            each.assertion == violation.assertion and each.is_failure == violation.is_failure
            for each in self.violations
        ) and not (depends_on_time(violation) and self._has_stalled(violation))

    def _has_stalled(self, violation: Violation) -> bool:
        """Return whether the machine stalled when that may matter: of histories, once the last reads are near."""
        since_us = 0
        if isinstance(violation, HistoryViolation):
            clients = next(role for role in self.header.roles if role.protocol == Client.name)
            since_us = clients.parameters["until_us"] or 0
        return any(at_us >= since_us for at_us in self.stalled_us)


class LiveRuns:
    """Makes live runs, up to ``workers`` at a time, with recordings in ``folder``; use it in a ``with`` block.

    Threads wait for the hosts. When the block is left, runs that are going on end. A program that is ``confined``
    runs in a sandbox.
    """

    def __init__(
        self,
        campaign: Campaign,
        protocol: type[Algorithm],
        workers: int,
        folder: Path,
        confined: ConfinedProgram | None = None,
    ) -> None:
        self.campaign = campaign
        self._protocol = protocol
        self._workers = workers
        self._folder = folder
        self._confined = confined
        self._threads = ThreadPoolExecutor(workers, "live-run")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    def find_kinds(self) -> tuple[str, ...]:
        """Make a run without faults; return the kinds of messages to strike at. Raises LiveRunFailedError.

        Before last reads, these are the kinds that are sent all the time: a fault that waits for any other may
        come too late.
        """
        calm = replace(draw_live(self.campaign, self.campaign.seed), faults=())
        with closing(self.each([calm])) as trials:
            (trial,) = trials
        trial.recording.unlink(missing_ok=True)
        return kinds_of(trial.records, calm.end_us // 3 if _has_last_reads(self.campaign.base) else 0)

    def each(self, schedules: Iterable[Schedule]) -> Generator[LiveTrial, None, None]:
        """Make these runs, and yield them in their order; those still going on end when the iterator is closed.

        Raises LiveRunFailedError.
        """
        over = threading.Event()
        try:
            chunks = ((schedule,) for schedule in schedules)
            yield from in_order(chunks, lambda chunk: self._threads.submit(self._run, *chunk, over), self._workers)
        finally:
            over.set()

    def outcomes(self, schedules: Iterable[Schedule]) -> Generator[tuple[RunOutcome, LiveTrial], None, None]:
        """Make the runs with these schedules. What may be a matter of time is confirmed, or else is no violation.

        Raises LiveRunFailedError.
        """
        with closing(self.each(schedules)) as trials:
            for trial in trials:
                yield self.outcome(trial), trial

    def repeat(
        self, schedule: Schedule, stop: Callable[[LiveTrial], bool] = lambda trial: False
    ) -> list[LiveTrial]:
        """Make a run as often as the campaign repeats findings, or until one for which ``stop`` returns True."""
        made = []
        trials = self.each([schedule] * live_plan_of(self.campaign).repetitions)
        with closing(trials):
            for trial in trials:
                made.append(trial)
                if stop(trial):
                    break
        return made

    def _run(self, schedule: Schedule, over: threading.Event) -> list[LiveTrial]:
        """Make a run; return nothing if it is ended early."""
        header = header_for(self._protocol, self.campaign.base, schedule)
        name = new_run_name(header.protocol.name)
        recording = self._folder / f"{name}.jsonl"
        config = RunConfig(
            name,
            self.campaign.target,
            header.nodes,
            header.timing,
            header.protocol.parameters,
            header.link,
            header.seed,
            str(recording),
            end_us=schedule.end_us,
            script="\n".join(map(str, schedule.faults)),
            roles=header.roles,
            confined=self._confined,
        )
        host = HostProcess(config)
        try:
            host.ready()
            ends_s = time.monotonic() + schedule.end_us / 1e6 + _GRACE_S
            while host.process.poll() is None:
                if over.is_set():
                    host.end()
                    return []
                if time.monotonic() > ends_s:
                    host.end()
                    raise LiveRunFailedError("a live run did not end in time, so it was ended; is the disk slow?")
                with suppress(subprocess.TimeoutExpired):
                    host.process.wait(_POLL_S)
            host.wait()
        except HostFailedError as error:
            raise LiveRunFailedError(f"a live run failed: {error}") from None
        finally:
            host.close()
        return [LiveTrial.read(schedule, recording)]

    def outcome(self, trial: LiveTrial) -> RunOutcome:
        """Return the outcome of a run. What may be a matter of time is confirmed, or else is no violation."""
        promised = (*self.campaign.promises, RAISES.id)
        doubtful = {
            each.assertion
            for each in trial.violations
            if each.is_failure and each.assertion in promised and depends_on_time(each)
        }
        confirmed = {name for name in doubtful if self._is_confirmed(trial, name)}
        unconfirmed = doubtful - confirmed
        violations = [each for each in trial.violations if each.assertion not in unconfirmed]
        matching = next(filter(self.campaign.goal.matches, violations), None)
        return RunOutcome(
            schedule=trial.schedule,
            found=matching is not None,
            situations=NO_SITUATIONS,
            struck=(),
            steps=sum(isinstance(record, Step) for record in trial.records),
            virtual_us=trial.schedule.end_us,
            faults=count_faults(trial.records),
            violations=count_violations(violations),
            ways=frozenset(),
            outcomes={},
            states_at_once=frozenset(),
            broken=trial.broken,
            judged={name: each for name, each in trial.judged.items() if name not in unconfirmed},
            majorities=majorities_in(trial.records),
            counterexample=None if matching is None else _counterexample(matching, trial.schedule),
            operations=trial.operations,
            unconfirmed=tuple(sorted(unconfirmed)),
            errors=trial.errors,
        )

    def _is_confirmed(self, trial: LiveTrial, assertion: str) -> bool:
        violation = next(each for each in trial.violations if each.assertion == assertion and each.is_failure)
        if not trial.shows(violation):
            return False
        longer = replace(trial.schedule, end_us=_PATIENCE * trial.schedule.end_us)
        made = self.repeat(longer, lambda each: each.shows(violation))
        for each in made:
            each.recording.unlink(missing_ok=True)
        return any(each.shows(violation) for each in made)


class LiveShrinking:
    """Shrinks the faults of a live run, each candidate in several runs: one that shows the same is enough.

    ``trial`` is the smallest so far, ``tried`` the number of candidates, of which there are few. ``untried`` is
    why some that are simpler by one fault were left untried. At the monotonic time ``ends_s``, in seconds, no more
    runs are begun.
    """

    def __init__(
        self, runs: LiveRuns, trial: LiveTrial, violation: Violation, ends_s: float | None = None
    ) -> None:
        self.trial = trial
        self.violation = violation
        self.tried = 0
        self.untried = INTERRUPTED
        self._given_up = ""
        self._runs = runs
        self._ends_s = ends_s
        self._seen = {trial.schedule}

    def run(self, progress: Callable[[int], None]) -> None:
        """Shrink until nothing gets smaller; ``progress`` is called with the number of each candidate."""
        self._progress = progress
        shrink(lambda: self.trial.schedule, (_fewer_faults,), self._keep)
        self.untried = self._given_up

    def _keep(self, schedule: Schedule) -> bool:
        if self._given_up or schedule in self._seen:
            return False
        if self.tried >= _MOST_CANDIDATES or is_past(self._ends_s):
            self._given_up = "each takes some live runs" if self.tried >= _MOST_CANDIDATES else OUT_OF_TIME
            return False
        self._seen.add(schedule)
        self.tried += 1
        self._progress(self.tried)
        *_, last = self._runs.repeat(schedule, lambda trial: self._shows(trial) or is_past(self._ends_s))
        if not self._shows(last):
            return False
        self.trial = last
        self.violation = violation_like(self.violation, last)
        return True

    def _shows(self, trial: LiveTrial) -> bool:
        return trial.shows(self.violation)


def violation_like(violation: Violation, trial: LiveTrial) -> Violation:
    """Return the violation of the same assertion in a run that shows it."""
    return next(
        each
        for each in trial.violations
        if each.assertion == violation.assertion and each.is_failure == violation.is_failure
    )


def _fewer_faults(schedule: Schedule) -> Iterator[Schedule]:
    for faults in fewer(schedule.faults):
        yield replace(schedule, faults=faults)


def _counterexample(violation: Violation, schedule: Schedule) -> ShrunkFinding:
    broken = tuple(each.assumption for each in violation.broken)
    return ShrunkFinding(violation.assertion, broken, str(violation), schedule)


def live_plan_of(campaign: Campaign) -> LivePlan:
    """Return how the runs of a campaign on a program are made."""
    assert campaign.live is not None
    return campaign.live


def _has_last_reads(base: Header) -> bool:
    """Return whether the clients end with operations by which their history is judged."""
    workload = workload_of(base)
    return bool(workload) and WORKLOADS[workload].final is not None
