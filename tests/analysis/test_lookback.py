"""Searching backwards from a record: for steps, begins of waits, and messages."""

from pathlib import Path

import pytest

from lab.analysis import inspection
from lab.analysis.inspection import LastSteps, first_of_wait, message_received
from lab.kernel import Received, Started, Step
from lab.protocols import Bully
from lab.recording.reader import RecordStore, open_recording
from lab.recording.records import Process
from lab.recording.step_fold import StepFold
from tests.harness import Rig, simulated_header
from tests.recording.in_memory import MemoryLines

SHIPPED = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"


@pytest.fixture(scope="module")
def lines() -> RecordStore:
    """The recording that is shipped."""
    return open_recording(SHIPPED)


def _slowly(lines: RecordStore, number: int, node: int | None) -> int | None:
    found = None
    for earlier in range(number + 1):
        record = lines.record(earlier)
        if isinstance(record, Step) and node in (None, record.node):
            found = earlier
    return found


def _looks(lines: RecordStore, monkeypatch: pytest.MonkeyPatch) -> dict[int, None]:
    """Collect the numbers of the lines read from now on."""
    looked: dict[int, None] = {}
    raw = lines.raw

    def noted(number: int) -> bytes:
        looked.setdefault(number)
        return raw(number)

    monkeypatch.setattr(lines, "raw", noted)
    return looked


@pytest.mark.parametrize("node", [None, 1, 5, 9])
def test_the_last_step_is_found_wherever_the_cursor_goes(lines: RecordStore, node: int | None) -> None:
    """Forwards, backwards, by jumps, and for another node at the same record."""
    steps = LastSteps(lines)
    for number in (0, 3, 40, 41, 41, 200, 90, 364, 5, 0):
        found = steps.at(number, node)
        assert (found and found.number) == _slowly(lines, number, node)
        if found is not None:
            assert found.step == lines.record(found.number)


def test_only_new_records_are_searched(lines: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run in progress, an old step is not searched again in every frame."""
    steps = LastSteps(lines)
    steps.at(300, 9)
    looked = _looks(lines, monkeypatch)
    assert steps.at(303, 9) is None
    assert [*looked] == [303, 302, 301]


def test_the_search_is_limited(lines: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording may be long."""
    monkeypatch.setattr(inspection, "_FARTHEST", 10)
    looked = _looks(lines, monkeypatch)
    assert LastSteps(lines).at(300, 9) is None
    assert [*looked] == list(range(300, 290, -1))


def test_a_wipe_since_the_last_step_is_known() -> None:
    """Until the node starts again; wipes of other nodes do not count."""
    records = (
        Step(0, 1, 1, Started({}, 1, 1)),
        Process(1, 1, "killed"),
        Process(2, 2, "wiped"),
        Process(3, 1, "wiped"),
        Step(4, 1, 2, Started({}, 2, 1)),
    )
    lines = MemoryLines(simulated_header(Bully, (1, 2)), records)
    steps = LastSteps(lines)
    assert [found and found.wiped for found in (steps.at(number, 1) for number in range(6))] == [
        *(None, False, False, False, True, False),
    ]
    jumped = LastSteps(lines).at(4, 1)
    assert jumped is not None
    assert jumped.wiped


def test_the_begin_of_a_wait_names_all_peers() -> None:
    """Later there are fewer, as they answer."""
    rig = Rig((1, 2, 3, 4)).started()
    rig.run_until_agreed()
    lines = MemoryLines(rig.header, rig.records[1:])
    seen, steps = 0, StepFold()
    for number, record in enumerate(rig.records):
        if isinstance(record, Step):
            steps.apply(record)
            for wait in steps.waits(record.node):
                began = first_of_wait(lines, number, record.node, wait)
                assert began is not None
                asked = next(each.peers for each in began.began if each.procedure == wait.procedure)
                assert began.at_us == wait.since_us
                assert set(wait.peers) <= set(asked)
                seen += len(wait.peers) < len(asked)
    assert seen


def test_the_message_that_a_step_received_is_found(lines: RecordStore) -> None:
    """From any sender; a message that was never sent is not found."""
    number, step = next(
        (number, record)
        for number, record in enumerate(lines.records())
        if isinstance(record, Step) and isinstance(record.input, Received)
    )
    assert isinstance(step.input, Received)
    message = message_received(lines, number, step.input)
    assert message is not None
    assert (message.source, message.serial, message.target) == (step.input.source, step.input.serial, step.node)
    assert message_received(lines, number, Received(1, 99_999)) is None
