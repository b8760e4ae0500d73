"""The space-time view: a line for each node, messages between them, time flowing down or to the right."""

from lab.tui.views.diagram.deeds import diagram_deeds
from lab.tui.views.diagram.view import DiagramView

__all__ = ["DiagramView", "diagram_deeds"]
