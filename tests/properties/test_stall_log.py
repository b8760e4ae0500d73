"""How much of a delay the stalls of a run explain."""

from lab.properties.conditions import StallLog
from lab.recording.records import Stall


def test_a_stall_explains_what_was_due_in_it_or_before() -> None:
    """By as much as it lasted since then, and nothing that was due after it."""
    log = StallLog()
    assert log.since(0, None) == 0
    log.add(Stall(500, 300))
    log.add(Stall(1_000, 100))
    assert [log.since(us, None) for us in (0, 200, 350, 500, 700, 950, 1_000)] == [400, 400, 250, 100, 100, 50, 0]


def test_the_stalls_of_other_processes_explain_nothing() -> None:
    """Of several processes, the one that was stalled the longest counts, so that no moment counts twice."""
    log = StallLog()
    log.add(Stall(500, 300))
    log.add(Stall(510, 300, 3))
    log.add(Stall(900, 100, 3))
    assert (log.since(0, None), log.since(0, 3), log.since(0, 4)) == (300, 400, 0)
    assert log.since(0, None, 3) == 400
