"""Grade a repaired protocol by randomized testing, as ``lab check`` does, under secret seeds.

The student's file is executed in sandboxes, the judge is here. In a sandbox the methods that the exercise is about
are the faulty ones, in the built-in classes too, and the other protocols are empty: to import the answer is none.
The exercise defines what the protocol must satisfy: a class that promises nothing, or allows itself more time,
gains nothing. Times and numbers of nodes are random, too, so that a repair for one particular network fails.

A repaired protocol must first of all work without faults. A task counts only if all tasks before it are done. So
neither a class that does nothing nor the unchanged file earns a point.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise, Repair, Task
from lab.kernel import Step, Timing
from lab.properties.assertions import RAISES
from lab.protocols import Algorithm
from lab.recording.records import Header, Link
from lab.tasks.extension import analysis_of, extension_class
from lab.units import CountText, format_count
from lab.worlds.campaign.campaign import count_outcomes
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, draw, plan_of
from lab.worlds.campaign.trial import RunawayError, Trial, run_trial
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.sandbox import Origin
from lab.worlds.loading.sandboxed_protocol import represent
from lab.worlds.loading.targets import load_protocol, split_target
from lab.worlds.loading.user_module import TargetError

_NETWORKS = 5
_CALM_RUNS = 6
_CALM_T, _COMMAND_EVERY_T = 20, 25
_BUDGET_S = 900.0

ReportProgress = Callable[[str], None]


def grade_repair(
    exercise: Exercise, file: Path, seed: int, report_progress: ReportProgress = lambda text: None
) -> tuple[Result, ...]:
    """Return the results of the tasks for this file. The same ``seed`` gives the same runs.

    ``report_progress`` is called with a line of text.
    """
    faulty, _ = split_target(exercise.setup.protocol)
    name = faulty.rpartition(":")[2]
    path = file.parent.resolve() / file.name  # not where a link points to: to a solution, perhaps
    target = f"{path}:{name}"
    origin = Origin(target, path, siblings=False, original=faulty, budget_s=_BUDGET_S, secret=f"{seed}/nodes")
    try:
        repaired = represent(origin)
    except TargetError as error:
        return tuple(Result(task.number, "missed", why=str(error)) for task in exercise.tasks)
    with closing(repaired.pool):
        grading = _Grading(exercise, repaired, seed, report_progress)
        why = grading.why_it_does_not_work()
        results = []
        for task in exercise.tasks:
            why = why or grading.why_not(task)
            results.append(Result(task.number, "missed" if why else "done", 0 if why else task.points, why=why))
            if why:
                why = "an earlier task is not done"
        return tuple(results)


class _Network(Struct, frozen=True):
    """The timing and the number of nodes for a share of the runs, and the seed of these runs."""

    timing: Timing
    nodes: tuple[int, int]
    seed: int


class _Grading:
    def __init__(
        self, exercise: Exercise, repaired: type[Algorithm], seed: int, report_progress: ReportProgress
    ) -> None:
        self._exercise = exercise
        self._original = load_protocol(exercise.setup.protocol)
        self._repaired = repaired
        self._seed = seed
        self._report_progress = report_progress

    # without faults

    def why_it_does_not_work(self) -> str:
        """Return what fails without faults; empty if nothing does."""
        for network in self._networks("calm", (2, 5), _CALM_RUNS):
            schedule = self._calm(network)
            trial = self._trial(self._base(network, schedule, self._original.promises), schedule)
            if isinstance(trial, str):
                return trial
            if found := _failure_text(trial, self._original.promises):
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

    # with faults

    def why_not(self, task: Task) -> str:
        """Return why the task is not done; empty if it is."""
        repair = task.repair
        assert repair is not None
        done = 0
        judged: set[str] = set()
        for network in self._networks(f"task {task.number}", repair.nodes, _NETWORKS):
            plan = self._plan(repair, network)
            for seed in range(network.seed, network.seed + -(-repair.runs // _NETWORKS)):
                self._report_progress(CountText(done, repair.runs, "run", f"for task {task.number}"))
                schedule = draw(plan, seed)
                base = self._base(network, schedule, repair.promises)
                trial = self._trial(base, schedule)
                if isinstance(trial, str):
                    return trial
                if found := _failure_text(trial, repair.promises):
                    return f"{found}, with faults {' and '.join(repair.faults)}: run {done + 1}"
                done += 1
                judged.update(trial.judged)
                if repair.like and (found := _message_excess(repair, trial, base)):
                    return f"{found}: run {done}"
        unjudged = [name for name in repair.promises if name not in judged]
        return f"{unjudged[0]} was judged in none of {done} runs" if unjudged else ""

    def _plan(self, repair: Repair, network: _Network) -> SchedulePlan:
        """Plan as for the original file; messages that the student has added are targets of faults, too."""
        plan = plan_of(self._original, network.nodes, repair.faults, network.timing)
        added = [kind for kind in self._repaired.payloads if kind not in self._original.payloads]
        some = added[: len(plan.kinds)]  # more of them would be targets in place of those that are sent
        return replace(plan, kinds=(*plan.kinds, *some), commands=repair.commands or plan.commands)

    # both

    def _networks(self, purpose: str, nodes: tuple[int, int], count: int) -> Iterator[_Network]:
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
            trial = run_trial(self._repaired, base, schedule)
        except TargetError as error:
            return str(error)
        except RunawayError:
            trial = None
        return "its messages multiply without bound" if trial is None or trial.given_up else trial


def _failure_text(trial: Trial, promises: tuple[str, ...]) -> str:
    """Describe a violation whose assumptions all held; exceptions of the protocol always count.

    A promise that cannot be judged counts, too: the property does not know the states of the repaired protocol.
    """
    judged = (*promises, RAISES.id)
    first = next((each for each in trial.violations if each.is_failure and each.assertion in judged), None)
    if first is None:
        unknown = next((name for name in promises if name in trial.errors), "")
        return f"{unknown} cannot be judged: {trial.errors[unknown]}" if unknown else ""
    return (
        f"it fails: {first.text}" if first.assertion == RAISES.id else f"{first.assertion} is broken: {first.text}"
    )


def _message_excess(repair: Repair, trial: Trial, base: Header) -> str:
    """Describe by how much it sends too many messages, compared to the built-in protocol in the same run."""
    usual = run_trial(load_protocol(repair.like), base, trial.schedule)
    per_us = [
        sum(len(each.sent) for each in run.records if isinstance(each, Step)) / run.end_us
        for run in (trial, usual)
    ]
    many = per_us[0] / max(per_us[1], 1e-9)
    return f"it sends {many:.1f} times as many messages as {repair.like}" if many > repair.times else ""
