"""The waiting inputs of a paused simulated node: taken in order, and lost when it dies."""

from lab.kernel import Received, Step
from lab.recording.records import Process, Routed
from tests.harness import Rig


def _paused() -> tuple[Rig, int]:
    """Pause node 3, with two forged requests waiting, -2 and -3; return the number of records so far."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("pause 3", "inject 1->3 AreYouUp", "inject 2->3 AreYouUp")
    return rig, len(rig.records)


def _forged_taken(rig: Rig, since: int) -> list[int]:
    """Return the serials of the forged messages that node 3 has taken since then, in order."""
    steps = [record for record in rig.records[since:] if isinstance(record, Step) and record.node == 3]
    return [step.input.serial for step in steps if isinstance(step.input, Received) and step.input.serial < 0]


def test_the_next_incarnation_gets_nothing_of_the_last() -> None:
    """Killed and restarted on the first waiting message, it does not get the second."""
    rig, since = _paused()
    rig.do("on deliver AreYouUp 1->3: kill 3", "on deliver AreYouUp 1->3: restart 3", "resume 3")
    assert _forged_taken(rig, since) == [-2]
    dropped = [record for record in rig.records[since:] if isinstance(record, Routed) and record.serial == -3]
    assert [(record.fate, record.why) for record in dropped] == [("dropped", "killed")]
    events = [record.event for record in rig.records[since:] if isinstance(record, Process)]
    assert events == ["resumed", "killed", "started"]
    assert rig.run_until_agreed() == 3


def test_inputs_left_wait_in_order() -> None:
    """Paused on the first, it takes the second when it resumes, before later ones."""
    rig, since = _paused()
    rig.do("on deliver AreYouUp 1->3: pause 3", "on deliver AreYouUp 1->3: inject 1->3 AreYouUp", "resume 3")
    assert _forged_taken(rig, since) == [-2]
    rig.run(100_000)
    assert _forged_taken(rig, since) == [-2]
    rig.do("resume 3")
    assert _forged_taken(rig, since) == [-2, -3, -5]
    assert rig.run_until_agreed() == 3


def test_new_inputs_wait_behind_older_ones() -> None:
    """As with a process, which reads its inputs in the order of arrival."""
    rig, since = _paused()
    rig.do("on deliver AreYouUp 1->3: inject 1->3 AreYouUp", "resume 3")
    assert _forged_taken(rig, since) == [-2, -3, -4]
