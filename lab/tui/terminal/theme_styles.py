"""How things look: colours that colour-blind people tell apart, and a glyph and a word beside every colour."""

from rich.style import Style

from lab.glyphs import Glyphs
from lab.palette import Palette, ink_on

__all__ = ["DIM", "ThemeStyles"]

DIM = Style(dim=True)
_LOUD = ("unmet", "violation", "caption", "mark", "bookmark")
_QUIET = ("delivered", "receiver down")


class ThemeStyles:
    """Styles by what they are for. ``dark``: what they are to be seen on."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        self._dark = Palette(dark=True)
        self._light = Palette(dark=False)
        self.dark = True

    def status(self, status: str) -> Style:
        """The style of a status, or of what a process does."""
        return _styled(self._palette.status(status))

    def state(self, state: str) -> Style:
        """The style of what a transaction is to a participant."""
        return _styled(self._palette.state(state))

    def glyph(self, status: str) -> str:
        """Its symbol."""
        return self.glyphs.status.get(status, self.glyphs.dot)

    def fate(self, fate: str) -> Style:
        """The style of a message's fate."""
        return _styled(self._palette.fate(fate), dim=fate in _QUIET and self.dark)

    def kind(self, kind: str) -> Style:
        """The style of a kind of message; an answer looks like its request, but dimmer."""
        return _styled(self._palette.kind(kind), dim=kind.endswith("Answer") and self.dark)

    def mark(self, kind: str) -> Style:
        """The style of a mark on the scrub bar, and of what a script said or expected."""
        return _styled(self._palette.mark(kind), bold=kind in _LOUD)

    def verdict(self, word: str) -> Style:
        """The style of a verdict: it holds, is outside the promise, fails, or is not known yet."""
        if word == "fails":
            return self.warning
        colour = {"holds": "green", "outside": "orange"}.get(word)
        return _styled(None if colour is None else self._palette.named(colour), bold=word == "outside")

    def group(self, hue: int) -> Style:
        """The style of a group, by the number of its colour. Beside it there is always its identifier."""
        return _styled(self._palette.group(hue))

    def plate(self, hue: int) -> Style:
        """The same as a ground to write the identifier on."""
        ground = self._palette.group(hue)
        return Style(color=ink_on(ground), bgcolor=ground, bold=True)

    @property
    def warning(self) -> Style:
        """For what is not as it should be."""
        return _styled(self._palette.named("vermilion"), bold=True)

    @property
    def accent(self) -> Style:
        """For what is selected."""
        return _styled(self._palette.named("sky"), bold=True)

    @property
    def code(self) -> Style:
        """For what could be typed, within a text."""
        return _styled(self._palette.named("sky"))

    @property
    def lit(self) -> Style:
        """For the text that was sought."""
        return self.leader + Style(reverse=True)

    @property
    def leader(self) -> Style:
        """For the coordinator."""
        return _styled(self._palette.named("yellow"), bold=True)

    @property
    def _palette(self) -> Palette:
        return self._dark if self.dark else self._light


def _styled(colour: str | None, bold: bool = False, dim: bool = False) -> Style:
    return Style(color=colour, bold=bold or None, dim=dim or None)
