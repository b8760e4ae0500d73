"""The whole picture, in lines of pieces of text."""

from lab.tui.views.diagram.arrows import draw_arrows
from lab.tui.views.diagram.canvas import Canvas
from lab.tui.views.diagram.lines import draw_lines, draw_words
from lab.tui.views.diagram.scene import Scene
from lab.tui.views.diagram.words import draw_axis, draw_bands, draw_cursor, draw_events, draw_names

__all__ = ["drawn"]


def drawn(scene: Scene) -> Canvas:
    """The picture of that scene; its last line is left free."""
    plane = scene.plane
    canvas = Canvas(plane.width, plane.height, fine=not scene.signs.lost.isascii())
    draw_names(canvas, scene)
    draw_axis(canvas, scene)
    lines = draw_lines(canvas, scene)
    draw_arrows(canvas, scene)
    draw_words(canvas, scene, lines)
    draw_events(canvas, scene)
    draw_bands(canvas, scene)
    draw_cursor(canvas, scene)
    return canvas
