"""What ``lab compare`` says of commit protocols: what a commit took beside the formula, and what was blocked."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lab.analysis.commit_history import PURPOSES, Commits, Held, Purpose, Transacted
from lab.cli.chart import Axis, Chart, Series, whole_numbers
from lab.cli.spreads import spread_chart, spread_json, time_cell
from lab.protocols import CommitCost
from lab.units import format_us, listed
from lab.worlds.campaign.comparison import Sums, quantile

__all__ = ["COMMITS_REMARK", "commit_charts", "commit_rows", "commits_as_json", "longest_blocked"]

COMMITS_REMARK = (
    "Of commits and votes, those between several nodes; n are the participants besides the coordinator, and the "
    "formula is worked out for theirs, where nothing fails. A node is blocked while it runs and has voted YES, "
    "from when the coordinator is down or stands still, or it says that it must wait, until it knows the outcome. "
    "To end that without the coordinator takes, under 2pc, a participant that knows it, or has not voted; "
    "under 3pc, a majority of the participants, and an election. Locks are held as long as nodes show it. "
    "Elections are counted without heartbeats."
)
_NOTHING = "-"


def commits_as_json(sums: Sums) -> dict[str, Any]:
    """The numbers of the table."""
    found = _transactions(sums)
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
        "decided": spread_json(_decided(sums), "us"),
        "known": spread_json(_known(sums), "us"),
        "blocked": {"total_us": sum(blocked), "longest_us": max(blocked, default=0), **spread_json(blocked, "us")},
        "blocked_longest": None if worst is None else {"seed": worst[0], **msgspec.structs.asdict(worst[1])},
        "locked": {"total_us": sum(locked), **spread_json(locked, "us")},
    }


def commit_rows(sums: list[Sums]) -> list[list[str]]:
    """The table: a title, and a cell for each protocol."""

    def row(title: str, cell: Callable[[Sums], str]) -> list[str]:
        return [title, *map(cell, sums)]

    def of(outcome: str | None) -> Callable[[Sums], str]:
        return lambda each: f"{sum(one.outcome == outcome for one in _transactions(each)):,}"

    def sent(purpose: Purpose) -> Callable[[Sums], str]:
        return lambda each: f"{sum(one.messages.get(purpose, 0) for one in each.commits):,}"

    def times(title: str, values: Callable[[Sums], Sequence[int]]) -> list[list[str]]:
        under = " " * (len(title) + 2)
        return [
            row(f"{title}, median", lambda each: time_cell(quantile(values(each), 0.5))),
            row(f"{under}95th %", lambda each: time_cell(quantile(values(each), 0.95))),
        ]

    return [
        row("nodes blocked, in all", lambda each: time_cell(sum(_blocked(each)))),
        row("  one node at a time, at most", lambda each: time_cell(max(_blocked(each), default=0))),
        row("transactions committed", of("committed")),
        row("  aborted", of("aborted")),
        row("  still open", of(None)),
        row("  committed a second", lambda each: _number(_throughput(each))),
        row("messages of a commit, mean", lambda each: _number(_mean([one.messages for one in _commits(each)]))),
        row("  by the formula", lambda each: _formula_cell(each, _messages_by)),
        row(
            "forced writes of a commit, mean", lambda each: _number(_mean([one.writes for one in _commits(each)]))
        ),
        row("  by the formula", lambda each: _formula_cell(each, _writes_by)),
        row("other messages: the work", sent("work")),
        row("  the outcome, told again", sent("again")),
        row("  acknowledgements of the outcome", sent("acknowledgement")),
        row("  asking for the outcome, or ending without the coordinator", sent("termination")),
        row("  elections", sent("election")),
        *times("of those voted on: from the command to the decision", _decided),
        *times("  until all other participants know", _known),
        row("locks held, in all", lambda each: time_cell(sum(_locked(each)))),
        *times("  one lock", _locked),
    ]


def longest_blocked(sums: list[Sums]) -> str:
    """What blocked a node for longest, of each protocol, and in which run; nothing, where nothing did."""
    said = [f"under {each.name}, {_held(*worst)}" for each in sums if (worst := _longest(each)) is not None]
    return f"Blocked for longest: {'; '.join(said)}." if said else ""


def _longest(sums: Sums) -> tuple[int, Held] | None:
    """With the seed of the run."""
    found = [(seed, one.longest) for seed, one in enumerate(sums.commits, sums.seed) if one.longest is not None]
    return max(found, key=lambda each: each[1].us, default=None)


def _held(seed: int, held: Held) -> str:
    """Who was blocked, over what, and who was missing."""
    participants, missing = len(held.participants), len(held.missing)
    said = f"node {held.node} for {time_cell(held.us)} with seed {seed}, over {held.transaction} of nodes "
    said += listed(held.participants)
    if not missing:
        return f"{said}, all of which ran"
    said += f" while {listed(held.missing)} did not run"
    return said if 2 * (participants - missing) > participants else f"{said}: no majority was left"


def commit_charts(sums: list[Sums], t_us: int) -> list[Chart]:
    """Messages by the number of participants, with the formulas; and how times are spread."""
    in_t = f"in T = {format_us(t_us)}"
    found: tuple[tuple[str, Callable[[Sums], Sequence[int]]], ...] = (
        ("% of those voted on that were decided within", _decided),
        ("% of times that a node was blocked that were at most so long", _blocked),
        ("% of locks that were held for at most so long", _locked),
    )
    charts = [_messages_chart(sums)]
    charts += [spread_chart(title, in_t, [(each.name, of(each)) for each in sums], t_us) for title, of in found]
    return [chart for chart in charts if chart is not None]


def _messages_chart(sums: list[Sums]) -> Chart | None:
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


def _transactions(sums: Sums) -> list[Transacted]:
    return [one for each in sums.commits for one in each.transactions]


def _commits(sums: Sums) -> list[Transacted]:
    """Those that the formula is about."""
    return [each for each in _transactions(sums) if each.is_committed and each.participants]


def _voted(sums: Sums) -> list[Transacted]:
    """Without those that were refused before, which takes no time."""
    return [each for each in _transactions(sums) if each.voted and each.participants]


def _decided(sums: Sums) -> list[int]:
    return [each.decided_us - each.began_us for each in _voted(sums) if each.decided_us is not None]


def _known(sums: Sums) -> list[int]:
    return [each.known_us - each.began_us for each in _voted(sums) if each.known_us is not None]


def _blocked(sums: Sums) -> list[int]:
    return [us for each in sums.commits for us in each.blocked_us]


def _locked(sums: Sums) -> list[int]:
    return [us for each in sums.commits for us in each.locked_us]


def _throughput(sums: Sums) -> float | None:
    """Commits a second, from the first command to the last decision of each run."""
    us = sum(map(_lasted_us, sums.commits))
    committed = sum(each.is_committed for each in _transactions(sums))
    return committed * 1_000_000 / us if us else None


def _lasted_us(commits: Commits) -> int:
    decided = [each.decided_us for each in commits.transactions if each.decided_us is not None]
    return max(decided) - min(each.began_us for each in commits.transactions) if decided else 0


def _messages_by(cost: CommitCost) -> Callable[[int], int]:
    return cost.messages


def _writes_by(cost: CommitCost) -> Callable[[int], int]:
    return cost.writes


def _by_formula(sums: Sums, of: Callable[[CommitCost], Callable[[int], int]]) -> float | None:
    return None if sums.cost is None else _mean([of(sums.cost)(each.participants) for each in _commits(sums)])


def _formula_cell(sums: Sums, of: Callable[[CommitCost], Callable[[int], int]]) -> str:
    found = _by_formula(sums, of)
    return _NOTHING if sums.cost is None or found is None else f"{of(sums.cost)}: {_number(found)}"


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.2f}"
