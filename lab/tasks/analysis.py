"""The analysis of a run that a protocol brings to the reports of the command line."""

from typing import Any, ClassVar

from msgspec import Struct

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Record


class Report(Struct, frozen=True):
    """The report when a run ends: ``lines`` for the terminal, ``figures`` for ``--json``."""

    lines: tuple[str, ...] = ()
    figures: dict[str, Any] = {}


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
    figures: ClassVar[dict[str, Any]] = {}
    """The names of the figures of a report, each with its value for runs without them."""
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

    def states_at_once(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of ``states``, in their order, in which two nodes were at once in one of these."""
        return frozenset()

    def blocked(self, now_us: int) -> tuple[str, list[str]]:
        """Return what is unfinished (a title), and why (lines). Only called if ``without_blocked`` is set."""
        return "", []
