"""The text about a link: its latency, the faults in force, and the messages in flight."""

from lab.analysis.connectivity import Pair
from lab.recording.records import Link
from lab.text import sanitize
from lab.tui.nodes.pane import process_text
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.network.link_signs import style_of
from lab.tui.views.network.links import STOPPED, NetworkNow
from lab.units import format_count, format_us

__all__ = ["describe_link", "format_latency"]

_MOST_FLIGHTS = 5
_LONGEST = 60


def format_latency(link: Link) -> str:
    """Return the base latency of every link, before any fault."""
    if not (link.latency_us or link.jitter_us):
        return "no base latency"
    jitter = f" ±{format_us(link.jitter_us)}" if link.jitter_us else ""
    return f"{format_us(link.latency_us)}{jitter}"


def describe_link(link: Pair, now: NetworkNow, base: Link, now_us: int, theme_styles: ThemeStyles) -> list[Piece]:
    """Return the text about a link, phrase by phrase."""
    source, target = link
    if source not in now.nodes or target not in now.nodes:
        return []
    if source == target:
        return [(f"{source} has no link to itself", DIM)]
    phrases: list[Piece] = [
        (f"{source} {theme_styles.glyphs.arrow} {target}:", theme_styles.accent),
        (format_latency(base), DIM),
    ]
    for effect in now.effects.get(link, ()):
        fault = effect.fault
        touched = f"{format_count(fault.touched, 'message')} so far" if fault.touched else "no effect so far"
        text = f"{sanitize(fault.text or fault.kind, _LONGEST)}, since {fault.since_us / 1e6:.3f} s, {touched}"
        phrases.append((f"{theme_styles.glyphs.links[effect.name]} {text}", style_of(effect, theme_styles)))
    in_flight = now.in_flight.get(link, ())
    for flight in in_flight[:_MOST_FLIGHTS]:
        kind, age = sanitize(flight.kind, _LONGEST), f"{max(0, now_us - flight.sent_us) / 1e6:.3f} s"
        copies = f", {flight.copies} copies, sent {age} ago" if flight.copies > 1 else f", sent {age} ago"
        sign = theme_styles.glyphs.links["hold"] if flight.held else theme_styles.glyphs.arrow
        style = theme_styles.fate("held") if flight.held else theme_styles.accent
        phrases.append((f"{sign} {kind}{' held' if flight.held else ''}{copies}", style))
    if len(in_flight) > _MOST_FLIGHTS:
        phrases.append((f"and {format_count(len(in_flight) - _MOST_FLIGHTS, 'more message')}", DIM))
    if not in_flight:
        phrases.append(("nothing in flight", DIM))
    return [*phrases, *_endpoint_pieces(link, now, theme_styles)]


def _endpoint_pieces(link: Pair, now: NetworkNow, theme_styles: ThemeStyles) -> list[Piece]:
    """Return what a stopped or paused end means for the link."""
    source, target = (now.nodes[node] for node in link)
    pieces = []
    if source.process in STOPPED:
        pieces.append(
            (
                f"{source.id} is {process_text(source.process)} and sends nothing",
                theme_styles.status(source.process),
            )
        )
    if target.process in STOPPED:
        pieces.append(
            (
                f"{target.id} is {process_text(target.process)}: messages to it are lost",
                theme_styles.status(target.process),
            )
        )
    if target.process == "paused":
        pieces.append(
            (f"{target.id} is paused: messages to it wait until it resumes", theme_styles.status("paused"))
        )
    return pieces
