"""The picture of a linearization: its layout, and as text."""

import random

from lab.histories.linearizability import check_linearizability
from lab.histories.linearization_picture import draw_text, lay_out, text_picture
from lab.histories.models import KeyValue, Register
from tests.histories.building import history_of
from tests.histories.runs import run_of_a_store

STALE = history_of(
    ("a", 0, 9_000, "write", 1, None),
    ("b", 10_000, 20_000, "write", 2, None),
    ("c", 2_000, 5_000, "read", None, 1),
    ("a", 21_000, 25_000, "read", None, 1),
    ("d", 22_000, None, "read", None, None),
    ("b", 30_000, 31_000, "write", 9, None),
)


def test_what_does_not_fit_is_marked() -> None:
    """The order is numbered, what is not in it is not, and what was called later is left out."""
    (part,) = check_linearizability(STALE, Register()).keys
    assert text_picture(part) == [
        "   0 ms         5 ms         20 ms        25 ms",
        "a  ├1 write 1 ───┤            ├✗ read → 1 ┤",
        "c   ├2 read → 1 ┤",
        "b                 ├3 write 2 ┤",
        "d                              ├ read has no known outcome ▸",
        "numbered: the longest order that fits, of 3 operations; marked: fits nowhere, "
        "since before it returns the state is 2",
    ]


def test_an_order_that_fits_is_numbered() -> None:
    history = history_of(
        ("a", 0, 3, "write", 1, None), ("b", 1, 2, "read", None, 1), ("c", 4, None, "write", 2, None)
    )
    (part,) = check_linearizability(history, Register()).keys
    assert draw_text(lay_out(part), ascii_only=True) == [
        "   0 ms",
        "a  |1 write 1 ----|",
        "b   |2 read -> 1 |",
        "c                  | write 2 has no known outcome >",
        "numbered: an order that fits",
    ]


def test_a_long_history_is_cut_to_the_width() -> None:
    """The misfit is always there, and the caption tells how much is not."""
    history = run_of_a_store(random.Random(3), operations=400, clients=5, keys=1, wrong=True)
    (part,) = check_linearizability(history, KeyValue()).keys
    assert part.misfit is not None
    lines = text_picture(part, width=120)
    assert max(map(len, lines[:-1])) <= 120
    assert sum(line.count("✗") for line in lines[:-1]) == 1
    assert "operations before; numbered: the longest order that fits of k0" in lines[-1]


def test_the_layout_has_no_characters() -> None:
    """Ranks of events, from which any back end can draw."""
    (part,) = check_linearizability(STALE, Register()).keys
    chart = lay_out(part)
    assert chart.rows == ("a", "c", "b", "d")
    assert [(bar.row, bar.start, bar.end, bar.number, bar.is_misfit) for bar in chart.bars] == [
        (0, 0, 3, 1, False),
        (1, 1, 2, 2, False),
        (2, 4, 5, 3, False),
        (0, 6, 8, None, True),
        (3, 7, None, None, False),
    ]
    assert chart.times_us == (0, 2_000, 5_000, 9_000, 10_000, 20_000, 21_000, 22_000, 25_000)


def test_a_client_has_room_between_its_operations() -> None:
    history = history_of(("a", 0, 1, "write", 1, None), ("a", 2, 3, "read", None, 1))
    (part,) = check_linearizability(history, Register()).keys
    assert text_picture(part)[1] == "a  ├1 write 1 ┤ ├2 read → 1 ┤"


def test_the_misfit_is_shown_however_long_ago_it_was_called() -> None:
    others = [("b", 10 * number, 10 * number + 5, "write", number, None) for number in range(1, 30)]
    history = history_of(("a", 0, 500, "read", None, 99), *others)
    (part,) = check_linearizability(history, Register()).keys
    chart = lay_out(part, most=3)
    assert [bar.is_misfit for bar in chart.bars] == [True, False, False]
    assert chart.left_out == 27
