"""Compare commit protocols: their messages and forced writes with the formulas, times, blocks, and locks."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from msgspec import Struct, structs

from lab.charts import Axis, Chart, Series, whole_numbers
from lab.kernel import Timing
from lab.protocols import commit_protocol
from lab.recording.records import Header, Record
from lab.table_files import Column, Row, json_cell
from lab.tasks.bank.commit_history import PURPOSES, BlockedInterval, CommitHistory, CommitLog, Purpose
from lab.tasks.comparison import (
    NOTHING,
    Comparison,
    ProtocolTotals,
    TimeDistribution,
    distribution_chart,
    distribution_of,
    mean,
    mean_cell,
    quantile,
    time_cell,
)
from lab.units import format_ranges, format_us

_REMARK = (
    "Commits and votes are counted if several nodes take part; n is the number of participants besides the "
    "coordinator. The formula is for that number, without failures. A running node that has voted YES is "
    "blocked from the moment when the coordinator is down or paused, or the node reports that it must wait, "
    "until it knows the outcome. To terminate without the coordinator, 2pc needs a participant that knows the "
    "outcome or has not voted; 3pc and e3pc need a majority of the participants, and an election. Locks are held "
    "as long as nodes report them. Elections are counted without heartbeats."
)

# The highest node coordinates: it may begin transactions under every protocol, because any election elects it. It
# crashes in a transaction with a majority of participants left without it; otherwise no protocol could continue.
# That transaction is short: over slow links, participants would time out of a longer one before there are votes.
_ELECTED_T, _LOAD_T, _CRASH_T, _SUCCESSOR_T, _RESTART_T, _AGAIN_T = 10, 20, 30, 15, 15, 10
_TRANSACTIONS = 40


class BlockedTime(TimeDistribution, frozen=True):
    """The distribution of the times for which nodes were blocked, their sum, and the longest."""

    total_us: int
    longest_us: int


class LockedTime(TimeDistribution, frozen=True):
    """The distribution of the times for which locks were held, and their sum."""

    total_us: int


class LongestBlock(BlockedInterval, frozen=True):
    """The longest block, and the seed of its run."""

    seed: int


class CommitFigures(Struct, frozen=True, tag_field="of", tag="commits"):
    """Transactions in all runs: outcomes, the cost of a commit, measured and by the formula, and times."""

    committed: int
    aborted: int
    open: int
    committed_per_s: float | None
    messages_mean: float | None
    messages_formula: float | None
    writes_mean: float | None
    writes_formula: float | None
    messages_of: dict[Purpose, int]
    decided: TimeDistribution
    known: TimeDistribution
    blocked: BlockedTime
    blocked_longest: LongestBlock | None
    locked: LockedTime


class BankComparison(Comparison):
    """The comparison of commit protocols: they run transactions, by default with a crash during a vote."""

    Figures: ClassVar[type[CommitFigures]] = CommitFigures
    Measured: ClassVar[type[CommitHistory]] = CommitHistory
    columns: ClassVar[tuple[Column, ...]] = (
        Column("committed", "integer", "transactions that were committed"),
        Column("aborted", "integer", "transactions that were aborted"),
        Column("open", "integer", "transactions still open at the end"),
        Column("messages", "integer", "messages of the commit protocol's own, for all of them"),
        Column("writes", "integer", "forced writes, for all of them"),
        Column("messages_of", "json", "messages by purpose"),
        Column("blocks", "integer", "how many times a node was blocked"),
        Column("blocked_us", "integer", "how long nodes were blocked, summed"),
        Column("blocked_longest_us", "integer", "the longest of these times"),
        Column("locks", "integer", "how many locks were held"),
        Column("locked_us", "integer", "how long locks were held, summed"),
    )
    kind: ClassVar[str] = "a commit protocol"
    example: ClassVar[str] = "2pc 3pc e3pc"
    load_text: ClassVar[str] = "transactions"
    script_text: ClassVar[str] = "a crash during the vote"

    @classmethod
    def measure(cls, header: Header, records: Sequence[Record], end_us: int) -> CommitHistory:
        commits = CommitLog(header.protocol.heartbeats)
        for record in records:
            commits.observe(record)
        return commits.commits(end_us)

    @classmethod
    def figures(cls, totals: ProtocolTotals) -> CommitFigures:
        figures = CommitMeasures(totals)
        longest, blocked, locked = figures.longest_blocked(), figures.blocked, figures.locked
        block = None if longest is None else LongestBlock(**structs.asdict(longest[1]), seed=longest[0])
        return CommitFigures(
            committed=figures.count("committed"),
            aborted=figures.count("aborted"),
            open=figures.count(None),
            committed_per_s=figures.per_second(),
            messages_mean=figures.mean("messages"),
            messages_formula=figures.by_formula("messages"),
            writes_mean=figures.mean("writes"),
            writes_formula=figures.by_formula("writes"),
            messages_of={purpose: figures.sent(purpose) for purpose in PURPOSES},
            decided=TimeDistribution(*distribution_of(figures.decided)),
            known=TimeDistribution(*distribution_of(figures.known)),
            blocked=BlockedTime(*distribution_of(blocked), sum(blocked), max(blocked, default=0)),
            blocked_longest=block,
            locked=LockedTime(*distribution_of(locked), sum(locked)),
        )

    @classmethod
    def row(cls, measured: CommitHistory) -> Row:
        outcomes = [each.outcome for each in measured.transactions]
        return (
            *map(outcomes.count, ("committed", "aborted", None)),
            sum(each.messages for each in measured.transactions),
            sum(each.writes for each in measured.transactions),
            json_cell(measured.messages),
            len(measured.blocked_us),
            sum(measured.blocked_us),
            max(measured.blocked_us, default=0),
            len(measured.locked_us),
            sum(measured.locked_us),
        )

    @classmethod
    def rows(cls, totals: Sequence[ProtocolTotals]) -> list[list[str]]:
        figures = list(map(CommitMeasures, totals))

        def row(title: str, cell: Callable[[CommitMeasures], str]) -> list[str]:
            return [title, *map(cell, figures)]

        def times(title: str, values: Callable[[CommitMeasures], list[int]]) -> list[list[str]]:
            under = " " * (len(title) + 2)
            return [
                row(f"{title}, median", lambda each: time_cell(quantile(values(each), 0.5))),
                row(f"{under}95th %", lambda each: time_cell(quantile(values(each), 0.95))),
            ]

        def cost(title: str, what: Literal["messages", "writes"]) -> list[list[str]]:
            return [
                row(f"{title} of a commit, mean", lambda each: mean_cell(each.mean(what))),
                row("  by the formula", lambda each: _formula_cell(each, what)),
            ]

        return [
            row("nodes blocked, total", lambda each: time_cell(sum(each.blocked))),
            row("  longest interval", lambda each: time_cell(max(each.blocked, default=0))),
            row("transactions committed", lambda each: f"{each.count('committed'):,}"),
            row("  aborted", lambda each: f"{each.count('aborted'):,}"),
            row("  still open", lambda each: f"{each.count(None):,}"),
            row("  committed per second", lambda each: mean_cell(each.per_second())),
            *cost("messages", "messages"),
            *cost("forced writes", "writes"),
            row("other messages: execution", lambda each: f"{each.sent('work'):,}"),
            row("  outcome, repeated", lambda each: f"{each.sent('again'):,}"),
            row("  acknowledgements of the outcome", lambda each: f"{each.sent('acknowledgement'):,}"),
            row(
                "  outcome queries, or termination without the coordinator",
                lambda each: f"{each.sent('termination'):,}",
            ),
            row("  elections", lambda each: f"{each.sent('election'):,}"),
            *times("voted transactions: from command to decision", lambda each: each.decided),
            *times("  until all other participants know", lambda each: each.known),
            row("locks held, total", lambda each: time_cell(sum(each.locked))),
            *times("  one lock", lambda each: each.locked),
        ]

    @classmethod
    def remarks(cls, totals: Sequence[ProtocolTotals]) -> list[str]:
        longest = _describe_longest_blocked(totals)
        return [longest, _REMARK] if longest else [_REMARK]

    @classmethod
    def charts(cls, totals: Sequence[ProtocolTotals], t_us: int) -> list[Chart]:
        """Return the messages by number of participants, with the formulas, and distributions of times."""
        in_t = f"in T = {format_us(t_us)}"
        figures = list(map(CommitMeasures, totals))

        def times(title: str, values: Callable[[CommitMeasures], list[int]]) -> Chart | None:
            return distribution_chart(title, in_t, [(each.name, values(each)) for each in figures], t_us)

        found = [
            _messages_chart(figures),
            times("% of voted transactions that were decided within", lambda each: each.decided),
            times("% of blocked intervals that lasted at most", lambda each: each.blocked),
            times("% of locks that were held for at most", lambda each: each.locked),
        ]
        return [chart for chart in found if chart is not None]

    @classmethod
    def load(cls, nodes: Sequence[int], timing: Timing, end_us: int) -> tuple[str, ...]:
        """Return a continuous load; the last transactions begin before ``end_us``."""
        last_t = max(_ELECTED_T, end_us // timing.t_us)
        load = _load(max(nodes), timing)
        return tuple(f"{_at(timing, t)} {load}" for t in range(_ELECTED_T, last_t + 1, _LOAD_T))

    @classmethod
    def default_script(cls, nodes: Sequence[int], timing: Timing) -> tuple[str, ...]:
        """Return a script: the coordinator crashes as a vote is sent, another gets a load, the first restarts."""
        *_, heir, highest = sorted(nodes)
        return (
            f"{_at(timing, _ELECTED_T)} {_load(highest, timing)}",
            f"{_at(timing, _CRASH_T)} tell {highest} transfer 100 savings checking",
            f"then on send Vote {min(nodes)}->{highest} kill {highest}",
            f"{_after(timing, _SUCCESSOR_T)} {_load(heir, timing)}",
            f"{_after(timing, _RESTART_T)} restart {highest}",
            f"{_after(timing, _AGAIN_T)} {_load(highest, timing)}",
        )


def _load(node: int, timing: Timing) -> str:
    """Return a command whose transactions last for 10 T."""
    rate = max(1, _TRANSACTIONS * 1_000_000 // (10 * timing.t_us))
    return f"tell {node} transactions {_TRANSACTIONS} at {rate}/s"


def _at(timing: Timing, t: int) -> str:
    return f"at {format_us(t * timing.t_us)}"


def _after(timing: Timing, t: int) -> str:
    return f"after {format_us(t * timing.t_us)}"


class CommitMeasures:
    """The measurements of a commit protocol in all its runs. Times are in microseconds."""

    def __init__(self, totals: ProtocolTotals) -> None:
        self.name = totals.name
        commit = commit_protocol(totals.protocol)
        self.cost = None if commit is None else commit.cost
        self.runs: list[CommitHistory] = totals.measured
        self.seeds = totals.seeds
        self.transactions = [one for each in self.runs for one in each.transactions]
        # the formulas apply to transactions with participants; those refused before the vote take no time
        self.commits = [each for each in self.transactions if each.is_committed and each.participants]
        voted = [each for each in self.transactions if each.voted and each.participants]
        self.decided = [each.decided_us - each.began_us for each in voted if each.decided_us is not None]
        self.known = [each.known_us - each.began_us for each in voted if each.known_us is not None]
        self.blocked = [us for each in self.runs for us in each.blocked_us]
        self.locked = [us for each in self.runs for us in each.locked_us]

    def count(self, outcome: str | None) -> int:
        """Return the number of transactions with this outcome; None: still open."""
        return sum(each.outcome == outcome for each in self.transactions)

    def sent(self, purpose: Purpose) -> int:
        """Return the number of messages with this purpose."""
        return sum(each.messages.get(purpose, 0) for each in self.runs)

    def mean(self, what: Literal["messages", "writes"]) -> float | None:
        """Return the mean number of messages or forced writes of a commit."""
        return mean([getattr(each, what) for each in self.commits])

    def by_formula(self, what: Literal["messages", "writes"]) -> float | None:
        """Return what the mean should be."""
        return (
            None
            if self.cost is None
            else mean([getattr(self.cost, what)(each.participants) for each in self.commits])
        )

    def per_second(self) -> float | None:
        """Return commits per second, from the first command to the last decision of each run."""
        us = sum(map(_lasted_us, self.runs))
        return sum(each.is_committed for each in self.transactions) * 1_000_000 / us if us else None

    def longest_blocked(self) -> tuple[int, BlockedInterval] | None:
        """Return the longest blocking, with the seed of its run."""
        found = [
            (seed, one.longest) for seed, one in zip(self.seeds, self.runs, strict=True) if one.longest is not None
        ]
        return max(found, key=lambda each: each[1].us, default=None)


def _lasted_us(commits: CommitHistory) -> int:
    decided = [each.decided_us for each in commits.transactions if each.decided_us is not None]
    return max(decided) - min(each.began_us for each in commits.transactions) if decided else 0


def _formula_cell(figures: CommitMeasures, what: Literal["messages", "writes"]) -> str:
    found = figures.by_formula(what)
    return NOTHING if found is None else f"{getattr(figures.cost, what)}: {mean_cell(found)}"


def _describe_longest_blocked(totals: Sequence[ProtocolTotals]) -> str:
    """Return a sentence on the longest blocking under each protocol; empty if there was none."""
    text = [
        f"under {each.name}, {_describe_blocked(*longest)}"
        for each in totals
        if (longest := CommitMeasures(each).longest_blocked()) is not None
    ]
    return f"Longest blocking: {'; '.join(text)}." if text else ""


def _describe_blocked(seed: int, held: BlockedInterval) -> str:
    """Describe which node was blocked, by which transaction, and who was not running."""
    participants, missing = len(held.participants), len(held.missing)
    text = f"node {held.node} for {time_cell(held.us)} with seed {seed}, by {held.transaction} of nodes "
    text += format_ranges(held.participants)
    if not missing:
        return f"{text}, all of which were running"
    text += f", with {format_ranges(held.missing)} not running"
    return text if 2 * (participants - missing) > participants else f"{text} and no majority left"


def _messages_chart(figures: list[CommitMeasures]) -> Chart | None:
    """Return the messages of a commit by the number of participants, with the formulas."""
    measured, formulas = [], []
    for hue, each in enumerate(figures):
        by_n: dict[int, list[int]] = {}
        for one in each.commits:
            by_n.setdefault(one.participants, []).append(one.messages)
        points = tuple((n, sum(by_n[n]) / len(by_n[n])) for n in sorted(by_n))
        measured += [Series(each.name, points, hue=hue)] if points else []
        if each.cost is not None and points:
            line = tuple((n, each.cost.messages(n)) for n in range(max(by_n) + 1))
            formulas.append(Series(f"{each.cost.messages}, {each.name}", line, curve=True, hue=hue))
    if not measured:
        return None
    most_n = max(n for series in measured for n, _ in series.points)
    most = max(y for series in [*measured, *formulas] for _, y in series.points)
    return Chart(
        "messages of a commit, mean",
        Axis("participants besides the coordinator", whole_numbers(most_n), logarithmic=False),
        Axis("messages", whole_numbers(most), logarithmic=False),
        (*measured, *formulas),
    )
