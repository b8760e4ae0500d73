"""``lab export``: write a recording as a picture, page, text, trace or table."""

import re
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

from msgspec import Struct, field
from rich.table import Table as Grid
from typer import Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import (
    OwnProtocol,
    Recording,
    command,
    is_same_file,
    load_protocol_of,
    new_output,
)
from lab.cli.progress import Progress
from lab.cli.recording_report import RecordingSummary, report_damage, summarize_recording
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError, print_table
from lab.export.excerpt import (
    DiagramFilm,
    ExportError,
    ExportOptions,
    Film,
    parse_nodes,
    read_excerpt,
)
from lab.export.figure_options import FigureOptions, figure_options
from lab.export.formats import Format, default_path, format_for_file, write_file
from lab.export.tables import COLUMNS, check_table, tables_of
from lab.glyphs import draws_unicode
from lab.output import print_error, print_line
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Header
from lab.table_files import Column
from lab.text import did_you_mean
from lab.tui.apps.export_formats import ALL_FORMATS, format_named
from lab.worlds.loading.settings import duration

_STANDARD_OUTPUT = Path("-")
_DEFAULT_TABLE, _DEFAULT_TABLE_FORMAT = "messages", "csv"

_SIZE = re.compile(r"(\d{1,4})[x×](\d{1,4})")
_COLUMNS, _ROWS = range(40, 501), range(12, 201)
_FILM_WIDTHS, _FILM_HEIGHTS = range(480, 3841, 2), range(270, 2161, 2)
"""Even, because the colours of a video have half as many pixels."""
_FRAMES_PER_S = range(1, 61)
_SLOWEST, _FASTEST = 0.01, 1000.0
_LEAST_IDLE_US = 100_000


def complete_format(incomplete: str) -> list[tuple[str, str]]:
    """Return the formats with their descriptions."""
    return [(each.name, each.help) for each in ALL_FORMATS if each.name.startswith(incomplete)]


def complete_table(incomplete: str) -> list[str]:
    """Return the tables that every run has."""
    return [name for name in COLUMNS if name.startswith(incomplete)]


class ExportRequest(Struct, frozen=True):
    """The options of ``lab export``."""

    file: Recording
    to: Annotated[
        str | None,
        Option(
            metavar="FORMAT",
            help="Output format. Default: from the suffix of --out. Without both, list the formats.",
            autocompletion=complete_format,
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help=r"Output file; - is standard output.  \[default: the recording's name with the format's suffix]",
        ),
    ] = None
    since: Annotated[str | None, Option("--from", metavar="TIME", help="Start of the window: 2s, 350ms.")] = None
    until: Annotated[str | None, Option(metavar="TIME", help="End of the window.")] = None
    nodes: Annotated[
        str | None, Option(metavar="1,2,3", help="Export only these nodes and the messages between them.")
    ] = None
    heartbeats: Annotated[bool, Option("--heartbeats", help="Include heartbeats.")] = False
    time: Annotated[str, Option(metavar="down|right", help="Pictures: direction of time.")] = "down"
    title: Annotated[str, Option(metavar="TEXT", help="Pictures: the title.  \\[default: the protocol]")] = ""
    caption: Annotated[str, Option(metavar="TEXT", help="Pictures: a caption below.")] = ""
    width: Annotated[
        str | None,
        Option(
            metavar="LENGTH", help="Pictures: width, such as 16cm, 6.5in, 480pt, 800px; letters keep their size."
        ),
    ] = None
    theme: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Pictures: light, dark, paper, slide; auto is light, and in a page as its reader's system.",
        ),
    ] = "auto"
    zoom: Annotated[
        str,
        Option(
            metavar="LEVEL",
            help="Pictures: events draws each, page fits one page, and a time (500ms) is that of a row, in which "
            "many messages are one shade.",
        ),
    ] = "auto"
    scale: Annotated[
        str,
        Option(
            metavar="log|true|broken",
            help="Pictures: waits on a logarithmic scale, time to scale, or to scale with long waits cut out.",
        ),
    ] = "log"
    labels: Annotated[
        str,
        Option(
            metavar="full|short|legend",
            help="Pictures: messages named by their kind, its initials, or only in the legend.",
        ),
    ] = "full"
    ascii_only: Annotated[bool, Option("--ascii", help="Text: use only ASCII characters.")] = False
    table: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The table to write, by default as csv: messages, statuses, faults, elections, verdicts, steps, "
            r"events; of a bank, transactions.  \[default: messages]",
            autocompletion=complete_table,
        ),
    ] = None
    view: Annotated[
        str,
        Option(metavar="NAME", help="cast: the view to show: log, diagram, network, code …"),
    ] = "log"
    size: Annotated[
        str | None,
        Option(
            metavar="WxH",
            help=r"cast: columns and rows of the terminal; gif, mp4: pixels.  \[default: 120x40; 1280x720]",
        ),
    ] = None
    speed: Annotated[
        str | None,
        Option(
            metavar="FACTOR",
            help=r"Films: speed of the recorded time.  \[default: 1; gif, mp4: slow enough for every event]",
        ),
    ] = None
    fps: Annotated[
        int | None,
        Option(metavar="N", help=r"Films: frames per second.  \[default: cast 10, gif 12, mp4 25]"),
    ] = None
    idle: Annotated[
        str, Option(metavar="TIME", help="Films with a speed: shorten longer waits between events to this time.")
    ] = "2s"
    force: Annotated[bool, Option("--force", help="Overwrite an existing file.")] = False
    protocol: OwnProtocol = None
    json: Json = False

    @property
    def lists_formats(self) -> bool:
        """True if nothing says what to write."""
        return self.to is None and self.table is None and self.out in (None, _STANDARD_OUTPUT)

    @property
    def table_name(self) -> str:
        return _DEFAULT_TABLE if self.table is None else self.table

    def format(self) -> Format:
        """Return the format given with ``--to``, or implied by the file's suffix or a table. Raises UsageError."""
        found = self._format()
        if self.table is not None and not found.is_table:
            tables = ", ".join(each.name for each in ALL_FORMATS if each.is_table)
            raise UsageError(f"--table {self.table}: {found.name} is not a table; write --to with one of {tables}")
        return found

    def _format(self) -> Format:
        names = [each.name for each in ALL_FORMATS]
        if self.to is not None:
            found = format_named(self.to)
            if found is None:
                raise UsageError(
                    f"--to {self.to}: expected one of {', '.join(names)}{did_you_mean(self.to, names)}"
                )
            return found
        if self.table is not None and self.out in (None, _STANDARD_OUTPUT):
            return ALL_FORMATS[names.index(_DEFAULT_TABLE_FORMAT)]
        found = format_for_file(str(self.out), ALL_FORMATS)
        if found is None:
            known = " or ".join(names)
            raise UsageError(f"--out {self.out} does not imply a format; add --to {known}")
        return found

    def excerpt_options(self, chosen: Format) -> ExportOptions:
        """Return what to export in this format. Raises UsageError."""
        if self.time not in ("down", "right"):
            raise UsageError(f"--time {self.time}: expected down or right")
        return ExportOptions(
            None if self.since is None else duration("from", self.since),
            None if self.until is None else duration("until", self.until),
            _nodes(self.nodes),
            self.heartbeats,
            "right" if self.time == "right" else "down",
            self.ascii_only or (self.out == _STANDARD_OUTPUT and not draws_unicode()),
            self.table_name,
            Film() if chosen.is_diagram_film else self.film(),
            self.diagram_film() if chosen.is_diagram_film else DiagramFilm(),
            self.figure(),
        )

    def figure(self) -> FigureOptions:
        """Return how pictures are drawn. Raises UsageError."""
        try:
            return figure_options(
                self.title, self.caption, self.width, self.theme, self.zoom, self.scale, self.labels
            )
        except ValueError as error:
            raise UsageError(f"--{error}") from None

    def path(self, chosen: Format) -> Path | None:
        """Return the file to write; None for standard output. Raises UsageError."""
        if self.out == _STANDARD_OUTPUT:
            if not chosen.is_text and sys.stdout.isatty():
                raise UsageError(f"--out -: {chosen.name} is not text for a terminal; name a file, or use a pipe")
            return None
        path = default_path(self.file, chosen, Path(), self.table_name) if self.out is None else self.out
        if is_same_file(path, self.file):
            raise UsageError(f"--out {path} is the recording itself; name another file")
        new_output("--out", path, self.force)
        return path

    def film(self) -> Film:
        """Return the options of a cast. Raises UsageError; an unknown view is only found when filming."""
        size = self._film_size("columns and rows", "120x40", _COLUMNS, _ROWS)
        return Film(
            *size, self._fps() or Film().frames_per_s, self._film_speed() or 1.0, self.view, self._idle_us()
        )

    def diagram_film(self) -> DiagramFilm:
        """Return the options of a film of the diagram. Raises UsageError."""
        if self.width is not None:
            raise UsageError(f"--width {self.width}: a film has a --size in pixels, such as 1280x720")
        size = self._film_size("even numbers of pixels", "1280x720", _FILM_WIDTHS, _FILM_HEIGHTS)
        return DiagramFilm(*size, self._fps(), self._film_speed(), self._idle_us())

    def _fps(self) -> int | None:
        if self.fps is not None and self.fps not in _FRAMES_PER_S:
            raise UsageError(f"--fps {self.fps}: expected a whole number from 1 to {_FRAMES_PER_S[-1]}")
        return self.fps

    def _film_size(self, what: str, default: str, widths: range, heights: range) -> tuple[int, int]:
        given = default if self.size is None else self.size
        size = _SIZE.fullmatch(given)
        width, height = (int(size[1]), int(size[2])) if size is not None else (0, 0)
        if width not in widths or height not in heights:
            raise UsageError(
                f"--size {given}: expected {what}, such as {default}, from "
                f"{widths[0]}x{heights[0]} to {widths[-1]}x{heights[-1]}"
            )
        return width, height

    def _film_speed(self) -> float | None:
        """Return the speed, None if none was asked for."""
        if self.speed is None:
            return None
        try:
            speed = float(self.speed.removesuffix("x"))
        except ValueError:
            speed = 0.0
        if not _SLOWEST <= speed <= _FASTEST:
            raise UsageError(
                f"--speed {self.speed}: expected a factor from {_SLOWEST} to {_FASTEST:g}, such as 0.5"
            )
        return speed

    def _idle_us(self) -> int:
        idle_us = duration("idle", self.idle)
        if idle_us < _LEAST_IDLE_US:
            raise UsageError(f"--idle {self.idle}: expected 100ms or more")
        return idle_us


@command(
    epilog="""Examples:\n
    lab export run.jsonl\n
    lab export run.jsonl --to html\n
    lab export run.jsonl --out crash.svg --from 2s --until 3.5s --nodes 3,4,5\n
    lab export run.jsonl --out crash.pdf --from 2s --until 3.5s --theme paper --width 16cm --scale broken\n
    lab export run.jsonl --out all.svg --theme slide --zoom page --title "Node 5 was paused"\n
    lab export run.jsonl --to mermaid --from 2s --until 2.2s --out -\n
    lab export run.jsonl --to text --out - | less\n
    lab export run.jsonl --table elections\n
    lab export run.jsonl --table messages --out messages.parquet\n
    lab export run.jsonl --out crash.gif --from 1.9s --until 3s --theme dark --title "Node 5 crashes"

    lab export run.jsonl --to cast --view diagram --speed 0.5"""
)
def export(options: ExportRequest) -> int:
    """Export a recording as a diagram, film, trace or table.

    [bold]lab export FILE[/bold] lists the formats. Diagrams: svg, pdf, png, html, text, mermaid, dot. Films:
    gif, mp4, cast. Traces for other tools: shiviz, perfetto. Tables: csv, jsonl, parquet. In a table, a column has
    one type, and lists are JSON text; a column whose name ends in _us is a time in microseconds since the start of
    the run, and a column whose name ends in record is a record number. lab export FILE --json lists the tables
    with their columns.

    In the diagram each node has a lane in the colour of its status, and a message is an arrow from sender to
    receiver. Heartbeats are left out. A long run is drawn in rows of time, unless you select a window with --from
    and --until. The window begins with the nodes, faults and messages in flight as they are at --from. The options
    of pictures are those of svg, pdf, png and html and, but for --time and --width, of gif and mp4.
    """
    if options.protocol is not None:
        load_protocol_of(options.file, options.protocol)
    with closing(open_recording(options.file)) as store:
        if options.json and options.out == _STANDARD_OUTPUT:
            raise UsageError("--json and --out - both write to standard output; leave one of them out")
        if options.lists_formats:
            if options.json:
                print_json(_document(options, store, None))
            else:
                _list_formats(options.file, store.header)
            return 0
        chosen = options.format()
        excerpt = options.excerpt_options(chosen)
        path, size = options.path(chosen), 0
        try:
            if chosen.is_table:
                check_table(excerpt.table, store.header)
            with Progress(f"exporting {options.file.name}") as progress:
                read = read_excerpt(store, excerpt, progress.report)
                if path is None:
                    with progress.hidden() if sys.stdout.isatty() else nullcontext():
                        chosen.write(read, sys.stdout)
                else:
                    size = write_file(chosen, read, path)
            if path is not None and not options.json:
                print_line(f"{path}: {size:,} bytes")
        except ExportError as error:
            raise UsageError(f"{options.file}: {error}") from None
        if options.json and path is not None:
            table = excerpt.table if chosen.is_table else None
            print_json(_document(options, store, WrittenFile(str(path), chosen.name, table, size)))
        damaged = report_damage(options.file, store)
        if store.torn:
            print_error(f"{options.file}: the last line is truncated, and was skipped")
    return EXIT_NOT_AS_EXPECTED if damaged else 0


class WrittenFile(Struct, frozen=True):
    """The file written, its format, the table in it, if it is one, and its size."""

    file: str
    format_name: str = field(name="as")
    table: str | None
    bytes: int


class FormatSummary(Struct, frozen=True):
    """A format to export to."""

    name: str
    suffix: str
    text: str
    is_table: bool


class TableSummary(Struct, frozen=True):
    """A table that the run has."""

    name: str
    columns: tuple[Column, ...]


class ExportDocument(Document, frozen=True):
    """What was written, None if no format was given; the formats, and the tables that this run has."""

    recording: RecordingSummary
    written: WrittenFile | None
    formats: tuple[FormatSummary, ...]
    tables: tuple[TableSummary, ...]


def _document(options: ExportRequest, store: FileRecords, written: WrittenFile | None) -> ExportDocument:
    return ExportDocument(
        summarize_recording(options.file, store),
        written,
        tuple(FormatSummary(each.name, each.suffix, each.help, each.is_table) for each in ALL_FORMATS),
        tuple(TableSummary(*each) for each in tables_of(store.header).items()),
    )


def _list_formats(file: Path, header: Header) -> None:
    table = Grid.grid(padding=(0, 2))
    for each in ALL_FORMATS:
        table.add_row(each.name, each.suffix, each.help)
    print_table(table)
    print_line()
    print_line(f"Tables: {', '.join(tables_of(header))}")
    print_line(f"Example: lab export {file} --to {ALL_FORMATS[0].name}")


def _nodes(text: str | None) -> tuple[int, ...]:
    try:
        return () if text is None else parse_nodes(text)
    except ValueError as error:
        raise UsageError(f"--nodes {error}") from None
