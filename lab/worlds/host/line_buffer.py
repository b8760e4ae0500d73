"""Lines over a socket: split a stream of bytes into whole lines of limited length."""

LONGEST_LINE = 1 << 20
"""In bytes; a longer line is refused."""

GARBAGE = (ValueError, RecursionError)
"""Errors that decoding an untrusted line can raise; the second is for deep nesting."""


class TooLongError(ValueError):
    """A line longer than ``LONGEST_LINE``."""


class LineBuffer:
    """Collects bytes until lines are complete."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes, without newlines. Raises TooLongError."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            self._rest = rest
        else:
            self._rest += rest
        if len(self._rest) > LONGEST_LINE:
            raise TooLongError(f"a line of more than {LONGEST_LINE} bytes")
        return lines
