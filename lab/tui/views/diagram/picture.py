"""The picture of the diagram, drawn in layers."""

from lab.tui.views.diagram.canvas import Canvas
from lab.tui.views.diagram.diagram_labels import draw_axis, draw_bands, draw_cursor, draw_events, draw_names
from lab.tui.views.diagram.diagram_messages import draw_messages
from lab.tui.views.diagram.node_lines import draw_lines, draw_words
from lab.tui.views.diagram.scene import Scene

__all__ = ["draw"]


def draw(scene: Scene) -> Canvas:
    """Draw a scene. The last row stays free."""
    plane = scene.plane
    canvas = Canvas(plane.width, plane.height, fine=not scene.signs.lost.isascii())
    draw_names(canvas, scene)
    draw_axis(canvas, scene)
    lines = draw_lines(canvas, scene)
    draw_messages(canvas, scene)
    draw_words(canvas, scene, lines)
    draw_events(canvas, scene)
    draw_bands(canvas, scene)
    draw_cursor(canvas, scene)
    return canvas
