"""Digits typed one after the other, as the number of a node."""

import time

__all__ = ["Digits"]

_WITHIN_S = 0.7


class Digits:
    """Two digits in quick succession are a node of two digits, if there is one."""

    def __init__(self) -> None:
        self._typed = ""
        self._typed_at_s = 0.0

    def take(self, digit: str, nodes: tuple[int, ...]) -> tuple[int | None, str]:
        """The node that is meant now, or None; and what there is to say of a digit with which none begins."""
        now_s = time.monotonic()
        typed = self._typed + digit if now_s - self._typed_at_s < _WITHIN_S else digit
        if int(typed) not in nodes:
            typed = digit
        self._typed, self._typed_at_s = typed, now_s
        if int(typed) in nodes:
            return int(typed), ""
        begins = any(str(node).startswith(typed) for node in nodes)
        return None, "" if begins else f"there is no node {typed}"
