"""What is to be claimed only once in a whole run: who claimed it first."""

from collections.abc import Hashable, Iterable, Iterator

from lab.properties.assertions import Claim
from lab.properties.verdicts import LocalState
from lab.recording.snapshot import NodeState
from lab.units import format_us

__all__ = ["Claims"]


class Claims:
    """Everything that was claimed so far, by each of ``claims``."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._claims = tuple(claims)
        self._first: dict[tuple[str, Hashable], tuple[Hashable | None, LocalState]] = {}

    def second(
        self, was: NodeState, view: NodeState, record: int, at_us: int
    ) -> Iterator[tuple[str, tuple[LocalState, LocalState], str]]:
        """(assertion, the states of the first and this claimant, what is to be said) for what was claimed before.

        The node comes from the state ``was`` to ``view`` with this record.
        """
        for claim in self._claims:
            claimed = claim.claims(was, view)
            if claimed is None:
                continue
            what, claimant = claimed
            state = LocalState(view.id, record, at_us, f"the node by which {what} is {claim.done}")
            owner, first = self._first.setdefault((claim.id, what), (claimant, state))
            if first is not state and (claimant is None or owner != claimant):
                when = format_us(round(first.at_us, -3))
                said = (
                    f"{what}, {claim.done} by node {first.node} at {when}, is {claim.done} again by node {view.id}"
                )
                yield claim.id, (first, state), said
