"""The verdict on a history of client operations, as text: for ``lab consistency``, and for runs with clients."""

from collections.abc import Iterator

from msgspec import Struct

from lab.cli.terminal import console
from lab.glyphs import draws_unicode
from lab.histories.linearizability import LinearizabilityResult
from lab.histories.linearization_picture import text_picture
from lab.histories.operations import History
from lab.histories.results import CheckResult
from lab.histories.transaction_result import TransactionResult
from lab.text import sanitize
from lab.units import format_count

_MOST_FINDINGS = 10


class OutcomeCounts(Struct, frozen=True):
    """The numbers of operations: all that were called, and those of each outcome."""

    called: int
    ok: int
    fail: int
    info: int

    @classmethod
    def of(cls, history: History) -> "OutcomeCounts":
        """Return the counts of a history."""
        return cls(len(history.operations), *(history.count(each) for each in ("ok", "fail", "info")))


def count_line(workload: str, history: History) -> str:
    """Return how many operations there were, of how many clients, and how they ended."""
    counts = OutcomeCounts.of(history)
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
    width = console().width - 4
    for part in result.keys:
        if part.misfit is not None:
            yield ""
            yield from map(sanitize, text_picture(part, max(40, width), ascii_only=not draws_unicode()))


def _models(result: TransactionResult) -> Iterator[str]:
    if result.ruled_out:
        yield f"ruled out: {', '.join(result.ruled_out)}"
    for each in result.allowed[:_MOST_FINDINGS]:
        yield f"allowed by this model: {sanitize(str(each))}"
