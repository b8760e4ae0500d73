"""The themes that the interface has of its own: dark and light, in colours that colour-blind people tell apart."""

from collections.abc import Mapping

from textual.theme import Theme

from lab.palette import Palette

__all__ = ["DARK", "LIGHT", "OWN_THEMES", "first_theme"]

DARK, LIGHT = "lab-dark", "lab-light"
_GROUNDS = {
    DARK: ("#e0e0e0", "#121212", "#1c1c1c", "#242424"),
    LIGHT: ("#1a1a1a", "#f4f4f4", "#ffffff", "#e4e4e4"),
}
"""The colour of text, and what it stands on: the screen, a dialog, a line that is set apart."""
_BRIGHT_GROUNDS = {"7", "9", "10", "11", "12", "13", "14", "15"}


def _theme(name: str) -> Theme:
    named = Palette(dark=name == DARK).named
    foreground, background, surface, panel = _GROUNDS[name]
    return Theme(
        name,
        primary=named("sky"),
        secondary=named("purple"),
        accent=named("sky"),
        warning=named("orange"),
        error=named("vermilion"),
        success=named("green"),
        foreground=foreground,
        background=background,
        surface=surface,
        panel=panel,
        dark=name == DARK,
    )


OWN_THEMES = (_theme(DARK), _theme(LIGHT))


def first_theme(environment: Mapping[str, str]) -> str:
    """Light where the terminal says that its ground is: COLORFGBG, of which the last number is the ground's."""
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _BRIGHT_GROUNDS else DARK
