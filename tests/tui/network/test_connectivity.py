"""Connected components of a cluster, closed links inside one, and open links between two."""

import pytest

from lab.tui.views.network_state import Pair, connected


def _between(*components: str) -> set[Pair]:
    """Return the links between two groups, as a partition cuts them."""
    parts = [[int(node) for node in side] for side in components]
    return {(a, b) for one in parts for other in parts if one is not other for a in one for b in other}


@pytest.mark.parametrize(
    ("closed", "components"),
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
def test_components(closed: set[Pair], components: str) -> None:
    """Both ways, or through others; a link in one direction does not count, nor do links of missing nodes."""
    found = connected([5, 4, 3, 2, 1], closed)
    assert " ".join("".join(map(str, side)) for side in found.components) == components


def test_closed_links_inside_a_component() -> None:
    """Two nodes that do not hear each other are in one component if both hear a third."""
    found = connected([1, 2, 3], {(1, 3), (3, 1), (4, 1)})
    assert found.components == ((1, 2, 3),)
    assert found.closed_within((1, 2, 3)) == ((1, 3), (3, 1))


def test_open_links_between_components_have_one_direction() -> None:
    """First those from the one to the other."""
    cut = _between("12", "345") - {(2, 3), (4, 1)}
    found = connected([1, 2, 3, 4, 5], cut)
    assert found.open_links((1, 2), (3, 4, 5)) == ((2, 3), (4, 1))
    assert found.open_links((3, 4, 5), (1, 2)) == ((4, 1), (2, 3))
    assert connected([1, 2, 3], _between("1", "23")).open_links((1,), (2, 3)) == ()


def test_without_nodes_there_is_no_component() -> None:
    assert connected([], {(1, 2)}).components == ()
