"""The report of ``lab compare``: a table with a column for each protocol, and charts of distributions."""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from lab.analysis.commit_history import PURPOSES, BlockedInterval, CommitHistory, Purpose
from lab.analysis.field_map import Work
from lab.cli.chart import Axis, Chart, Series, print_charts, whole_numbers
from lab.cli.chart_svg import charts_as_svg
from lab.cli.terminal import report_width
from lab.properties.assertions import A4
from lab.units import format_count, format_ranges, format_us
from lab.worlds.campaign.comparison import ProtocolTotals, quantile

_NOTHING = "-"
_REMARK = (
    "Messages are counted without heartbeats. A violation is a failure if all relevant assumptions are intact, "
    "and excused otherwise. lab compare --help defines elections, times without a coordinator, and lost readings."
)


def as_json(totals: ProtocolTotals) -> dict[str, Any]:
    """Return the numbers of the table."""
    measured = commits_as_json(totals) if totals.commits else _elections_as_json(totals)
    violations = {
        name: {"failures": failures, "excused": excused}
        for name, (failures, excused) in sorted(totals.violations.items())
    }
    return {"protocol": totals.name, "runs": totals.runs, **measured, "violations": violations}


def _elections_as_json(totals: ProtocolTotals) -> dict[str, Any]:
    return {
        "elections": distribution_json(totals.elections, "messages"),
        "without_coordinator": distribution_json(totals.outages_us, "us"),
        "several_coordinators": {
            "runs": sum(us > 0 for us in totals.several_us),
            "total_us": sum(totals.several_us),
            "worst_run_us": max(totals.several_us, default=0),
        },
        "readings": None
        if totals.work is None
        else {"made": totals.work.made, "lost": totals.work.lost, "twice": totals.work.duplicated},
    }


def report(totals: list[ProtocolTotals], t_us: int) -> None:
    """Print the table and the charts."""
    width = report_width()
    commits = bool(totals[0].commits)
    rows = [
        ["", *(each.name for each in totals)],
        *(commit_rows(totals) if commits else _rows(totals)),
        *_verdict_rows(totals),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for title, *cells in rows:
        shown = [title.ljust(widths[0]), *(cell.rjust(room) for cell, room in zip(cells, widths[1:], strict=True))]
        print("  ".join(shown).rstrip())
    if blocked := _describe_longest_blocked(totals):
        print("\n" + textwrap.fill(blocked, width))
    print("\n" + textwrap.fill(_COMMITS_REMARK if commits else _REMARK, width))
    if grouped := _group_protocols(totals):
        print(
            textwrap.fill(f"* Each group of {' and '.join(grouped)} has its own coordinator, as specified.", width)
        )
    print_charts(_charts(totals, t_us))


def draw(totals: list[ProtocolTotals], t_us: int, path: Path) -> None:
    """Write the charts to an SVG file. Raises OSError."""
    path.write_text(charts_as_svg(_charts(totals, t_us)), "utf-8")


def _rows(totals: list[ProtocolTotals]) -> list[list[str]]:
    rows = [
        ["elections", *(f"{len(each.elections):,}" for each in totals)],
        ["  messages of one, median", *(count_cell(quantile(each.elections, 0.5)) for each in totals)],
        ["                   95th %", *(count_cell(quantile(each.elections, 0.95)) for each in totals)],
        ["times without a coordinator", *(f"{len(each.outages_us):,}" for each in totals)],
        ["  length, median", *(time_cell(quantile(each.outages_us, 0.5)) for each in totals)],
        ["          95th %", *(time_cell(quantile(each.outages_us, 0.95)) for each in totals)],
        [
            f"runs with several coordinators{' *' if _group_protocols(totals) else ''}",
            *(f"{sum(us > 0 for us in each.several_us):,}" for each in totals),
        ],
        ["  time with several, total", *(time_cell(sum(each.several_us)) for each in totals)],
        ["                     in the worst run", *(time_cell(max(each.several_us)) for each in totals)],
    ]
    if any(each.work for each in totals):
        work = [each.work or Work() for each in totals]
        rows += [
            ["readings of the field", *(f"{each.made:,}" for each in work)],
            ["  lost", *(f"{each.lost:,}" for each in work)],
            ["  made twice", *(f"{each.duplicated:,}" for each in work)],
        ]
    return rows


def _verdict_rows(totals: list[ProtocolTotals]) -> list[list[str]]:
    names = sorted({name for each in totals for name in each.violations})
    return [
        [f"violations of {name}", *(_violations(each.violations.get(name)) for each in totals)] for name in names
    ]


def _group_protocols(totals: list[ProtocolTotals]) -> list[str]:
    """Return the protocols that elect a coordinator per group: those that promise A4."""
    return [each.name for each in totals if A4.id in each.violations]


def _violations(found: tuple[int, int] | None) -> str:
    """Format the counts of failures and excused violations; a dash if the assertion is not promised."""
    if found is None:
        return _NOTHING
    failures, excused = found
    parts = [format_count(failures, "failure")] if failures else []
    parts += [f"{excused:,} excused"] if excused else []
    return ", ".join(parts) or "0"


def _charts(totals: list[ProtocolTotals], t_us: int) -> list[Chart]:
    found = _commit_charts(totals, t_us) if totals[0].commits else _election_charts(totals, t_us)
    return [chart for chart in found if chart is not None]


def _election_charts(totals: list[ProtocolTotals], t_us: int) -> list[Chart | None]:
    in_t = f"in T = {format_us(t_us)}"

    def times(title: str, values: Callable[[ProtocolTotals], list[int]]) -> Chart | None:
        return distribution_chart(title, in_t, [(each.name, values(each)) for each in totals], t_us)

    messages = [(each.name, each.elections) for each in totals]
    return [
        distribution_chart("% of elections that took at most", "messages", messages, 1),
        times("% of times without a coordinator that lasted at most", lambda each: each.outages_us),
        times("% of runs with several coordinators for at most", lambda each: each.several_us),
    ]


# commit protocols

_COMMITS_REMARK = (
    "Commits and votes are counted if several nodes take part; n is the number of participants besides the "
    "coordinator. The formula is for that number, without failures. A running node that has voted YES is "
    "blocked from the moment when the coordinator is down or paused, or the node reports that it must wait, "
    "until it knows the outcome. To terminate without the coordinator, 2pc needs a participant that knows the "
    "outcome or has not voted; 3pc needs a majority of the participants, and an election. Locks are held as "
    "long as nodes report them. Elections are counted without heartbeats."
)


class CommitFigures:
    """What a commit protocol did in all its runs. Times are in microseconds."""

    def __init__(self, totals: ProtocolTotals) -> None:
        self.name = totals.name
        self.cost = totals.cost
        self.runs = totals.commits
        self.first_seed = totals.seed
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
        return _mean([getattr(each, what) for each in self.commits])

    def by_formula(self, what: Literal["messages", "writes"]) -> float | None:
        """Return what the mean should be."""
        return (
            None
            if self.cost is None
            else _mean([getattr(self.cost, what)(each.participants) for each in self.commits])
        )

    def per_second(self) -> float | None:
        """Return commits per second, from the first command to the last decision of each run."""
        us = sum(map(_lasted_us, self.runs))
        return sum(each.is_committed for each in self.transactions) * 1_000_000 / us if us else None

    def longest_blocked(self) -> tuple[int, BlockedInterval] | None:
        """Return the longest blocking, with the seed of its run."""
        found = [
            (seed, one.longest) for seed, one in enumerate(self.runs, self.first_seed) if one.longest is not None
        ]
        return max(found, key=lambda each: each[1].us, default=None)


def _lasted_us(commits: CommitHistory) -> int:
    decided = [each.decided_us for each in commits.transactions if each.decided_us is not None]
    return max(decided) - min(each.began_us for each in commits.transactions) if decided else 0


def commits_as_json(totals: ProtocolTotals) -> dict[str, Any]:
    """Return the numbers of the table."""
    figures = CommitFigures(totals)
    longest = figures.longest_blocked()
    return {
        "committed": sum(each.is_committed for each in figures.transactions),
        "aborted": figures.count("aborted"),
        "open": figures.count(None),
        "committed_per_s": figures.per_second(),
        "messages_mean": figures.mean("messages"),
        "messages_formula": figures.by_formula("messages"),
        "writes_mean": figures.mean("writes"),
        "writes_formula": figures.by_formula("writes"),
        "messages_of": {purpose: figures.sent(purpose) for purpose in PURPOSES},
        "decided": distribution_json(figures.decided, "us"),
        "known": distribution_json(figures.known, "us"),
        "blocked": {
            "total_us": sum(figures.blocked),
            "longest_us": max(figures.blocked, default=0),
            **distribution_json(figures.blocked, "us"),
        },
        "blocked_longest": None if longest is None else {"seed": longest[0], **msgspec.structs.asdict(longest[1])},
        "locked": {"total_us": sum(figures.locked), **distribution_json(figures.locked, "us")},
    }


def commit_rows(totals: list[ProtocolTotals]) -> list[list[str]]:
    """Return the rows of the table: a title, and a cell for each protocol."""
    figures = list(map(CommitFigures, totals))

    def row(title: str, cell: Callable[[CommitFigures], str]) -> list[str]:
        return [title, *map(cell, figures)]

    def times(title: str, values: Callable[[CommitFigures], list[int]]) -> list[list[str]]:
        under = " " * (len(title) + 2)
        return [
            row(f"{title}, median", lambda each: time_cell(quantile(values(each), 0.5))),
            row(f"{under}95th %", lambda each: time_cell(quantile(values(each), 0.95))),
        ]

    def cost(title: str, what: Literal["messages", "writes"]) -> list[list[str]]:
        return [
            row(f"{title} of a commit, mean", lambda each: _number(each.mean(what))),
            row("  by the formula", lambda each: _formula_cell(each, what)),
        ]

    return [
        row("nodes blocked, total", lambda each: time_cell(sum(each.blocked))),
        row("  longest interval", lambda each: time_cell(max(each.blocked, default=0))),
        row("transactions committed", lambda each: f"{each.count('committed'):,}"),
        row("  aborted", lambda each: f"{each.count('aborted'):,}"),
        row("  still open", lambda each: f"{each.count(None):,}"),
        row("  committed per second", lambda each: _number(each.per_second())),
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


def _formula_cell(figures: CommitFigures, what: Literal["messages", "writes"]) -> str:
    found = figures.by_formula(what)
    return _NOTHING if found is None else f"{getattr(figures.cost, what)}: {_number(found)}"


def _describe_longest_blocked(totals: list[ProtocolTotals]) -> str:
    """Return a sentence on the longest blocking under each protocol; empty if there was none."""
    text = [
        f"under {each.name}, {_describe_blocked(*longest)}"
        for each in totals
        if (longest := CommitFigures(each).longest_blocked()) is not None
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


def _commit_charts(totals: list[ProtocolTotals], t_us: int) -> list[Chart | None]:
    """Return the charts: messages by number of participants, with the formulas, and distributions of times."""
    in_t = f"in T = {format_us(t_us)}"
    figures = list(map(CommitFigures, totals))

    def times(title: str, values: Callable[[CommitFigures], list[int]]) -> Chart | None:
        return distribution_chart(title, in_t, [(each.name, values(each)) for each in figures], t_us)

    return [
        _messages_chart(figures),
        times("% of voted transactions that were decided within", lambda each: each.decided),
        times("% of blocked intervals that lasted at most", lambda each: each.blocked),
        times("% of locks that were held for at most", lambda each: each.locked),
    ]


def _messages_chart(figures: list[CommitFigures]) -> Chart | None:
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


# cells, and distributions


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.2f}"


def count_cell(value: int | None) -> str:
    """Format a number; a dash for None."""
    return _NOTHING if value is None else f"{value:,}"


def time_cell(us: int | None) -> str:
    """Format a duration, rounded to milliseconds; a dash for None."""
    return _NOTHING if us is None else format_us(round(us, -3))


def distribution_json(values: Sequence[int], unit: str) -> dict[str, int | None]:
    """Return the count, the median and the 95th percentile."""
    return {"count": len(values), f"{unit}_median": quantile(values, 0.5), f"{unit}_95th": quantile(values, 0.95)}


def distribution_chart(
    title: str, name: str, values: Sequence[tuple[str, Sequence[int]]], unit: int
) -> Chart | None:
    """Return a cumulative curve for each protocol that has values; None if all values are 0."""
    if not any(any(each) for _, each in values):
        return None
    most = max(max(each, default=0) for _, each in values) / unit
    series = tuple(
        Series(label, cumulative_steps(each, unit), curve=True, hue=hue)
        for hue, (label, each) in enumerate(values)
        if each
    )
    return Chart(
        title,
        Axis(name, whole_numbers(most), logarithmic=False),
        Axis("%", (0, 20, 40, 60, 80, 100), logarithmic=False),
        series,
    )


def cumulative_steps(values: Sequence[int], unit: int) -> tuple[tuple[float, float], ...]:
    """Return the points of the cumulative distribution, in percent: a step function."""
    points: list[tuple[float, float]] = []
    for percent in range(101):
        value = quantile(values, percent / 100)
        assert value is not None
        if points and value / unit > points[-1][0]:
            points.append((value / unit, points[-1][1]))
        points.append((value / unit, percent))
    return tuple(points)
