"""Two properties as a user writes them, to be judged beside the built-in ones."""

from lab.properties import LocalState, Memory, Outcome, over_history, pairwise

__all__ = ["newer_definitions", "one_leader"]


@pairwise
def one_leader(one: LocalState, other: LocalState) -> Outcome:
    """No two nodes lead at the same time."""
    if not (one.leads and other.leads):
        return None
    return f"{one.id} and {other.id} lead"


@over_history
def newer_definitions(newest: Memory, before: LocalState, after: LocalState) -> Outcome:
    """The version of a node's definition never decreases."""
    last = newest.get(after.id, 0)
    newest[after.id] = max(last, after.definition.version)
    return bool(after.definition.version >= last)
