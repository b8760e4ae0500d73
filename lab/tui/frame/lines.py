"""The widgets of one line or a few: what this is, who leads whom, the faults in force."""

from collections.abc import Iterable

from rich.text import Text
from textual.widgets import Static

from lab.text import sanitize
from lab.tui.run.source import Source
from lab.tui.run.verdicts import Said
from lab.tui.run.worldtime import pace_said
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import count_of

__all__ = ["FaultLines", "LeaderLine", "Line", "TitleLine", "VerdictLine", "title_text"]

_LONGEST_REMARK = 60


class Line(Static):
    """Shows a text, and redraws only when it is another one."""

    DEFAULT_CSS = "Line { text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id_: str) -> None:
        super().__init__("", id=id_, markup=False)
        self._shown = Text()

    def put(self, text: Text, wraps: bool = False) -> None:
        """Show this text. ``wraps``: its style lets it go on in the next line, so it may be of another height."""
        if text != self._shown or text.spans != self._shown.spans:
            taller = text.plain.count("\n") != self._shown.plain.count("\n")
            one_line = self._fits(text) and self._fits(self._shown)
            self._shown = text
            # to lay out anew costs more than all the drawing for a key
            self.update(text, layout=taller or (wraps and not one_line))

    def _fits(self, text: Text) -> bool:
        return 0 < text.cell_len <= self.content_size.width

    @property
    def plain(self) -> str:
        """What it says."""
        return self._shown.plain


class TitleLine(Line):
    """Which run this is, and the time in it."""

    DEFAULT_CSS = "TitleLine { height: 1; background: $panel; color: $text; padding: 0 1; }"


def title_text(
    source: Source, number: int, hidden: int, name: str, theme_styles: ThemeStyles, score: str = ""
) -> Text:
    """Which run it is, the record where the cursor is, how time goes; last what a narrow line may cut off."""
    header, clock = source.lines.header, None if source.ended else source.clock
    dot = f" {theme_styles.glyphs.dot} "
    settings = [sanitize(" ".join(header.protocol.settings), 40)] if header.protocol.settings else []
    world = header.world if source.is_live else "recording"
    own = [sanitize(name, 60)]
    first, last = (
        (own, []) if header.exercise is not None else ([], own)
    )  # whose attempt it is comes before all else
    parts: list[str] = [*first, *([score] if score else []), *settings, world, f"record {number}"]
    if header.parent is not None:
        parts.append(f"branch of record {header.parent.record}")
    if clock is not None:
        parts.append("frozen" if clock.frozen else pace_said(clock))
    if source.is_live and not source.can_command:
        parts.append("viewer")
    if header.remark:
        parts.append(sanitize(header.remark, _LONGEST_REMARK))
    if source.lines.damage:
        parts.append(f"{count_of(len(source.lines.damage), 'line')} cannot be read: lab show tells which")
    if hidden:
        parts.append(f"{hidden} heartbeats hidden (f)")
    t_us = header.timing.t_us
    t = f"{t_us / 1e6:g} s" if t_us >= 1_000_000 else f"{t_us / 1000:g} ms"
    parts += [f"T {t}", count_of(len(header.nodes), "node"), *last]
    text = Text()
    text.append("lab ", "bold")
    text.append(sanitize(header.protocol.title, 30), theme_styles.accent)
    text.append(dot + dot.join(parts))
    return text


class LeaderLine(Line):
    """Who leads whom, or who is in which Status, where nobody leads.

    More than one leader is said loudly, unless each leads a group of its own.
    """

    DEFAULT_CSS = "LeaderLine { height: 1; padding: 0 1; }"

    def show(
        self, leaders: tuple[tuple[str, int | str | None], ...], theme_styles: ThemeStyles, groups: int = 0
    ) -> None:
        """Show these leaders, of so many groups."""
        led = [leader for _, leader in leaders if isinstance(leader, int)]
        text = Text()
        if len(led) > 1:
            apart = groups == len(led)
            text.append(
                f"{groups} groups (g)  " if apart else f"{len(led)} COORDINATORS  ",
                DIM if apart else theme_styles.warning,
            )
        for place, (said, leader) in enumerate(leaders):
            if place:
                text.append(f"  {theme_styles.glyphs.dot}  ", DIM)
            if isinstance(leader, str):
                text.append(f"{theme_styles.glyph(leader)} {said}", theme_styles.status(leader))
                continue
            if leader is not None:
                text.append(f"{theme_styles.glyphs.leads} ", theme_styles.leader)
            text.append(said, theme_styles.warning if leader is None else theme_styles.leader)
        self.put(text)


class FaultLines(Line):
    """The faults in force, what they break and what they touched; three lines at most."""

    DEFAULT_CSS = "FaultLines { height: auto; max-height: 3; padding: 0 1; }"

    def show(self, faults: tuple[tuple[str, bool], ...], theme_styles: ThemeStyles) -> None:
        """Show these faults."""
        text = Text()
        if not faults:
            text.append("no fault in force", DIM)
        shown = faults if len(faults) <= 3 else faults[-2:]
        if len(shown) < len(faults):
            text.append(f"… and {len(faults) - len(shown)} faults before these\n", DIM)
        for place, (said, inert) in enumerate(shown):
            text.append(f"{theme_styles.glyph('failed')} ", theme_styles.warning)
            text.append(
                said + ("\n" if place < len(shown) - 1 else ""), theme_styles.fate("held") if inert else ""
            )
        self.put(text)


class VerdictLine(Line):
    """What the promised assertions come to at the cursor."""

    DEFAULT_CSS = "VerdictLine { height: 1; padding: 0 1; }"

    def show(self, tellings: Iterable[tuple[Said, ...]], theme_styles: ThemeStyles) -> None:
        """Show the first telling that fits, or the last; behind the first violation, which key leads to it."""
        text = Text()
        for said in tellings:
            text = self._told(said, theme_styles)
            if text.cell_len <= self.content_size.width:
                break
        self.put(text)

    def _told(self, said: tuple[Said, ...], theme_styles: ThemeStyles) -> Text:
        text, hint = Text(), " (v)"
        for place, (verdict, word) in enumerate(said):
            if place:
                text.append(f"  {theme_styles.glyphs.dot}  ", DIM)
            text.append(verdict, theme_styles.verdict(word))
            if word in ("outside", "fails"):
                text.append(hint, DIM)
                hint = ""
        return text
