"""The verdict on a history of client operations, as text: for ``lab consistency``, and for runs with clients."""

from collections.abc import Iterator

from msgspec import Struct

from lab.analysis.client_history import ClientHistory, check_clients
from lab.cli.terminal import console
from lab.glyphs import draws_unicode
from lab.histories.linearizability import LinearizabilityResult
from lab.histories.linearization_picture import text_picture
from lab.histories.operations import History
from lab.histories.results import CheckResult
from lab.histories.transaction_result import TransactionResult
from lab.text import sanitize
from lab.units import format_count, format_us

_MOST_FINDINGS = 10
_WIDEST_PICTURE = 160
"""Columns; a pipe, which has no width, gets no picture that is wider."""


class HistoryCounts(Struct, frozen=True):
    """The numbers of operations: all that were called, and those of each outcome."""

    called: int
    ok: int
    fail: int
    info: int

    @classmethod
    def of(cls, history: History) -> "HistoryCounts":
        """Return the counts of a history."""
        return cls(len(history.operations), *(history.count(each) for each in ("ok", "fail", "info")))


def count_line(workload: str, history: History) -> str:
    """Return how many operations there were, of how many clients, and how they ended."""
    counts = HistoryCounts.of(history)
    called = format_count(counts.called, "operation")
    clients = format_count(len(history.processes), "client")
    return (
        f"{workload}, {called} of {clients}: {counts.ok:,} ok, {counts.fail:,} failed, "
        f"{counts.info:,} without a known outcome"
    )


def result_lines(result: CheckResult) -> Iterator[str]:
    """Yield the verdict, what is wrong, and the pictures that show it."""
    verdict, *_ = str(result).splitlines()
    yield sanitize(verdict)
    for each in result.findings[:_MOST_FINDINGS]:
        yield sanitize(str(each))
    if (more := len(result.findings) - _MOST_FINDINGS) > 0:
        yield f"… and {more:,} more: --json"
    if isinstance(result, LinearizabilityResult):
        yield from _pictures(result)
    if isinstance(result, TransactionResult):
        yield from _models(result)
    for name, value in result.statistics.items():
        if name.endswith("_us"):
            yield f"{name.removesuffix('_us').replace('_', ' ')}: {value / 1000:g} ms"


def _pictures(result: LinearizabilityResult) -> Iterator[str]:
    """Yield a drawing of the search of each key that is not linearizable."""
    width = min(console().width, _WIDEST_PICTURE) - 4
    for part in result.keys:
        if part.misfit is not None:
            yield ""
            yield from map(sanitize, text_picture(part, max(40, width), ascii_only=not draws_unicode()))


def _models(result: TransactionResult) -> Iterator[str]:
    if result.ruled_out:
        yield f"ruled out: {', '.join(result.ruled_out)}"
    for each in result.allowed[:_MOST_FINDINGS]:
        yield f"allowed by this model: {sanitize(str(each))}"


# runs with clients


class WorkloadSummary(Struct, frozen=True):
    """The operations of the clients of a run, and the verdict on their history, with what is wrong in words.

    ``median_us`` and ``longest_us``: how long an operation took that was answered; None if none was. ``messages``:
    how many were sent for each operation, its own two included; None if none was called. ``statistics`` depend on
    the workload; those that end in ``_us`` are microseconds.
    """

    workload: str
    verdict: str
    evidence: str
    operations: HistoryCounts
    findings: tuple[str, ...]
    median_us: int | None
    longest_us: int | None
    messages: float | None
    statistics: dict[str, int]


class WorkloadVerdict(Struct, frozen=True):
    """The verdict on what the clients of a run were answered."""

    history: History
    result: CheckResult
    summary: WorkloadSummary

    @property
    def holds(self) -> bool:
        """True if something was judged, and nothing is wrong."""
        return self.result.word == "holds"

    def lines(self) -> Iterator[str]:
        """Yield the verdict, with what it rests on, as text."""
        yield count_line(self.summary.workload, self.history)
        if self.summary.median_us is not None and self.summary.longest_us is not None:
            took = (
                f"{format_us(self.summary.median_us)} in the median, {format_us(self.summary.longest_us)} at most"
            )
            yield f"an operation took {took}; {self.summary.messages:g} messages for each"
        yield from result_lines(self.result)


def judge_clients(clients: ClientHistory) -> WorkloadVerdict | None:
    """Return the verdict on the operations of a run; None if it has no clients."""
    result, history = check_clients(clients), clients.history
    if result is None:
        return None
    took_us = sorted(
        each.completed_at_us - each.invoked_at_us
        for each in history.operations
        if each.outcome == "ok" and each.completed_at_us is not None
    )
    called = len(history.operations)
    summary = WorkloadSummary(
        clients.workload,
        result.word,
        result.evidence,
        HistoryCounts.of(history),
        tuple(map(str, result.findings)),
        took_us[len(took_us) // 2] if took_us else None,
        took_us[-1] if took_us else None,
        round(clients.messages / called, 2) if called else None,
        result.statistics,
    )
    return WorkloadVerdict(history, result, summary)
