"""The analysis of a run that a protocol brings to the reports of the command line."""

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record
from lab.table_files import Column, Row


class Report(Struct, frozen=True):
    """The report when a run ends: ``lines`` for the terminal, and ``figures``, if any, for ``--json``."""

    lines: tuple[str, ...] = ()
    figures: Struct | None = None


class Analysis:
    """A fold over the records of a run, of which a protocol names a subclass in its extension.

        class VotesAnalysis(Analysis):
            noun = "vote"
            outcomes = {"yes": "for", "no": "against"}

            def observe(self, record: Record | None) -> str:
                ...

    ``lab run`` prints its report, ``lab show --blocked`` what is unfinished; ``lab check`` counts its outcomes.
    ``cluster`` is the state after the record that is observed.
    """

    noun: ClassVar[str] = ""
    """The noun of the things counted, in the singular; empty if nothing is counted."""
    outcomes: ClassVar[dict[str, str]] = {}
    """The possible outcomes of one of these, each with its words in a report."""
    states: ClassVar[tuple[str, ...]] = ()
    """The states in which a node can be in one of these; empty if it has none."""
    success: ClassVar[str] = ""
    """The outcome if nothing fails."""
    figures: ClassVar[type[Struct] | None] = None
    """The type of the figures of a report."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """The columns of the table of these, whose name is the noun with an s; empty if there is no table."""
    without_blocked: ClassVar[str] = ""
    """The reply to ``--blocked`` for a protocol in which nothing can block; empty if that is not supported."""

    def __init__(self, header: Header, cluster: ClusterState) -> None:
        self.header = header
        self.cluster = cluster

    def observe(self, record: Record | None) -> str:
        """Process the next record; None stands for an unreadable one. Return a note on its node, or nothing."""
        return ""

    def report(self, recording: str) -> Report:
        """Return the report on the run; ``recording`` is its path, for commands that tell more."""
        return Report()

    def count(self) -> dict[str, int]:
        """Return how many had which of the ``outcomes``."""
        return {}

    def rows(self) -> Iterable[Row]:
        """Return the rows of that table, one for each of these so far."""
        return ()

    def states_at_once(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of ``states``, in their order, in which two nodes were at once in one of these."""
        return frozenset()

    def blocked(self, now_us: int) -> tuple[str, list[str]]:
        """Return what is unfinished (a title), and why (lines). Only called if ``without_blocked`` is set."""
        return "", []
