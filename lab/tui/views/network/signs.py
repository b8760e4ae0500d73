"""A link in few letters: what there is to say of it in as many columns as there are."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.style import Style

from lab.recording.snapshot import InFlightMessage
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.network.links import Trouble

__all__ = ["FATES", "NAMES", "cell_of", "label_of", "style_of"]

NAMES = {
    "open": "open",
    "cut": "cut",
    "hold": "held",
    "lose": "lost",
    "delay": "late",
    "reorder": "overtaken",
    "duplicate": "twice",
    "other": "another fault",
}
"""What becomes of messages; in the order of the legend."""
FATES = {"cut": "cut", "hold": "held", "lose": "lost"}
"""Of what stops messages; what does not makes them come too late, if anything."""
_IN_WORDS = ("cut", "hold")
_LONGEST = 24


def label_of(trouble: Trouble, theme_styles: ThemeStyles, short: bool = False) -> str:
    """Its sign, and by how much; of what concerns only some kinds of messages, those too. In brackets: inert."""
    sign = theme_styles.glyphs.links[trouble.sort]
    word = f" {NAMES[trouble.sort]}" if trouble.sort in _IN_WORDS else ""
    amount = word or trouble.amount or ("" if trouble.sort != "other" else f" {trouble.fault.kind}")
    kinds = "" if not trouble.kinds else "…" if short else f" {' '.join(trouble.kinds)}"
    if short:
        amount = amount.partition(" ±")[0]
    return _bracketed(sanitize(f"{sign}{amount}{kinds}", _LONGEST), trouble)


def cell_of(
    troubles: tuple[Trouble, ...], in_flight: tuple[InFlightMessage, ...], theme_styles: ThemeStyles, width: int
) -> list[Piece]:
    """All that there is to say of a link, or as much of it as has room; something always has."""
    choices = list(_choices(troubles, in_flight, theme_styles))
    fitting = (each for each in choices if cell_len("".join(text for text, _ in each)) <= width)
    return next(fitting, choices[-1])


def _choices(
    troubles: tuple[Trouble, ...], in_flight: tuple[InFlightMessage, ...], theme_styles: ThemeStyles
) -> Iterator[list[Piece]]:
    """From the longest to the shortest."""
    flying = _signed(in_flight, theme_styles)
    if not troubles:
        yield flying or [(theme_styles.glyphs.links["open"], DIM)]
        yield [(text[0], style) for text, style in flying[:1]]
        return
    # where nothing passes at all it does not matter what would happen to it
    shown = troubles[:1] if troubles[0].sort == "cut" else troubles
    signs = [(each, theme_styles.glyphs.links[each.sort]) for each in shown]
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


def _signed(in_flight: tuple[InFlightMessage, ...], theme_styles: ThemeStyles) -> list[Piece]:
    """How many messages are on their way, and how many of them are held."""
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


def _bracketed(text: str, trouble: Trouble) -> str:
    return f"({text})" if trouble.is_inert else text


def style_of(trouble: Trouble, theme_styles: ThemeStyles) -> Style:
    """The style of what becomes of messages; one that is inert is pale."""
    style = theme_styles.fate(FATES.get(trouble.sort, "too late"))
    return style + DIM if trouble.is_inert else style
