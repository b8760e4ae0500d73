"""The pace of virtual time: at any factor, from any instant, and never too far."""

from hypothesis import given
from hypothesis import strategies as st

from lab.worlds.feed_protocol import Pace

FACTORS = st.floats(0.01, 1000)
INSTANTS = st.integers(0, 10**13)
SPANS = st.integers(0, 10**11)


def _pace(factor: float | None, virtual_us: int = 0, real_us: int = 0) -> Pace:
    pace = Pace(factor)
    pace.start(virtual_us, real_us)
    return pace


def test_a_second_of_real_time() -> None:
    """A tenth of a second at 0.1, and ten at 10."""
    for factor, virtual_us in ((0.01, 10_000), (0.1, 100_000), (1, 1_000_000), (10, 10_000_000)):
        assert _pace(factor, 500, 7_000).reached_us(1_007_000) == 500 + virtual_us


def test_flat_out_there_is_no_bound_and_no_waiting() -> None:
    assert _pace(None, 5, 5).reached_us(10**12) is None
    assert _pace(None, 5, 5).wait_us(10**12, 6) == 0


def test_a_new_factor_applies_from_its_start() -> None:
    """Earlier time is not counted again."""
    pace = _pace(10)
    reached_us = pace.reached_us(1_000_000)
    assert reached_us == 10_000_000
    pace.factor = 0.5
    pace.start(reached_us, 1_000_000)
    assert pace.reached_us(1_000_000) == 10_000_000
    assert pace.reached_us(3_000_000) == 11_000_000


@given(FACTORS, INSTANTS, INSTANTS, SPANS, SPANS)
def test_it_never_goes_back(factor: float, virtual_us: int, real_us: int, first_us: int, more_us: int) -> None:
    pace = _pace(factor, virtual_us, real_us)
    before, after = pace.reached_us(real_us + first_us), pace.reached_us(real_us + first_us + more_us)
    assert before is not None
    assert after is not None
    assert virtual_us <= before <= after


@given(FACTORS, INSTANTS, INSTANTS, SPANS, SPANS)
def test_after_the_wait_the_event_is_due(
    factor: float, virtual_us: int, real_us: int, passed_us: int, ahead_us: int
) -> None:
    """To the microsecond, so that one wait is enough."""
    pace = _pace(factor, virtual_us, real_us)
    now_us, due_us = real_us + passed_us, virtual_us + ahead_us
    wait_us = pace.wait_us(due_us, now_us)
    reached_us = pace.reached_us(now_us + wait_us)
    assert reached_us is not None
    assert reached_us >= due_us
    if wait_us > 0:
        too_early_us = pace.reached_us(now_us + wait_us - 1)
        assert too_early_us is not None
        assert too_early_us < due_us
