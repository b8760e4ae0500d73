"""The detector of stalls, with a clock of its own."""

from lab.recording.records import Stall
from lab.worlds.live.stall_detector import StallDetector

TP_US = 20_000
SECOND_US = 1_000_000


def _detector(node: int | None = None) -> StallDetector:
    return StallDetector(TP_US, 5_000, node)


def test_a_process_that_runs_tp_late_was_stalled() -> None:
    """From when it should have run; up to Tp is no stall, and one is found once."""
    detector = _detector(3)
    assert detector.check(7 * SECOND_US) is None, "nothing was expected"
    detector.expect_by(100_000)
    assert detector.check(120_000) is None
    detector.expect_by(200_000)
    assert detector.check(220_001) == Stall(220_001, 20_001, 3)
    assert detector.check(230_000) is None


def test_what_a_process_does_is_no_stall() -> None:
    """However long it takes: only who has not run when it should have, was stalled."""
    detector = _detector()
    for at_us in range(0, SECOND_US, TP_US):
        detector.expect_by(at_us)
        assert detector.check(at_us + TP_US) is None
    assert detector.check(SECOND_US) is None


def test_a_busy_machine_causes_few_records() -> None:
    """Stalls without end are at most one record a second, and counted; a much longer one is recorded at once."""
    detector, recorded = _detector(), list[Stall]()
    for at_us in range(0, 10 * SECOND_US, 2 * TP_US):
        detector.expect_by(at_us)
        recorded += filter(None, [detector.check(at_us + TP_US + 1_000)])
    assert len(recorded) == 10
    assert sum(stall.unrecorded for stall in recorded) >= 9 * 24
    detector.expect_by(10 * SECOND_US)
    assert detector.check(10 * SECOND_US + 2 * TP_US + 2_000) is not None


def test_a_stall_of_a_second_is_always_recorded() -> None:
    """Even right after another one that lasted longer."""
    detector = _detector()
    for began_us, ended_us in ((0, 8 * SECOND_US), (8 * SECOND_US, 9 * SECOND_US)):
        detector.expect_by(began_us)
        assert detector.check(ended_us) == Stall(ended_us, ended_us - began_us)


def test_it_waits_for_a_quarter_of_tp_at_most() -> None:
    """But not for less than is affordable."""
    assert StallDetector(400_000, 5_000).longest_wait_us == 100_000
    assert StallDetector(8_000, 5_000).longest_wait_us == 5_000
