"""The space-time diagram: a line for each node, messages between them, time flowing down or to the right."""

from lab.tui.views.diagram.diagram_actions import diagram_actions
from lab.tui.views.diagram.diagram_view import DiagramView

__all__ = ["DiagramView", "diagram_actions"]
