"""The clients and services of a run in one row: what became of the calls, and what each node does now."""

from collections.abc import Iterable, Iterator, Mapping

from rich.style import Style
from rich.text import Text

from lab.recording.snapshot import NodeState
from lab.styles import DIM, Piece, ThemeStyles, fit, width_of
from lab.text import sanitize
from lab.tui.widgets.pane import process_text
from lab.tui.widgets.status_lines import Line

_GAP = "  "
_SLOT = 12
"""The columns for what a node does, so that the others do not move when it does something: ``c4 Write → 1``."""
_COUNTED = {"ok": "ok", "failed": "errors", "unknown": "unanswered"}
"""The fields in which a client counts its calls since it has started, and what they are called here."""
_ANSWERS = " answers"
_LONGEST_NAME, _LONGEST_CALL = 16, 24


class OutsideLine(Line):
    """The nodes outside the cluster. Without any, it does not exist."""

    DEFAULT_CSS = "OutsideLine { height: 1; padding: 0 1; }"

    def show(self, nodes: Iterable[NodeState], names: Mapping[int, str], styles: ThemeStyles) -> None:
        """Show these nodes, which have names."""
        pieces = outside_pieces(nodes, names, styles)
        self.put(Text.assemble(*fit(pieces, self.content_size.width or self.app.size.width - 2)))


def outside_pieces(nodes: Iterable[NodeState], names: Mapping[int, str], styles: ThemeStyles) -> list[Piece]:
    """Return what became of all calls, and what each node does: ``calls 152 ok, 1 unanswered  c4 Write → 1``."""
    views = sorted(nodes, key=lambda view: view.id)
    pieces = list(_counts(views, styles))
    for view in views:
        name = sanitize(names.get(view.id, str(view.id)), _LONGEST_NAME)
        cell = [(name, Style(bold=True)), *_activity(view, names, styles)]
        padding = " " * max(0, _SLOT - width_of(cell))
        pieces += [(_GAP if pieces else "", Style()), *cell, (padding, Style())]
    return pieces


def _counts(views: Iterable[NodeState], styles: ThemeStyles) -> Iterator[Piece]:
    """Yield how many calls of all clients had each outcome; those without an answer stand out."""
    states = [view.state for view in views if all(isinstance(view.state.get(name), int) for name in _COUNTED)]
    for field, word in _COUNTED.items() if states else ():
        number = sum(state[field] for state in states)
        if field == "ok":
            yield f"calls {number:,} {word}", Style()
        elif number:
            yield f", {number:,} {word}", styles.warning if field == "unknown" else Style()


def _activity(view: NodeState, names: Mapping[int, str], styles: ThemeStyles) -> Iterator[Piece]:
    """Yield what a node does, if it has called an operation, or if its process is not running."""
    wait = view.waits[0] if view.waits else None
    if view.process != "running":
        yield f" {styles.glyph(view.process)} {process_text(view.process)}", styles.status(view.process)
    elif wait is not None and wait.peers and wait.what.endswith(_ANSWERS):
        asked = " ".join(names.get(peer, str(peer)) for peer in wait.peers)
        call = f"{wait.what.removesuffix(_ANSWERS)} {styles.glyphs.arrow} {asked}"
        yield f" {sanitize(call, _LONGEST_CALL)}", DIM
