"""The result of a checker: a verdict in one word, what it looked at, and what is wrong, with the operations.

*holds* is earned: it says what was judged. A history with nothing to judge, such as one without a final read, is
*not judged*; a search that came to its bound is *undecided*. Neither is ever green.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from lab.histories.operations import Operation

Word = Literal["holds", "fails", "undecided", "not judged"]
ABOUT_LAST_READS = ("lost", "lost write", "unobserved", "wrong sum")
"""The anomalies that are none if the last reads came before the system had come to rest."""


class Finding(Struct, frozen=True):
    """Something that is wrong, in words; the ``operations`` show it. ``kind`` names the anomaly."""

    kind: str
    text: str
    operations: tuple[Operation, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class CheckResult(Struct, frozen=True):
    """The verdict of ``checker`` on a history.

    ``evidence``: what was judged, or why nothing was. ``statistics`` by name; one that ends in ``_us`` is a
    duration in microseconds.
    """

    checker: str
    word: Word
    evidence: str
    findings: tuple[Finding, ...] = ()
    statistics: dict[str, int] = {}

    def __str__(self) -> str:
        return "\n".join([f"{self.checker} {_VERBS[self.word]} ({self.evidence})", *map(str, self.findings)])


_VERBS = {"holds": "holds", "fails": "fails", "undecided": "is undecided", "not judged": "is not judged"}


def verdict_of(findings: Sequence[Finding], judged: int) -> Word:
    """Return the verdict, given how many things were judged: none at all is never *holds*."""
    if findings:
        return "fails"
    return "holds" if judged else "not judged"
