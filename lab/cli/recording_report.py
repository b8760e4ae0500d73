"""Text about a recording for several commands: its head, its log lines, its damage, and verdicts."""

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from lab.analysis.delivery import LogPage
from lab.analysis.inspection import failure_lines, failures_in
from lab.output import print_error
from lab.properties.assertions import ASSUMPTIONS
from lab.properties.judge import Judge
from lab.properties.verdicts import ERROR_IN_CODE, Verdict
from lab.properties.witness import ExplanationLine, explain_violation
from lab.recording.log_lines import LogLine
from lab.recording.reader import FileRecords, NotARecordingError, RecordStore, open_recording
from lab.recording.records import End, Header
from lab.text import sanitize
from lab.units import format_count, format_ranges

_LONGEST_KIND = 80


def describe_run(header: Header) -> str:
    """Return the protocol, settings, world, nodes and timing of a run, in one line."""
    return ", ".join(
        (
            header.title,
            *header.protocol.settings,
            header.world,
            f"nodes {format_ranges(header.nodes)}",
            f"T {header.timing.t_us / 1000:g} ms",
            f"began {header.began}" if header.began else f"seed {header.seed}",
        )
    )


class UnreadableLine(Struct, frozen=True):
    """A line of a recording, from 1, that could not be read, and why."""

    line: int
    why: str


class RecordingSummary(Struct, frozen=True):
    """A recording: what ran, and what of it could not be read.

    ``seed`` determines a simulated run, ``began`` is when a live one did (UTC, ISO 8601). ``torn``: its last line
    is truncated; ``unknown``: how many records are of unknown kinds.
    """

    file: str
    run: str
    protocol: str
    settings: tuple[str, ...]
    world: str
    nodes: tuple[int, ...]
    t_us: int
    seed: int
    began: str
    records: int
    torn: bool
    unknown: int
    unreadable: tuple[UnreadableLine, ...]


def summarize_recording(path: Path, store: FileRecords) -> RecordingSummary:
    """Return what ran, and the damage found so far."""
    header = store.header
    return RecordingSummary(
        str(path),
        header.run,
        header.title,
        header.protocol.settings,
        header.world,
        header.nodes,
        header.timing.t_us,
        header.seed,
        header.began,
        len(store),
        store.torn,
        len(store.unknown),
        tuple(UnreadableLine(number + 1, why) for number, why in store.damage.items()),
    )


def print_failures(path: Path) -> None:
    """Print why nodes failed by errors of their own, if the file is a recording."""
    with suppress(NotARecordingError), closing(open_recording(path)) as store:
        for line in failure_lines(failures_in(store), store.header.protocol.file):
            print_error(line)


def report_damage(path: Path, store: FileRecords) -> bool:
    """Print the unreadable lines found so far; return whether there are any."""
    for number, why in store.damage.items():
        print_error(f"{path}:{number + 1}: unreadable: {why}")
    return bool(store.damage)


def format_log_line(
    line: LogLine, page: LogPage, end: int, columns: str = "", names: Mapping[int, str] = MappingProxyType({})
) -> str:
    """Format a log line; a message with its delivery as known at record ``end``. ``columns`` follow the time.

    ``names`` are those of clients and services.
    """
    source, target = (each if each is None else names.get(each, str(each)) for each in (line.source, line.target))
    clock = f"{line.at_us / 1e6:10.6f}{columns}"
    if line.what != "message":
        return f"{clock}  {source or '':>3}        {line.what}: {sanitize(line.text)}"
    ending = page.outcome(line, end)
    fate = "in flight" if ending is None else ending.fate
    if ending is not None and ending.fate == "delivered":
        fate = f"+{(ending.at_us - line.at_us) / 1000:.1f} ms"
    kind, text = sanitize(line.kind, _LONGEST_KIND), sanitize(line.text)
    return f"{clock}  {source:>3} -> {target:<3} {kind:22} {fate:14} {text}"


# verdicts


class VerdictSummary(Struct, frozen=True):
    """A verdict on an assertion; ``rests_on`` is what it rests on, or why nothing was judged.

    ``first`` is the text of the first violation; of a failure if there is one.
    """

    assertion: str
    verdict: Literal["holds", "not judged", "excused", "fails"]
    rests_on: str
    failures: int
    excused: int
    first: str | None


def summarize_verdicts(judge: Judge) -> tuple[VerdictSummary, ...]:
    """Return a summary of each verdict."""
    return tuple(map(summarize_verdict, judge.verdicts()))


def summarize_verdict(verdict: Verdict) -> VerdictSummary:
    """Return the summary of a verdict."""
    return VerdictSummary(
        verdict.assertion,
        verdict.word,
        verdict.evidence.text,
        verdict.failures,
        verdict.excused,
        None if verdict.first is None else str(verdict.first),
    )


def is_truncated(store: RecordStore) -> bool:
    """Return whether the recording has no end: its run goes on, or was cut off."""
    return not isinstance(store.record(len(store) - 1), End)


def is_unjudged(judge: Judge) -> bool:
    """Return whether the protocol promises something, and nothing of that was judged."""
    words = {verdict.word for verdict in judge.verdicts()}
    return words == {"not judged"}


def format_errors(errors: Mapping[str, str]) -> list[str]:
    """Return a line for each assertion whose own code has raised an error: nothing is known of it."""
    return [sanitize(f"{name} is not judged: {ERROR_IN_CODE}: {error}") for name, error in errors.items()]


def format_verdicts(judge: Judge, store: RecordStore, has_clients: bool = False) -> list[str]:
    """Return a line for each assertion, and a note if nothing was judged or the recording is truncated.

    ``has_clients``: their history is judged, so that there is a verdict in any case.
    """
    lines = [_format_verdict(verdict) for verdict in judge.verdicts()]
    if not lines:
        return [] if has_clients else ["the protocol promises nothing, so nothing was judged"]
    lines += [
        sanitize(f"assumption {each.assumption} ({ASSUMPTIONS[each.assumption]}) does not hold: {each.why}")
        for each in judge.lasting
    ]
    if is_truncated(store):
        lines.append("judged up to the last record: the recording is truncated")
    return lines


def _format_verdict(verdict: Verdict) -> str:
    counts = (
        (verdict.failures, format_count(verdict.failures, "failure")),
        (verdict.excused, f"{verdict.excused:,} excused"),
    )
    if verdict.failures + verdict.excused < 2:
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
