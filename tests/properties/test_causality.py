"""Vector clocks over record numbers."""

from lab.analysis.causality import Causality


def test_a_message_carries_the_knowledge_of_its_sender() -> None:
    """Also through others, and nothing from after it was sent."""
    causality = Causality((1, 2, 3))
    sent = causality.stamp(1, 4)
    causality.stamp(1, 6)
    causality.received(2, sent)
    assert causality.stamp(2, 7) == (4, 7, 0)
    causality.received(3, causality.stamp(2, 8))
    assert causality.stamp(3, 9) == (4, 8, 9)
    causality.received(3, sent)
    assert causality.stamp(3, 10) == (4, 8, 10), "an older message takes nothing away"


def test_a_timer_learns_of_all_crashes_so_far() -> None:
    """With the knowledge of the crashed nodes, and of no later crash."""
    causality = Causality((1, 2, 3))
    causality.received(1, causality.stamp(2, 3))
    causality.crashed(1, 5)
    causality.fired(3)
    assert causality.stamp(3, 6) == (5, 3, 6)
    causality.crashed(2, 7)
    assert causality.stamp(3, 8) == (5, 3, 8)
    causality.fired(3)
    assert causality.stamp(3, 9) == (5, 7, 9)
    assert Causality((1,)).stamp(1, 1) == (1,)
