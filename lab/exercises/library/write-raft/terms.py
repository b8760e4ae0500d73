"""The promises of an election by majority. A node leads its term while it is Normal and its own coordinator."""

from collections.abc import Iterator

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


@eventually(within="80T", relies_on=(a_majority_is_up,), despite_cuts=True)
def a_leader_is_elected(state: GlobalState) -> Outcome:
    """A bounded time after the last fault, a majority follows one leader, and it leads."""
    return any(
        leads(leader) and 2 * sum(node.coordinator == leader.id for node in state) > len(state.ids)
        for leader in state
    )


@leads_to(within="10T", relies_on=(4,), noun="leader", done="stepped down", despite_cuts=True)
def minorities_have_no_leader(state: GlobalState) -> Iterator[Counterexample]:
    """A leader that cannot reach a majority of the nodes steps down."""
    for node in state:
        if node.process == "running" and leads(node):
            reached = [other for other in state.running if state.connected(node.id, other)]
            if 2 * len(reached) <= len(state.ids):
                yield Counterexample(
                    f"{node.id} leads, and reaches only {len(reached)} of {len(state.ids)}", (node.id,)
                )
