"""The waiting inputs of a simulated node, paused or not yet begun: taken in order, and lost when it dies."""

import pytest

from lab.kernel import Received, Started, Step
from lab.recording.records import Injected, Process, Routed
from lab.script.parse import read_script
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


@pytest.mark.parametrize(
    "script",
    [
        "when 5 up: inject 1->5 AreYouUp",
        "when 5 up: inject 1->5 AreYouUp\nthen pause 5\nthen resume 5",
        "when 5 up: inject 1->5 AreYouUp\nthen kill 5\nthen restart 5",
        "when 0 == groups: choose 1",
        "when 0 == groups: choose 1\nthen kill all",
    ],
)
def test_an_input_at_the_start_waits_for_the_first_step(script: str) -> None:
    """Also if a script gives it as soon as the node is recorded as started."""
    rig = Rig([1, 2, 3, 4, 5], jitter_us=3_000)
    rig.director.add_script(read_script(script))
    rig.started().run(50_000)
    assert all(record.event != "failed" for record in rig.records if isinstance(record, Process))
    inputs = [record.input for record in rig.records if isinstance(record, Step) and record.node == 5]
    assert all(isinstance(first, Started) for first in inputs[:1])
    if any(isinstance(record, Injected) for record in rig.records) and "kill" not in script:
        assert inputs[1] == Received(1, -1)
