"""The random numbers of a node: drawn from a seed, recorded with the step, and the same when it is re-executed."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from lab.kernel.errors import ProtocolError

__all__ = ["Draws", "NodeRandom"]

_PRECISION = 53


class Draws:
    """The numbers that a node draws in one step after the other, each at least 0 and below 1.

    Those planned for a step come first; the others come from a generator with this seed. ``drawn`` are the numbers
    of the present step.
    """

    def __init__(self, seed: str) -> None:
        self.drawn: tuple[float, ...] = ()
        self._planned: Sequence[float] = ()
        self._is_open = False
        self._source = Random(seed)

    def begin(self, planned: Sequence[float]) -> None:
        """Begin a step."""
        self.drawn, self._planned, self._is_open = (), planned, True

    def end(self) -> tuple[float, ...]:
        """End the step, and return what it drew."""
        self._is_open = False
        return self.drawn

    def draw(self) -> float:
        """Draw a number. Raises ProtocolError outside of a step."""
        if not self._is_open:
            raise ProtocolError("self.random is used outside of a step: draw in a handler or a procedure")
        place = len(self.drawn)
        value = self._source.random()  # also if it is not needed: after planned draws the others are the same
        if place < len(self._planned):
            value = self._planned[place]
        self.drawn += (value,)
        return value


class NodeRandom(Random):
    """``self.random`` of a protocol: all that ``random.Random`` has, by numbers that ``draw`` returns."""

    def __init__(self, draw: Callable[[], float]) -> None:
        super().__init__()
        self._draw = draw

    def random(self) -> float:
        """Draw a number: at least 0 and below 1."""
        return self._draw()

    def getrandbits(self, k: int) -> int:
        """Draw ``k`` random bits."""
        bits, found = 0, 0
        while bits < k:
            more = min(_PRECISION, k - bits)
            found = found << more | int(self._draw() * (1 << more))
            bits += more
        return found

    def _randbelow(self, n: int) -> int:
        """Draw a whole number below ``n``, with one draw."""
        return int(self._draw() * n)

    def seed(self, *_: Any, **__: Any) -> None:
        """Do nothing: the run has the seed."""

    def getstate(self) -> Any:
        """Refuse: the numbers are recorded, so there is no state to keep."""
        raise ProtocolError("self.random has no state: each of its draws is recorded")

    def setstate(self, state: Any) -> None:
        """Refuse, as ``getstate`` does."""
        self.getstate()
