"""What the keys of a run's screen are bound to: the actions in the order of the footer, and digits, for nodes."""

import string

from textual.binding import Binding

from lab.tui.actions import ACTIONS, Action, in_footer_order

__all__ = ["action_bound", "bindings"]


def _call(action: Action) -> str:
    return f"do('{action.word}')"


_BY_CALL = {_call(action): action for action in ACTIONS}


def action_bound(binding: Binding) -> Action | None:
    """The action that it is of; none for the keys of a view, or a digit."""
    return _BY_CALL.get(binding.action)


def bindings() -> list[Binding]:
    """Of all keys alike, so that those that are typed ahead, ``p5``, are done in their order."""
    digits = [Binding(digit, f"digit('{digit}')", "select a node", show=False) for digit in string.digits]
    actions = [
        Binding(
            action.keys,
            _call(action),
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
