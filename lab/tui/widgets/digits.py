"""The selection of a node by typing its number."""

import time

_WITHIN_S = 0.7


class NodeNumberInput:
    """Combine two digits typed in quick succession to the number of a node, if there is such a node."""

    def __init__(self) -> None:
        self._typed = ""
        self._typed_at_s = 0.0

    def enter(self, digit: str, nodes: tuple[int, ...]) -> tuple[int | None, str]:
        """Return (the selected node or None, an error if no node's number begins with the digit)."""
        now_s = time.monotonic()
        typed = self._typed + digit if now_s - self._typed_at_s < _WITHIN_S else digit
        if int(typed) not in nodes:
            typed = digit
        self._typed, self._typed_at_s = typed, now_s
        if int(typed) in nodes:
            return int(typed), ""
        begins = any(str(node).startswith(typed) for node in nodes)
        return None, "" if begins else f"no node {typed}"
