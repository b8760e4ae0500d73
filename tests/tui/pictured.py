"""Pictures of the diagram as text, without a terminal."""

from pathlib import Path

from lab.glyphs import glyphs_for
from lab.recording.reader import open_recording
from lab.recording.timeline import Timeline
from lab.styles import ThemeStyles
from lab.tui.player import Cursor
from lab.tui.views.diagram_canvas import Canvas
from lab.tui.views.diagram_picture import draw
from lab.tui.views.diagram_scene import Scene, plane_of
from lab.tui.views.diagram_window import Focus, PickedKey, Selection

__all__ = ["pictured", "text_of"]

UNICODE, ASCII = {"LANG": "C.UTF-8", "TERM": "xterm"}, {"TERM": "linux"}


def pictured(
    path: Path,
    at_us: int,
    size: tuple[int, int],
    zoom: int = 0,
    down: bool = True,
    fine: bool = True,
    heartbeats: bool = False,
    hides_future: bool = False,
    selected: int | None = None,
    picked: PickedKey | None = None,
) -> Canvas:
    """Return the picture with the cursor at an instant, for a size and a zoom level."""
    lines = open_recording(path)
    try:
        styles = ThemeStyles(glyphs_for(UNICODE if fine else ASCII))
        timeline = Timeline(lines)
        moment = Cursor(timeline.at(timeline.record_at(at_us)), at_us, selected, hides_future=hides_future)
        plane = plane_of(sorted(lines.header.nodes), selected, *size, down)
        focus = Focus(lines)
        for _ in range(zoom):
            focus.zoom(1)
        hidden = frozenset() if heartbeats else frozenset(lines.header.protocol.heartbeats)
        version = None
        while version != focus.window.version:
            version = focus.window.version
            focus.update(moment, plane.along, hidden, 1 if down else 3)
        window = focus.window
        selection = Selection(window)
        selection.picked = picked
        return draw(Scene(focus, plane, moment, styles, hidden, selection))
    finally:
        lines.close()


def text_of(canvas: Canvas) -> str:
    """Return its lines without trailing blanks."""
    rows = ("".join(text for text, _ in canvas.row(y)).rstrip() for y in range(canvas.height))
    return "\n".join(rows).rstrip("\n")
