"""Grade a program in any language, written in stages: its nodes are processes of it, in live runs under faults.

The program is executed in a sandbox, as it is a stranger's; the network, the faults and the judge are here. As
for protocols, a stage counts only if all before it are passed, and each of its promises was judged; and it has a
hidden campaign, which gives the grade, and a visible one for the student.

A live run takes its time, and the machine has a part in it. So there are few runs, and what may have been a matter
of time counts only if it comes again in a run of twice the time, without a stall of the machine. If that leaves
too little of a campaign, there is no grade, rather than a bad one, or one that is not earned.
"""

import shlex
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.exercise import EVENTS_OVER, START_US, Exercise, ExerciseTask, ProgramStage
from lab.exercises.protocol_grading import (
    CampaignResult,
    ReportProgress,
    Shortfall,
    describe_faults,
    fill_event,
    visible_nodes,
)
from lab.foreign_file import read_foreign
from lab.kernel import Step, Timing, Wrote
from lab.properties.history_verdict import OperationCounts
from lab.properties.verdicts import Violation
from lab.protocols.maelstrom import NOT_A_MESSAGE
from lab.protocols.program import MISUNDERSTOOD, UNREACHABLE
from lab.recording.records import Commanded, Process, Record
from lab.scenario.file import as_key
from lab.text import UserError
from lab.units import CountText, format_count
from lab.worlds.campaign.campaign import Campaign, LivePlan, RunOutcome
from lab.worlds.campaign.finding import format_live_rerun
from lab.worlds.campaign.live_campaign import (
    LiveRuns,
    LiveTrial,
    draw_live,
    live_header,
    live_schedule_plan,
)
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, draw_frame
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.campaign.workers import default_workers
from lab.worlds.loading.program_confinement import ConfinedProgram
from lab.worlds.loading.programs import LARGEST_PROGRAM, words_that_execute
from lab.worlds.loading.roles import Wanted, roles_of
from lab.worlds.loading.targets import load_protocol
from lab.worlds.loading.user_module import TargetError

_PACKAGE = Path(__file__).parents[1]
_REPETITIONS = 3
_LEAST_JUDGED, _LEAST_AVAILABILITY = 0.5, 0.5
"""The shares of runs in which each promise must have been judged, and of operations that must have succeeded."""
_LONGEST_GAP_US = 1_000_000
_MISTAKES = (NOT_A_MESSAGE, UNREACHABLE, MISUNDERSTOOD)


class UnjudgedError(UserError):
    """The machine is too slow, or too busy, to judge a program on it; the text is for the user."""


class LiveEvidence(Struct, frozen=True):
    """A live run that breaks a stage: its files, ``recording`` and ``script``, and the command ``rerun``.

    ``violation`` is what it violates; None if the program itself failed.
    """

    violation: Violation | None
    recording: Path
    script: Path
    rerun: str


class HandedIn(Struct, frozen=True):
    """A program that was handed in: its ``file``, the words that execute it, and its copy, which is executed."""

    file: Path
    words: tuple[str, ...]
    copy: Path
    confined: ConfinedProgram

    @property
    def command(self) -> str:
        """The command that executes the copy."""
        return shlex.join([*self.words[:-1], str(self.copy)])


@contextmanager
def confined_program(exercise: Exercise, file: Path) -> Iterator[HandedIn]:
    """Copy the program into a folder of its own, for as long as it is graded. Raises TargetError."""
    words = words_that_execute(file)
    with TemporaryDirectory(prefix="lab-sandbox-") as folder:
        copy = Path(folder).resolve() / file.name
        try:
            # a link may lead to a solution
            copy.write_bytes(read_foreign(file, LARGEST_PROGRAM, follow_links=False))
        except OSError as error:
            raise TargetError(f"{file}: {error.strerror}; name the file of a program") from None
        copy.chmod(stat.S_IRUSR | stat.S_IXUSR)
        hidden = (str(_PACKAGE), str(exercise.folder))
        yield HandedIn(file, tuple(words), copy, ConfinedProgram(str(copy.parent), hidden))


class ProgramCampaigns:
    """The campaigns of an exercise's tasks, hidden or ``visible``, for the program that was ``handed_in``.

    What breaks a stage is recorded to the folder ``to``, if the campaign is a visible one.
    """

    def __init__(
        self,
        exercise: Exercise,
        handed_in: HandedIn,
        seed: int,
        report_progress: ReportProgress = lambda text: None,
        to: Path | None = None,
        visible: bool = False,
    ) -> None:
        self._exercise = exercise
        self._handed_in = handed_in
        self._seed = seed
        self._report_progress = report_progress
        self._to = to
        self._is_visible = visible

    def why_it_does_not_work(self) -> str:
        """Return nothing: programs are written, not repaired, and begin with a stage without faults."""
        return ""

    def run(self, task: ExerciseTask) -> tuple[CampaignResult, LiveEvidence | None]:
        """Make the runs of the task, up to the first that shows a shortfall. Raises UnjudgedError."""
        campaign = self._campaign(task)
        protocol = load_protocol(campaign.target)
        confined, workers = self._handed_in.confined, default_workers()
        with (
            TemporaryDirectory(prefix="lab-") as folder,
            LiveRuns(campaign, protocol, workers, Path(folder), confined) as runs,
        ):
            return self._judge(task, runs, campaign)

    def schedules(self, task: ExerciseTask) -> Iterator[Schedule]:
        """Yield the schedules of the runs of the task."""
        campaign = self._campaign(task)
        for number in range(campaign.runs):
            yield _schedule(campaign, self._needed(task), campaign.seed + number)

    def _needed(self, task: ExerciseTask) -> ProgramStage:
        assert task.program is not None
        return _as_visible(task.program) if self._is_visible else task.program

    def _campaign(self, task: ExerciseTask) -> Campaign:
        setup, needed = self._exercise.setup, self._needed(task)
        run_us = needed.run_us
        protocol = load_protocol(setup.protocol)
        parameters = {**setup.parameters, "program": self._handed_in.command}
        base = live_header(setup.protocol, protocol, needed.nodes[1], setup.timing, parameters)
        wanted = Wanted(needed.workload or None, None, needed.rate)
        roles = roles_of(wanted, protocol, base.nodes, setup.timing, None, as_key)
        base = replace(base, roles=roles, protocol=replace(base.protocol, promises=needed.promises))
        secret = Random(f"{self._seed}/{self._exercise.name}/{task.number}")
        return Campaign(
            setup.protocol,
            base,
            replace(live_schedule_plan(needed.nodes, needed.faults, run_us), timing=_prompt(setup.timing)),
            SearchGoal(),
            self._seed if self._is_visible else secret.randrange(1_000_000_000),
            needed.runs,
            guided=False,
            live=LivePlan(run_us, _REPETITIONS, ""),
        )

    def _judge(
        self, task: ExerciseTask, runs: LiveRuns, campaign: Campaign
    ) -> tuple[CampaignResult, LiveEvidence | None]:
        needed, done = self._needed(task), 0
        tally, noted = _Tally(needed), ""
        self._report(done, needed, task)
        with closing(runs.each(self.schedules(task))) as trials:
            for trial in trials:
                done += 1
                violation, why = None, describe_misbehaviour(trial.records)
                noted = noted or describe_first_note(trial.records)
                if not why:
                    outcome = runs.outcome(trial)
                    violation = _first_failure(trial, needed, outcome.unconfirmed)
                    why = "" if violation is None else f"{violation.assertion} is broken: {violation.text}"
                    tally.add(trial, outcome)
                self._report(done, needed, task)
                if why:
                    why = f"{why}, {describe_faults(needed.faults, needed.events)}: run {done}{noted}"
                    assertion = "" if violation is None else violation.assertion
                    shortfall = Shortfall(why, done, assertion, trial.schedule, trial.header)
                    evidence = self._keep(task, campaign, trial, violation)
                    return CampaignResult(done, tally.judged, shortfall), evidence
        why = tally.describe_missing(task)
        return CampaignResult(done, tally.judged, Shortfall(f"{why}{noted}") if why else None), None

    def _report(self, done: int, needed: ProgramStage, task: ExerciseTask) -> None:
        self._report_progress(CountText(done, needed.runs, "run", f"for task {task.number}"))

    def _keep(
        self, task: ExerciseTask, campaign: Campaign, trial: LiveTrial, violation: Violation | None
    ) -> LiveEvidence | None:
        """Keep the recording and the script of a run that breaks a stage, if the campaign is a visible one."""
        if self._to is None or not self._is_visible:
            return None
        what = "failed" if violation is None else violation.assertion
        recording = self._to / f"{self._exercise.name}-{task.number}-{what}.jsonl"
        script = recording.with_suffix(".script")
        own = shlex.join(self._handed_in.words)
        info = campaign.base.protocol
        base = replace(campaign.base, protocol=replace(info, parameters={**info.parameters, "program": own}))
        rerun = format_live_rerun(campaign.target, base, trial.schedule, script)
        shutil.copyfile(trial.recording, recording)
        script.write_text(trial.schedule.script(rerun), "utf-8")
        return LiveEvidence(violation, recording, script, rerun)


def _as_visible(needed: ProgramStage) -> ProgramStage:
    """Return what the visible campaign asks for: fewer runs, and no more nodes than one can look at."""
    return replace(needed, runs=needed.visible_runs, nodes=visible_nodes(needed.nodes))


def _prompt(timing: Timing) -> Timing:
    """Return the timing from which links are drawn: a real delay is longer, and must not exceed Tm either."""
    return Timing(timing.tm_us // 2, timing.t_us - 2 * (timing.tm_us // 2))


def _schedule(campaign: Campaign, needed: ProgramStage, seed: int) -> Schedule:
    """Draw the schedule of a run: its faults, or the times of the events, which are over early enough."""
    if needed.faults:
        return draw_live(campaign, seed)
    chance, run_us = Random(f"{seed}/events"), needed.run_us
    frame = draw_frame(campaign.plan, seed)
    last_us = int(run_us * EVENTS_OVER)
    at_us = chance.randint(START_US, max(START_US, last_us - _LONGEST_GAP_US))
    events = []
    for event in needed.events:
        command = fill_event(event, frame.nodes, chance)
        events.append(ScheduledFault(at_us // 1_000 * 1_000, "", command))
        at_us = min(max(at_us, last_us), at_us + chance.randint(0, _LONGEST_GAP_US))
    return replace(frame, faults=tuple(events), end_us=run_us)


def _has_all_events(trial: LiveTrial, needed: ProgramStage) -> bool:
    """Return whether all events of the stage happened: what is judged without them shows less."""
    if not needed.events:
        return True
    carried_out = {each.line for each in trial.records if isinstance(each, Commanded) and not each.refused}
    return len(carried_out - {0}) >= len(needed.events)


def _first_failure(trial: LiveTrial, needed: ProgramStage, unconfirmed: tuple[str, ...]) -> Violation | None:
    """Return the first violation, within what is promised, of what the stage judges."""
    counted = [name for name in needed.judged_by if name not in unconfirmed]
    return next((each for each in trial.violations if each.is_failure and each.assertion in counted), None)


def describe_misbehaviour(records: list[Record]) -> str:
    """Describe the first thing that a program of the run did that no program may, at any speed; empty if none did.

    That is to end by itself, or for a reason of the sandbox, or to write a line that is no message.
    """
    for record in records:
        if isinstance(record, Step) and isinstance(record.input, Wrote):
            if note := next((each for each in record.notes if each.startswith(NOT_A_MESSAGE)), ""):
                return f"node {record.node} wrote a line that is {note}"
        elif isinstance(record, Process) and record.event == "failed":
            return f"node {record.node} failed: {record.why}"
    return ""


def describe_first_note(records: list[Record]) -> str:
    """Describe the first mistake that was noted in a program's lines, after a semicolon: a run may fail by it."""
    wrote = False
    for record in records:
        if isinstance(record, Step):
            wrote = wrote or (isinstance(record.input, Wrote) and not record.input.log)
            if mistake := next((each for each in record.notes if each.startswith(_MISTAKES)), ""):
                return f"; noted at node {record.node}: {mistake}"
    return "" if wrote else "; no node wrote a line: is the output flushed after each?"


class _Tally:
    """The verdicts of the runs of a stage. ``judged`` counts the runs in which each promise was.

    It was not in a run in which it was violated, or not met at the end, but excused: by a fault, or a stall.
    """

    def __init__(self, needed: ProgramStage) -> None:
        self.judged = dict.fromkeys(needed.judged_by, 0)
        self._needed = needed
        self._doubtful: Counter[str] = Counter()
        self._operations = OperationCounts()
        self._runs = self._stalled_runs = 0

    def add(self, trial: LiveTrial, outcome: RunOutcome) -> None:
        """Count a run that shows no shortfall."""
        self._runs += 1
        self._stalled_runs += bool(trial.stalled_us)
        self._operations += outcome.operations
        excused = {each.assertion for each in trial.violations} | trial.owing
        for name in self.judged:
            if name in excused:
                # without faults that excuse it, the machine was late
                by_machine = not self._needed.faults or bool(trial.stalled_us)
                self._doubtful[name] += by_machine or name in outcome.unconfirmed
            elif name in outcome.judged and _has_all_events(trial, self._needed):
                self.judged[name] += 1

    def describe_missing(self, task: ExerciseTask) -> str:
        """Describe what was judged too little to be passed; empty if nothing was. Raises UnjudgedError."""
        for name, count in self.judged.items():
            if count < _LEAST_JUDGED * self._runs:
                self._require_judgeable(task, f"{name} seemed broken", self._doubtful[name])
                return f"{name} was judged in {count or 'none'} of {format_count(self._runs, 'run')}"
        called, ok = self._operations.called, self._operations.ok
        if ok < _LEAST_AVAILABILITY * called:
            why = f"{ok} of {format_count(called, 'operation')} of the clients succeeded; half of them must"
            self._require_judgeable(task, f"{why}; the machine stalled", self._stalled_runs)
            return why
        return ""

    def _require_judgeable(self, task: ExerciseTask, what: str, doubtful_runs: int) -> None:
        if doubtful_runs:
            raise UnjudgedError(
                f"task {task.number} cannot be judged: {what} in {format_count(doubtful_runs, 'run')}, and might "
                "not have on a faster machine, so nothing is graded; try again when the machine is quiet"
            )
