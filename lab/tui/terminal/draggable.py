"""Widgets that are dragged by the mouse.

A widget that captured the mouse in its own handler of the press would do so too late where the terminal sends a
whole drag at once, as it does over a slow line: the rest would go to whatever lies below. So the application does.
"""


class Draggable:
    """A widget that receives all events of the mouse from where a button is pressed on it until it is released."""

    def is_grabbed_at(self, x: int, y: int) -> bool:
        """Return whether a drag may begin at this place of the screen, which is on the widget."""
        return True
