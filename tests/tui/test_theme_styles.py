"""Theme styles: every colour has a glyph beside it and is legible on both backgrounds."""

from itertools import combinations
from math import dist
from operator import mul

import pytest
from msgspec.structs import asdict
from rich.cells import cell_len
from rich.style import Style
from textual.theme import Theme

from lab.analysis.delivery import OUTCOMES
from lab.glyphs import Glyphs, glyphs_for
from lab.palette import Palette
from lab.protocols.transaction import State
from lab.styles import ThemeStyles
from lab.tui.terminal.terminal_app import OWN_THEMES

UNICODE = glyphs_for({"LC_ALL": "C.UTF-8", "TERM": "xterm"})
ASCII = glyphs_for({"LC_ALL": "C.UTF-8", "TERM": "linux"})
STATUSES = (
    *("Normal", "Election", "Reorganization", "Down", "Inside", "Holding", "Waiting"),
    *("Working", "Uncertain", "Blocked"),
    *("killed", "failed", "paused", "absent"),
)
KINDS = ("AreYouNormal", "AreYouUp", "EnterElection", "SetCoordinator", "NewState")
GROUNDS = {True: "#121212", False: "#e0e0e0"}


def _luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_RED_GREEN_BLIND = {
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
}
"""What is seen of linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1)."""


def _cie_lab(colour: str, seen: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    channels = [byte / 255 for byte in bytes.fromhex(colour.removeprefix("#"))]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    r, g, b = (min(1.0, max(0.0, sum(map(mul, row, linear)))) for row in seen)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("kind", _RED_GREEN_BLIND)
@pytest.mark.parametrize("dark", [True, False])
def test_the_statuses_differ_for_the_red_green_blind(dark: bool, kind: str) -> None:
    """A difference of 10 in CIELAB is seen at a glance; 2 is hardly noticed."""
    palette = Palette(dark)
    shown = {name: palette.status(name) for name in ("Normal", "Election", "Reorganization", "killed", "paused")}
    seen = {name: _cie_lab(colour, _RED_GREEN_BLIND[kind]) for name, colour in shown.items() if colour}
    assert len(seen) == len(shown)
    for one, other in combinations(seen, 2):
        assert dist(seen[one], seen[other]) > 10, (one, other)


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _colour(style: Style) -> str:
    return style.color.get_truecolor().hex if style.color else ""


def _styles(theme_styles: ThemeStyles) -> dict[str, Style]:
    styles = {f"status {status}": theme_styles.status(status) for status in STATUSES}
    styles |= {f"fate {fate}": theme_styles.fate(fate) for fate in OUTCOMES}
    styles |= {f"kind {kind}": theme_styles.kind(kind) for kind in KINDS}
    styles |= {f"state {state.value}": theme_styles.state(state.value) for state in State}
    styles |= {f"mark {mark}": theme_styles.mark(mark) for mark in ("fault", "election", "status")}
    return styles | {"warning": theme_styles.warning, "accent": theme_styles.accent, "leader": theme_styles.leader}


@pytest.mark.parametrize("dark", GROUNDS)
def test_every_colour_is_legible_on_its_background(dark: bool) -> None:
    theme_styles = ThemeStyles(UNICODE)
    theme_styles.dark = dark
    coloured = {name: _colour(style) for name, style in _styles(theme_styles).items() if style.color}
    assert len(set(coloured.values())) == 6
    poor = {name: c for name, c in coloured.items() if _contrast(c, GROUNDS[dark]) < 3}
    assert poor == {}


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: theme.name)
def test_every_colour_of_the_built_in_themes_has_text_contrast(theme: Theme) -> None:
    """WCAG asks for 4.5 for text; on the screen, in dialogs and on panels."""
    theme_styles = ThemeStyles(UNICODE)
    theme_styles.dark = theme.dark
    for ground in (theme.background, theme.surface, theme.panel):
        assert ground is not None
        colours = {_colour(style) for style in _styles(theme_styles).values() if style.color}
        poor = {colour for colour in colours if _contrast(colour, ground) < 4.5}
        assert poor == set(), ground
        assert theme.foreground is not None
        assert _contrast(theme.foreground, ground) > 7
    assert len({theme.accent, theme.warning, theme.error, theme.success}) == 4


def test_the_contrast_is_that_of_wcag() -> None:
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    assert _contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", GROUNDS)
def test_different_statuses_have_different_colours_and_glyphs(dark: bool) -> None:
    """Except Down and killed: in both the node does not take part."""
    for glyphs in (UNICODE, ASCII):
        theme_styles = ThemeStyles(glyphs)
        theme_styles.dark = dark
        for one, other in combinations(("Normal", "Election", "Reorganization", "Down", "paused"), 2):
            assert theme_styles.glyph(one) != theme_styles.glyph(other), (one, other)
            assert _colour(theme_styles.status(one)) != _colour(theme_styles.status(other)), (one, other)
        assert theme_styles.glyph("killed") == theme_styles.glyph("Down") != theme_styles.glyph("failed")


def test_message_kinds_differ_and_answers_match_their_requests() -> None:
    theme_styles = ThemeStyles(UNICODE)
    assert len({_colour(theme_styles.kind(kind)) for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert _colour(theme_styles.kind(f"{kind}Answer")) == _colour(theme_styles.kind(kind))
        assert theme_styles.kind(f"{kind}Answer").dim


def test_unknown_kinds_have_a_style() -> None:
    theme_styles = ThemeStyles(UNICODE)
    assert theme_styles.glyph("Asleep") == theme_styles.glyphs.dot
    assert theme_styles.status("Asleep") == Style()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "linux", "LC_ALL": "C.UTF-8"}, ASCII),
        ({"TERM": "dumb", "LANG": "de_DE.UTF-8"}, ASCII),
        ({"TERM": "xterm", "LC_ALL": "C"}, ASCII),
        ({"TERM": "xterm", "LANG": "de_DE.ISO-8859-1"}, ASCII),
        ({"TERM": "xterm", "LC_ALL": "POSIX", "LANG": "C.UTF-8"}, ASCII),
        ({"TERM": "xterm", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, UNICODE),
        ({"TERM": "xterm-256color", "LANG": "de_DE.utf8"}, UNICODE),
    ],
)
def test_a_terminal_that_has_no_unicode_gets_ascii(environment: dict[str, str], expected: Glyphs) -> None:
    assert glyphs_for(environment) == expected


def test_both_sets_have_the_same_glyphs_of_one_cell_each() -> None:
    unicode, ascii_ = asdict(UNICODE), asdict(ASCII)
    assert unicode.keys() == ascii_.keys()
    for name, glyph in unicode.items():
        other = ascii_[name]
        if isinstance(glyph, dict):
            assert glyph.keys() == other.keys(), name
            pairs = [*glyph.values(), *other.values()]
            assert "".join(other.values()).isascii()
        else:
            assert len(glyph) == len(other), name
            pairs = [*glyph, *other]
            assert other.isascii(), name
        assert [cell_len(each) for each in pairs] == [1] * len(pairs), name
    assert UNICODE.status.keys() == set(STATUSES)
    assert UNICODE.states.keys() == {state.value for state in State}
    assert len(set(UNICODE.states.values())) == len(set(ASCII.states.values())) == len(State)
