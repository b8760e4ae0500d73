"""A lens for nodes that report their leader and its term themselves, and the promises of an election by majority.

The bounds are in T, which has room for a busy machine.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from lab.kernel import Displayed, Timing
from lab.properties import (
    Counterexample,
    GlobalState,
    LocalState,
    Memory,
    Outcome,
    assumption,
    eventually,
    leads_to,
    over_history,
)
from lab.protocols import Program, Status


class Led(Program):
    """Programs that elect a leader for each term, and say whom they follow in which term."""

    name: ClassVar[str] = "raft-in-any-language"

    term: Displayed[int] = 0

    def on_ready(self) -> None:
        self.status = Status.ELECTION

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        return 8 * timing.t_us


def leads(node: LocalState) -> bool:
    """Return whether the node leads."""
    return node.status == "Normal" and node.coordinator == node.id


@assumption
def a_majority_is_up(state: GlobalState) -> Outcome:
    """A majority of the nodes is up and connected."""
    return 2 * state.largest_group() > len(state.ids)


@over_history(relies_on=(1, 2, 3, 4, 5, 6), noun="term", done="led")
def one_leader_per_term(leaders: Memory, before: LocalState, after: LocalState) -> Outcome:
    """At most one node leads a term, ever."""
    return leaders.claim(f"term {after.term}", after.id) if after.values and leads(after) else None


@eventually(within="8T", relies_on=(a_majority_is_up,), despite_cuts=True)
def a_leader_is_elected(state: GlobalState) -> Outcome:
    """A bounded time after the last fault, a majority follows one leader, and it leads."""
    has_majority = any(
        leads(leader) and 2 * sum(node.coordinator == leader.id for node in state) > len(state.ids)
        for leader in state
    )
    return has_majority or "no node leads that a majority follows"


@eventually(within="8T", relies_on=(a_majority_is_up,))
def everyone_follows(state: GlobalState) -> Outcome:
    """A bounded time after the last fault, all nodes that are up follow one leader, and it leads."""
    up = [node for node in state if node.process == "running"]
    follow = any(leads(leader) and all(node.coordinator == leader.id for node in up) for leader in up)
    return follow or "not all nodes that are up follow one leader"


@leads_to(within="4T", relies_on=(4,), noun="leader", done="stepped down", despite_cuts=True)
def minorities_have_no_leader(state: GlobalState) -> Iterator[Counterexample]:
    """A leader that cannot reach a majority of the nodes steps down."""
    for node in state:
        if node.process == "running" and leads(node):
            reached = [other for other in state.running if state.connected(node.id, other)]
            if 2 * len(reached) <= len(state.ids):
                yield Counterexample(
                    f"{node.id} leads, and reaches only {len(reached)} of {len(state.ids)}", (node.id,)
                )
