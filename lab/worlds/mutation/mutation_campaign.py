"""Run the original, then its mutants, under the same schedules, each until its first failure; and sum that up.

The schedules are those of a campaign of the original, as ``lab check`` makes it. A run of the original that has
not executed the changed lines is the same run for the mutant, so only the others are made. A mutant is killed by
the assertion that is violated first, by an error that a node raises, by a step that does not end, or by messages
that multiply. Its runs are counted up to the first that fails, those included that need not be made. If none
fails, it is killed by an assertion that none of them judges, if the original's runs do: as ``lab check`` reports.
What is left is killed by its cost, if calm runs cost more than those of the original.

Of a survivor it is noted how its runs differ from those of the original: in their records, or in their messages.
"""

import pickle
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, suppress
from functools import lru_cache, partial
from pathlib import Path
from statistics import median_low
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab.kernel import Step
from lab.properties.assertions import RAISES
from lab.properties.declarations import Declared
from lab.properties.registry import declared_for, register
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.text import UserError
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign, run_campaign
from lab.worlds.campaign.coverage import ExecutedLines, trace_lines
from lab.worlds.campaign.repetition import require_repeatable
from lab.worlds.campaign.schedule import Schedule, draw
from lab.worlds.campaign.trial import RunawayError, Trial, run_trial
from lab.worlds.campaign.workers import map_chunks, split_seeds
from lab.worlds.loading.targets import combine, load_protocol
from lab.worlds.mutation.calm_cost import CalmCost, calm_schedules, measure
from lab.worlds.mutation.equivalence import (
    FoundByExploring,
    MutantExploration,
    OriginalExploration,
    Reached,
    compare,
    explore_original,
)
from lab.worlds.mutation.mutable_source import ProtocolSource
from lab.worlds.mutation.mutants import Mutant, write_mutant
from lab.worlds.watchdog import time_limit

ENDLESS = "endless step"
RUNAWAY = "runaway"
IN_PROPERTY = "error in a property"
"""Causes of a mutant's end other than assertions: a step that does not end, messages that multiply, and a state
that a property of the user's does not expect."""
NOT_JUDGED = "not judged"
COST = "cost"
"""Others: an assertion that is judged in no run of the mutant, and calm runs that cost more."""

_encode = msgspec.json.Encoder().encode
_CHUNK = 10
_REPEATED = 2
"""The number of first runs of a user's own protocol that are executed twice."""
_TOO_LONG = "StepTooLongError"
_LEAST_LIMIT_S = 10.0
_TIMES_SLOWER = 20.0
"""A run of a mutant may take this many times as long as the slowest of the original."""
_EXPLORES_S = 120.0
_REACHED: tuple[Reached, ...] = ("different", "unknown", "same")
"""The result of several explorations is the first of these that one of them has."""

Result = Literal["killed", "survived", "equivalent", "unreached", "invalid"]


class RunTooLongError(BaseException):
    """A mutant does more and more at one instant, or with every message, until its time is up.

    Messages that multiply are noticed by their number before. It is no Exception, so no protocol and no node
    catches it.
    """


class Behaviour(Struct, frozen=True):
    """The behaviour of a run: a checksum of its records, and the number of messages sent."""

    checksum: int
    messages: int

    @classmethod
    def of(cls, trial: Trial) -> "Behaviour":
        """Return what happened in a run that is over."""
        checksum = messages = 0
        for record in trial.records:
            if not isinstance(record, Header):  # it has the source
                checksum = zlib.crc32(_encode(record), checksum)
            if isinstance(record, Step):
                messages += len(record.sent)
        return cls(checksum, messages)


class OriginalRun(Struct, frozen=True):
    """A run of the original: its first failure as text, if any, the executed lines, and what was judged."""

    failure: str
    lines: ExecutedLines
    judged: frozenset[str]
    behaviour: Behaviour
    computing_s: float


class RunDifference(Struct, frozen=True):
    """The difference between the runs of a survivor that execute its change, and those of the original.

    ``same`` have the same records; ``messages`` are sent in all of them, by the original ``messages_before``.
    """

    runs: int = 0
    same: int = 0
    messages: int = 0
    messages_before: int = 0

    def added(self, before: Behaviour, now: Behaviour) -> "RunDifference":
        """Return the difference with one run more."""
        return RunDifference(
            self.runs + 1,
            self.same + (before == now),
            self.messages + now.messages,
            self.messages_before + before.messages,
        )


class MutantTask(Struct, frozen=True):
    """The work for a mutant: its runs, a bit for each run of the campaign; and its explorations.

    ``owed`` are the assertions that only these runs of the original judge.
    """

    number: int
    target: str
    runs: int
    owed: tuple[str, ...]
    explorations: tuple[int, ...]


class MutantOutcome(Struct, frozen=True):
    """The outcome for a mutant.

    killed: ``by`` this, as ``text`` says, in the ``runs``-th run of the campaign, or NOT_JUDGED in all of them.
    unreached: no run executes the change. invalid: it cannot be loaded, as ``text`` says. Of the others,
    ``difference`` is that of its runs, ``explored`` says which states those explorations reach that execute the
    change (empty if there are none), and ``violated`` what the mutant violates there, and the original does not.
    """

    number: int
    result: Result
    by: str = ""
    text: str = ""
    runs: int = 0
    difference: RunDifference | None = None
    explored: Reached | Literal[""] = ""
    violated: tuple[FoundByExploring, ...] = ()


class MutationJob(Struct, frozen=True):
    """The work for all mutants: the campaign of the original, its runs and explorations, and the tasks.

    ``calm`` are the calm runs, and ``calm_costs`` what the original costs in each. A run that takes more than
    ``limit_s`` seconds of computing is a runaway.
    """

    campaign: Campaign
    schedules: tuple[Schedule, ...]
    behaviours: tuple[Behaviour, ...]
    explorations: tuple[OriginalExploration, ...]
    calm: tuple[Schedule, ...]
    calm_costs: tuple[CalmCost, ...]
    tasks: tuple[MutantTask, ...]
    limit_s: float


class OriginalFailsError(Exception):
    """The original fails in a run of the campaign, so there is nothing to compare mutants to."""


class MutationCampaign:
    """The runs of a protocol and of its mutants: first the original, then, unless it fails, the mutants.

    ``schedules`` are those of the runs so far, ``original`` the runs of them that were traced, ``explorations``
    those that survivors are compared to. ``errors``: the first error in the code of each assertion, in the runs of
    the original. ``properties`` is the user's file of properties, if any, as an absolute path.
    """

    def __init__(
        self, campaign: Campaign, source: ProtocolSource, mutants: Sequence[Mutant], properties: str = ""
    ) -> None:
        self.campaign = campaign
        self.source = source
        self.mutants = tuple(mutants)
        self.schedules: list[Schedule] = []
        self.original: list[OriginalRun] = []
        self.errors: dict[str, str] = {}
        self.explorations: tuple[OriginalExploration, ...] = ()
        self.calm = calm_schedules(campaign.plan)
        self._calm_costs: tuple[CalmCost, ...] = ()
        self._judged_runs: Counter[str] = Counter()
        self._properties = properties
        self._files = tuple(str(module.path) for module in source.modules.values())

    def run_original(self, workers: int) -> Generator[int, None, None]:
        """Run the original: for schedules in which a fault strikes where few have, then again, to trace lines.

        Yield the number of runs so far, which ends with twice that of the schedules. Raises OriginalFailsError;
        NotDeterministicError, for which the first runs of a user's own protocol are executed again; RunawayError;
        WorkerDiedError.
        """
        campaign = self.campaign
        if not self.source.layers[-1].is_built_in:
            seeds = range(campaign.seed, campaign.seed + min(campaign.runs or _REPEATED, _REPEATED))
            require_repeatable(campaign.target, campaign.base, [draw(campaign.plan, seed) for seed in seeds])
        with closing(run_campaign(campaign, workers)) as outcomes:
            for outcome in outcomes:
                if outcome.found:
                    (run,) = _trace_runs(campaign, (), [outcome.schedule])
                    raise OriginalFailsError(run.failure)
                self.schedules.append(outcome.schedule)
                self._judged_runs.update(outcome.judged.keys())
                self.errors = outcome.errors | self.errors
                yield len(self.schedules)
        chunks = (self.schedules[place : place + _CHUNK] for place in range(0, len(self.schedules), _CHUNK))
        with closing(map_chunks(partial(_trace_runs, campaign, self._files), chunks, workers)) as runs:
            for run in runs:
                if run.failure:
                    raise OriginalFailsError(run.failure)
                self.original.append(run)
                yield len(self.schedules) + len(self.original)
        with closing(
            map_chunks(partial(_measure_calm, campaign), ([each] for each in self.calm), workers)
        ) as costs:
            self._calm_costs = tuple(costs)

    def explore_original(self, parameters: dict[str, Any]) -> None:
        """Explore the original, if that takes no more than MOST_STATES states, for comparison with survivors."""
        protocol = load_protocol(self.campaign.target)
        found: list[OriginalExploration] = []
        with suppress(RunTooLongError), time_limit(_EXPLORES_S, RunTooLongError()):
            for exploration in explore_original(protocol, parameters, self._files):
                found.append(exploration)
        self.explorations = tuple(found)

    def run_mutants(self, workers: int) -> Generator[tuple[Mutant, MutantOutcome], None, None]:
        """Yield the mutants in their order, each with its outcome. Raises WorkerDiedError."""
        with tempfile.TemporaryDirectory(prefix="lab-mutants-") as name:
            folder = Path(name)
            slowest_s = max((run.computing_s for run in self.original), default=0.0)
            limit_s = max(_LEAST_LIMIT_S, _TIMES_SLOWER * slowest_s)
            tasks = self._tasks(folder)
            behaviours = tuple(run.behaviour for run in self.original)
            job = MutationJob(
                self.campaign,
                tuple(self.schedules),
                behaviours,
                self.explorations,
                self.calm,
                self._calm_costs,
                tasks,
                limit_s,
            )
            path = folder / "job"
            path.write_bytes(pickle.dumps(job))
            try:
                with closing(
                    map_chunks(partial(_run_each, path), split_seeds(0, len(tasks), 1), workers)
                ) as outcomes:
                    yield from zip(self.mutants, outcomes, strict=True)
            finally:
                load_protocol(self.campaign.target)  # a mutant may have registered its own properties

    def _tasks(self, folder: Path) -> tuple[MutantTask, ...]:
        places = {name: place for place, name in enumerate(self.source.modules)}
        return tuple(
            _task_of(
                mutant,
                write_mutant(self.source, mutant, folder / str(mutant.number), self._properties),
                places[mutant.module],
                self.original,
                self.explorations,
            )
            for mutant in self.mutants
        )

    def count_judged(self) -> dict[str, int]:
        """Return for each promised assertion in how many runs of the original it was judged."""
        return {name: self._judged_runs[name] for name in self.campaign.promises}


def _task_of(
    mutant: Mutant,
    target: str,
    file: int,
    runs: Sequence[OriginalRun],
    explorations: Sequence[OriginalExploration],
) -> MutantTask:
    """Return the work for a mutant of this file, given what the original has executed."""
    made = 0
    judged: set[str] = set()
    judged_anyway: set[str] = set()
    for place, run in enumerate(runs):
        judged |= run.judged
        if not mutant.reach or mutant.reach & run.lines[file]:
            made |= 1 << place
        else:
            judged_anyway |= run.judged
    owed = tuple(sorted(judged - judged_anyway))
    compared = [place for place, each in enumerate(explorations) if each.executes(file, mutant.reach)]
    return MutantTask(mutant.number, target, made, owed, tuple(compared))


# in the workers


def _trace_runs(campaign: Campaign, files: tuple[str, ...], schedules: Sequence[Schedule]) -> list[OriginalRun]:
    protocol = load_protocol(campaign.target)
    found = []
    for schedule in schedules:
        began_s = time.process_time()
        with trace_lines(files) as lines:
            trial = run_trial(protocol, campaign.base, schedule)
        failure = _first_failure(campaign, trial.violations)
        text = "" if failure is None else f"seed {schedule.seed}: {failure}"
        judged, behaviour = frozenset(trial.judged), Behaviour.of(trial)
        found.append(OriginalRun(text, lines(), judged, behaviour, time.process_time() - began_s))
    return found


def _measure_calm(campaign: Campaign, schedules: Sequence[Schedule]) -> list[CalmCost]:
    protocol = load_protocol(campaign.target)
    return [measure(protocol, campaign.base, schedule) for schedule in schedules]


def _first_failure(campaign: Campaign, violations: list[Violation]) -> Violation | None:
    return next(filter(campaign.goal.matches, violations), None)


def _run_each(path: Path, places: range) -> list[MutantOutcome]:
    job = _read_job(path)
    return [_run_mutant(job, job.tasks[place]) for place in places]


@lru_cache(maxsize=1)
def _read_job(path: Path) -> MutationJob:
    job: MutationJob = pickle.loads(path.read_bytes())  # from this program's own process
    return job


def _run_mutant(job: MutationJob, task: MutantTask) -> MutantOutcome:
    try:
        mutant = _load(job.campaign, task.target)
    except UserError as error:
        return MutantOutcome(task.number, "invalid", text=str(error))
    owed = set(task.owed)
    difference = RunDifference()
    for place, schedule in enumerate(job.schedules):
        if task.runs >> place & 1:
            found = _run_once(job.campaign, mutant, schedule, job.limit_s, owed)
            if not isinstance(found, Behaviour):
                by, text = found
                return MutantOutcome(task.number, "killed", by, text, place + 1)
            difference = difference.added(job.behaviours[place], found)
    if owed:
        text = f"judged in no run: {', '.join(sorted(owed))}"
        return MutantOutcome(task.number, "killed", NOT_JUDGED, text, len(job.schedules))
    excess = _run_calmly(job, mutant)
    if excess is not None:
        return MutantOutcome(task.number, "killed", *excess, len(job.schedules))
    return _explored(job, task, mutant, difference)


def _load(campaign: Campaign, target: str) -> type[Algorithm]:
    """Load a mutant, whose runs are judged by all properties of the original. Raises UserError."""
    load_protocol(campaign.target)
    name = campaign.base.protocol.name
    of_original: tuple[Declared, ...] = declared_for(campaign.base.protocol)
    mutant = load_protocol(target)
    # its own file declares properties anew, about its own types; others come from elsewhere
    register(name, combine(of_original, declared_for(campaign.base.protocol)))
    return mutant


def _run_once(
    campaign: Campaign, mutant: type[Algorithm], schedule: Schedule, limit_s: float, owed: set[str]
) -> tuple[str, str] | Behaviour:
    """Return by what the mutant is killed in this run, and a text; if it is not, what happens in it.

    Assertions that are judged in it are removed from ``owed``.
    """
    try:
        with time_limit(limit_s, RunTooLongError()):
            trial = run_trial(mutant, campaign.base, schedule)
    except RunawayError as error:
        return RUNAWAY, str(error)
    except RunTooLongError:
        return RUNAWAY, f"seed {schedule.seed}: the run did not end within {limit_s:.0f} s of computing"
    except Exception as error:  # in what the protocol does outside of its steps
        return RAISES.id, f"{type(error).__name__}: {error}"
    owed.difference_update(trial.judged)
    violation = _first_failure(campaign, trial.violations)
    if violation is None:
        return _end_of(trial, schedule.seed)
    is_endless = violation.assertion == RAISES.id and violation.text.startswith(_TOO_LONG)
    return ENDLESS if is_endless else violation.assertion, str(violation)


def _end_of(trial: Trial, seed: int) -> tuple[str, str] | Behaviour:
    """Return the same of a run in which nothing is violated."""
    if trial.given_up:
        return RUNAWAY, f"seed {seed}: its messages multiply"
    for name, error in trial.errors.items():
        return IN_PROPERTY, f"seed {seed}: {name} raises {error}"
    return Behaviour.of(trial)


def _run_calmly(job: MutationJob, mutant: type[Algorithm]) -> tuple[str, str] | None:
    """Return by what the mutant is killed in the calm runs, and a text; None if they cost no more."""
    try:
        with time_limit(job.limit_s, RunTooLongError()):
            costs = [measure(mutant, job.campaign.base, schedule) for schedule in job.calm]
    except (RunawayError, RunTooLongError):
        return RUNAWAY, "in a calm run"
    except Exception as error:  # in what the protocol does outside of its steps
        return RAISES.id, f"{type(error).__name__}: {error}"
    # by sizes: what costs more in a small cluster is too little in a large one
    for size in dict.fromkeys(len(schedule.nodes) for schedule in job.calm):
        places = [place for place, schedule in enumerate(job.calm) if len(schedule.nodes) == size]
        cost, usual = (sum((each[place] for place in places), CalmCost()) for each in (costs, job.calm_costs))
        if excess := cost.excess_over(usual):
            return COST, f"in {len(places)} calm runs with {format_count(size, 'node')}, {excess}"
    return None


def _explored(
    job: MutationJob, task: MutantTask, mutant: type[Algorithm], difference: RunDifference
) -> MutantOutcome:
    """Return the outcome of a mutant that no run has killed."""
    comparisons = []
    for place in task.explorations:
        try:
            with time_limit(_EXPLORES_S, RunTooLongError()):
                comparisons.append(compare(mutant, job.explorations[place]))
        except RunTooLongError:
            comparisons.append(MutantExploration("unknown"))
    reached = {each.reached for each in comparisons}
    explored: Reached | Literal[""] = next((each for each in _REACHED if each in reached), "")
    result: Result = "survived" if task.runs else "unreached"
    violated = next((each.violated for each in comparisons if each.violated), ())
    is_equivalent = explored == "same" and difference.same == difference.runs
    return MutantOutcome(
        task.number,
        "equivalent" if is_equivalent else result,
        difference=difference if difference.runs else None,
        explored=explored,
        violated=violated,
    )


class RuleScore(Struct):
    """The numbers of mutants of a rule. ``made`` are those that can be loaded; ``survived`` includes unreached."""

    made: int = 0
    killed: int = 0
    equivalent: int = 0
    survived: int = 0
    unreached: int = 0
    invalid: int = 0


class Killer(Struct, frozen=True):
    """A cause of death: the number of mutants, and the median of the number of runs that it took."""

    by: str
    mutants: int
    runs_median: int


class MutationScore:
    """The sums over the mutants tested so far. ``rules`` are in the order given, ``total`` is the sum of them."""

    def __init__(self, rules: Iterable[str]) -> None:
        self.rules = {rule: RuleScore() for rule in rules}
        self.total = RuleScore()
        self.tested: list[tuple[Mutant, MutantOutcome]] = []

    def add(self, mutant: Mutant, outcome: MutantOutcome) -> None:
        """Add the outcome of a mutant."""
        self.tested.append((mutant, outcome))
        for score in (self.rules[mutant.rule], self.total):
            score.made += outcome.result != "invalid"
            score.killed += outcome.result == "killed"
            score.equivalent += outcome.result == "equivalent"
            score.survived += outcome.result in ("survived", "unreached")
            score.unreached += outcome.result == "unreached"
            score.invalid += outcome.result == "invalid"

    @property
    def percent(self) -> float | None:
        """The score: the share of those killed, of all but the equivalent ones; None if there are no others."""
        of = self.total.made - self.total.equivalent
        return 100 * self.total.killed / of if of else None

    @property
    def killers(self) -> list[Killer]:
        """The causes of death, the most frequent first."""
        runs: dict[str, list[int]] = {}
        for _, outcome in self.tested:
            if outcome.result == "killed":
                runs.setdefault(outcome.by, []).append(outcome.runs)
        found = [Killer(by, len(each), median_low(each)) for by, each in runs.items()]
        return sorted(found, key=lambda killer: (-killer.mutants, killer.by))

    def of(self, *results: str) -> list[tuple[Mutant, MutantOutcome]]:
        """Return the mutants with these results."""
        return [(mutant, outcome) for mutant, outcome in self.tested if outcome.result in results]
