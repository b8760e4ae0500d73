"""The handlers of the diagram's actions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.tui.action_handlers import ActionHandler
    from lab.tui.screen import RunScreen

__all__ = ["diagram_actions"]


def diagram_actions(screen: "RunScreen") -> "dict[str, ActionHandler]":
    """Return the handlers of the actions that are available while the diagram is visible."""
    diagram = screen.views.diagram

    def jump(_: str) -> None:
        if message := diagram.jump():
            screen.show_message(message, warn=True)

    return {
        "zoom-in": lambda _: screen.show_message(diagram.zoom(-1)),
        "zoom-out": lambda _: screen.show_message(diagram.zoom(1)),
        "turn": lambda _: screen.show_message(diagram.turn()),
        "jump": jump,
    }
