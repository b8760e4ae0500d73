"""Check uniqueness assertions: nothing is claimed twice in a whole run."""

from collections.abc import Hashable, Iterable, Iterator

from lab.properties.assertions import UniquenessAssertion
from lab.properties.verdicts import LocalState
from lab.recording.snapshot import NodeState
from lab.units import format_us

__all__ = ["UniquenessChecker"]


class UniquenessChecker:
    """The first claim of each item so far, for each of the assertions."""

    def __init__(self, claims: Iterable[UniquenessAssertion]) -> None:
        self._claims = tuple(claims)
        self._first: dict[tuple[str, Hashable], tuple[Hashable | None, LocalState]] = {}

    def second(
        self, was: NodeState, view: NodeState, record: int, at_us: int
    ) -> Iterator[tuple[str, tuple[LocalState, LocalState], str]]:
        """Yield (assertion, states of the first and the second claim, text) for each item claimed again.

        The node passes from the state ``was`` to ``view`` with this record.
        """
        for claim in self._claims:
            found = claim.claims(was, view)
            if found is None:
                continue
            item, claimant = found
            state = LocalState(view.id, record, at_us, f"the node by which {item} is {claim.done}")
            owner, first = self._first.setdefault((claim.id, item), (claimant, state))
            if first is not state and (claimant is None or owner != claimant):
                when = format_us(round(first.at_us, -3))
                text = (
                    f"{item}, {claim.done} by node {first.node} at {when}, is {claim.done} again by node {view.id}"
                )
                yield claim.id, (first, state), text
