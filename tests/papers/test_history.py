"""I10 where groups are many: a group carries along how it came to be, and no more than a hundred groups."""

from lab.protocols import Formed, Group
from lab.protocols.history import history_of


def _line(node: int, groups: int) -> tuple[Formed, ...]:
    """What a node knows that formed one group after the other."""
    history: tuple[Formed, ...] = ()
    for counter in range(1, groups + 1):
        history = history_of(Group(node, counter), node, (node,), [history])
    return history


def test_I10_each_group_comes_after_those_it_was_formed_from() -> None:
    """Whatever the order in which the members tell what they know."""
    one, two = _line(1, 3), _line(2, 2)
    for known in ([one, two], [two, one], [one, two, one]):
        history = history_of(Group(2, 3), 2, (1, 2), known)
        places = {formed.group: place for place, formed in enumerate(history)}
        assert set(places) == {Group(1, 1), Group(1, 2), Group(1, 3), Group(2, 1), Group(2, 2), Group(2, 3)}
        assert all(places[parent] < places[formed.group] for formed in history for parent in formed.of)
        assert set(history[-1].of) == {Group(1, 3), Group(2, 2)}


def test_I10_of_many_groups_the_nearest_are_remembered() -> None:
    """Of two long histories, the latter halves; the groups that this one was formed from are among them."""
    history = history_of(Group(3, 1), 3, (1, 2, 3), [_line(1, 100), _line(2, 100), ()])
    groups = [formed.group for formed in history]
    assert len(groups) == 100
    assert groups[-1] == Group(3, 1)
    assert {Group(1, 100), Group(2, 100)} <= set(groups)
    assert {group.counter for group in groups[:-1] if group.id == 1} == set(range(51, 101))
    assert {group.counter for group in groups[:-1] if group.id == 2} == set(range(52, 101))
