from collections.abc import Iterator

from lab.properties import (
    Counterexample,
    GlobalState,
    LocalState,
    Memory,
    Outcome,
    agreement,
    assumption,
    eventually,
    invariant,
    leads_to,
    over_history,
    pairwise,
)


@invariant
def rounds_stay_small(state: GlobalState) -> Outcome:
    """No node counts beyond four."""
    far = [node.id for node in state if node.round > 4]
    return not far or Counterexample(f"{far[0]} is in round 5", tuple(far))


@pairwise
def one_seat(one: LocalState, other: LocalState) -> Outcome:
    """No two nodes have the same seat."""
    if not (one.seat and other.seat):
        return None
    return one.seat != other.seat or f"{one.id} and {other.id} both sit on {one.seat}"


@agreement(concerned="in the last round")
def one_last_seat(node: LocalState) -> tuple[str, object] | None:
    """All nodes in the last round have no seat or the same one."""
    return ("seat", (node.seat, node.id)) if node.round == 5 else None


@over_history(noun="seat", done="taken")
def a_seat_is_taken_once(taken: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No seat is taken twice, ever."""
    return taken.claim(after.seat, after.id) if after.seat and not before.seat else None


@assumption
def everybody_is_up(state: GlobalState) -> Outcome:
    """All nodes are up."""
    return len(state.nodes) == len(state.ids)


@eventually(within="10T", relies_on=[everybody_is_up])
def all_are_content(state: GlobalState) -> Outcome:
    """In the end no node wants anything."""
    return not any(node.wants for node in state)


@leads_to(within="2T")
def wishes_are_met(state: GlobalState) -> Iterator[Counterexample]:
    """What a node wants, it gets."""
    for node in state:
        if node.wants:
            yield Counterexample(f"{node.id} wants a seat", (node.id,))
