"""A commit protocol as a user writes it in a file of their own, with what it brings to the lab.

The highest node asks all others to promise; once all have, it tells them to commit.
"""

from typing import ClassVar

from msgspec import Struct
from rich.text import Text

from lab.kernel import Payload, Request, on, procedure
from lab.protocols.algorithm import Algorithm
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.styles import ThemeStyles
from lab.table_files import Column, Row
from lab.tasks.analysis import Analysis, Report
from lab.tasks.extension import Extension, NodeText, View
from lab.tasks.terms import ClusterTerm, NodeTerm
from lab.tasks.view_frame import ViewFrame


class Promise(Payload, frozen=True):
    """I will commit if you say so."""


class Prepare(Request[Promise], frozen=True):
    """Promise to commit."""


class Commit(Payload, frozen=True):
    """All have promised: commit."""


def draw_promises(frame: ViewFrame) -> Text:
    """Draw a line for each node: whether it has promised, and whether it has committed."""
    rows = []
    for node, view in sorted(frame.cluster.nodes.items()):
        state = "committed" if view.state.get("committed") else "promised" if view.state.get("promised") else "-"
        rows.append([(f"node {node}: {state}", frame.styles.state(state))])
    return frame.text(rows)


def is_ready(node: NodeState) -> bool:
    """Return whether the node has promised, and does not know the outcome."""
    return bool(node.state.get("promised") and not node.state.get("committed"))


def count_promises(cluster: ClusterState) -> int:
    """Return the number of nodes that have promised."""
    return sum(bool(node.state.get("promised")) for node in cluster.nodes.values())


class PromiseFigures(Struct, frozen=True):
    """How many promises were kept, and how many were not."""

    promises: dict[str, int]


class CommitAnalysis(Analysis):
    """Counts the nodes that have committed, and those that have only promised."""

    noun: ClassVar[str] = "promise"
    outcomes: ClassVar[dict[str, str]] = {"kept": "kept", "open": "not kept yet"}
    figures: ClassVar[type[Struct]] = PromiseFigures
    columns: ClassVar[tuple[Column, ...]] = (
        Column("node", "integer", "node that promised"),
        Column("kept", "boolean", "whether it has committed"),
    )
    without_blocked: ClassVar[str] = "promises nothing"

    def count(self) -> dict[str, int]:
        committed = sum(bool(node.state.get("committed")) for node in self.cluster.nodes.values())
        return {"kept": committed, "open": count_promises(self.cluster) - committed}

    def rows(self) -> list[Row]:
        nodes = self.cluster.nodes.values()
        return [(node.id, bool(node.state.get("committed"))) for node in nodes if node.state.get("promised")]

    def report(self, recording: str) -> Report:
        counts = self.count()
        return Report((f"promises: {counts['kept']} kept, {counts['open']} open",), PromiseFigures(counts))

    def blocked(self, now_us: int) -> tuple[str, list[str]]:
        waiting = [f"{node.id} waits for Commit" for node in self.cluster.nodes.values() if is_ready(node)]
        return f"{len(waiting)} wait", waiting


class PromisesExtension(Extension):
    """Promises in the panes, a view of all of them, terms of predicates, and an analysis."""

    analysis: ClassVar[str | type] = CommitAnalysis

    node_terms = (NodeTerm("ready", "it has promised, and does not know the outcome", is_ready, bool),)
    cluster_terms = (ClusterTerm("promises", "nodes that have promised", count_promises),)
    views: ClassVar[tuple[View, ...]] = (View("promises", "who has promised to commit", draw_promises, key="Z"),)

    def describe_node(self, node: NodeState, now_us: int, styles: ThemeStyles) -> NodeText | None:
        if node.state.get("committed"):
            return NodeText([("has committed", styles.state("committed"))])
        promised = "promised" if node.state.get("promised") else "no promise"
        return NodeText([(promised, styles.accent)])


class OwnCommit(Algorithm):
    """Commit once all have promised."""

    name: ClassVar[str] = "own-commit"
    extension: ClassVar[str | type] = PromisesExtension

    promised: bool = False
    committed: bool = False

    def started(self) -> None:
        if self.id > max(self.peers):
            self.begin(self.coordinate)

    @procedure
    async def coordinate(self) -> None:
        """Ask until all have promised; then commit, and tell the others to."""
        self.promised = True
        while len(await self.ask_all(self.peers, Prepare(), within=self.timing.t_us)) < len(self.peers):
            await self.sleep(self.timing.t_us, "the next attempt")
        self.committed = True
        for peer in self.peers:
            self.send(peer, Commit())

    @on(Prepare)
    def on_prepare(self, sender: int, message: Prepare) -> Promise:
        self.promised = True
        return Promise()

    @on(Commit)
    def on_commit(self, sender: int, message: Commit) -> None:
        self.committed = True
