"""Verdicts as text and JSON: a line for each, and the events that led to the first violation."""

from msgspec import Struct

from lab.properties.judge import Judge
from lab.properties.verdicts import Verdict
from lab.properties.witness import ExplanationLine, explain_violation
from lab.recording.reader import RecordStore
from lab.recording.records import End
from lab.text import sanitize
from lab.units import format_count


class VerdictSummary(Struct, frozen=True):
    """A verdict for JSON. ``first`` is the text of the first violation; of a failure if there is one."""

    assertion: str
    failures: int
    excused: int
    first: str | None


def summarize_verdicts(judge: Judge) -> tuple[VerdictSummary, ...]:
    """Return a summary of each verdict."""
    return tuple(
        VerdictSummary(
            verdict.assertion,
            verdict.failures,
            verdict.outside,
            None if verdict.first is None else str(verdict.first),
        )
        for verdict in judge.verdicts()
    )


def format_verdicts(judge: Judge, store: RecordStore) -> list[str]:
    """Return a line for each assertion, and a note if nothing was judged or the recording is truncated."""
    lines = [_format_verdict(verdict) for verdict in judge.verdicts()]
    if not lines:
        return ["the protocol promises nothing, so nothing was judged"]
    if not isinstance(store.record(len(store) - 1), End):
        lines.append("judged up to the last record: the recording is truncated")
    return lines


def _format_verdict(verdict: Verdict) -> str:
    counts = (
        (verdict.failures, format_count(verdict.failures, "failure")),
        (verdict.outside, f"{verdict.outside:,} excused"),
    )
    if verdict.failures + verdict.outside < 2:
        return sanitize(str(verdict))
    return sanitize(f"{verdict} ({', '.join(text for count, text in counts if count)})")


def format_explanation(verdict: Verdict, store: RecordStore) -> list[str]:
    """Return the events that led to the first violation, if any, with their line numbers in the file."""
    if verdict.first is None:
        return []
    return [format_explanation_line(line) for line in explain_violation(store, verdict.first)]


def format_explanation_line(line: ExplanationLine) -> str:
    """Format an event with its line number in the file and its time."""
    return f"{line.record + 1:>9}  {line.at_us / 1e6:10.6f}  {sanitize(line.text)}"
