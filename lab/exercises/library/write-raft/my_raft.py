"""An election by majority, from an empty file."""

from lab.kernel import Displayed
from lab.protocols import Election


class MyRaft(Election):
    """A node leads a term if a majority of all nodes has voted for it in that term."""

    term: Displayed[int] = 0

    def started(self) -> None:
        """Begin here."""
