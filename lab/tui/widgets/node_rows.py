"""The nodes as rows: one line for each, in columns, with its last ten seconds. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.style import Style

from lab.analysis.elections import CALM
from lab.styles import DIM, Line, Piece, ThemeStyles, fit
from lab.tui.widgets.pane import STOPPED, STRIP_SECONDS, Pane, process_text
from lab.units import format_ranges

_BAR = 5
_NODE, _STATUS, _COORDINATOR, _GROUP, _FACTS = 7, 19, 12, 8, 40
_LEAST_FOR_STRIP, _LEAST_FOR_STRIP_AND_FACTS = 68, 100


class Columns(Struct, frozen=True):
    """The widths of the columns that depend on the protocol and on the room; 0 for one that is left out."""

    coordinator: int
    group: int
    facts: int
    strip: int


def columns_of(panes: Sequence[Pane], width: int) -> Columns:
    """Return the columns for these nodes in a line of ``width`` cells."""
    elects = not any(pane.facts for pane in panes)
    facts = 0 if elects or any(pane.task is not None for pane in panes) else _FACTS
    return Columns(
        coordinator=_COORDINATOR if elects else 0,
        group=_GROUP if any(pane.group is not None for pane in panes) else 0,
        facts=facts,
        strip=STRIP_SECONDS + 2 if width >= (_LEAST_FOR_STRIP_AND_FACTS if facts else _LEAST_FOR_STRIP) else 0,
    )


def heading(columns: Columns, width: int) -> Line:
    """Return the names of the columns."""
    names = [
        ("  node", _NODE),
        ("Status", _STATUS),
        ("coordinator", columns.coordinator),
        ("group", columns.group),
        ("state", columns.facts),
        (f"last {STRIP_SECONDS} s", columns.strip),
        ("activity", width),
    ]
    return fit([piece for name, cells in names for piece in fit([(name, DIM)], cells)], width)


def row(pane: Pane, columns: Columns, styles: ThemeStyles, is_selected: bool, is_marked: bool) -> Line:
    """Return the row of a node. ``is_marked``: it belongs to the witness of a violation."""
    sign = (f"{styles.glyphs.play} " if is_selected else "  ", styles.accent)
    number = (f"{pane.id:>2}", styles.warning if is_marked else Style(bold=True))
    pieces = fit([sign, number], _NODE)
    pieces += fit(status_pieces(pane, styles, is_brief=True), _STATUS)
    stopped = pane.process in STOPPED
    if columns.coordinator:
        leader = "" if stopped else "none" if pane.coordinator is None else str(pane.coordinator)
        pieces += fit([(leader, DIM if pane.coordinator is None else Style())], columns.coordinator)
    if columns.group:
        badge = Style() if pane.hue is None else styles.badge(pane.hue)
        pieces += fit([] if stopped or pane.group is None else [(f" {pane.group} ", badge)], columns.group)
    if columns.facts:
        pieces += fit([("  ".join(pane.facts), Style())], columns.facts)
    if columns.strip:
        pieces += fit(strip_pieces(pane, styles), columns.strip)
    return [*pieces, *_links(pane, styles), *_activity(pane, styles)]


def details(pane: Pane, styles: ThemeStyles) -> list[Line]:
    """Return the lines that open under the row of the selected node: its wait in full, and what it knows."""
    if pane.process in STOPPED:
        return []
    margin: Piece = (" " * _NODE, Style())
    up = f"up {' '.join(map(str, pane.up))}" if pane.up else ""
    facts = "  ".join(filter(None, (*pane.facts, up)))
    known: Line = [(facts, DIM)]
    if pane.task is not None:
        gap: Line = [("  ", Style())] if facts else []
        known = [*pane.task.state, *pane.task.work, *gap, *known]
    where = f"{pane.procedure}, line {pane.line}: {pane.waits}" if pane.procedure else pane.waits
    return [[margin, (where, Style() if pane.procedure else DIM)], [margin, *known]]


def status_pieces(pane: Pane, styles: ThemeStyles, is_brief: bool = False) -> Line:
    """Return the Status with its symbol; in brief, without the status in which a paused node stopped."""
    text = f"{styles.glyph(pane.shown)} {process_text(pane.shown)}"
    shown: Line = [(text, styles.status(pane.shown) + Style(bold=True))]
    if pane.process == "paused" and not is_brief:
        shown.append((f" in {pane.status}", styles.status(pane.status)))
    if pane.leads:
        shown.append((f" {styles.glyphs.leads}" + ("" if is_brief else f" {pane.leads}"), styles.leader))
    return shown


def strip_pieces(pane: Pane, styles: ThemeStyles) -> Line:
    """Return a symbol for each of the last seconds, dim where nothing was the matter."""
    return [
        (styles.glyph(each), styles.status(each) + DIM if each in CALM else styles.status(each))
        if each
        else (" ", Style())
        for each in pane.history
    ]


def time_left_pieces(pane: Pane, styles: ThemeStyles) -> Line:
    """Return the time left of a wait, as a bar and in seconds."""
    if pane.left_us is None:
        return []
    full = round(_BAR * min(1.0, pane.left_us / max(1, pane.total_us)))
    bar = [(styles.glyphs.full * full, styles.leader), (styles.glyphs.rest * (_BAR - full), DIM)]
    return [*bar, (f" {pane.left_us / 1e6:.1f} s ", Style())]


def _activity(pane: Pane, styles: ThemeStyles) -> Line:
    if pane.task is not None and pane.process not in STOPPED:
        return [*pane.task.state, ("  ", Style()), *pane.task.work, ("  ", Style()), (awaited(pane), DIM)]
    return [*time_left_pieces(pane, styles), (awaited(pane), Style() if pane.procedure else DIM)]


def awaited(pane: Pane) -> str:
    """Return what a node waits for: of a procedure without the words for *waits*, as its bar says that."""
    return pane.waits.removeprefix("waits for ") if pane.procedure else pane.waits


def _links(pane: Pane, styles: ThemeStyles) -> Line:
    return [(f"{pane.links}  ", styles.warning)] if pane.links else []


# which nodes are visible


def is_calm(pane: Pane) -> bool:
    """Return whether nothing is the matter with the node."""
    return pane.shown in CALM and not pane.links


def visible(panes: Sequence[Pane], selected: int | None, rows: int) -> tuple[tuple[Pane, ...], str]:
    """Return the nodes for so many rows, in their order, and what is left out; that takes a row as well.

    The selected node is in sight, then the leaders, then those with which something is the matter, then the first.
    """
    if len(panes) <= rows:
        return tuple(panes), ""

    def urgency(at: int) -> tuple[int, int]:
        pane = panes[at]
        kinds = (pane.id == selected, bool(pane.leads), not is_calm(pane))
        return kinds.index(True) if True in kinds else len(kinds), at

    kept = sorted(sorted(range(len(panes)), key=urgency)[: max(0, rows - 1)])
    hidden = [pane for at, pane in enumerate(panes) if at not in kept]
    return tuple(panes[at] for at in kept), _describe(hidden)


def _describe(panes: Iterable[Pane]) -> str:
    """Return how many nodes are not visible, and in which status they are."""
    ids: dict[str, list[int]] = {}
    for pane in panes:
        ids.setdefault(process_text(pane.shown), []).append(pane.id)
    count = sum(map(len, ids.values()))
    texts = ", ".join(f"{format_ranges(nodes)} {status}" for status, nodes in ids.items())
    return f"{count} more: {texts}"
