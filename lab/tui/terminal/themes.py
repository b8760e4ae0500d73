"""The built-in themes, dark and light, in colours that colour-blind people can distinguish."""

from collections.abc import Mapping

from textual.theme import Theme

from lab.palette import Palette

__all__ = ["DARK", "LIGHT", "OWN_THEMES", "default_theme"]

DARK, LIGHT = "lab-dark", "lab-light"
_GROUNDS = {
    DARK: ("#e0e0e0", "#121212", "#1c1c1c", "#242424"),
    LIGHT: ("#1a1a1a", "#f4f4f4", "#ffffff", "#e4e4e4"),
}
"""The colour of text, and the backgrounds of the screen, of dialogs and of panels."""
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


def default_theme(environment: Mapping[str, str]) -> str:
    """Return the light theme if COLORFGBG says that the terminal's background is light, else the dark one."""
    # COLORFGBG ends with the number of the background colour
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _BRIGHT_GROUNDS else DARK
