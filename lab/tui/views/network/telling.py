"""A link in words: how long a message takes, which faults are in force there, and what is on its way."""

from lab.analysis.connectivity import Pair
from lab.recording.records import Link
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.network.links import GONE, NetworkNow
from lab.tui.views.network.signs import style_of
from lab.units import count_of, format_us

__all__ = ["latency_said", "link_told"]

_MOST_FLIGHTS = 5
_LONGEST = 60


def latency_said(link: Link) -> str:
    """How long every message takes on every link, before any fault."""
    if not (link.latency_us or link.jitter_us):
        return "no delay of its own"
    jitter = f" ±{format_us(link.jitter_us)}" if link.jitter_us else ""
    return f"{format_us(link.latency_us)}{jitter}"


def link_told(link: Pair, now: NetworkNow, base: Link, now_us: int, theme_styles: ThemeStyles) -> list[Piece]:
    """The link in words, phrase by phrase."""
    source, target = link
    if source not in now.nodes or target not in now.nodes:
        return []
    if source == target:
        return [(f"{source} has no link to itself", DIM)]
    phrases: list[Piece] = [
        (f"{source} {theme_styles.glyphs.arrow} {target}:", theme_styles.accent),
        (latency_said(base), DIM),
    ]
    for trouble in now.troubles.get(link, ()):
        fault = trouble.fault
        touched = f"{count_of(fault.touched, 'message')} so far" if fault.touched else "inert so far"
        said = f"{sanitize(fault.text or fault.kind, _LONGEST)}, since {fault.since_us / 1e6:.3f} s, {touched}"
        phrases.append((f"{theme_styles.glyphs.links[trouble.sort]} {said}", style_of(trouble, theme_styles)))
    in_flight = now.in_flight.get(link, ())
    for flight in in_flight[:_MOST_FLIGHTS]:
        kind, age = sanitize(flight.kind, _LONGEST), f"{max(0, now_us - flight.sent_us) / 1e6:.3f} s"
        copies = f" twice, sent {age} ago" if flight.copies > 1 else f", sent {age} ago"
        sign = theme_styles.glyphs.links["hold"] if flight.held else theme_styles.glyphs.arrow
        style = theme_styles.fate("held") if flight.held else theme_styles.accent
        phrases.append((f"{sign} {kind}{' held' if flight.held else ''}{copies}", style))
    if len(in_flight) > _MOST_FLIGHTS:
        phrases.append((f"and {count_of(len(in_flight) - _MOST_FLIGHTS, 'more message')}", DIM))
    if not in_flight:
        phrases.append(("nothing on its way", DIM))
    return [*phrases, *_of_ends(link, now, theme_styles)]


def _of_ends(link: Pair, now: NetworkNow, theme_styles: ThemeStyles) -> list[Piece]:
    """What an end that does not run means for the link."""
    source, target = (now.nodes[node] for node in link)
    told = []
    if source.process in GONE:
        told.append(
            (f"{source.id} is {_said(source.process)}, and sends nothing", theme_styles.status(source.process))
        )
    if target.process in GONE:
        told.append(
            (f"what comes to {target.id}, {_said(target.process)}, is lost", theme_styles.status(target.process))
        )
    if target.process == "paused":
        told.append((f"{target.id} is paused: it takes what comes when it goes on", theme_styles.status("paused")))
    return told


def _said(process: str) -> str:
    return "not started" if process == "absent" else process
