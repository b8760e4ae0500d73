"""The lines around the views: title, captions, leaders, faults in force, verdicts."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import islice

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.timer import Timer
from textual.widgets import Static

from lab.recording.records import Captioned
from lab.styles import DIM, Piece, ThemeStyles, fit, width_of
from lab.text import sanitize
from lab.tui.player import Player, format_pace
from lab.tui.source import Source
from lab.tui.verdict_text import VerdictText
from lab.tui.widgets.pane import Leaders
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
    MessageLine { height: auto; max-height: 3; text-wrap: wrap; text-overflow: fold; display: none; }
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
            right.append(f"{brief.count(',') + 1} {'VIOLATED' if verdict[1] == 'fails' else 'violated'} ")
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
