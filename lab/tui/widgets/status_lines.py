"""The lines around the views: title, captions, leaders, faults, verdicts, clients and services, watches."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.timer import Timer
from textual.widgets import Static

from lab.recording.records import Captioned
from lab.recording.snapshot import NodeState
from lab.script.watches import UNKNOWN_TEXT, WatchReading
from lab.styles import DIM, Piece, ThemeStyles, fit, width_of
from lab.text import sanitize
from lab.tui.player import Player, format_pace
from lab.tui.source import Source
from lab.tui.verdict_text import VerdictText
from lab.tui.widgets.pane import Leaders, process_text
from lab.units import format_count

_LONGEST_REMARK = 60


class Line(Static):
    """A text of one or a few lines that redraws only when the text changes."""

    DEFAULT_CSS = "Line { text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id_: str) -> None:
        super().__init__("", id=id_, markup=False)
        self._shown = Text()

    def put(self, text: Text, wraps: bool = False) -> None:
        """Show this text. ``wraps``: the widget wraps it, so its height may change."""
        if text != self._shown or text.spans != self._shown.spans:
            taller = text.plain.count("\n") != self._shown.plain.count("\n")
            one_line = self._fits(text) and self._fits(self._shown)
            self._shown = text
            # a new layout costs more than all drawing after a key
            self.update(text, layout=taller or (wraps and not one_line))

    def _fits(self, text: Text) -> bool:
        return 0 < text.cell_len <= self.content_size.width

    @property
    def plain(self) -> str:
        return self._shown.plain


class TitleLine(Line):
    """A single line, such as the title of the run."""

    DEFAULT_CSS = "TitleLine { height: 1; background: $panel; color: $text; padding: 0 1; }"


_READING_S, _PER_CHARACTER_S = 4.0, 0.06
"""The time for which a message is visible, and the time for each of its characters."""


class MessageLine(TitleLine):
    """The reply to what the user did last. If it ``fades``, it goes once it can have been read; warnings stay."""

    DEFAULT_CSS = """
    MessageLine { height: auto; max-height: 5; text-wrap: wrap; text-overflow: fold; display: none; }
    """

    def __init__(self, styles: ThemeStyles, fades: bool = False) -> None:
        super().__init__("message")
        self.text = ""
        self._styles = styles
        self._fades = fades
        self._fading: Timer | None = None

    def show(self, text: str, warn: bool = False) -> None:
        """Show a text, perhaps as a warning."""
        self.text = text
        style = self._styles.warning if warn else self._styles.accent
        self.put(Text(sanitize(text, 300), style), wraps=True)
        self._stop_fading()
        self.display = bool(text)
        if self._fades and not warn:
            self._fading = self.set_timer(_READING_S + _PER_CHARACTER_S * len(text), self.hide)

    def hide(self) -> None:
        """Hide the message: it has been read, or there is another line in its place."""
        self._stop_fading()
        self.display = False

    @property
    def is_warning(self) -> bool:
        """True while a warning is visible, which stays until a key."""
        return bool(self.display) and self._fading is None

    def _stop_fading(self) -> None:
        if self._fading is not None:
            self._fading.stop()
            self._fading = None


def title_text(
    source: Source, player: Player, hidden: int, name: str, styles: ThemeStyles, score: str = ""
) -> Text:
    """Return the title: protocol, record at the cursor, clock; the least important parts come last."""
    header, clock = source.store.header, None if source.ended else source.clock
    dot = f" {styles.glyphs.dot} "
    settings = [sanitize(" ".join(header.protocol.settings), 40)] if header.protocol.settings else []
    past = ", in the past" if player.is_in_past else ""
    world = f"{header.world}{past}" if source.is_live else "recording"
    own = [sanitize(name, 60)]
    # the name of an attempt comes first, so that it is never cut off
    first, last = (own, []) if header.exercise is not None else ([], own)
    parts: list[str] = [*first, *([score] if score else []), world, f"record {player.number}"]
    if header.parent is not None:
        parts.append(f"branch of record {header.parent.record}")
    if clock is not None:
        parts.append("frozen" if clock.frozen else format_pace(clock))
    if source.is_live and not source.can_command:
        parts.append("viewer")
    parts += settings
    if header.remark:
        parts.append(sanitize(header.remark, _LONGEST_REMARK))
    if source.store.damage:
        parts.append(f"{format_count(len(source.store.damage), 'line')} unreadable: lab show lists them")
    if hidden:
        parts.append(f"{hidden} heartbeats hidden")
    t_us = header.timing.t_us
    t = f"{t_us / 1e6:g} s" if t_us >= 1_000_000 else f"{t_us / 1000:g} ms"
    parts += [f"timeout T {t}", format_count(len(header.nodes), "node"), *last]
    text = Text()
    text.append("lab ", "bold")
    text.append(sanitize(header.title, 30), styles.accent)
    text.append(dot + dot.join(parts))
    return text


class Headline(Line):
    """The state of the cluster in one strong line: who leads whom, the fault in force, and the verdict.

    Its ground is calm while one node leads and nothing is violated, and a colour otherwise. It is ``tall`` where
    there is room.
    """

    DEFAULT_CSS = "Headline { height: auto; background: $panel; }"
    tall = False

    def show(
        self, leaders: Leaders, faults: Sequence[tuple[str, bool]], verdict: VerdictText, styles: ThemeStyles
    ) -> None:
        """Show who leads, the newest of the ``faults`` of (text, whether it is inert), and one verdict."""
        alarm = leaders.are_rivals or verdict[1] == "fails"
        left: list[Piece] = [(f" {leaders.title}  " if leaders.title else " ", Style())]
        for place, (caption, leader) in enumerate(leaders.texts):
            if place:
                left.append((f"  {styles.glyphs.dot}  ", Style()))
            if isinstance(leader, str):
                left.append((f"{styles.glyph(leader)} {caption}", styles.status(leader)))
                continue
            sign = "" if leader is None else f"{styles.glyphs.leads} "
            left.append((sign + caption, styles.leader if leader is not None and not alarm else Style()))
        sign, more = styles.glyph("failed"), f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        fault = f"{sign} {faults[-1][0]}{more}   " if faults else ""
        count = f"{sign} {format_count(len(faults), 'fault')}   " if faults else ""
        brief = verdict[0].replace("violated, ", "")
        right = [
            f"{fault}{verdict[0]} ",
            f"{count}{verdict[0]} ",
            f"{verdict[0]} ",
            f"{count}{brief} ",
            f"{brief} ",
        ]
        is_grave = verdict[1] in ("fails", "excused")
        if is_grave:
            right.append(f"{brief.count(',') + 1} {'VIOLATED' if verdict[1] == 'fails' else 'excused'} ")
        ground = Style(bold=True) + (
            styles.ground("vermilion") if alarm else styles.ground("orange") if leaders.is_pending else Style()
        )
        self.put(self._text(left, right, ground, is_grave))

    def _text(self, left: list[Piece], right: Sequence[str], ground: Style, is_grave: bool) -> Text:
        """Return the rows: the left pieces in full if they fit, and the first of the right texts that fits.

        If none fits, and it ``is_grave``, the left pieces are cut.
        """
        width = self.size.width
        room = max(0, width - width_of(left) - 2)
        remark = next((text for text in right if cell_len(text) <= room), f" {right[-1]}" if is_grave else "")
        row = [*fit(left, width - cell_len(remark)), (remark, Style())]
        is_coloured = ground.bgcolor is not None
        text = Text.assemble(*((each, ground if is_coloured else ground + style) for each, style in row))
        margin = Text(" " * width, ground)
        return Text("\n").join([margin, text, margin]) if self.tall else text


class FaultLines(Line):
    """The faults in force, with their effect and the number of messages affected; at most three lines."""

    DEFAULT_CSS = "FaultLines { height: auto; max-height: 3; padding: 0 1; }"

    def show(self, faults: tuple[tuple[str, bool], ...], styles: ThemeStyles) -> None:
        """Show faults of (text, whether it is inert)."""
        text = Text()
        if not faults:
            text.append("no fault in force", DIM)
        shown = faults if len(faults) <= 3 else faults[-2:]
        if len(shown) < len(faults):
            text.append(f"… and {len(faults) - len(shown)} earlier faults\n", DIM)
        for place, (caption, inert) in enumerate(shown):
            text.append(f"{styles.glyph('failed')} ", styles.warning)
            text.append(caption + ("\n" if place < len(shown) - 1 else ""), styles.fate("held") if inert else "")
        self.put(text)


class VerdictLine(Line):
    """The verdicts on the promised assertions at the cursor."""

    DEFAULT_CSS = "VerdictLine { height: 1; padding: 0 1; }"

    def show(self, versions: Iterable[tuple[VerdictText, ...]], key: str, styles: ThemeStyles) -> None:
        """Show the first version that fits, or else the last; ``key``, beside the first violation, goes there."""
        text = Text()
        for verdicts in versions:
            text = self._line(verdicts, key, styles)
            if text.cell_len <= self.content_size.width:
                break
        self.put(text)

    def _line(self, verdicts: tuple[VerdictText, ...], key: str, styles: ThemeStyles) -> Text:
        text, hint = Text(), f" ({key})"
        for place, (verdict, word) in enumerate(verdicts):
            if place:
                text.append(f"  {styles.glyphs.dot}  ", DIM)
            text.append(verdict, styles.verdict(word))
            if word in ("excused", "fails"):
                text.append(hint, DIM)
                hint = ""
        return text


MOST_CAPTIONS = 3
"""The most rows that the captions take, if the screen is high enough."""
_FEW_ROWS = 2
_ROOM_FOR_MOST = 30
_RECENT_US = 2_500_000
"""If the newest caption came this soon after an earlier one, that one is not dimmed: it may still be unread."""
_LONGEST = 200
_BOLD = Style(bold=True)


class CaptionLine(Line):
    """The latest captions, the newest at the bottom; hidden if there is neither a caption nor a purpose.

    If the run has a purpose, the height is constant, so that the widgets below do not jump.
    """

    DEFAULT_CSS = "CaptionLine { height: auto; padding: 0 1; background: $boost; display: none; }"
    rows = 0
    """The number of rows that are shown."""

    def show(self, captions: Sequence[Captioned], purpose: str, styles: ThemeStyles) -> None:
        """Show the latest captions, or the purpose of the run if there is no caption."""
        width = self.content_size.width or self.app.size.width - 2
        height = self.app.size.height
        most = MOST_CAPTIONS if height >= _ROOM_FOR_MOST else _FEW_ROWS
        if captions:
            rows = _caption_rows(captions, width, most, styles)
        else:
            purpose_rows = textwrap.wrap(purpose, max(1, width - 2), max_lines=most, placeholder=" …")
            rows = [fit([(f"  {row}", DIM)], width) for row in purpose_rows]
        if purpose:
            rows += [[]] * (most - len(rows))
        self.rows = len(rows)
        self.display = bool(rows)
        self.put(Text("\n").join(Text.assemble(*row) for row in rows))


def _caption_rows(captions: Sequence[Captioned], width: int, most: int, styles: ThemeStyles) -> list[list[Piece]]:
    """Return the rows of as many captions as fit: the newest in full, the earlier ones in a row each."""
    newest = captions[-1]
    rows = _rows(newest, width, most, styles, _BOLD)
    for caption in islice(reversed(captions), 1, 1 + most - len(rows)):
        recent = newest.at_us - caption.at_us <= _RECENT_US
        rows = [*_rows(caption, width, 1, styles, Style() if recent else DIM), *rows]
    return rows


def _rows(caption: Captioned, width: int, most: int, styles: ThemeStyles, style: Style) -> list[list[Piece]]:
    """Return the rows of a caption: its sign, its text, and at the right end its time, if that fits."""
    text, clock = sanitize(caption.text, _LONGEST), f"  {caption.at_us / 1e6:.3f} s"
    if cell_len(text + clock) > width - 2:
        clock = ""
    room = width - 2 - cell_len(clock)
    lines = textwrap.wrap(text, max(1, room), max_lines=most, placeholder=" …")
    sign = (f"{styles.glyphs.marks['caption']} ", styles.mark("caption") if style != DIM else DIM)
    first, *others = lines or [""]
    return [
        [sign, *fit([(first, style)], room), (clock, DIM)],
        *(fit([("  ", style), (row, style)], width) for row in others),
    ]


_GAP = "  "
_SLOT = 12
"""The columns for what a node does, so that the others do not move when it does something: ``c4 Write → 1``."""
_COUNTED = {"ok": "ok", "failed": "errors", "unknown": "unanswered"}
"""The fields in which a client counts its calls since it has started, and what they are called here."""
_ANSWERS = " answers"
_LONGEST_NAME, _LONGEST_CALL = 16, 24


class OutsideLine(Line):
    """The nodes outside the cluster. Without any, it does not exist."""

    DEFAULT_CSS = "OutsideLine { height: 1; padding: 0 1; }"

    def show(self, nodes: Iterable[NodeState], names: Mapping[int, str], styles: ThemeStyles) -> None:
        """Show these nodes, which have names."""
        pieces = outside_pieces(nodes, names, styles)
        self.put(Text.assemble(*fit(pieces, self.content_size.width or self.app.size.width - 2)))


def outside_pieces(nodes: Iterable[NodeState], names: Mapping[int, str], styles: ThemeStyles) -> list[Piece]:
    """Return what became of all calls, and what each node does: ``calls 152 ok, 1 unanswered  c4 Write → 1``."""
    views = sorted(nodes, key=lambda view: view.id)
    pieces = list(_counts(views, styles))
    for view in views:
        name = sanitize(names.get(view.id, str(view.id)), _LONGEST_NAME)
        cell = [(name, Style(bold=True)), *_activity(view, names, styles)]
        padding = " " * max(0, _SLOT - width_of(cell))
        pieces += [(_GAP if pieces else "", Style()), *cell, (padding, Style())]
    return pieces


def _counts(views: Iterable[NodeState], styles: ThemeStyles) -> Iterator[Piece]:
    """Yield how many calls of all clients had each outcome; those without an answer stand out."""
    states = [view.state for view in views if all(isinstance(view.state.get(name), int) for name in _COUNTED)]
    for field, word in _COUNTED.items() if states else ():
        number = sum(state[field] for state in states)
        if field == "ok":
            yield f"calls {number:,} {word}", Style()
        elif number:
            yield f", {number:,} {word}", styles.warning if field == "unknown" else Style()


def _activity(view: NodeState, names: Mapping[int, str], styles: ThemeStyles) -> Iterator[Piece]:
    """Yield what a node does, if it has called an operation, or if its process is not running."""
    wait = view.waits[0] if view.waits else None
    if view.process != "running":
        yield f" {styles.glyph(view.process)} {process_text(view.process)}", styles.status(view.process)
    elif wait is not None and wait.peers and wait.what.endswith(_ANSWERS):
        asked = " ".join(names.get(peer, str(peer)) for peer in wait.peers)
        call = f"{wait.what.removesuffix(_ANSWERS)} {styles.glyphs.arrow} {asked}"
        yield f" {sanitize(call, _LONGEST_CALL)}", DIM


_WATCH_GAP = 4
"""The columns between two watches in a row."""
_LEAST_VALUE = 8
"""The columns that a long expression leaves to its value."""


class WatchEntry(Struct, frozen=True):
    """An expression and its readings, those at the places in ``changed`` being new."""

    text: str
    readings: tuple[WatchReading, ...]
    changed: frozenset[int] = frozenset()


class WatchLines(Line):
    """The watches: one in a row, or several if they are more than ``best_rows``. Without any, it does not exist.

    ``rows`` is its height, at most ``most_rows``. The entries that do not fit are counted at its end.
    """

    DEFAULT_CSS = "WatchLines { height: auto; padding: 0 1; background: $boost; display: none; }"

    def __init__(self) -> None:
        super().__init__("watches")
        self.rows = 0
        self.best_rows = 1
        self.most_rows = 1
        self._widest: dict[str, int] = {}
        """The widest value of each expression so far, so that columns do not move back and forth."""

    def show(self, entries: Sequence[WatchEntry], styles: ThemeStyles) -> None:
        """Show these entries."""
        values = {each.text: _value_pieces(each, styles) for each in entries}
        self._widest = {text: max(width_of(value), self._widest.get(text, 0)) for text, value in values.items()}
        cells = [(text, values[text], self._widest[text]) for text in values]
        lines = watch_rows(cells, self.app.size.width - 2, self.best_rows, self.most_rows)
        self.rows = len(lines)
        self.display = bool(lines)
        self.put(Text("\n").join(Text.assemble(*line) for line in lines))


_Cell = tuple[str, list[Piece], int]
"""An expression, its value, and the width that the value may need."""


def watch_rows(cells: Sequence[_Cell], width: int, best_rows: int, most_rows: int) -> list[list[Piece]]:
    """Return the rows: one for each cell, or if that is more than ``best_rows``, as many cells in a row as fit."""
    if len(cells) <= best_rows:
        widest = max((cell_len(text) for text, _, _ in cells), default=0)
        return [_cell_pieces(cell, widest, width) for cell in cells]
    rows: list[list[list[Piece]]] = []
    for place, cell in enumerate(cells):
        pieces = _cell_pieces(cell, cell_len(cell[0]), width)
        if rows and width_of(_joined([*rows[-1], pieces])) <= width:
            rows[-1].append(pieces)
        elif len(rows) < most_rows:
            rows.append([pieces])
        else:
            return [*map(_joined, rows[:-1]), _counted(rows[-1], len(cells) - place, width)]
    return [*map(_joined, rows)]


def _joined(cells: Sequence[list[Piece]]) -> list[Piece]:
    """Return cells in one row."""
    gap: list[Piece] = [(" " * _WATCH_GAP, Style())]
    return [*cells[0], *(piece for cell in cells[1:] for piece in (*gap, *cell))]


def _counted(cells: Sequence[list[Piece]], left_out: int, width: int) -> list[Piece]:
    """Return the last row with the number of the cells left out at its end, which is more if that needs space."""
    more = f"  +{left_out} more"
    if len(cells) > 1 and width_of(_joined(cells)) + cell_len(more) > width:
        return _counted(cells[:-1], left_out + 1, width)
    return [*fit(_joined(cells), width - cell_len(more)), (more, DIM)]


def _cell_pieces(cell: _Cell, name: int, width: int) -> list[Piece]:
    """Return an expression in ``name`` columns, fewer if its value has too little room, and the value."""
    text, pieces, value = cell
    name = min(name, width - 2 - min(value, max(_LEAST_VALUE, width // 2)))
    return [*fit([(text, DIM)], name), ("  ", Style()), *fit(pieces, min(value, width - 2 - name))]


def _value_pieces(entry: WatchEntry, styles: ThemeStyles) -> list[Piece]:
    pieces: list[Piece] = []
    for place, reading in enumerate(entry.readings):
        if reading.node is not None:
            pieces.append((f"{' ' if place else ''}{reading.node}:", DIM))
        is_unknown = reading.text == UNKNOWN_TEXT
        style = styles.accent if place in entry.changed else DIM if is_unknown else Style()
        pieces.append((reading.text, style))
    return pieces
