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
def one_chair(one: LocalState, other: LocalState) -> Outcome:
    """No two nodes have the same chair."""
    if not (one.chair and other.chair):
        return None
    return one.chair != other.chair or f"{one.id} and {other.id} both hold {one.chair}"


@agreement(concerned="in the last round")
def one_last_chair(node: LocalState) -> tuple[str, object] | None:
    """All nodes in the last round have no chair or the same one."""
    return ("chair", (node.chair, node.id)) if node.round == 5 else None


@over_history(noun="chair", done="taken")
def a_chair_is_taken_once(taken: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No chair is taken twice, ever."""
    return taken.claim(after.chair, after.id) if after.chair and not before.chair else None


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
            yield Counterexample(f"{node.id} wants a chair", (node.id,))
