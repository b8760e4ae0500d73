"""Many runs under drawn faults, judged and summed up.

A campaign that stops at its first finding counts the runs up to that one and no further, so the table and the
finding hang on the target and the options alone, and not on the number of workers.
"""

import time
from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from lab.analysis.commit_history import CommitLog
from lab.kernel import Step
from lab.properties import Violation
from lab.protocols import Algorithm, commit_protocol
from lab.recording.records import Header, Record
from lab.worlds.campaign.coverage import reached
from lab.worlds.campaign.draw import Plan, draw
from lab.worlds.campaign.trial import Touched, carry_out, tally
from lab.worlds.campaign.workers import chunks_of, spread
from lab.worlds.targets import load_protocol

__all__ = ["Campaign", "Outcome", "Table", "Wanted", "outcomes"]

_CHUNK = 10
_TRACED = 10
"""Lines reached are looked for in the first runs, and in every tenth after that."""


class Wanted(Struct, frozen=True):
    """What counts as found: a failure; with ``strict`` any violation; with ``assertion`` any of that one."""

    assertion: str = ""
    strict: bool = False

    def is_found(self, violation: Violation) -> bool:
        """Whether this is what is looked for."""
        if self.assertion:
            return violation.assertion == self.assertion
        return self.strict or violation.is_failure


class Campaign(Struct, frozen=True):
    """What to run: ``runs`` seeds from ``seed`` on; ``runs`` 0: until somebody stops. ``base`` is the header."""

    target: str
    base: Header
    plan: Plan
    wanted: Wanted
    seed: int
    runs: int


class Outcome(Struct):
    """What came of one run, small enough to be sent. ``violations``: how many, by assertion and what was broken.

    ``lines`` are those of the protocol's file that were reached, if that was looked for. ``transactions``: how
    many ended in which way, None: in none.
    """

    seed: int
    found: bool
    steps: int
    virtual_us: int
    faults: dict[str, Touched]
    violations: dict[tuple[str, tuple[int, ...]], int]
    lines: frozenset[int]
    transactions: dict[str | None, int]


class Table:
    """The sums over runs."""

    def __init__(self) -> None:
        self.runs = 0
        self.steps = 0
        self.virtual_us = 0
        self.faults: dict[str, Touched] = {}
        self.violations: dict[tuple[str, tuple[int, ...]], int] = {}
        self.lines: set[int] = set()
        self.transactions: dict[str | None, int] = {}

    def add(self, outcome: Outcome) -> None:
        """One more run."""
        self.runs += 1
        self.steps += outcome.steps
        self.virtual_us += outcome.virtual_us
        self.lines |= outcome.lines
        for kind, count in outcome.faults.items():
            sum_ = self.faults.setdefault(kind, Touched())
            sum_.faults += count.faults
            sum_.touched += count.touched
        for which, times in outcome.violations.items():
            self.violations[which] = self.violations.get(which, 0) + times
        for how, times in outcome.transactions.items():
            self.transactions[how] = self.transactions.get(how, 0) + times


def run_chunk(campaign: Campaign, seeds: range) -> list[Outcome]:
    """Run these seeds, in this process."""
    protocol = load_protocol(campaign.target)
    outcomes = []
    for seed in seeds:
        lines: set[int] = set()
        schedule = draw(campaign.plan, seed)
        place = seed - campaign.seed
        if place < _TRACED or place % _TRACED == 0:
            with reached(protocol, lines):
                trial = carry_out(protocol, campaign.base, schedule)
        else:
            trial = carry_out(protocol, campaign.base, schedule)
        violations: dict[tuple[str, tuple[int, ...]], int] = {}
        for violation in trial.violations:
            which = (violation.assertion, tuple(broken.assumption for broken in violation.broken))
            violations[which] = violations.get(which, 0) + 1
        found = any(campaign.wanted.is_found(violation) for violation in trial.violations)
        outcomes.append(
            Outcome(
                seed,
                found,
                sum(isinstance(record, Step) for record in trial.records),
                trial.end_us,
                tally(trial.records),
                violations,
                frozenset(lines),
                _transactions(protocol, trial.records),
            )
        )
    return outcomes


def _transactions(protocol: type[Algorithm], records: list[Record]) -> dict[str | None, int]:
    """What became of the transactions of a run; nothing where there are none."""
    if commit_protocol(protocol) is None:
        return {}
    log = CommitLog()
    for record in records:
        log.observe(record)
    found: dict[str | None, int] = {}
    for transacted in log.transactions.values():
        found[transacted.outcome] = found.get(transacted.outcome, 0) + 1
    return found


def outcomes(
    campaign: Campaign, workers: int = 1, cluster: str = "", for_s: float | None = None
) -> Iterator[Outcome]:
    """The outcomes in the order of the seeds; with ``for_s`` no more chunks are begun after so many seconds.

    ``cluster`` is the address of a dask.distributed scheduler, whose workers must have this package and, for
    a protocol of the user's own, its file at the same path. Close the iterator to stop. RunawayError,
    WorkerDiedError; for a cluster ImportError, OSError.
    """
    yield from spread(partial(run_chunk, campaign), _chunks(campaign, for_s), workers, cluster)


def _chunks(campaign: Campaign, for_s: float | None) -> Iterator[range]:
    began_s = time.monotonic()
    end = campaign.seed + campaign.runs if campaign.runs else 1 << 62
    for seeds in chunks_of(campaign.seed, end, _CHUNK):
        if for_s is not None and time.monotonic() - began_s >= for_s:
            return
        yield seeds
