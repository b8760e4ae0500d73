"""Who hears whom: sides, what is closed within one, and what still passes between two."""

import pytest

from lab.analysis.connectivity import Pair, connected


def _between(*sides: str) -> set[Pair]:
    """The links from side to side, as a partition cuts them."""
    parts = [[int(node) for node in side] for side in sides]
    return {(a, b) for one in parts for other in parts if one is not other for a in one for b in other}


@pytest.mark.parametrize(
    ("closed", "sides"),
    [
        (set(), "12345"),
        (_between("12", "345"), "12 345"),
        (_between("1", "23", "45"), "1 23 45"),
        (_between("14", "2", "35"), "14 2 35"),
        ({(2, 3)}, "12345"),
        (_between("1", "2345") - {(1, 2)}, "1 2345"),
        ({(1, 3), (3, 1)}, "12345"),
        (_between("1", "2", "3", "4", "5"), "1 2 3 4 5"),
        ({(1, 9), (8, 7)}, "12345"),
    ],
)
def test_who_hears_each_other_is_on_one_side(closed: set[Pair], sides: str) -> None:
    """Both ways, or through others; one way alone does not count, nor do links of nodes that are not there."""
    found = connected([5, 4, 3, 2, 1], closed)
    assert " ".join("".join(map(str, side)) for side in found.sides) == sides


def test_what_is_closed_within_a_side_is_said() -> None:
    """Two that do not hear each other are on one side, where each hears a third."""
    found = connected([1, 2, 3], {(1, 3), (3, 1), (4, 1)})
    assert found.sides == ((1, 2, 3),)
    assert found.closed_within((1, 2, 3)) == ((1, 3), (3, 1))


def test_what_passes_between_two_sides_passes_one_way() -> None:
    """First what goes from the one to the other, then what comes back."""
    cut = _between("12", "345") - {(2, 3), (4, 1)}
    found = connected([1, 2, 3, 4, 5], cut)
    assert found.passing((1, 2), (3, 4, 5)) == ((2, 3), (4, 1))
    assert found.passing((3, 4, 5), (1, 2)) == ((4, 1), (2, 3))
    assert connected([1, 2, 3], _between("1", "23")).passing((1,), (2, 3)) == ()


def test_nobody_is_on_no_side() -> None:
    """Where nothing runs there is no side."""
    assert connected([], {(1, 2)}).sides == ()
