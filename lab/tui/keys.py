"""The key bindings of the run screen: the actions in the order of the footer, and digits to select nodes."""

import string

from textual.binding import Binding

from lab.tui.actions import ACTIONS, Action, footer_actions


def _call(action: Action) -> str:
    return f"do('{action.word}')"


_BY_CALL = {_call(action): action for action in ACTIONS}


def action_of(binding: Binding) -> Action | None:
    """Return the action of a binding; None for a digit and for the keys of a view."""
    return _BY_CALL.get(binding.action)


def bindings() -> list[Binding]:
    """Return the bindings of all keys."""
    # digits are bindings like the rest, so that keys typed ahead (``p5``) act in their order
    digits = [Binding(digit, f"digit('{digit}')", "select a node", show=False) for digit in string.digits]
    actions = [
        Binding(
            action.keys,
            _call(action),
            action.footer or action.help,
            show=bool(action.footer),
            key_display=action.shown,
            tooltip=action.help,
            priority=action.word == "command",  # the text typed after the colon may have arrived already
        )
        for action in footer_actions()
        if action.keys
    ]
    return digits + actions
