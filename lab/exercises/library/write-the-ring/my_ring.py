"""The ring election, from an empty file."""

from typing import ClassVar

from lab.protocols import Election


class MyRing(Election):
    """Each node knows its successor; the highest in the ring leads."""

    promises: ClassVar[tuple[str, ...]] = ("A1.1", "A2", "highest")

    def started(self) -> None:
        """Begin here."""
