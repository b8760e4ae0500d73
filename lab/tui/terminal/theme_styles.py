"""The styles of the interface: colours that colour-blind people can distinguish, always with a glyph or a word."""

from rich.style import Style

from lab.glyphs import Glyphs
from lab.palette import Palette, text_colour_on

__all__ = ["DIM", "ThemeStyles"]

DIM = Style(dim=True)
_LOUD = ("unmet", "violation", "caption", "mark", "bookmark")
_QUIET = ("delivered", "receiver down")


class ThemeStyles:
    """Styles by purpose. ``dark`` selects the palette for a dark background."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        self._dark = Palette(dark=True)
        self._light = Palette(dark=False)
        self.dark = True

    def status(self, status: str) -> Style:
        """Return the style of a status, or of the state of a process."""
        return _styled(self._palette.status(status))

    def state(self, state: str) -> Style:
        """Return the style of a transaction's state at a participant."""
        return _styled(self._palette.state(state))

    def glyph(self, status: str) -> str:
        """Return the symbol of a status."""
        return self.glyphs.status.get(status, self.glyphs.dot)

    def fate(self, fate: str) -> Style:
        """Return the style of a message's delivery outcome."""
        return _styled(self._palette.fate(fate), dim=fate in _QUIET and self.dark)

    def kind(self, kind: str) -> Style:
        """Return the style of a kind of message; an answer has the style of its request, dimmed."""
        return _styled(self._palette.kind(kind), dim=kind.endswith("Answer") and self.dark)

    def mark(self, kind: str) -> Style:
        """Return the style of a kind of mark, as on the scrub bar and in the script."""
        return _styled(self._palette.mark(kind), bold=kind in _LOUD)

    def verdict(self, word: str) -> Style:
        """Return the style of a verdict: *holds*, *outside* (violated but excused), *fails*, or not known yet."""
        if word == "fails":
            return self.warning
        colour = {"holds": "green", "outside": "orange"}.get(word)
        return _styled(None if colour is None else self._palette.named(colour), bold=word == "outside")

    def group(self, hue: int) -> Style:
        """Return the style of a group by the number of its colour; its identifier always stands beside it."""
        return _styled(self._palette.group(hue))

    def badge(self, hue: int) -> Style:
        """Return the style of a group's badge: its colour as the background of its identifier."""
        ground = self._palette.group(hue)
        return Style(color=text_colour_on(ground), bgcolor=ground, bold=True)

    @property
    def warning(self) -> Style:
        """The style of warnings and errors."""
        return _styled(self._palette.named("vermilion"), bold=True)

    @property
    def accent(self) -> Style:
        """The style of what is selected."""
        return _styled(self._palette.named("sky"), bold=True)

    @property
    def code(self) -> Style:
        """The style of code within a text."""
        return _styled(self._palette.named("sky"))

    @property
    def highlight(self) -> Style:
        """The style of search hits."""
        return self.leader + Style(reverse=True)

    @property
    def leader(self) -> Style:
        """The style of the coordinator."""
        return _styled(self._palette.named("yellow"), bold=True)

    @property
    def _palette(self) -> Palette:
        return self._dark if self.dark else self._light


def _styled(colour: str | None, bold: bool = False, dim: bool = False) -> Style:
    return Style(color=colour, bold=bold or None, dim=dim or None)
