"""The network as it is at the cursor: who hears whom, and what each link does to messages."""

from lab.tui.views.network.editing import edit_link
from lab.tui.views.network.view import NetworkView

__all__ = ["NetworkView", "edit_link"]
