"""The widgets of one line or a few: what this is, who leads whom, the faults in force, the scrub bar."""

from collections.abc import Iterable

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from lab.text import sanitize
from lab.tui.look import DIM, Look
from lab.tui.player import Player
from lab.tui.source import Source
from lab.tui.verdicts import Said
from lab.tui.worldtime import pace_said
from lab.units import count_of
from lab.worlds.orders import Clock

__all__ = ["FaultLines", "LeaderLine", "Line", "ScrubBar", "TitleLine", "VerdictLine", "title_text"]

_RANK = {"status": 1, "election": 2, "caption": 3, "mark": 4, "fault": 5, "unmet": 6}
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
            self._shown = text
            self.update(text, layout=taller or wraps)


class TitleLine(Line):
    """Which run this is, and the time in it."""

    DEFAULT_CSS = "TitleLine { height: 1; background: $panel; color: $text; padding: 0 1; }"


def title_text(source: Source, number: int, hidden: int, name: str, look: Look) -> Text:
    """Which run it is, the record where the cursor is, how time goes; last what a narrow line may cut off."""
    header, clock = source.lines.header, None if source.ended else source.clock
    dot = f" {look.glyphs.dot} "
    settings = [sanitize(" ".join(header.protocol.settings), 40)] if header.protocol.settings else []
    parts: list[str] = [*settings, header.world if source.is_live else "recording", f"record {number}"]
    if header.parent is not None:
        parts.append(f"branch of record {header.parent.record}")
    if clock is not None:
        parts.append("frozen" if clock.frozen else pace_said(clock))
    if source.is_live and not source.can_command:
        parts.append("viewer")
    if header.remark:
        parts.append(sanitize(header.remark, _LONGEST_REMARK))
    if hidden:
        parts.append(f"{hidden} heartbeats hidden (f)")
    t_us = header.timing.t_us
    t = f"{t_us / 1e6:g} s" if t_us >= 1_000_000 else f"{t_us / 1000:g} ms"
    parts += [f"T {t}", count_of(len(header.nodes), "node"), sanitize(name, 60)]
    text = Text()
    text.append("lab ", "bold")
    text.append(sanitize(header.protocol.title, 30), look.accent)
    text.append(dot + dot.join(parts))
    return text


class LeaderLine(Line):
    """Who leads whom, or who is in which Status, where nobody leads.

    More than one leader is said loudly, unless each leads a group of its own.
    """

    DEFAULT_CSS = "LeaderLine { height: 1; padding: 0 1; }"

    def show(self, leaders: tuple[tuple[str, int | str | None], ...], look: Look, groups: int = 0) -> None:
        """Show these leaders, of so many groups."""
        led = [leader for _, leader in leaders if isinstance(leader, int)]
        text = Text()
        if len(led) > 1:
            apart = groups == len(led)
            text.append(
                f"{groups} groups (g)  " if apart else f"{len(led)} COORDINATORS  ", DIM if apart else look.warning
            )
        for place, (said, leader) in enumerate(leaders):
            if place:
                text.append(f"  {look.glyphs.dot}  ", DIM)
            if isinstance(leader, str):
                text.append(f"{look.glyph(leader)} {said}", look.status(leader))
                continue
            if leader is not None:
                text.append(f"{look.glyphs.leads} ", look.leader)
            text.append(said, look.warning if leader is None else look.leader)
        self.put(text)


class FaultLines(Line):
    """The faults in force, what they break and what they touched; three lines at most."""

    DEFAULT_CSS = "FaultLines { height: auto; max-height: 3; padding: 0 1; }"

    def show(self, faults: tuple[tuple[str, bool], ...], look: Look) -> None:
        """Show these faults."""
        text = Text()
        if not faults:
            text.append("no fault in force", DIM)
        shown = faults if len(faults) <= 3 else faults[-2:]
        if len(shown) < len(faults):
            text.append(f"… and {len(faults) - len(shown)} faults before these\n", DIM)
        for place, (said, inert) in enumerate(shown):
            text.append(f"{look.glyph('failed')} ", look.warning)
            text.append(said + ("\n" if place < len(shown) - 1 else ""), look.fate("held") if inert else "")
        self.put(text)


class VerdictLine(Line):
    """What the promised assertions come to at the cursor."""

    DEFAULT_CSS = "VerdictLine { height: 1; padding: 0 1; }"

    def show(self, tellings: Iterable[tuple[Said, ...]], look: Look) -> None:
        """Show the first telling that fits, or the last; behind the first violation, which key leads to it."""
        text = Text()
        for said in tellings:
            text = self._told(said, look)
            if text.cell_len <= self.content_size.width:
                break
        self.put(text)

    def _told(self, said: tuple[Said, ...], look: Look) -> Text:
        text, hint = Text(), " (v)"
        for place, (verdict, word) in enumerate(said):
            if place:
                text.append(f"  {look.glyphs.dot}  ", DIM)
            text.append(verdict, look.verdict(word))
            if word in ("outside", "fails"):
                text.append(hint, DIM)
                hint = ""
        return text


class ScrubBar(Widget, can_focus=True):
    """The whole run as a line: where the cursor is, and the weightiest mark in each cell."""

    DEFAULT_CSS = "ScrubBar { height: 1; padding: 0 1; }"

    class Sought(Message):
        """A place on the bar was chosen, from 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._player: Player | None = None
        self._clock: Clock | None = None
        self._drawn: tuple[object, ...] = ()

    def show(self, player: Player, clock: Clock | None = None) -> None:
        """Draw the player's place, and in a simulated run how its time goes."""
        self._player = player
        self._clock = clock if player.following else None
        drawn = (
            round(player.now_us, -5 if self._clock is None else -2),
            player.end_us // 100_000,
            player.speed,
            player.playing,
            player.following,
            self._clock,
            len(player.marks.records),
            self.size.width,
        )
        if drawn != self._drawn:
            self._drawn = drawn
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Seek to where the mouse is."""
        offset = event.get_content_offset(self)
        left, width = self._bar()
        if offset is not None and width > 1 and 0 <= offset.x - left < width:
            self.post_message(self.Sought((offset.x - left) / (width - 1)))

    def on_key(self, event: events.Key) -> None:
        """Digits go to tenths of the run, while the bar has the focus."""
        if event.key.isdigit():
            event.stop()
            self.post_message(self.Sought(int(event.key) / 10))

    def render(self) -> Text:
        """The bar."""
        player = self._player
        if player is None:
            return Text()
        text = Text(no_wrap=True)
        text.append(self._state(player), self._look.accent if self.has_focus else "")
        _, width = self._bar()
        text.append_text(self._track(player, width))
        if self._clock is not None:  # the cursor is at the end, and a step may be of microseconds
            text.append(f" {player.now_us / 1e6:13.4f} s")
        else:
            text.append(f" {player.now_us / 1e6:8.1f} / {max(player.end_us, player.now_us) / 1e6:.1f} s")
        return text

    def _state(self, player: Player) -> str:
        glyphs = self._look.glyphs
        if self._clock is not None:
            return f"{'frozen' if self._clock.frozen else glyphs.play:>6} {pace_said(self._clock):>5} "
        if player.following and player.lines.header.world == "simulated":
            return f"{'starting':>10} "  # its clock has not been heard of yet
        state = "live" if player.following else glyphs.play if player.playing else glyphs.pause
        return f"{state:>4} {player.speed:>4g}x "

    def _bar(self) -> tuple[int, int]:
        """(where the track begins, how long it is)."""
        left = 11 if self._clock is None else 13
        return left, max(2, self.size.width - left - 24)

    def _track(self, player: Player, width: int) -> Text:
        look = self._look
        end_us = max(1, player.end_us, player.now_us)
        kinds: dict[int, str] = {}
        for at_us, kind in zip(player.marks.times_us, player.marks.kinds, strict=True):
            place = min(width - 1, at_us * (width - 1) // end_us)
            if _RANK[kind] >= _RANK.get(kinds.get(place, ""), 0):
                kinds[place] = kind
        here = min(width - 1, player.now_us * (width - 1) // end_us)
        track = Text()
        for place, shown in sorted([*kinds.items(), (here, "")], key=lambda cell: (cell[0], cell[1] != "")):
            if place < len(track):
                continue  # the cursor hides the mark under it
            self._lay(track, place, here)
            if shown:
                track.append(look.glyphs.marks[shown], look.mark(shown))
            else:
                track.append(look.glyphs.cursor, look.leader)
        self._lay(track, width, here)
        return track

    def _lay(self, track: Text, upto: int, here: int) -> None:
        """Lay plain track up to that cell: heavy before the cursor, light after it."""
        glyphs = self._look.glyphs
        glyph = glyphs.full if len(track) < here else glyphs.rest
        track.append(glyph * (upto - len(track)), DIM)
