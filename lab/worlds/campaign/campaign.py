"""Run, judge and sum up many runs under random faults; and collect the lines of the protocol that they execute.

A campaign that stops at its first finding counts the runs up to that one and no more, so the totals and the
finding depend on the target and the options alone, and not on the number of workers.
"""

import inspect
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any

from msgspec import Struct

from lab.analysis.commit_history import CommitLog
from lab.kernel import Protocol, Step
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm, commit_protocol
from lab.recording.records import Header, Record
from lab.worlds.campaign.schedule import SchedulePlan, draw
from lab.worlds.campaign.trial import FaultCount, count_faults, run_trial
from lab.worlds.campaign.workers import map_seeds, split_seeds
from lab.worlds.loading.targets import load_protocol

_CHUNK = 10
_TRACED = 10
"""Executed lines are collected in the first ten runs, and in every tenth after that."""


class SearchGoal(Struct, frozen=True):
    """The violations to find: failures; with ``strict``, all; with ``assertion``, all of that assertion."""

    assertion: str = ""
    strict: bool = False

    def matches(self, violation: Violation) -> bool:
        if self.assertion:
            return violation.assertion == self.assertion
        return self.strict or violation.is_failure


class Campaign(Struct, frozen=True):
    """A campaign: one run for each seed from ``seed`` on. ``base`` is the header of all runs.

    ``runs`` is the number of runs; 0: until interrupted.
    """

    target: str
    base: Header
    plan: SchedulePlan
    goal: SearchGoal
    seed: int
    runs: int


class RunOutcome(Struct):
    """The outcome of one run, small enough to be sent between processes.

    ``violations``: their number, by assertion and the assumptions broken. ``lines`` are the executed lines of the
    protocol's file, if they were collected. ``transactions``: their number by outcome; None: without an outcome.
    """

    seed: int
    found: bool
    steps: int
    virtual_us: int
    faults: dict[str, FaultCount]
    violations: dict[tuple[str, tuple[int, ...]], int]
    lines: frozenset[int]
    transactions: dict[str | None, int]


class CampaignTotals:
    """The sums over the runs of a campaign."""

    def __init__(self) -> None:
        self.runs = 0
        self.steps = 0
        self.virtual_us = 0
        self.faults: dict[str, FaultCount] = {}
        self.violations: dict[tuple[str, tuple[int, ...]], int] = {}
        self.lines: set[int] = set()
        self.transactions: dict[str | None, int] = {}

    def add(self, outcome: RunOutcome) -> None:
        self.runs += 1
        self.steps += outcome.steps
        self.virtual_us += outcome.virtual_us
        self.lines |= outcome.lines
        for kind, count in outcome.faults.items():
            sum_ = self.faults.setdefault(kind, FaultCount())
            sum_.faults += count.faults
            sum_.touched += count.touched
        for which, times in outcome.violations.items():
            self.violations[which] = self.violations.get(which, 0) + times
        for how, times in outcome.transactions.items():
            self.transactions[how] = self.transactions.get(how, 0) + times


def run_chunk(campaign: Campaign, seeds: range) -> list[RunOutcome]:
    protocol = load_protocol(campaign.target)
    outcomes = []
    for seed in seeds:
        lines: set[int] = set()
        schedule = draw(campaign.plan, seed)
        place = seed - campaign.seed
        if place < _TRACED or place % _TRACED == 0:
            with collect_lines(protocol, lines):
                trial = run_trial(protocol, campaign.base, schedule)
        else:
            trial = run_trial(protocol, campaign.base, schedule)
        violations: dict[tuple[str, tuple[int, ...]], int] = {}
        for violation in trial.violations:
            which = (violation.assertion, tuple(broken.assumption for broken in violation.broken))
            violations[which] = violations.get(which, 0) + 1
        found = any(campaign.goal.matches(violation) for violation in trial.violations)
        outcomes.append(
            RunOutcome(
                seed,
                found,
                sum(isinstance(record, Step) for record in trial.records),
                trial.end_us,
                count_faults(trial.records),
                violations,
                frozenset(lines),
                _transactions(protocol, trial.records),
            )
        )
    return outcomes


def _transactions(protocol: type[Algorithm], records: list[Record]) -> dict[str | None, int]:
    """Return the number of the run's transactions by outcome; empty for protocols without transactions."""
    if commit_protocol(protocol) is None:
        return {}
    log = CommitLog()
    for record in records:
        log.observe(record)
    found: dict[str | None, int] = {}
    for transacted in log.transactions.values():
        found[transacted.outcome] = found.get(transacted.outcome, 0) + 1
    return found


def run_campaign(
    campaign: Campaign, workers: int = 1, cluster: str = "", for_s: float | None = None
) -> Generator[RunOutcome, None, None]:
    """Yield the outcomes in the order of the seeds; with ``for_s``, begin no more chunks after that time.

    ``cluster`` is the address of a dask.distributed scheduler. Its workers must have this package and, for a
    user's own protocol, its file at the same path. Close the iterator to stop. Raises RunawayError and
    WorkerDiedError; with a cluster, also ImportError and OSError.
    """
    yield from map_seeds(partial(run_chunk, campaign), _chunks(campaign, for_s), workers, cluster)


def _chunks(campaign: Campaign, for_s: float | None) -> Iterator[range]:
    began_s = time.monotonic()
    end = campaign.seed + campaign.runs if campaign.runs else 1 << 62
    for seeds in split_seeds(campaign.seed, end, _CHUNK):
        if for_s is not None and time.monotonic() - began_s >= for_s:
            return
        yield seeds


# code coverage: the executed lines of the protocol's file


def lines_of_code(protocol: type[Protocol]) -> frozenset[int]:
    """Return the lines of the protocol's file that its methods can execute."""
    file = inspect.getfile(protocol)
    found: set[int] = set()
    pending = [
        method.__code__
        for klass in protocol.__mro__
        for member in vars(klass).values()
        for method in (getattr(member, "fget", None) or getattr(member, "__func__", None) or member,)
        if inspect.isfunction(method) and method.__code__.co_filename == file
    ]
    while pending:
        code = pending.pop()
        found.update(line for _, _, line in code.co_lines() if line and line != code.co_firstlineno)
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(found)


@contextmanager
def collect_lines(protocol: type[Protocol], lines: set[int]) -> Iterator[None]:
    """Add the lines executed inside the ``with`` to ``lines``. This slows the run by about half."""
    file = inspect.getfile(protocol)

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        lines.add(frame.f_lineno)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)
