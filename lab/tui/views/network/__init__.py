"""The network view: which nodes can communicate, and the effect of each link on messages."""

from lab.tui.views.network.editing import edit_link
from lab.tui.views.network.network_view import NetworkView

__all__ = ["NetworkView", "edit_link"]
