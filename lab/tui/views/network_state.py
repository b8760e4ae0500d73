"""The state of the network at a record: which nodes can communicate, and each link as text, a label or in full.

Two nodes are connected directly if neither of the links between them is closed. A component consists of the nodes
that are connected through chains of such pairs; inside a component, some links may still be closed.

A fault's record holds its amount (delay, loss) only as the text of the command, so that is parsed again.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from msgspec import Struct
from rich.style import Style

from lab.analysis.group_history import GroupLog
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Link
from lab.recording.snapshot import ActiveFault, InFlightMessage, NodeState
from lab.script.commands import LinkFault, Slow
from lab.script.parse import parse
from lab.script.scope import CommandError
from lab.styles import DIM, Line, ThemeStyles, width_of
from lab.text import sanitize
from lab.tui.widgets.pane import STOPPED, process_text
from lab.units import format_count, format_us

Pair = tuple[int, int]
"""A directed link: (source, target)."""


class Connections(Struct, frozen=True):
    """Components, each in ascending order, sorted by their lowest nodes, and the ``closed`` links."""

    components: tuple[tuple[int, ...], ...]
    closed: frozenset[Pair]

    def closed_within(self, component: tuple[int, ...]) -> tuple[Pair, ...]:
        """Return the closed links inside a component."""
        return tuple((a, b) for a in component for b in component if (a, b) in self.closed)

    def open_links(self, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[Pair, ...]:
        """Return the open links between two components, first those from ``one`` to ``other``."""
        links = [*((a, b) for a in one for b in other), *((b, a) for b in other for a in one)]
        return tuple(link for link in links if link not in self.closed)


def connected(nodes: Iterable[int], closed: Collection[Pair]) -> Connections:
    """Return the components of these nodes, given the closed links."""
    shut = frozenset(closed)
    left = sorted(set(nodes))
    components = []
    while left:
        component, grown = [left[0]], 0
        left = left[1:]
        while grown < len(component):
            one = component[grown]
            near = [other for other in left if (one, other) not in shut and (other, one) not in shut]
            component += near
            left = [other for other in left if other not in near]
            grown += 1
        components.append(tuple(sorted(component)))
    return Connections(tuple(components), shut)


_EFFECT_NAMES = {
    "cut": "cut",
    "partition": "cut",
    "hold": "hold",
    "lose": "lose",
    "delay": "delay",
    "slow": "delay",
    "reorder": "reorder",
    "duplicate": "duplicate",
}
"""The effect of each kind of link fault; the most important first."""
_RANK = {name: place for place, name in enumerate(_EFFECT_NAMES.values())}


class LinkEffect(Struct, frozen=True):
    """The effect of a fault on its links. ``amount`` is as in the command, or empty.

    ``kinds``: only messages of these kinds are affected; empty: all. ``closes``: nothing passes.
    """

    fault: ActiveFault
    name: str
    amount: str = ""
    kinds: tuple[str, ...] = ()
    closes: bool = False

    @property
    def is_inert(self) -> bool:
        """True if the fault has touched no message so far, on any of its links."""
        return not self.fault.touched


class NetworkNode(Struct, frozen=True):
    """A node of the network. ``group`` is the name of its group and the number of the group's colour, if any."""

    id: int
    process: str
    leads: bool
    group: tuple[str, int] | None = None


class NetworkNow(Struct, frozen=True):
    """The network at a record. ``effects`` and ``in_flight`` list only links between known nodes that have any."""

    nodes: dict[int, NetworkNode]
    effects: dict[Pair, tuple[LinkEffect, ...]]
    in_flight: dict[Pair, tuple[InFlightMessage, ...]]
    connections: Connections

    def stopped(self) -> list[NetworkNode]:
        """Return the nodes on no side, because they do not run."""
        return [member for member in self.nodes.values() if member.process != "running"]


def network_now(cluster: ClusterState, groups: GroupLog) -> NetworkNow:
    """Return the state of the network in a cluster state."""
    views = [cluster.nodes[node] for node in sorted(cluster.nodes)]
    effects: dict[Pair, list[LinkEffect]] = {}
    for effect in sorted(map(effect_of, cluster.faults.values()), key=lambda each: _RANK.get(each.name, 99)):
        for source, target in dict.fromkeys(effect.fault.links):
            if source != target and source in cluster.nodes and target in cluster.nodes:
                effects.setdefault((source, target), []).append(effect)
    in_flight: dict[Pair, list[InFlightMessage]] = {}
    for flight in cluster.in_flight.values():
        if flight.source in cluster.nodes and flight.target in cluster.nodes:
            in_flight.setdefault((flight.source, flight.target), []).append(flight)
    closed = [link for link, here in effects.items() if any(effect.closes for effect in here)]
    return NetworkNow(
        {view.id: _network_node(view, groups, cluster.record) for view in views},
        {link: tuple(here) for link, here in effects.items()},
        {link: tuple(here) for link, here in in_flight.items()},
        connected((view.id for view in views if view.process == "running"), closed),
    )


def _network_node(view: NodeState, groups: GroupLog, record: int) -> NetworkNode:
    group = groups.group_of(view, record)
    leads = view.leads and view.process not in STOPPED
    return NetworkNode(view.id, view.process, leads, None if group is None else (group.name, group.hue))


def effect_of(fault: ActiveFault) -> LinkEffect:
    """Return the effect of a fault on its links."""
    name = _EFFECT_NAMES.get(fault.kind, "other")
    if name == "cut":
        return LinkEffect(fault, name, closes=True)
    command = _command(fault.text) if fault.links else None
    if not isinstance(command, LinkFault | Slow) or fault.text.split()[0] != fault.kind:
        return LinkEffect(fault, name)  # a foreign recording may have any text there
    kinds = () if isinstance(command, Slow) else command.kinds
    stops = name == "hold" or (isinstance(command, LinkFault) and name == "lose" and command.probability == 1)
    return LinkEffect(fault, name, command.amount, kinds, stops and not kinds)


@lru_cache(maxsize=256)
def _command(text: str) -> object:
    try:
        return parse(text).command
    except CommandError:
        return None


# a label

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
_LONGEST_LABEL = 24


def label_of(effect: LinkEffect, styles: ThemeStyles, short: bool = False) -> str:
    """Return the sign of an effect, its amount, and the affected kinds of messages; in brackets if it is inert."""
    sign = styles.glyphs.links[effect.name]
    word = f" {FAULT_LABELS[effect.name]}" if effect.name in _IN_WORDS else ""
    amount = word or effect.amount or ("" if effect.name != "other" else f" {effect.fault.kind}")
    kinds = "" if not effect.kinds else "…" if short else f" {' '.join(effect.kinds)}"
    if short:
        amount = amount.partition(" ±")[0]
    return _bracketed(sanitize(f"{sign}{amount}{kinds}", _LONGEST_LABEL), effect)


def cell_of(
    effects: tuple[LinkEffect, ...], in_flight: tuple[InFlightMessage, ...], styles: ThemeStyles, width: int
) -> Line:
    """Return the longest text about a link that fits into ``width``, or the shortest one."""
    candidates = list(_candidates(effects, in_flight, styles))
    fitting = (each for each in candidates if width_of(each) <= width)
    return next(fitting, candidates[-1])


def _candidates(
    effects: tuple[LinkEffect, ...], in_flight: tuple[InFlightMessage, ...], styles: ThemeStyles
) -> Iterator[Line]:
    """Yield the texts about a link, from the longest to the shortest."""
    flying = _in_flight_pieces(in_flight, styles)
    if not effects:
        yield flying or [(styles.glyphs.links["open"], DIM)]
        yield [(text[0], style) for text, style in flying[:1]]
        return
    # A cut link drops everything, so its other faults do not matter.
    shown = effects[:1] if effects[0].name == "cut" else effects
    signs = [(each, styles.glyphs.links[each.name]) for each in shown]
    for labels in (
        [(each, label_of(each, styles)) for each in shown],
        [(each, label_of(each, styles, short=True)) for each in shown],
        [(each, _bracketed(sign, each)) for each, sign in signs],
        signs,
    ):
        pieces = [
            (f"{' ' if place else ''}{text}", style_of(each, styles)) for place, (each, text) in enumerate(labels)
        ]
        for more in (flying, []):
            yield [*pieces, *([(" ", DIM), *more] if more else [])]
    yield [(signs[0][1], style_of(signs[0][0], styles))]


def _in_flight_pieces(in_flight: tuple[InFlightMessage, ...], styles: ThemeStyles) -> Line:
    """Return how many messages are in flight, and how many are held."""
    held = sum(flight.copies for flight in in_flight if flight.held)
    flying = sum(flight.copies for flight in in_flight if not flight.held)
    pieces: Line = []
    if flying:
        pieces.append((f"{styles.glyphs.arrow}{flying}", styles.accent))
    if held:
        pieces.append((f"{' ' if flying else ''}{styles.glyphs.links['hold']}{held}", styles.fate("held")))
    return pieces


def _bracketed(text: str, effect: LinkEffect) -> str:
    return f"({text})" if effect.is_inert else text


def style_of(effect: LinkEffect, styles: ThemeStyles) -> Style:
    """Return the style of an effect; dim if it is inert."""
    style = styles.fate(OUTCOMES.get(effect.name, "timed out"))
    return style + DIM if effect.is_inert else style


# the full description

_MOST_FLIGHTS = 5
_LONGEST = 60


def format_latency(link: Link) -> str:
    """Return the base latency of every link, before any fault."""
    if not (link.latency_us or link.jitter_us):
        return "no base latency"
    jitter = f" ±{format_us(link.jitter_us)}" if link.jitter_us else ""
    return f"{format_us(link.latency_us)}{jitter}"


def describe_link(link: Pair, now: NetworkNow, base: Link, now_us: int, styles: ThemeStyles) -> Line:
    """Return the text about a link, phrase by phrase."""
    source, target = link
    if source not in now.nodes or target not in now.nodes:
        return []
    if source == target:
        return [(f"{source} has no link to itself", DIM)]
    phrases: Line = [
        (f"{source} {styles.glyphs.arrow} {target}:", styles.accent),
        (format_latency(base), DIM),
    ]
    for effect in now.effects.get(link, ()):
        fault = effect.fault
        touched = f"{format_count(fault.touched, 'message')} so far" if fault.touched else "no effect so far"
        text = f"{sanitize(fault.text or fault.kind, _LONGEST)}, since {fault.since_us / 1e6:.3f} s, {touched}"
        phrases.append((f"{styles.glyphs.links[effect.name]} {text}", style_of(effect, styles)))
    in_flight = now.in_flight.get(link, ())
    for flight in in_flight[:_MOST_FLIGHTS]:
        kind, age = sanitize(flight.kind, _LONGEST), f"{max(0, now_us - flight.sent_us) / 1e6:.3f} s"
        copies = f", {flight.copies} copies, sent {age} ago" if flight.copies > 1 else f", sent {age} ago"
        sign = styles.glyphs.links["hold"] if flight.held else styles.glyphs.arrow
        style = styles.fate("held") if flight.held else styles.accent
        phrases.append((f"{sign} {kind}{' held' if flight.held else ''}{copies}", style))
    if len(in_flight) > _MOST_FLIGHTS:
        phrases.append((f"and {format_count(len(in_flight) - _MOST_FLIGHTS, 'more message')}", DIM))
    if not in_flight:
        phrases.append(("nothing in flight", DIM))
    return [*phrases, *_endpoint_pieces(link, now, styles)]


def _endpoint_pieces(link: Pair, now: NetworkNow, styles: ThemeStyles) -> Line:
    """Return what a stopped or paused end means for the link."""
    source, target = (now.nodes[node] for node in link)
    pieces = []
    if source.process in STOPPED:
        pieces.append(
            (f"{source.id} is {process_text(source.process)} and sends nothing", styles.status(source.process))
        )
    if target.process in STOPPED:
        pieces.append(
            (
                f"{target.id} is {process_text(target.process)}: messages to it are lost",
                styles.status(target.process),
            )
        )
    if target.process == "paused":
        pieces.append((f"{target.id} is paused: messages to it wait until it resumes", styles.status("paused")))
    return pieces
