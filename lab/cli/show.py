"""``lab show``: print a recording as text, or what the nodes are doing at a time."""

from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from typer import Argument, Option

from lab.analysis.delivery import LogPage
from lab.analysis.group_history import GroupLog
from lab.cli.documents import Document, Json, print_json
from lab.cli.options import OwnProtocol, check_watches, command, load_protocol_of
from lab.cli.progress import Progress
from lab.cli.recording_report import (
    RecordingSummary,
    describe_run,
    format_log_line,
    report_damage,
    summarize_recording,
)
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError, console, report_width
from lab.glyphs import glyphs_for
from lab.output import print_line
from lab.recording.cluster_state import ClusterState
from lab.recording.log_lines import LINE_TYPES, LogLine
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Header, Record
from lab.script.scope import scope_of
from lab.script.watches import WatchHistory
from lab.styles import ThemeStyles, fit
from lab.tasks.extension import (
    View,
    analysis_of,
    built_in_extensions,
    draw_safely,
    extension_class_of,
    extension_of,
    start_analysis,
)
from lab.tasks.view_frame import ViewFrame
from lab.text import did_you_mean, sanitize
from lab.units import format_count, format_ranges, format_us
from lab.worlds.loading.settings import duration
from lab.worlds.loading.targets import recorded_protocols
from lab.worlds.loading.user_module import TargetError


class ShowOptions(Struct, frozen=True):
    """The options of ``lab show``."""

    file: Annotated[Path, Argument(metavar="FILE", help="A recording.")]
    node: Annotated[
        list[str], Option(metavar="NODE", help="Show only events of this node, and its messages.")
    ] = []
    kind: Annotated[list[str], Option(metavar="KIND", help="Show only messages whose kind begins with KIND.")] = []
    only: Annotated[
        list[str],
        Option(
            metavar="WHAT",
            help=f"Show only lines of this type: {', '.join(LINE_TYPES[:-1])} or {LINE_TYPES[-1]}.",
        ),
    ] = []
    heartbeats: Annotated[bool, Option("--heartbeats", help="Include heartbeats.")] = False
    watch: Annotated[
        list[str],
        Option(
            metavar="EXPRESSION",
            help="Add a column: this value or predicate, as it is after the record of the line. Repeatable. "
            'For example: 4.coordinator, all.status, "groups > 1". See lab guide predicates.',
        ),
    ] = []
    blocked: Annotated[
        bool, Option("--blocked", help="Show the open transactions instead, and why each is open.")
    ] = False
    view: Annotated[
        str, Option(metavar="WORD", help="Draw this view of the protocol instead, such as bank or map.")
    ] = ""
    at: Annotated[
        str | None,
        Option(metavar="TIME", help="With --blocked or --view: the state at this time. Default: at the end."),
    ] = None
    protocol: OwnProtocol = None
    json: Json = False


class ShownLine(Struct, frozen=True):
    """A line of the log. A message has a receiver, a serial number and, once known, its delivery ``outcome``.

    ``record`` is the number of its record, ``node`` its sender or the node of the event. ``outcome_us`` is the
    time of the outcome. ``watches`` are the values of the watched expressions after that record.
    """

    record: int
    at_us: int
    what: str
    node: int | None
    to: int | None
    kind: str
    serial: int
    text: str
    outcome: str | None
    outcome_us: int | None
    watches: tuple[str, ...]


class ShowDocument(Document, frozen=True):
    """The log of a recording. ``watches`` are the expressions; so many heartbeats were left out."""

    recording: RecordingSummary
    watches: tuple[str, ...]
    lines: tuple[ShownLine, ...]
    heartbeats_hidden: int


class ShowStateDocument(Document, frozen=True):
    """The state at a time: what is blocked, or a view, as text. ``ended``: the recording ends before that time."""

    recording: RecordingSummary
    at_us: int
    ended: bool
    title: str
    lines: tuple[str, ...]


@command(epilog="Example: lab show run.jsonl --node 4 --kind EnterElection --kind SetCoordinator")
def show(options: ShowOptions) -> int:
    """Print a recording as text.

    One line per message, status change, fault and command. A line must match all filters given; a filter given
    several times matches any of its values.
    """
    if options.protocol is not None:
        load_protocol_of(options.file, options.protocol)
    if options.view:
        return _show_view(options)
    if options.blocked or options.at is not None:
        return _show_blocked(options)
    return _show_log(options)


def _show_log(options: ShowOptions) -> int:
    """Print the log, and return the exit status."""
    for word in options.only:
        if word not in LINE_TYPES:
            raise UsageError(f"--only {word}: expected one of {', '.join(LINE_TYPES)}")
    store = open_recording(options.file)
    header = store.header
    known = {
        **{str(node): node for node in header.all_nodes},
        **{f"n{node}": node for node in header.nodes},
        **{name: node for node, name in header.names.items()},
    }
    for name in options.node:
        if name not in known:
            there = " ".join(map(sanitize, [format_ranges(header.nodes), *header.names.values()]))
            raise UsageError(f"--node {name}: no such node; the nodes of this run are {there}")
    nodes = [known[name] for name in options.node]
    page = LogPage(0, len(store))
    columns = _WatchColumns(options.watch, header)
    for record in store.records():
        page.feed(record)
        columns.observe(record)
    _check_kinds(options.kind, page)
    hidden = frozenset() if options.heartbeats or options.kind else frozenset(header.protocol.heartbeats)
    in_order = sorted(page.lines, key=lambda line: line.at_us)  # steps are recorded slightly after they are taken
    shown = [line for line in in_order if _is_wanted(line, nodes, options) and line.kind not in hidden]
    left_out = sum(line.kind in hidden for line in page.lines)
    if options.json:
        lines = tuple(_document_line(line, page, columns) for line in shown)
        recording = summarize_recording(options.file, store)
        print_json(ShowDocument(recording, columns.expressions, lines, left_out))
        return EXIT_NOT_AS_EXPECTED if report_damage(options.file, store) else 0
    print_line(f"# {describe_run(header)}")
    if header.remark:
        print_line(f"# {header.remark}")
    if options.watch:
        print_line(columns.heading())
    for line in shown:
        print_line(format_log_line(line, page, len(store), columns.at(line.record), header.names))
    notes = [format_count(len(shown), "line")]
    if left_out:
        notes.append(f"{left_out} heartbeats hidden (show them with --heartbeats)")
    if store.torn:
        notes.append("the last line is truncated, and was skipped")
    if store.unknown:
        notes.append(f"{len(store.unknown)} records of unknown kinds skipped")
    print_line(f"# {'; '.join(notes)}")
    return EXIT_NOT_AS_EXPECTED if report_damage(options.file, store) else 0


def _document_line(line: LogLine, page: LogPage, columns: "_WatchColumns") -> ShownLine:
    outcome = page.outcome(line, page.fed_to)
    return ShownLine(
        line.record,
        line.at_us,
        line.what,
        line.source,
        line.target,
        line.kind,
        line.serial,
        line.text,
        None if outcome is None else outcome.fate,
        None if outcome is None else outcome.at_us,
        columns.values(line.record),
    )


_WIDEST = 80


class _WatchColumns:
    """The columns of ``--watch`` in the log: what each expression shows after the record of the line."""

    def __init__(self, texts: list[str], header: Header) -> None:
        self._watches = check_watches(texts, scope_of(header))
        self._history = WatchHistory(self._watches, header)

    def observe(self, record: Record | None) -> None:
        if self._watches:
            self._history.observe(record)

    def heading(self) -> str:
        """Return the line above the columns."""
        return f"# {'time':>8}{self._format(map(str, self._watches))}".rstrip()

    def at(self, record: int) -> str:
        """Return the columns of a line of this record."""
        return self._format(self.values(record)) if self._watches else ""

    def values(self, record: int) -> tuple[str, ...]:
        """Return what each expression shows after this record."""
        return self._history.after(record) if self._watches else ()

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(map(str, self._watches))

    def _format(self, texts: Iterable[str]) -> str:
        return "".join(
            "  " + "".join(piece for piece, _ in fit([(text, Style())], width))
            for text, width in zip(texts, self._widths, strict=True)
        )

    @cached_property
    def _widths(self) -> list[int]:
        widths = self._history.widths or [0] * len(self._watches)
        return [
            min(max(cell_len(str(watch)), width), _WIDEST)
            for watch, width in zip(self._watches, widths, strict=True)
        ]


def _check_kinds(kinds: list[str], page: LogPage) -> None:
    sent = sorted({line.kind for line in page.lines if line.what == "message"})
    for kind in kinds:
        if not any(each.lower().startswith(kind.lower()) for each in sent):
            known = (
                f"the kinds of messages in this run are {', '.join(sent)}" if sent else "this run has no messages"
            )
            raise UsageError(f"--kind {kind}: {known}{did_you_mean(kind, sent)}")


def _is_wanted(line: LogLine, nodes: list[int], options: ShowOptions) -> bool:
    begins = tuple(kind.lower() for kind in options.kind)
    return (
        (not nodes or line.source in nodes or line.target in nodes)
        and (not options.kind or (line.what == "message" and line.kind.lower().startswith(begins)))
        and (not options.only or line.what in options.only)
    )


# the state at a time: a view that the protocol brings

_UNLIMITED = 1000
"""The height of a view that is printed."""


def _show_view(options: ShowOptions) -> int:
    """Print a view and return the exit status."""
    if options.blocked:
        raise UsageError("--view and --blocked show different things; leave one out")
    _refuse_filters(options, "--view")
    at_us = None if options.at is None else duration("at", options.at)
    with closing(open_recording(options.file)) as store:
        header, groups = store.header, GroupLog()
        view = _find_view(options, header)
        cluster, now_us, remark = _state_at(store, at_us, groups.observe)
        recording = summarize_recording(options.file, store)
        damaged = report_damage(options.file, store)
    out = console()
    frame = ViewFrame(header, cluster, groups, now_us, ThemeStyles(glyphs_for()), report_width(), _UNLIMITED)
    lines = out.render_lines(
        draw_safely(view.draw, frame), out.options.update(width=frame.width, height=None), pad=False
    )
    texts = [Text.assemble(*((text, style or "") for text, style, _ in line)) for line in lines]
    if options.json:
        plain = tuple(text.plain.rstrip() for text in texts)
        print_json(ShowStateDocument(recording, now_us, bool(remark), view.hint, plain))
        return EXIT_NOT_AS_EXPECTED if damaged else 0
    print_line(f"# {describe_run(header)}")
    if remark:
        print_line(remark)
    print_line(f"# at {_format_time(now_us)}: {view.hint}")
    for is_blank, together in groupby(texts, lambda text: not text.plain.strip()):
        for text in [Text()] if is_blank else together:
            text.rstrip()
            out.print(text)
    return EXIT_NOT_AS_EXPECTED if damaged else 0


def _find_view(options: ShowOptions, header: Header) -> View:
    extension = extension_of(header)
    if (view := extension.view(options.view)) is not None:
        return view
    title = sanitize(header.title, 40)
    words = ", ".join(each.word for each in extension.views) or "none"
    try:
        recorded_protocols(header, options.protocol)
    except TargetError as error:
        raise UsageError(f"{options.file}: --view {options.view}: {error}") from None
    raise UsageError(f"{options.file}: {title} brings no view {options.view}; its views: {words}")


def _state_at(
    store: FileRecords, at_us: int | None, observe: Callable[[Record | None], object] = lambda record: None
) -> tuple[ClusterState, int, str]:
    """Return the cluster's state at that time or the end, the time, and a remark if the recording ends earlier."""
    cluster = ClusterState.of(store.header)
    with Progress(f"reading {store.path.name}", "record", len(store)) as progress:
        for number, record in enumerate(store.records()):
            if at_us is not None and getattr(record, "at_us", 0) > at_us:
                return cluster, at_us, ""
            cluster.apply(record)
            observe(record)
            progress(number)
    is_short = at_us is not None and cluster.at_us < at_us
    remark = f"# the recording ends before {format_us(at_us or 0)}; this is its end" if is_short else ""
    return cluster, cluster.at_us if at_us is None or is_short else at_us, remark


def _refuse_filters(options: ShowOptions, shown: str) -> None:
    if options.watch:
        raise UsageError(f"--watch adds columns to the log lines, and {shown} prints none; leave one of them out")
    if options.node or options.kind or options.only or options.heartbeats:
        raise UsageError(f"{shown} prints no log lines, so the filters do not apply; leave them out")


# what is blocked


def _show_blocked(options: ShowOptions) -> int:
    """Print what is unfinished, and why, and return the exit status."""
    if not options.blocked:
        raise UsageError("--at requires --blocked or --view: lab show FILE --blocked --at 2s")
    _refuse_filters(options, "--blocked")
    at_us = None if options.at is None else duration("at", options.at)
    with closing(open_recording(options.file)) as store:
        header = store.header
        analysis = analysis_of(extension_class_of(header))
        if not analysis.without_blocked:
            without = next(filter(None, (analysis_of(each).without_blocked for each in built_in_extensions())))
            raise UsageError(f"{options.file}: {sanitize(header.title, 40)} {without}")
        cluster, now_us, remark = _state_at(store, at_us)
        title, lines = start_analysis(header, cluster).blocked(now_us)
        recording = summarize_recording(options.file, store)
        damaged = report_damage(options.file, store)
    if options.json:
        print_json(ShowStateDocument(recording, now_us, bool(remark), title, tuple(lines)))
        return EXIT_NOT_AS_EXPECTED if damaged else 0
    print_line(f"# {describe_run(header)}")
    if remark:
        print_line(remark)
    print_line(f"# at {_format_time(now_us)}: {title}")
    for line in lines:
        print_line(line)
    return EXIT_NOT_AS_EXPECTED if damaged else 0


def _format_time(us: int) -> str:
    """Format a time as in the log, without trailing zeros."""
    return f"{us / 1e6:.6f}".rstrip("0").rstrip(".") + "s"
