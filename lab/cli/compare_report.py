"""The report of ``lab compare``: a table with a column for each protocol, and charts of distributions."""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lab.analysis.commit_history import PURPOSES, BlockedInterval, CommitHistory, Purpose, TransactionHistory
from lab.analysis.field_map import Work
from lab.cli.chart import Axis, Chart, Series, print_charts, whole_numbers
from lab.cli.chart_svg import charts_as_svg
from lab.cli.terminal import report_width
from lab.properties.assertions import A4
from lab.protocols import CommitCost
from lab.units import format_count, format_ranges, format_us
from lab.worlds.campaign.comparison import ProtocolTotals, quantile

_NOTHING = "-"
_REMARK = (
    "Messages are counted without heartbeats. A violation is a failure if all relevant assumptions are intact, "
    "and excused otherwise. lab compare --help defines elections, times without a coordinator, and lost readings."
)


def as_json(sums: ProtocolTotals) -> dict[str, Any]:
    """Return the numbers of the table."""
    measured = commits_as_json(sums) if sums.commits else _elections_as_json(sums)
    violations = {
        name: {"failures": failures, "excused": excused}
        for name, (failures, excused) in sorted(sums.violations.items())
    }
    return {"protocol": sums.name, "runs": sums.runs, **measured, "violations": violations}


def _elections_as_json(sums: ProtocolTotals) -> dict[str, Any]:
    return {
        "elections": distribution_json(sums.elections, "messages"),
        "without_coordinator": distribution_json(sums.outages_us, "us"),
        "several_coordinators": {
            "runs": sum(us > 0 for us in sums.several_us),
            "total_us": sum(sums.several_us),
            "worst_run_us": max(sums.several_us, default=0),
        },
        "readings": None
        if sums.work is None
        else {"made": sums.work.made, "lost": sums.work.lost, "twice": sums.work.duplicated},
    }


def report(sums: list[ProtocolTotals], t_us: int) -> None:
    """Print the table and the charts."""
    width = report_width()
    commits = bool(sums[0].commits)
    rows = [
        ["", *(each.name for each in sums)],
        *(commit_rows(sums) if commits else _rows(sums)),
        *_verdict_rows(sums),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for title, *cells in rows:
        shown = [title.ljust(widths[0]), *(cell.rjust(room) for cell, room in zip(cells, widths[1:], strict=True))]
        print("  ".join(shown).rstrip())
    if blocked := longest_blocked(sums):
        print("\n" + textwrap.fill(blocked, width))
    print("\n" + textwrap.fill(COMMITS_REMARK if commits else _REMARK, width))
    if grouped := _group_protocols(sums):
        print(
            textwrap.fill(f"* Each group of {' and '.join(grouped)} has its own coordinator, as specified.", width)
        )
    print_charts(_charts(sums, t_us))


def draw(sums: list[ProtocolTotals], t_us: int, path: Path) -> None:
    """Write the charts to an SVG file. Raises OSError."""
    path.write_text(charts_as_svg(_charts(sums, t_us)), "utf-8")


def _rows(sums: list[ProtocolTotals]) -> list[list[str]]:
    rows = [
        ["elections", *(f"{len(each.elections):,}" for each in sums)],
        ["  messages of one, median", *(count_cell(quantile(each.elections, 0.5)) for each in sums)],
        ["                   95th %", *(count_cell(quantile(each.elections, 0.95)) for each in sums)],
        ["times without a coordinator", *(f"{len(each.outages_us):,}" for each in sums)],
        ["  length, median", *(time_cell(quantile(each.outages_us, 0.5)) for each in sums)],
        ["          95th %", *(time_cell(quantile(each.outages_us, 0.95)) for each in sums)],
        [
            f"runs with several coordinators{' *' if _group_protocols(sums) else ''}",
            *(f"{sum(us > 0 for us in each.several_us):,}" for each in sums),
        ],
        ["  time with several, total", *(time_cell(sum(each.several_us)) for each in sums)],
        ["                     in the worst run", *(time_cell(max(each.several_us)) for each in sums)],
    ]
    if any(each.work for each in sums):
        work = [each.work or Work() for each in sums]
        rows += [
            ["readings of the field", *(f"{each.made:,}" for each in work)],
            ["  lost", *(f"{each.lost:,}" for each in work)],
            ["  made twice", *(f"{each.duplicated:,}" for each in work)],
        ]
    return rows


def _verdict_rows(sums: list[ProtocolTotals]) -> list[list[str]]:
    names = sorted({name for each in sums for name in each.violations})
    return [
        [f"violations of {name}", *(_violations(each.violations.get(name)) for each in sums)] for name in names
    ]


def _group_protocols(sums: list[ProtocolTotals]) -> list[str]:
    """Return the protocols that elect a coordinator per group: those that promise A4."""
    return [each.name for each in sums if A4.id in each.violations]


def _violations(found: tuple[int, int] | None) -> str:
    """Format the counts of failures and excused violations; a dash if the assertion is not promised."""
    if found is None:
        return _NOTHING
    failures, excused = found
    parts = [format_count(failures, "failure")] if failures else []
    parts += [f"{excused:,} excused"] if excused else []
    return ", ".join(parts) or "0"


def _charts(sums: list[ProtocolTotals], t_us: int) -> list[Chart]:
    if sums[0].commits:
        return commit_charts(sums, t_us)
    in_t = f"in T = {format_us(t_us)}"
    found = (
        ("% of elections that took at most", "messages", [each.elections for each in sums], 1),
        (
            "% of times without a coordinator that lasted at most",
            in_t,
            [each.outages_us for each in sums],
            t_us,
        ),
        (
            "% of runs with several coordinators for at most",
            in_t,
            [each.several_us for each in sums],
            t_us,
        ),
    )
    names = [each.name for each in sums]
    charts = (
        distribution_chart(title, axis, list(zip(names, values, strict=True)), unit)
        for title, axis, values, unit in found
    )
    return [chart for chart in charts if chart is not None]


COMMITS_REMARK = (
    "Commits and votes are counted if several nodes take part; n is the number of participants besides the "
    "coordinator. The formula is for that number, without failures. A running node that has voted YES is "
    "blocked from the moment when the coordinator is down or paused, or the node reports that it must wait, "
    "until it knows the outcome. To terminate without the coordinator, 2pc needs a participant that knows the "
    "outcome or has not voted; 3pc needs a majority of the participants, and an election. Locks are held as "
    "long as nodes report them. Elections are counted without heartbeats."
)


def commits_as_json(sums: ProtocolTotals) -> dict[str, Any]:
    """Return the numbers of the table."""
    found = _all_transactions(sums)
    commits = _commits(sums)
    blocked, locked, worst = _blocked(sums), _locked(sums), _longest(sums)
    return {
        "committed": sum(each.is_committed for each in found),
        "aborted": sum(each.outcome == "aborted" for each in found),
        "open": sum(each.outcome is None for each in found),
        "committed_per_s": _throughput(sums),
        "messages_mean": _mean([each.messages for each in commits]),
        "messages_formula": _by_formula(sums, _messages_by),
        "writes_mean": _mean([each.writes for each in commits]),
        "writes_formula": _by_formula(sums, _writes_by),
        "messages_of": {what: sum(each.messages.get(what, 0) for each in sums.commits) for what in PURPOSES},
        "decided": distribution_json(_decided(sums), "us"),
        "known": distribution_json(_known(sums), "us"),
        "blocked": {
            "total_us": sum(blocked),
            "longest_us": max(blocked, default=0),
            **distribution_json(blocked, "us"),
        },
        "blocked_longest": None if worst is None else {"seed": worst[0], **msgspec.structs.asdict(worst[1])},
        "locked": {"total_us": sum(locked), **distribution_json(locked, "us")},
    }


def commit_rows(sums: list[ProtocolTotals]) -> list[list[str]]:
    """Return the rows of the table: a title, and a cell for each protocol."""

    def row(title: str, cell: Callable[[ProtocolTotals], str]) -> list[str]:
        return [title, *map(cell, sums)]

    def of(outcome: str | None) -> Callable[[ProtocolTotals], str]:
        return lambda each: f"{sum(one.outcome == outcome for one in _all_transactions(each)):,}"

    def sent(purpose: Purpose) -> Callable[[ProtocolTotals], str]:
        return lambda each: f"{sum(one.messages.get(purpose, 0) for one in each.commits):,}"

    def times(title: str, values: Callable[[ProtocolTotals], Sequence[int]]) -> list[list[str]]:
        under = " " * (len(title) + 2)
        return [
            row(f"{title}, median", lambda each: time_cell(quantile(values(each), 0.5))),
            row(f"{under}95th %", lambda each: time_cell(quantile(values(each), 0.95))),
        ]

    return [
        row("nodes blocked, total", lambda each: time_cell(sum(_blocked(each)))),
        row("  longest interval", lambda each: time_cell(max(_blocked(each), default=0))),
        row("transactions committed", of("committed")),
        row("  aborted", of("aborted")),
        row("  still open", of(None)),
        row("  committed per second", lambda each: _number(_throughput(each))),
        row("messages of a commit, mean", lambda each: _number(_mean([one.messages for one in _commits(each)]))),
        row("  by the formula", lambda each: _formula_cell(each, _messages_by)),
        row(
            "forced writes of a commit, mean", lambda each: _number(_mean([one.writes for one in _commits(each)]))
        ),
        row("  by the formula", lambda each: _formula_cell(each, _writes_by)),
        row("other messages: execution", sent("work")),
        row("  outcome, repeated", sent("again")),
        row("  acknowledgements of the outcome", sent("acknowledgement")),
        row("  outcome queries, or termination without the coordinator", sent("termination")),
        row("  elections", sent("election")),
        *times("voted transactions: from command to decision", _decided),
        *times("  until all other participants know", _known),
        row("locks held, total", lambda each: time_cell(sum(_locked(each)))),
        *times("  one lock", _locked),
    ]


def longest_blocked(sums: list[ProtocolTotals]) -> str:
    """Return a sentence on the longest blocking under each protocol; empty if there was none."""
    text = [
        f"under {each.name}, {_describe_blocked(*worst)}" for each in sums if (worst := _longest(each)) is not None
    ]
    return f"Longest blocking: {'; '.join(text)}." if text else ""


def _longest(sums: ProtocolTotals) -> tuple[int, BlockedInterval] | None:
    """Return the seed of the run and the longest blocking in it."""
    found = [(seed, one.longest) for seed, one in enumerate(sums.commits, sums.seed) if one.longest is not None]
    return max(found, key=lambda each: each[1].us, default=None)


def _describe_blocked(seed: int, held: BlockedInterval) -> str:
    """Describe which node was blocked, by which transaction, and who was not running."""
    participants, missing = len(held.participants), len(held.missing)
    text = f"node {held.node} for {time_cell(held.us)} with seed {seed}, by {held.transaction} of nodes "
    text += format_ranges(held.participants)
    if not missing:
        return f"{text}, all of which were running"
    text += f", with {format_ranges(held.missing)} not running"
    return text if 2 * (participants - missing) > participants else f"{text} and no majority left"


def commit_charts(sums: list[ProtocolTotals], t_us: int) -> list[Chart]:
    """Return the charts: messages by number of participants, with the formulas, and distributions of times."""
    in_t = f"in T = {format_us(t_us)}"
    found: tuple[tuple[str, Callable[[ProtocolTotals], Sequence[int]]], ...] = (
        ("% of voted transactions that were decided within", _decided),
        ("% of blocked intervals that lasted at most", _blocked),
        ("% of locks that were held for at most", _locked),
    )
    charts = [_messages_chart(sums)]
    charts += [
        distribution_chart(title, in_t, [(each.name, of(each)) for each in sums], t_us) for title, of in found
    ]
    return [chart for chart in charts if chart is not None]


def _messages_chart(sums: list[ProtocolTotals]) -> Chart | None:
    measured, formulas = [], []
    for hue, each in enumerate(sums):
        by_n: dict[int, list[int]] = {}
        for one in _commits(each):
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


def _all_transactions(sums: ProtocolTotals) -> list[TransactionHistory]:
    return [one for each in sums.commits for one in each.transactions]


def _commits(sums: ProtocolTotals) -> list[TransactionHistory]:
    """Return the committed transactions with participants, to which the formula applies."""
    return [each for each in _all_transactions(sums) if each.is_committed and each.participants]


def _voted(sums: ProtocolTotals) -> list[TransactionHistory]:
    """Return the transactions with a vote; those refused earlier take no time."""
    return [each for each in _all_transactions(sums) if each.voted and each.participants]


def _decided(sums: ProtocolTotals) -> list[int]:
    return [each.decided_us - each.began_us for each in _voted(sums) if each.decided_us is not None]


def _known(sums: ProtocolTotals) -> list[int]:
    return [each.known_us - each.began_us for each in _voted(sums) if each.known_us is not None]


def _blocked(sums: ProtocolTotals) -> list[int]:
    return [us for each in sums.commits for us in each.blocked_us]


def _locked(sums: ProtocolTotals) -> list[int]:
    return [us for each in sums.commits for us in each.locked_us]


def _throughput(sums: ProtocolTotals) -> float | None:
    """Return commits per second, from the first command to the last decision of each run."""
    us = sum(map(_lasted_us, sums.commits))
    committed = sum(each.is_committed for each in _all_transactions(sums))
    return committed * 1_000_000 / us if us else None


def _lasted_us(commits: CommitHistory) -> int:
    decided = [each.decided_us for each in commits.transactions if each.decided_us is not None]
    return max(decided) - min(each.began_us for each in commits.transactions) if decided else 0


def _messages_by(cost: CommitCost) -> Callable[[int], int]:
    return cost.messages


def _writes_by(cost: CommitCost) -> Callable[[int], int]:
    return cost.writes


def _by_formula(sums: ProtocolTotals, of: Callable[[CommitCost], Callable[[int], int]]) -> float | None:
    return None if sums.cost is None else _mean([of(sums.cost)(each.participants) for each in _commits(sums)])


def _formula_cell(sums: ProtocolTotals, of: Callable[[CommitCost], Callable[[int], int]]) -> str:
    found = _by_formula(sums, of)
    return _NOTHING if sums.cost is None or found is None else f"{of(sums.cost)}: {_number(found)}"


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
    return {
        "count": len(values),
        f"{unit}_median": quantile(values, 0.5),
        f"{unit}_95th": quantile(values, 0.95),
    }


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
