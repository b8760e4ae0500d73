"""The state of a link as a short text, with as much detail as fits."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.style import Style

from lab.recording.snapshot import InFlightMessage
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.network.links import LinkEffect

__all__ = ["FAULT_LABELS", "OUTCOMES", "cell_of", "label_of", "style_of"]

FAULT_LABELS = {
    "open": "open",
    "cut": "cut",
    "hold": "held",
    "lose": "lost",
    "delay": "delayed",
    "reorder": "reordered",
    "duplicate": "duplicated",
    "other": "other fault",
}
"""The effect on messages, in the order of the legend."""
OUTCOMES = {"cut": "cut", "hold": "held", "lose": "lost"}
"""The outcome of messages under the faults that stop them. Under others, they time out at worst."""
_IN_WORDS = ("cut", "hold")
_LONGEST = 24


def label_of(effect: LinkEffect, theme_styles: ThemeStyles, short: bool = False) -> str:
    """Return the sign of an effect, its amount, and the affected kinds of messages; in brackets if it is inert."""
    sign = theme_styles.glyphs.links[effect.name]
    word = f" {FAULT_LABELS[effect.name]}" if effect.name in _IN_WORDS else ""
    amount = word or effect.amount or ("" if effect.name != "other" else f" {effect.fault.kind}")
    kinds = "" if not effect.kinds else "…" if short else f" {' '.join(effect.kinds)}"
    if short:
        amount = amount.partition(" ±")[0]
    return _bracketed(sanitize(f"{sign}{amount}{kinds}", _LONGEST), effect)


def cell_of(
    effects: tuple[LinkEffect, ...], in_flight: tuple[InFlightMessage, ...], theme_styles: ThemeStyles, width: int
) -> list[Piece]:
    """Return the longest text about a link that fits into ``width``, or the shortest one."""
    candidates = list(_candidates(effects, in_flight, theme_styles))
    fitting = (each for each in candidates if cell_len("".join(text for text, _ in each)) <= width)
    return next(fitting, candidates[-1])


def _candidates(
    effects: tuple[LinkEffect, ...], in_flight: tuple[InFlightMessage, ...], theme_styles: ThemeStyles
) -> Iterator[list[Piece]]:
    """Yield the texts about a link, from the longest to the shortest."""
    flying = _in_flight_pieces(in_flight, theme_styles)
    if not effects:
        yield flying or [(theme_styles.glyphs.links["open"], DIM)]
        yield [(text[0], style) for text, style in flying[:1]]
        return
    # A cut link drops everything, so its other faults do not matter.
    shown = effects[:1] if effects[0].name == "cut" else effects
    signs = [(each, theme_styles.glyphs.links[each.name]) for each in shown]
    for labels in (
        [(each, label_of(each, theme_styles)) for each in shown],
        [(each, label_of(each, theme_styles, short=True)) for each in shown],
        [(each, _bracketed(sign, each)) for each, sign in signs],
        signs,
    ):
        pieces = [
            (f"{' ' if place else ''}{text}", style_of(each, theme_styles))
            for place, (each, text) in enumerate(labels)
        ]
        for more in (flying, []):
            yield [*pieces, *([(" ", DIM), *more] if more else [])]
    yield [(signs[0][1], style_of(signs[0][0], theme_styles))]


def _in_flight_pieces(in_flight: tuple[InFlightMessage, ...], theme_styles: ThemeStyles) -> list[Piece]:
    """Return how many messages are in flight, and how many are held."""
    held = sum(flight.copies for flight in in_flight if flight.held)
    flying = sum(flight.copies for flight in in_flight if not flight.held)
    pieces: list[Piece] = []
    if flying:
        pieces.append((f"{theme_styles.glyphs.arrow}{flying}", theme_styles.accent))
    if held:
        pieces.append(
            (f"{' ' if flying else ''}{theme_styles.glyphs.links['hold']}{held}", theme_styles.fate("held"))
        )
    return pieces


def _bracketed(text: str, effect: LinkEffect) -> str:
    return f"({text})" if effect.is_inert else text


def style_of(effect: LinkEffect, theme_styles: ThemeStyles) -> Style:
    """Return the style of an effect; dim if it is inert."""
    style = theme_styles.fate(OUTCOMES.get(effect.name, "timed out"))
    return style + DIM if effect.is_inert else style
