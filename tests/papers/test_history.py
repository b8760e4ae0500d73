"""I10 with many groups: a Definition carries the history of its group, up to a hundred groups."""

from lab.protocols import FormedGroup, Group
from lab.protocols.history import extend_history


def _line(node: int, groups: int) -> tuple[FormedGroup, ...]:
    """Return the history known to a node that formed one group after the other."""
    history: tuple[FormedGroup, ...] = ()
    for counter in range(1, groups + 1):
        history = extend_history(Group(node, counter), node, (node,), [history])
    return history


def test_I10_each_group_comes_after_those_it_was_formed_from() -> None:
    """In any order of the members' reports."""
    one, two = _line(1, 3), _line(2, 2)
    for known in ([one, two], [two, one], [one, two, one]):
        history = extend_history(Group(2, 3), 2, (1, 2), known)
        places = {formed.group: place for place, formed in enumerate(history)}
        assert set(places) == {Group(1, 1), Group(1, 2), Group(1, 3), Group(2, 1), Group(2, 2), Group(2, 3)}
        assert all(places[parent] < places[formed.group] for formed in history for parent in formed.of)
        assert set(history[-1].of) == {Group(1, 3), Group(2, 2)}


def test_I10_of_many_groups_the_nearest_are_remembered() -> None:
    """Of two long histories, the later halves; the direct parents of this group are among them."""
    history = extend_history(Group(3, 1), 3, (1, 2, 3), [_line(1, 100), _line(2, 100), ()])
    groups = [formed.group for formed in history]
    assert len(groups) == 100
    assert groups[-1] == Group(3, 1)
    assert {Group(1, 100), Group(2, 100)} <= set(groups)
    assert {group.counter for group in groups[:-1] if group.id == 1} == set(range(51, 101))
    assert {group.counter for group in groups[:-1] if group.id == 2} == set(range(52, 101))
