"""Grading a mended protocol: what a campaign finds in it, as ``lab check`` would, under seeds that nobody knows.

The student's file is run in this process, as ``lab check`` runs it, so this is for a teacher's or a student's own
machine, and never for the server. What it is held to comes from the exercise: a class that promises nothing, or
allows itself more time, gains nothing by that. Times and nodes are drawn as well, so that what was made to fit one
network is seen.

A mend is worth something only if what it mends works: first of all it must do its work where nothing is struck.
And the tasks build on each other: one counts if all before it are done. So neither a class that does nothing
nor the file as it was gets a point.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.commit_history import CommitLog
from lab.exercises.assessment import Result
from lab.exercises.exercise import Exercise, Repair, Task
from lab.kernel import Step, Timing
from lab.properties import RAISES
from lab.protocols import Algorithm, commit_protocol
from lab.recording.records import Header, Link, Record
from lab.worlds.campaign.draw import Plan, draw, plan_of
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.campaign.trial import RunawayError, Trial, carry_out
from lab.worlds.config import RunConfig, header_of
from lab.worlds.targets import TargetError, load_protocol

__all__ = ["grade_repair", "repair_amiss"]

_NETWORKS = 5
_CALM_RUNS = 6
_CALM_T, _COMMAND_EVERY_T = 20, 25
_SOLUTION, _WRONG = "solution.py", "wrong-*.py"
_SEED = 1

Tell = Callable[[str], None]


def grade_repair(exercise: Exercise, file: Path, seed: int, tell: Tell = lambda said: None) -> tuple[Result, ...]:
    """How the tasks stand with this file. The same ``seed`` gives the same runs. ``tell``: how far it has come."""
    try:
        mended = load_protocol(_target(exercise, file))
    except TargetError as error:
        return tuple(Result(task.number, "missed", why=str(error)) for task in exercise.tasks)
    grading = _Grading(exercise, mended, seed, tell)
    why = grading.why_it_does_not_work()
    results = []
    for task in exercise.tasks:
        why = why or grading.why_not(task)
        results.append(Result(task.number, "missed" if why else "done", 0 if why else task.points, why=why))
        if why:
            why = "the tasks before come first"
    return tuple(results)


def repair_amiss(exercise: Exercise) -> Iterator[str]:
    """What is wrong with an exercise of this kind: its solution must bring all points, and nothing else may."""
    folder, untouched = exercise.folder, exercise.repairs
    assert untouched is not None
    wrong = sorted(folder.glob(_WRONG))
    if not wrong:
        yield f"there is no {_WRONG}: nobody knows what it takes for right"
    if not (folder / _SOLUTION).is_file():
        yield f"there is no {_SOLUTION}: nobody knows whether it can be solved"
        return
    for result in grade_repair(exercise, folder / _SOLUTION, _SEED):
        if result.state != "done":
            yield f"{_SOLUTION}: task {result.task} is {result.state}: {result.why}"
    if points := _points(exercise, untouched):
        yield f"who changes nothing gets {points} of {exercise.points}"
    for path in wrong:
        if points := _points(exercise, path):
            yield f"{path.name} gets {points} of {exercise.points}"


def _points(exercise: Exercise, file: Path) -> int:
    return sum(result.points for result in grade_repair(exercise, file, _SEED))


def _target(exercise: Exercise, file: Path) -> str:
    _, _, name = exercise.setup.protocol.rpartition(":")
    return f"{file.resolve()}:{name}"


class _Network(Struct, frozen=True):
    """Times and nodes that one share of the runs has, and the seed from which these are drawn."""

    timing: Timing
    nodes: tuple[int, int]
    seed: int


class _Grading:
    def __init__(self, exercise: Exercise, mended: type[Algorithm], seed: int, tell: Tell) -> None:
        self._exercise = exercise
        self._setup = exercise.setup
        self._given = load_protocol(exercise.setup.protocol)
        self._mended = mended
        self._seed = seed
        self._tell = tell

    # where nothing is struck

    def why_it_does_not_work(self) -> str:
        """What it does not do though nothing goes wrong; empty where it does all."""
        for network in self._networks("calm", (2, 5), _CALM_RUNS):
            schedule = self._calm(network)
            trial = self._trial(self._mended, self._base(network, self._given.promises), schedule)
            if isinstance(trial, str):
                return trial
            if found := _broken(trial, self._given.promises):
                return f"nothing is struck, and {found}"
            if schedule.strikes and _committed(trial.records) < len(schedule.strikes):
                return f"nothing is struck, and not all of {len(schedule.strikes)} transfers are committed"
        return ""

    def _calm(self, network: _Network) -> Schedule:
        """Where transactions are what it is for, some, one after the other."""
        t_us, nodes = network.timing.t_us, tuple(range(1, network.nodes[1] + 1))
        strikes = tuple(
            ScheduledFault((_CALM_T + k * _COMMAND_EVERY_T) * t_us, "", f"tell {nodes[-1]} transfer 10 {way}")
            for k, way in enumerate(("savings checking", "checking moneymarket"))
            if commit_protocol(self._given) is not None
        )
        end_us = max((strike.at_us for strike in strikes), default=0) + _COMMAND_EVERY_T * t_us
        return Schedule(network.seed, nodes, Link(network.timing.tm_us // 4), strikes, end_us)

    # where faults strike

    def why_not(self, task: Task) -> str:
        """What a task finds fault with; empty where nothing."""
        repair = task.repair
        assert repair is not None
        done = 0
        for network in self._networks(f"task {task.number}", repair.nodes, _NETWORKS):
            base, plan = self._base(network, repair.promises), self._plan(repair, network)
            for seed in range(network.seed, network.seed + -(-repair.runs // _NETWORKS)):
                self._tell(f"task {task.number}: {done} of {repair.runs} runs")
                schedule = draw(plan, seed)
                trial = self._trial(self._mended, base, schedule)
                if isinstance(trial, str):
                    return trial
                if found := _broken(trial, repair.promises):
                    return f"{found}, where {' and '.join(repair.faults)} may strike: run {done + 1}"
                done += 1
                if repair.like and (found := _too_many(repair, trial, base)):
                    return f"{found}: run {done}"
        return ""

    def _plan(self, repair: Repair, network: _Network) -> Plan:
        """As for the file as it was; messages that the student has added are struck at as well."""
        plan = plan_of(self._given, network.nodes, repair.faults, network.timing)
        added = (kind for kind in self._mended.payloads if kind not in self._given.payloads)
        return replace(plan, kinds=(*plan.kinds, *added), commands=repair.commands or plan.commands)

    # both

    def _networks(self, purpose: str, nodes: tuple[int, int], count: int) -> Iterator[_Network]:
        for k in range(count):
            chance = Random(f"{self._seed}/{self._exercise.name}/{purpose}/{k}")
            timing = Timing(chance.randrange(20_000, 400_000, 1000), chance.randrange(10_000, 200_000, 1000))
            most = chance.randint(nodes[0], nodes[1])
            yield _Network(timing, (nodes[0], most), chance.randrange(1_000_000_000))

    def _base(self, network: _Network, promises: tuple[str, ...]) -> Header:
        """The header by which it is judged: what is promised, and how soon, is said by the file as it was."""
        setup = self._setup
        config = RunConfig(
            "",
            setup.protocol,
            tuple(range(1, network.nodes[1] + 1)),
            network.timing,
            setup.parameters,
            Link(),
            0,
            "",
            world="simulated",
        )
        header = header_of(config, self._given)
        return replace(header, protocol=replace(header.protocol, promises=promises))

    def _trial(self, protocol: type[Algorithm], base: Header, schedule: Schedule) -> Trial | str:
        try:
            return carry_out(protocol, base, schedule)
        except RunawayError:
            return "its messages multiply without end"


def _broken(trial: Trial, promises: tuple[str, ...]) -> str:
    """What is broken though all that it relies on did hold; an error of the protocol's own counts always."""
    judged = (*promises, RAISES.id)
    found = (each for each in trial.violations if each.is_failure and each.assertion in judged)
    first = next(found, None)
    if first is None:
        return ""
    return (
        f"it fails: {first.text}" if first.assertion == RAISES.id else f"{first.assertion} is broken: {first.text}"
    )


def _committed(records: list[Record]) -> int:
    log = CommitLog()
    for record in records:
        log.observe(record)
    return sum(each.outcome == "committed" for each in log.transactions.values())


def _too_many(repair: Repair, trial: Trial, base: Header) -> str:
    """Whether it sends many more messages than the program's protocol does in the same run."""
    usual = carry_out(load_protocol(repair.like), base, trial.schedule)
    per_us = [
        sum(len(each.sent) for each in run.records if isinstance(each, Step)) / run.end_us
        for run in (trial, usual)
    ]
    many = per_us[0] / max(per_us[1], 1e-9)
    return f"it sends {many:.1f} times as many messages as {repair.like}" if many > repair.times else ""
