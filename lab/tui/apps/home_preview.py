"""The previews of the home screen: what an item is, before it is run."""

import inspect
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from rich.style import Style
from rich.text import Text

from lab.analysis.spacetime import MessageEdge, StatusInterval
from lab.export.excerpt import ExportError, ExportOptions, read_excerpt
from lab.foreign_file import read_foreign_text
from lab.properties.assertions import ASSERTIONS
from lab.properties.history_verdict import describe_workload, judge_history
from lab.properties.judge import Judge
from lab.properties.verdicts import Verdict
from lab.protocols import Algorithm
from lab.protocols.sources import summary_of
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Header
from lab.scenario.file import read_head, split_scenario
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.apps.exercise_list import describe_exercise
from lab.tui.apps.home_items import ExerciseState, HomeItem, ScenarioFile, Variant
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.exercise_view import wrap
from lab.units import format_count, format_ranges, format_us

_BOLD = Style(bold=True)


def describe_item(item: HomeItem, variant: int, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield the lines of the preview of an item other than a recording."""
    match item.subject:
        case str(text):
            yield Text(sanitize(item.title), styles.accent)
            for paragraph in text.split("\n\n"):
                yield from (Text(), *wrap(Text(sanitize(paragraph)), width))
        case ScenarioFile(path):
            yield from _describe_scenario(path, width, styles)
        case ExerciseState(exercise, progress):
            yield from describe_exercise(exercise, progress, width, styles)
        case type() as protocol:
            yield Text(protocol.name, styles.accent)
            yield from wrap(Text(summary_of(protocol), _BOLD), width)
            yield from wrap(Text(_describe_start(item.variants[variant])), width)
            yield from (Text(), *_describe_variants(item, variant, width, styles))
            yield from (Text(), *command_lines(item, variant, width))
            yield from (Text(), *_describe_theory(protocol, width))
            return
    yield from (Text(), *command_lines(item, variant, width))


def _describe_start(variant: Variant) -> str:
    """Return what Enter starts."""
    if "--sim" in variant.arguments:
        return "Enter simulates the nodes in one process; q ends the run, which is recorded."
    return "Enter starts a real process for each node on this machine; q ends them, and the run is recorded."


def describe_folded(items: Sequence[HomeItem], width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield the names of the folded items of a section, and how to unfold them."""
    yield Text(f"{len(items)} more {'is' if len(items) == 1 else 'are'} folded", styles.accent)
    yield from wrap(Text("Enter or a click shows them, Esc folds them again; letters find them, too."), width)
    yield Text()
    yield from wrap(Text(", ".join(sanitize(item.label or item.title) for item in items), DIM), width)


def _describe_variants(item: HomeItem, variant: int, width: int, styles: ThemeStyles) -> Iterator[Text]:
    yield Text.assemble(("options", _BOLD), ("  Left, Right or a click", DIM))
    for place, each in enumerate(item.variants):
        sign, style = (styles.glyphs.play, styles.accent) if place == variant else (" ", Style())
        click = Style(meta={"@click": f"app.choose_variant({place})"})
        yield from _hang(f" {sign} ", each.name, width, style + click)


def command_lines(item: HomeItem, variant: int, width: int) -> list[Text]:
    """Return the command that Enter, or a click on it, runs."""
    command = shlex.join(("lab", *item.variants[variant].arguments)).replace(f"{Path.home()}/", "~/")
    click = Style(meta={"@click": "app.choose"})
    return wrap(Text.assemble(("Enter: ", DIM + click), (sanitize(command), _BOLD + click)), width)


def _describe_theory(protocol: type[Algorithm], width: int) -> Iterator[Text]:
    """Yield how it works, its source and what it promises."""
    source, _, theory = (inspect.getdoc(sys.modules[protocol.__module__]) or "").partition("\n\n")
    theory = " ".join(theory.partition("\n\n")[0].split())
    yield from wrap(Text(f"{theory.removesuffix(':')}." if theory.endswith(":") else theory), width)
    yield Text()
    yield from _hang("source    ", " ".join(source.split()), width, DIM)
    promises = (ASSERTIONS[name].label for name in protocol.promises)
    yield from _hang("promises  ", ", ".join(promises), width, DIM)


def _describe_scenario(path: Path, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield its title, its purpose and its setting."""
    head, _, _ = split_scenario(read_foreign_text(path))
    values = {key: sanitize(str(value)) for key, value in read_head(head).values.items()}
    yield from wrap(Text(values.get("title", path.stem), styles.accent), width)
    yield Text("scenario: a scripted run that checks its outcome", DIM)
    yield Text()
    yield from wrap(Text(" ".join(values.get("shows", "").split())), width)
    yield Text()
    nodes = values.get("nodes")
    setting = (values.get("protocol"), f"nodes {nodes}" if nodes else "", f"for {values.get('for')}")
    yield from _hang("run     ", ", ".join(filter(None, setting)), width, DIM)
    if "source" in values:
        yield from _hang("source  ", values["source"], width, DIM)


def _hang(begin: str, text: str, width: int, style: Style) -> Iterator[Text]:
    """Yield the text after ``begin``, its further lines indented."""
    for place, line in enumerate(wrap(Text(sanitize(text), style), width - len(begin))):
        yield Text.assemble((" " * len(begin) if place else begin, style), line)


# recordings


class RecordingDigest(Struct, frozen=True):
    """The content of the preview of a recording: its whole run in space and time, and its verdicts."""

    header: Header
    end_us: int
    status_intervals: tuple[StatusInterval, ...]
    messages: tuple[MessageEdge, ...]
    verdicts: tuple[Verdict, ...]
    violated_us: tuple[int, ...]


class UnreadableError(Exception):
    """A recording without a preview; the text is for the user."""


_LARGEST = 10_000_000
"""In bytes: reading a larger file would take several seconds."""
_MOST_MESSAGES = 1_000


def digest_recording(path: Path, progress: Callable[[object], object]) -> RecordingDigest:
    """Read a recording. ``progress`` is called often, and may raise to stop. Raises UnreadableError."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UnreadableError("it is too long for a preview")
        with closing(open_recording(path)) as store:
            excerpt = read_excerpt(store, ExportOptions(), progress)
            judge, records = Judge(store.header), []
            for number, record in enumerate(store.records()):
                judge.observe(record)
                records.append(record)
                progress(number)
            if (history := judge_history(records)) is not None:
                judge.conclude(history)
            return RecordingDigest(
                store.header,
                excerpt.until_us,
                tuple(excerpt.status_intervals),
                tuple(excerpt.messages[:_MOST_MESSAGES]),
                judge.verdicts(),
                tuple(violation.at_us for violation in judge.violations),
            )
    except (NotARecordingError, ExportError) as error:
        raise UnreadableError(str(error)) from None
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}") from None


def describe_recording(digest: RecordingDigest, title: str, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield the diagram in miniature and the verdicts."""
    header = digest.header
    yield from wrap(Text(sanitize(title), styles.accent), width)
    parts = [header.title, header.world, f"nodes {format_ranges(header.nodes)}"]
    if header.began:
        parts.append(f"began {header.began[:16].replace('T', ' ')} UTC")
    yield from wrap(Text(sanitize(", ".join(parts)), DIM), width)
    if header.remark:
        yield from wrap(Text(sanitize(header.remark)), width)
    yield Text()
    yield from draw_miniature(digest, width, styles)
    yield Text()
    if not digest.verdicts:
        yield from wrap(Text("the protocol promises nothing, so nothing was judged", DIM), width)
    for verdict in digest.verdicts:
        yield from _describe_verdict(verdict, width, styles)


_VERDICTS = {
    "holds": ("met", "holds"),
    "not judged": ("status", "not judged"),
    "excused": ("unmet", "violated, excused"),
    "fails": ("unmet", "VIOLATED"),
}


def _describe_verdict(verdict: Verdict, width: int, styles: ThemeStyles) -> Iterator[Text]:
    sign, text = _VERDICTS[verdict.word]
    name, assertion = verdict.assertion, ASSERTIONS.get(verdict.assertion)
    short = describe_workload(name) if assertion is None else assertion.short
    name += f" ({short})" if short else ""
    yield from _hang(f"{styles.glyphs.marks[sign]} ", f"{text}: {name}", width, styles.verdict(verdict.word))


_MOST_NODES = 12
_SPACED = 6
"""Up to this many nodes have a row between them, in which messages are visible."""
_DOWN = ("Down", "killed", "failed", "absent")


def draw_miniature(digest: RecordingDigest, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield the whole run in space and time: a row for each node, time to the right, and where it was violated."""
    nodes = sorted(digest.header.nodes)
    shown = nodes[:_MOST_NODES]
    pitch = 2 if len(shown) <= _SPACED else 1
    rows = {node: place * pitch for place, node in enumerate(shown)}
    left = len(str(shown[-1])) + 1
    height = rows[shown[-1]] + 3
    canvas = Canvas(width, height, fine=not styles.glyphs.box.isascii())

    def column(at_us: int) -> int:
        return left + min(at_us, digest.end_us) * (width - 1 - left) // max(1, digest.end_us)

    for node, row in rows.items():
        canvas.put(0, row, str(node), _BOLD)
    for interval in digest.status_intervals:
        if interval.node in rows:
            until_us = digest.end_us if interval.until is None else interval.until.at_us
            _draw_status(
                canvas, interval, rows[interval.node], column(interval.since.at_us), column(until_us), styles
            )
    for edge in digest.messages:
        source, target = edge.ends
        if edge.end is not None and source in rows and target in rows:
            start, end = column(edge.line.at_us) + 0.5, column(edge.end.at_us) + 0.5
            style = styles.kind(edge.line.kind) if edge.arrived else styles.fate(edge.fate)
            canvas.line((start, rows[source] + 0.5), (end, rows[target] + 0.5), style, None, None)
    for at_us in digest.violated_us:
        canvas.put(column(at_us), height - 2, styles.glyphs.marks["violation"], styles.mark("violation"))
    ending = format_us(round(digest.end_us, -3))
    canvas.put(left, height - 1, "0s", DIM)
    canvas.put(width - len(ending), height - 1, ending, DIM)
    if len(shown) < len(nodes):
        canvas.put(left + 4, height - 1, f"{format_count(len(nodes) - len(shown), 'more node')}", DIM)
    for y in range(height):
        if digest.violated_us or y != height - 2:
            yield Text.assemble(*canvas.row(y))


def _draw_status(
    canvas: Canvas, interval: StatusInterval, row: int, first: int, last: int, styles: ThemeStyles
) -> None:
    """Draw a status as a line that begins with its sign; a node that is down has no line."""
    glyphs = styles.glyphs
    sign, style = styles.glyph(interval.shown), styles.status(interval.shown)
    line = glyphs.full if interval.shown == "Normal" else glyphs.rest
    if interval.leads:
        sign, style = glyphs.leads, styles.leader
    elif interval.shown in _DOWN:
        line = " "
    elif interval.shown == "paused":
        line = glyphs.dot
    canvas.put(first, row, sign + line * (last - first), style)
