"""What the keys of a run's screen are bound to: the actions in the order of the footer, and digits, for nodes."""

import string

from textual.binding import Binding

from lab.tui.actions import in_footer_order

__all__ = ["bindings"]


def bindings() -> list[Binding]:
    """Of all keys alike, so that those that are typed ahead, ``p5``, are done in their order."""
    digits = [Binding(digit, f"digit('{digit}')", "select a node", show=False) for digit in string.digits]
    actions = [
        Binding(
            action.keys,
            f"do('{action.word}')",
            action.footer or action.help,
            show=bool(action.footer),
            key_display=action.shown,
            tooltip=action.help,
            priority=action.word == "command",  # what is typed after the colon may be here already
        )
        for action in in_footer_order()
        if action.keys
    ]
    return digits + actions
