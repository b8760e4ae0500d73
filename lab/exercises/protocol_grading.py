"""Grade a protocol file by randomized testing, as ``lab check`` does: one that was repaired, or written in stages.

The student's file is executed in sandboxes, the judge is here. In a sandbox the methods that the exercise is about
are those of the file that was given out, in the built-in classes too, and the other protocols are empty: to import
the answer is none. The exercise defines what the protocol must satisfy: a class that promises nothing, or allows
itself more time, gains nothing. A task counts only if all tasks before it are done, and each of its promises was
judged in some run. So neither a class that does nothing nor the unchanged file earns a point.

A task has two campaigns. The **hidden** one gives the grade: its seeds, times and numbers of nodes are secret, so
that a protocol for one particular network fails. The **visible** one is for the student: it has small clusters and
the usual times, the same for everybody, and what it finds can be shrunk and looked at.

A repaired protocol must first of all work without faults. One that is written begins with a stage without faults.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.exercise import EVENT_NODES, Exercise, ExerciseTask, Requirement, Stage
from lab.exercises.handout import fill
from lab.kernel import Request, Step, Timing
from lab.properties.assertions import RAISES
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm
from lab.recording.records import Header, Link
from lab.tasks.extension import analysis_of, extension_class
from lab.units import CountText, format_count
from lab.worlds.campaign.campaign import count_outcomes
from lab.worlds.campaign.finding import Finding, format_rerun, shrink_finding, write_run
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, draw, draw_frame, plan_of
from lab.worlds.campaign.trial import RunawayError, SearchGoal, Trial, run_trial
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.sandbox import Origin
from lab.worlds.loading.sandboxed_protocol import SandboxedProtocol, represent
from lab.worlds.loading.settings import timing_of
from lab.worlds.loading.targets import load_protocol, split_target
from lab.worlds.loading.user_module import TargetError

_NETWORKS = 5
_CALM_RUNS = 6
_CALM_T, _COMMAND_EVERY_T = 20, 25
_BUDGET_S = 900.0
_MOST_KINDS = 12
"""The number of kinds of messages that faults wait for, in a protocol that was written."""
_MOST_VISIBLE_NODES = 4
_SETTLED_T = 15
_SHARE_AMID = 0.8
"""The share of kills among the events that wait for a message, to strike between two of one step."""

ReportProgress = Callable[[str], None]


class Shortfall(Struct, frozen=True):
    """Why a task is not done. If a run shows it: its number, its ``schedule``, and the ``base`` of its header.

    ``assertion`` is the one that the run violates, if it violates one.
    """

    why: str
    run: int = 0
    assertion: str = ""
    schedule: Schedule | None = None
    base: Header | None = None


class BreakingRun(Struct, frozen=True):
    """A run that breaks a task: its files, ``recording`` and ``script``, and the command ``rerun``.

    It was shrunk to the ``finding``; None if it violates no assertion, but sends too many messages.
    """

    finding: Finding | None
    recording: Path
    script: Path
    rerun: str


class CampaignResult(Struct, frozen=True):
    """What a campaign of a task found; ``judged`` counts the runs in which each promise was judged."""

    runs: int
    judged: dict[str, int]
    shortfall: Shortfall | None = None


@contextmanager
def sandboxed(exercise: Exercise, file: Path, secret: str) -> Iterator[type[SandboxedProtocol]]:
    """Return the class in the file, to be executed in sandboxes. Raises TargetError."""
    given, _ = split_target(exercise.setup.protocol)
    path = file.parent.resolve() / file.name  # not where a link points to: to a solution, perhaps
    name = given.rpartition(":")[2]
    target = f"{path}:{name}"
    origin = Origin(target, path, siblings=False, original=given, budget_s=_BUDGET_S, secret=f"{secret}/nodes")
    try:
        handed_in = represent(origin)
    except TargetError as error:
        what, has_other, _ = str(error).partition("; did you mean ")
        if f" has no class {name}" in what:  # another class cannot be named for it
            what += f"; name yours {name}, as {exercise.name} asks" if has_other else ""
            raise TargetError(what) from None
        raise
    with closing(handed_in.pool):
        yield handed_in


class _Network(Struct, frozen=True):
    """The timing and the number of nodes for a share of the runs, and the seed of these runs."""

    timing: Timing
    nodes: tuple[int, int]
    seed: int


class ProtocolCampaigns:
    """The campaigns of an exercise's tasks, hidden or ``visible``, for the class that was ``handed_in`` in a file.

    If there is a folder ``to``, the run that breaks a task is recorded to it.
    """

    def __init__(
        self,
        exercise: Exercise,
        file: Path,
        handed_in: type[Algorithm],
        seed: int,
        report_progress: ReportProgress,
        to: Path | None,
        visible: bool,
    ) -> None:
        self._exercise = exercise
        self._file = file
        self._original = load_protocol(exercise.setup.protocol)
        self._handed_in = handed_in
        self._seed = seed
        self._report_progress = report_progress
        self._to = to
        self._is_visible = visible

    # without faults

    def why_it_does_not_work(self) -> str:
        """Return what a repaired protocol fails in without faults; empty if nothing does."""
        if self._exercise.tasks[0].stage is not None:
            return ""
        for network in self._networks("calm", (2, 5), _CALM_RUNS):
            schedule = self._calm(network)
            trial = self._trial(self._base(network, schedule, self._original.promises), schedule)
            if isinstance(trial, str):
                return trial
            if found := _describe_failure(trial, self._original.promises):
                return f"without any fault, {found}"
            analysis = analysis_of(extension_class(self._original))
            done = count_outcomes(self._original, trial.records).get(analysis.success, 0)
            if done < len(schedule.faults):
                given = format_count(len(schedule.faults), analysis.noun)
                return f"without any fault, not all of {given} are {analysis.success}"
        return ""

    def _calm(self, network: _Network) -> Schedule:
        """Build a schedule without faults, in which the highest node gets the protocol's errands, one by one."""
        t_us, nodes = network.timing.t_us, tuple(range(1, network.nodes[1] + 1))
        errands = tuple(
            ScheduledFault((_CALM_T + k * _COMMAND_EVERY_T) * t_us, "", f"tell {nodes[-1]} {command}")
            for k, command in enumerate(extension_class(self._original).errands)
        )
        end_us = max((errand.at_us for errand in errands), default=0) + _COMMAND_EVERY_T * t_us
        return Schedule(network.seed, nodes, Link(network.timing.tm_us // 4), errands, end_us)

    # the campaign of a task

    def run(self, task: ExerciseTask) -> tuple[CampaignResult, BreakingRun | None]:
        """Make the runs of the task, up to the first that shows a shortfall; that one may be recorded."""
        result = self._run(task)
        return result, None if result.shortfall is None else self._record(task, result.shortfall)

    def _run(self, task: ExerciseTask) -> CampaignResult:
        needed = _as_visible(task.requirement) if self._is_visible else task.requirement
        assert needed is not None
        faults = describe_faults(needed.faults, needed.events if isinstance(needed, Stage) else ())
        judged = dict.fromkeys(needed.promises, 0)
        done = 0
        for base, schedule in self._runs(task, needed):
            self._report_progress(CountText(done, needed.runs, "run", f"for task {task.number}"))
            done += 1
            trial = self._trial(base, schedule)
            if isinstance(trial, str):
                return CampaignResult(done, judged, Shortfall(trial, done, "", schedule, base))
            for name in judged.keys() & trial.judged.keys():
                judged[name] += 1
            if why := _describe_failure(trial, needed.promises):
                failure = _first_failure(trial, needed.promises)
                assertion = "" if failure is None else failure.assertion
                why = f"{why}, {faults}: run {done}"
                return CampaignResult(done, judged, Shortfall(why, done, assertion, schedule, base))
            if why := _describe_excess(needed, trial, base):
                return CampaignResult(done, judged, Shortfall(f"{why}: run {done}", done, "", schedule, base))
        unjudged = [name for name, runs in judged.items() if not runs]
        why = f"{unjudged[0]} was judged in none of {done} runs" if unjudged else ""
        return CampaignResult(done, judged, Shortfall(why) if why else None)

    def _runs(self, task: ExerciseTask, needed: Requirement) -> Iterator[tuple[Header, Schedule]]:
        networks = 1 if self._is_visible else min(_NETWORKS, needed.runs)
        each, more = divmod(needed.runs, networks)
        for number, network in enumerate(self._networks(f"task {task.number}", needed.nodes, networks)):
            plan = self._plan(needed, network)
            for seed in range(network.seed, network.seed + each + (number < more)):
                schedule = _schedule(needed, plan, seed)
                yield self._base(network, schedule, needed.promises), schedule

    def _plan(self, needed: Requirement, network: _Network) -> SchedulePlan:
        """Plan as for the file that was given out, with the student's messages as targets of faults, too."""
        plan = plan_of(self._original, network.nodes, needed.faults, network.timing)
        plan = replace(plan, commands=needed.commands or plan.commands)
        own = self._handed_in.payloads
        added = [kind for kind in own if kind not in self._original.payloads]
        if not isinstance(needed, Stage):
            some = added[: len(plan.kinds)]  # more of them would be targets in place of those that are sent
            return replace(plan, kinds=(*plan.kinds, *some))
        sent = (
            self._kinds_sent(replace(plan, faults=()), network) if needed.faults or needed.events else set[str]()
        )
        first = sorted(added, key=lambda kind: kind not in sent)
        some = [kind for kind in first if kind in sent or needed.faults][:_MOST_KINDS]
        return replace(plan, kinds=tuple(some), requests=tuple(k for k in some if issubclass(own[k], Request)))

    def _kinds_sent(self, plan: SchedulePlan, network: _Network) -> set[str]:
        """Return the kinds of messages in a run without faults: a declaration alone makes no target."""
        schedule = draw_frame(plan, network.seed)
        trial = self._trial(self._base(network, schedule, ()), schedule)
        records = [] if isinstance(trial, str) else trial.records
        return {message.kind for each in records if isinstance(each, Step) for message in each.sent}

    # what breaks it

    def _record(self, task: ExerciseTask, shortfall: Shortfall) -> BreakingRun | None:
        """Write the run as a recording and a script, shrunk if it violates something; None if it does not end."""
        if self._to is None or shortfall.base is None or shortfall.schedule is None:
            return None
        base, least, finding = self._with_own_source(shortfall.base), shortfall.schedule, None
        if shortfall.assertion:
            self._report_progress(f"shrinking the violation of {shortfall.assertion}")
            finding, interrupted = shrink_finding(self._handed_in, base, SearchGoal(), least)
            if interrupted:
                raise KeyboardInterrupt
            least = finding.least
        elif isinstance(self._trial(base, least), str):
            return None
        given, properties = split_target(self._exercise.setup.protocol)
        target = f"{self._file}:{given.rpartition(':')[2]}"
        what = finding.violation.assertion if finding is not None else f"run-{shortfall.run}"
        path = self._to / f"{self._exercise.name}-{task.number}-{what}.jsonl"
        rerun = format_rerun(target, base, least, path.with_suffix(".script"))
        rerun += f" --properties {quote(properties)}" if properties else ""
        shows = str(finding.violation) if finding is not None else shortfall.why
        script = write_run(self._handed_in, base, least, path, (shows, rerun))
        return BreakingRun(finding, path, script, rerun)

    def _with_own_source(self, base: Header) -> Header:
        """Return the header with the source of the student's file, as the recording shows it."""
        own = simulation_header(self._handed_in, base.nodes, base.timing, {}).protocol
        return replace(
            base, protocol=replace(base.protocol, source=own.source, file=own.file, heartbeats=own.heartbeats)
        )

    # all of them

    def _networks(self, purpose: str, nodes: tuple[int, int], count: int) -> Iterator[_Network]:
        if self._is_visible:
            yield _Network(timing_of(None), nodes, self._seed)
            return
        for k in range(count):
            chance = Random(f"{self._seed}/{self._exercise.name}/{purpose}/{k}")
            timing = Timing(chance.randrange(20_000, 400_000, 1000), chance.randrange(10_000, 200_000, 1000))
            most = chance.randint(nodes[0], nodes[1])
            yield _Network(timing, (nodes[0], most), chance.randrange(1_000_000_000))

    def _base(self, network: _Network, schedule: Schedule, promises: tuple[str, ...]) -> Header:
        """Build the header for judging: the original file defines what is promised, and how soon."""
        parameters = self._exercise.setup.parameters
        header = simulation_header(self._original, schedule.nodes, network.timing, parameters)
        return replace(header, protocol=replace(header.protocol, promises=promises))

    def _trial(self, base: Header, schedule: Schedule) -> Trial | str:
        try:
            trial = run_trial(self._handed_in, base, schedule)
        except TargetError as error:
            return str(error)
        except RunawayError:
            trial = None
        return "its messages multiply without bound" if trial is None or trial.given_up else trial


def visible_nodes(nodes: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of nodes (from, to) of a visible campaign: no more than one can look at."""
    least, most = nodes
    return least, max(least, min(most, _MOST_VISIBLE_NODES))


def describe_faults(faults: tuple[str, ...], events: tuple[str, ...]) -> str:
    if faults:
        return f"with faults {' and '.join(faults)}"
    return f"with {', '.join(events)}" if events else "without any fault"


def fill_event(event: str, nodes: tuple[int, ...], chance: Random) -> str:
    """Put nodes in place of their names in the event: see ``Stage``."""
    *others, highest = nodes
    drawn = highest, chance.choice(others or [highest]), chance.choice(nodes)
    return fill(event, dict(zip(EVENT_NODES, map(str, drawn), strict=True)))


def _schedule(needed: Requirement, plan: SchedulePlan, seed: int) -> Schedule:
    """Draw the schedule of a run."""
    if needed.faults:
        return draw(plan, seed)
    frame = draw_frame(plan, seed)
    return _with_events(frame, needed.events, plan, seed) if isinstance(needed, Stage) else frame


def _with_events(schedule: Schedule, events: tuple[str, ...], plan: SchedulePlan, seed: int) -> Schedule:
    """Give the events in order: the first when the nodes have settled, each later one soon after.

    A kill may strike amid the messages that the event before it causes.
    """
    chance, t_us = Random(f"{seed}/events"), plan.timing.t_us
    due_us = at_us = chance.randint(_SETTLED_T, _SETTLED_T + 10) * t_us
    given = []
    for event in events:
        command = fill_event(event, schedule.nodes, chance)
        is_amid = command.startswith("kill") and bool(plan.kinds) and chance.random() < _SHARE_AMID
        on = _draw_message(plan, schedule.nodes, command, chance) if is_amid else ""
        is_return = command.startswith("restart")  # not before the node has been missed
        due_us += chance.choice([0, chance.randint(0, t_us), chance.randint(0, 6 * t_us)]) // 1000 * 1000
        due_us += t_us * is_return
        # a kill amid messages waits for them from before the event that has them sent
        given.append(ScheduledFault(at_us - 1_000 if on else due_us, on, command))
        at_us = due_us
    faults = sorted((*schedule.faults, *given), key=lambda fault: fault.at_us)
    return replace(schedule, faults=tuple(faults), end_us=max(schedule.end_us, at_us + t_us if given else 0))


def _draw_message(plan: SchedulePlan, nodes: tuple[int, ...], command: str, chance: Random) -> str:
    """Draw a message to wait for; half of those to wait for before a node is killed are its own, or to it."""
    on = f"{chance.choice(['before send', 'send', 'deliver'])} {chance.choice(plan.kinds)}"
    victim = command.rpartition(" ")[2]
    peers = [str(node) for node in nodes if str(node) != victim]
    if victim.isdecimal() and peers and chance.random() < 0.5:
        on += " " + "->".join(chance.sample([victim, chance.choice(peers)], 2))
    return on


def _as_visible(needed: Requirement | None) -> Requirement | None:
    """Return what the visible campaign of a stage asks for: fewer runs, and no more nodes than one can look at."""
    if not isinstance(needed, Stage):
        return needed
    visible = needed.visible
    return replace(
        needed,
        runs=visible.runs,
        nodes=visible.nodes or visible_nodes(needed.nodes),
        faults=needed.faults if visible.faults is None else visible.faults,
    )


def _first_failure(trial: Trial, promises: tuple[str, ...]) -> Violation | None:
    """Return the first violation whose assumptions all held; exceptions of the protocol always count."""
    judged = (*promises, RAISES.id)
    return next((each for each in trial.violations if each.is_failure and each.assertion in judged), None)


def _describe_failure(trial: Trial, promises: tuple[str, ...]) -> str:
    """Describe the first failure; empty if there is none.

    A promise that cannot be judged counts, too: the property does not know the states of the protocol.
    """
    first = _first_failure(trial, promises)
    if first is None:
        unknown = next((name for name in promises if name in trial.errors), "")
        return f"{unknown} cannot be judged: {trial.errors[unknown]}" if unknown else ""
    return (
        f"it fails: {first.text}" if first.assertion == RAISES.id else f"{first.assertion} is broken: {first.text}"
    )


def _describe_excess(needed: Requirement, trial: Trial, base: Header) -> str:
    """Describe by how much it sends too many messages; empty if it does not."""
    sent = _count_messages(trial)
    if isinstance(needed, Stage) and needed.messages is not None:
        each = sent / max(1, len(trial.schedule.faults) * (len(trial.schedule.nodes) - 1))
        if each > needed.messages:
            most = f"{needed.messages:g}"
            return f"it sends {each:.1f} messages for each command and other node; at most {most} are allowed"
    if needed.like:
        usual = run_trial(load_protocol(needed.like), base, trial.schedule)
        many = sent / trial.end_us / max(_count_messages(usual) / usual.end_us, 1e-9)
        if many > needed.times:
            text = f"it sends {many:.1f} times as many messages as {needed.like}"
            return f"{text}; at most {needed.times:g} are allowed"
    return ""


def _count_messages(trial: Trial) -> int:
    return sum(len(each.sent) for each in trial.records if isinstance(each, Step))
