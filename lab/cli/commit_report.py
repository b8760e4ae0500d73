"""The report of ``lab compare`` for commit protocols: cost next to the formulas, and blocking."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lab.analysis.commit_history import PURPOSES, BlockedInterval, CommitHistory, Purpose, TransactionHistory
from lab.cli.chart import Axis, Chart, Series, whole_numbers
from lab.cli.distributions import distribution_chart, distribution_json, time_cell
from lab.protocols import CommitCost
from lab.units import format_ranges, format_us
from lab.worlds.campaign.comparison import ProtocolTotals, quantile

__all__ = ["COMMITS_REMARK", "commit_charts", "commit_rows", "commits_as_json", "longest_blocked"]

COMMITS_REMARK = (
    "Commits and votes are counted if several nodes take part; n is the number of participants besides the "
    "coordinator. The formula is for that number, without failures. A running node that has voted YES is "
    "blocked from the moment when the coordinator is down or paused, or the node reports that it must wait, "
    "until it knows the outcome. To terminate without the coordinator, 2pc needs a participant that knows the "
    "outcome or has not voted; 3pc needs a majority of the participants, and an election. Locks are held as "
    "long as nodes report them. Elections are counted without heartbeats."
)
_NOTHING = "-"


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
