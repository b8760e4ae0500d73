"""What waits for a simulated node that stands still: it is taken in turn, and dies with the node."""

from lab.kernel import Received, Step
from lab.recording.records import Process, Routed
from tests.harness import Rig


def _standing() -> tuple[Rig, int]:
    """Node 3 stands still, and two forged questions wait for it, -2 and -3; how many records there are so far."""
    rig = Rig([1, 2, 3]).started()
    rig.settle()
    rig.do("pause 3", "inject 1->3 AreYouUp", "inject 2->3 AreYouUp")
    return rig, len(rig.records)


def _forged_taken(rig: Rig, since: int) -> list[int]:
    """The serials of the forged messages that node 3 has taken since then, in order."""
    steps = [record for record in rig.records[since:] if isinstance(record, Step) and record.node == 3]
    return [step.input.serial for step in steps if isinstance(step.input, Received) and step.input.serial < 0]


def test_a_next_life_gets_nothing_of_the_last() -> None:
    """Killed and restarted over the first message that waited, it does not get the second."""
    rig, since = _standing()
    rig.do("on deliver AreYouUp 1->3: kill 3", "on deliver AreYouUp 1->3: restart 3", "resume 3")
    assert _forged_taken(rig, since) == [-2]
    dropped = [record for record in rig.records[since:] if isinstance(record, Routed) and record.serial == -3]
    assert [(record.fate, record.why) for record in dropped] == [("dropped", "killed")]
    events = [record.event for record in rig.records[since:] if isinstance(record, Process)]
    assert events == ["resumed", "killed", "started"]
    assert rig.settle() == 3


def test_what_is_left_waits_on_in_its_turn() -> None:
    """Paused over the first, it takes the second when it goes on, before what came later."""
    rig, since = _standing()
    rig.do("on deliver AreYouUp 1->3: pause 3", "on deliver AreYouUp 1->3: inject 1->3 AreYouUp", "resume 3")
    assert _forged_taken(rig, since) == [-2]
    rig.run(100_000)
    assert _forged_taken(rig, since) == [-2]
    rig.do("resume 3")
    assert _forged_taken(rig, since) == [-2, -3, -5]
    assert rig.settle() == 3


def test_what_comes_in_a_step_waits_behind_what_waited() -> None:
    """As with a process, which reads what comes in the order in which it came."""
    rig, since = _standing()
    rig.do("on deliver AreYouUp 1->3: inject 1->3 AreYouUp", "resume 3")
    assert _forged_taken(rig, since) == [-2, -3, -4]
