"""The status lines of the run screen: title, leaders, faults in force, verdicts."""

from collections.abc import Iterable

from rich.text import Text
from textual.widgets import Static

from lab.text import sanitize
from lab.tui.run.source import Source
from lab.tui.run.verdict_text import VerdictText
from lab.tui.run.worldtime import format_pace
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import format_count

__all__ = ["FaultLines", "LeaderLine", "Line", "TitleLine", "VerdictLine", "title_text"]

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
        """The text without styles."""
        return self._shown.plain


class TitleLine(Line):
    """A single line, such as the title of the run and the message line."""

    DEFAULT_CSS = "TitleLine { height: 1; background: $panel; color: $text; padding: 0 1; }"


def title_text(
    source: Source, number: int, hidden: int, name: str, theme_styles: ThemeStyles, score: str = ""
) -> Text:
    """Return the title: protocol, record at the cursor, clock; the least important parts come last."""
    header, clock = source.store.header, None if source.ended else source.clock
    dot = f" {theme_styles.glyphs.dot} "
    settings = [sanitize(" ".join(header.protocol.settings), 40)] if header.protocol.settings else []
    world = header.world if source.is_live else "recording"
    own = [sanitize(name, 60)]
    # the name of an attempt comes first, so that it is never cut off
    first, last = (own, []) if header.exercise is not None else ([], own)
    parts: list[str] = [*first, *([score] if score else []), *settings, world, f"record {number}"]
    if header.parent is not None:
        parts.append(f"branch of record {header.parent.record}")
    if clock is not None:
        parts.append("frozen" if clock.frozen else format_pace(clock))
    if source.is_live and not source.can_command:
        parts.append("viewer")
    if header.remark:
        parts.append(sanitize(header.remark, _LONGEST_REMARK))
    if source.store.damage:
        parts.append(f"{format_count(len(source.store.damage), 'line')} unreadable: lab show lists them")
    if hidden:
        parts.append(f"{hidden} heartbeats hidden (f)")
    t_us = header.timing.t_us
    t = f"{t_us / 1e6:g} s" if t_us >= 1_000_000 else f"{t_us / 1000:g} ms"
    parts += [f"timeout T {t}", format_count(len(header.nodes), "node"), *last]
    text = Text()
    text.append("lab ", "bold")
    text.append(sanitize(header.protocol.title, 30), theme_styles.accent)
    text.append(dot + dot.join(parts))
    return text


class LeaderLine(Line):
    """The leaders and their followers, or the nodes by status if nobody leads.

    More than one leader is shown as a warning, unless each leads its own group.
    """

    DEFAULT_CSS = "LeaderLine { height: 1; padding: 0 1; }"

    def show(
        self, leaders: tuple[tuple[str, int | str | None], ...], theme_styles: ThemeStyles, groups: int = 0
    ) -> None:
        """Show leaders of (text, id or status or None for no leader); ``groups`` is the number of groups led."""
        led = [leader for _, leader in leaders if isinstance(leader, int)]
        text = Text()
        if len(led) > 1:
            are_in_groups = groups == len(led)
            text.append(
                f"{groups} groups (g)  " if are_in_groups else f"{len(led)} COORDINATORS  ",
                DIM if are_in_groups else theme_styles.warning,
            )
        for place, (caption, leader) in enumerate(leaders):
            if place:
                text.append(f"  {theme_styles.glyphs.dot}  ", DIM)
            if isinstance(leader, str):
                text.append(f"{theme_styles.glyph(leader)} {caption}", theme_styles.status(leader))
                continue
            if leader is not None:
                text.append(f"{theme_styles.glyphs.leads} ", theme_styles.leader)
            text.append(caption, theme_styles.warning if leader is None else theme_styles.leader)
        self.put(text)


class FaultLines(Line):
    """The faults in force, with their effect and the number of messages affected; at most three lines."""

    DEFAULT_CSS = "FaultLines { height: auto; max-height: 3; padding: 0 1; }"

    def show(self, faults: tuple[tuple[str, bool], ...], theme_styles: ThemeStyles) -> None:
        """Show faults of (text, whether it is inert)."""
        text = Text()
        if not faults:
            text.append("no fault in force", DIM)
        shown = faults if len(faults) <= 3 else faults[-2:]
        if len(shown) < len(faults):
            text.append(f"… and {len(faults) - len(shown)} earlier faults\n", DIM)
        for place, (caption, inert) in enumerate(shown):
            text.append(f"{theme_styles.glyph('failed')} ", theme_styles.warning)
            text.append(
                caption + ("\n" if place < len(shown) - 1 else ""), theme_styles.fate("held") if inert else ""
            )
        self.put(text)


class VerdictLine(Line):
    """The verdicts on the promised assertions at the cursor."""

    DEFAULT_CSS = "VerdictLine { height: 1; padding: 0 1; }"

    def show(self, versions: Iterable[tuple[VerdictText, ...]], theme_styles: ThemeStyles) -> None:
        """Show the first version that fits, or else the last; the first violation gets a hint at its key."""
        text = Text()
        for verdicts in versions:
            text = self._line(verdicts, theme_styles)
            if text.cell_len <= self.content_size.width:
                break
        self.put(text)

    def _line(self, verdicts: tuple[VerdictText, ...], theme_styles: ThemeStyles) -> Text:
        text, hint = Text(), " (v)"
        for place, (verdict, word) in enumerate(verdicts):
            if place:
                text.append(f"  {theme_styles.glyphs.dot}  ", DIM)
            text.append(verdict, theme_styles.verdict(word))
            if word in ("outside", "fails"):
                text.append(hint, DIM)
                hint = ""
        return text
