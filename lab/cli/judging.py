"""What is said of verdicts: a line for each, how its first violation came about, and the same as JSON."""

from msgspec import Struct

from lab.properties import Judge, Moment, Verdict, account
from lab.recording.reader import RecordStore
from lab.recording.records import End
from lab.text import sanitize
from lab.units import count_of

__all__ = ["VerdictSummary", "account_lines", "moment_line", "verdict_lines", "verdict_summaries"]


class VerdictSummary(Struct, frozen=True):
    """A verdict in the result as JSON. ``first``: the first violation in words, a failure where there is one."""

    assertion: str
    failures: int
    outside: int
    first: str | None


def verdict_summaries(judge: Judge) -> tuple[VerdictSummary, ...]:
    """What the judge has come to."""
    return tuple(
        VerdictSummary(
            verdict.assertion,
            verdict.failures,
            verdict.outside,
            None if verdict.first is None else str(verdict.first),
        )
        for verdict in judge.verdicts()
    )


def verdict_lines(judge: Judge, lines: RecordStore) -> list[str]:
    """A line for each assertion, and whether there is more to come, or nothing to be judged."""
    said = [_said(verdict) for verdict in judge.verdicts()]
    if not said:
        return ["nothing is promised, so nothing was judged"]
    if not isinstance(lines.record(len(lines) - 1), End):
        said.append("judged as far as it goes: the recording has no end")
    return said


def _said(verdict: Verdict) -> str:
    counts = (
        (verdict.failures, count_of(verdict.failures, "failure")),
        (verdict.outside, f"{verdict.outside:,} outside the promise"),
    )
    if verdict.failures + verdict.outside < 2:
        return sanitize(str(verdict))
    return sanitize(f"{verdict} ({', '.join(said for count, said in counts if count)})")


def account_lines(verdict: Verdict, lines: RecordStore) -> list[str]:
    """How the first violation, if there is one, came about, with the numbers of the lines in the file."""
    if verdict.first is None:
        return []
    return [moment_line(moment) for moment in account(lines, verdict.first)]


def moment_line(moment: Moment) -> str:
    """What happened, with its line in the file and its time."""
    return f"{moment.record + 1:>9}  {moment.at_us / 1e6:10.6f}  {sanitize(moment.text)}"
