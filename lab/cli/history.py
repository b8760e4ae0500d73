"""``lab history``: print the groups of a recording, or write them as SVG, Graphviz or JSON."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from rich.text import Text
from typer import Argument, Option

from lab.analysis.group_history import GroupHistory, GroupLog, RecordedMoment
from lab.cli.documents import Document, print_json
from lab.cli.options import command, is_same_file, writable
from lab.cli.progress import Progress
from lab.cli.recording_report import report_damage
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, TerminalConsole, UsageError
from lab.export.group_layout import GroupLayout
from lab.export.group_pictures import format_graph, group_picture
from lab.glyphs import draws_unicode, glyphs_for
from lab.output import print_line
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Header
from lab.styles import Piece, ThemeStyles, fit, to_ascii
from lab.text import sanitize
from lab.tui.views.group_drawing import GroupDrawing

_WIDEST = 160


class HistoryOptions(Struct, frozen=True):
    """The options of ``lab history``."""

    file: Annotated[
        Path, Argument(metavar="FILE", help="A recording of a protocol that forms groups, such as invitation.")
    ]
    svg: Annotated[Path | None, Option(metavar="FILE.svg", help="Also draw the history to this file.")] = None
    dot: Annotated[
        Path | None,
        Option(metavar="FILE.dot", help="Also write the history as a Graphviz graph."),
    ] = None
    json: Annotated[
        bool, Option("--json", help="Print one JSON object and nothing else; times are in microseconds.")
    ] = False


@command(
    epilog="""Examples:\n
    lab run invitation --sim --headless --for 12s --record run.jsonl --do 'at 3s partition 1 2 | 3 4 5' \
--do 'at 8s heal'\n
    lab history run.jsonl\n
    lab history run.jsonl --svg run.svg --dot run.dot\n
    dot -Tpdf run.dot -o run.pdf"""
)
def history(options: HistoryOptions) -> int:
    """Show the history of groups in a recording.

    It shows the coordinator and the members of each group, the groups that it was formed from, and when it
    existed. Time runs downwards. Each node has a lane in the colour of its group. Where nodes join a group, a bar
    connects their lanes and shows the group's identifier: the node that formed it and a counter, so that no
    identifier is used twice. Lanes that join are a merge; lanes that separate are a split.

    On a narrow terminal, or with many nodes, the groups are printed as a list.
    """
    for option, path in (("--svg", options.svg), ("--dot", options.dot)):
        if path is not None:
            if is_same_file(path, options.file):
                raise UsageError(f"{option} {path} is the recording itself; name another file")
            suffix = f".{option.removeprefix('--')}"
            if path.suffix != suffix:
                raise UsageError(f"{option} {path}: name a file that ends in {suffix}")
            writable(option, path)
    with closing(open_recording(options.file)) as store:
        log = _log_of(store)
        header = store.header
        damaged = report_damage(options.file, store)
    if not log.groups:
        raise UsageError(
            f"{options.file}: this run of {sanitize(header.protocol.name, 40)} has no groups; "
            "record a protocol that forms groups: lab run invitation --record run.jsonl"
        )
    if options.json:
        print_json(_document(header, log))
    else:
        _print(header, log)
    drawings = ((options.svg, group_picture), (options.dot, format_graph))
    for path, draw in drawings:
        if path is not None:
            path.write_text(draw(header, log), "utf-8")
            if not options.json:
                print_line(f"drawn: {path}")
    return EXIT_NOT_AS_EXPECTED if damaged else 0


def _log_of(store: FileRecords) -> GroupLog:
    log = GroupLog()
    with Progress(f"reading {store.path.name}", "record", len(store)) as progress:
        for number, record in enumerate(store.records()):
            log.observe(record)
            progress(number)
    return log


def _print(header: Header, log: GroupLog) -> None:
    unicode = draws_unicode()
    width = min(shutil.get_terminal_size((100, 30)).columns, _WIDEST)
    console = TerminalConsole(markup=False, width=width, highlight=False, soft_wrap=True)
    layout = GroupLayout(log.groups, log.cluster_events, header.nodes, header.timing.t_us)
    drawing = GroupDrawing(layout, ThemeStyles(glyphs_for()), width)

    def put(pieces: list[Piece]) -> None:
        fitted = ((text if unicode else to_ascii(text), style) for text, style in fit(pieces, width))
        text = Text.assemble(*fitted)
        text.rstrip()
        console.print(text)

    put(drawing.head())
    for line in drawing.lines():
        put(drawing.line_pieces(line))
    put(drawing.foot())


# the document


class NormalInterval(Struct, frozen=True):
    """An interval in which a member was in status Normal; ``until_us`` is None while it lasts."""

    since_us: int
    until_us: int | None


class Stay(Struct, frozen=True):
    """A member's time in a group. ``normal_us``: when it was Normal first."""

    node: int
    since_us: int
    normal_us: int | None
    until_us: int | None
    normal: tuple[NormalInterval, ...]


class GroupSummary(Struct, frozen=True):
    """A group. ``of``: the groups that it was formed from; ``record`` shows that it was formed.

    ``normal_us``: when its coordinator was Normal; ``all_normal_us``: when all members were.
    """

    group: str
    coordinator: int | None
    members: tuple[int, ...]
    of: tuple[str, ...]
    record: int
    formed_us: int
    defined_us: int | None
    normal_us: int | None
    all_normal_us: int | None
    ended_us: int | None
    stays: tuple[Stay, ...]


class HistoryDocument(Document, frozen=True):
    """The history of groups in a recording."""

    protocol: str
    nodes: tuple[int, ...]
    groups: tuple[GroupSummary, ...]


def _document(header: Header, log: GroupLog) -> HistoryDocument:
    groups = tuple(_summary(group, log.groups) for group in log.groups)
    return HistoryDocument(header.protocol.name, header.nodes, groups)


def _summary(group: GroupHistory, groups: list[GroupHistory]) -> GroupSummary:
    return GroupSummary(
        group=group.name,
        coordinator=group.coordinator,
        members=tuple(group.members),
        of=tuple(groups[number].name for number in group.of),
        record=group.formed.record,
        formed_us=group.formed.at_us,
        defined_us=_us(group.defined),
        normal_us=_us(group.normal),
        all_normal_us=_us(group.all_normal),
        ended_us=_us(group.ended),
        stays=tuple(
            Stay(
                stay.node,
                stay.since.at_us,
                _us(stay.normal),
                _us(stay.until),
                tuple(NormalInterval(each.since.at_us, _us(each.until)) for each in stay.normal_intervals),
            )
            for stay in group.memberships
        ),
    )


def _us(point: RecordedMoment | None) -> int | None:
    return None if point is None else point.at_us
