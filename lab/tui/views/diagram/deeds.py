"""What the actions of the diagram do on the screen of a run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.tui.deeds import Deed
    from lab.tui.screen import RunScreen

__all__ = ["diagram_deeds"]


def diagram_deeds(screen: "RunScreen") -> "dict[str, Deed]":
    """They are offered while the diagram is seen."""
    diagram = screen.views.diagram

    def jump(_: str) -> None:
        if said := diagram.jump():
            screen.say(said, warn=True)

    return {
        "zoom-in": lambda _: screen.say(diagram.zoom(-1)),
        "zoom-out": lambda _: screen.say(diagram.zoom(1)),
        "turn": lambda _: screen.say(diagram.turn()),
        "jump": jump,
    }
