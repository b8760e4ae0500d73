"""Lines over a socket: bytes in, whole lines out, and none that is too long."""

__all__ = ["GARBAGE", "LONGEST_LINE", "LineBuffer", "TooLongError"]

LONGEST_LINE = 1 << 20
"""A longer line than this many bytes is refused."""

GARBAGE = (ValueError, RecursionError)
"""What decoding a foreign line can raise; the second is for deep nesting."""


class TooLongError(ValueError):
    """A line longer than ``LONGEST_LINE``."""


class LineBuffer:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes, without newlines. TooLongError."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            self._rest = rest
        else:
            self._rest += rest
        if len(self._rest) > LONGEST_LINE:
            raise TooLongError(f"a line of more than {LONGEST_LINE} bytes")
        return lines
