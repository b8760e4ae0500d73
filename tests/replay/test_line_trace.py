"""The lines that a step ran: traced by re-execution, or unavailable; and the estimate for that case."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.analysis.inspection import LastSteps
from lab.kernel import Fired, Payload, Received, Started, Step, Wait, on
from lab.protocols import Algorithm, Bully, Field, stacked
from lab.recording.reader import RecordStore, open_recording
from lab.recording.records import Record
from lab.recording.timeline import Timeline
from lab.recording.writer import MemoryLog
from lab.replay import line_trace as rerun
from lab.replay.line_trace import TraceUnavailableError, approximate_lines, installed_protocol, trace_lines
from lab.replay.source_listing import Listing
from tests.harness import T_US, Rig, simulated_header
from tests.recording.in_memory import MemoryLines

SHIPPED = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"


def _of(rig: Rig) -> RecordStore:
    return MemoryLines(rig.header, rig.records[1:])


def _run(lines: RecordStore, number: int, protocol: type[Algorithm]) -> tuple[int, ...]:
    running = trace_lines(lines, number, protocol)
    while True:
        try:
            next(running)
        except StopIteration as end:
            found: tuple[int, ...] = end.value
            return found


def _texts(lines: RecordStore, ran: tuple[int, ...]) -> list[str]:
    source = lines.header.protocol.source.split("\n")
    return [source[line - 1].strip() for line in ran]


def _first(lines: RecordStore, wanted: Callable[[Step], bool]) -> tuple[int, Step]:
    for number, record in enumerate(lines.records()):
        if isinstance(record, Step) and wanted(record):
            return number, record
    raise AssertionError("there is no such step")


def _enters_election(step: Step) -> bool:
    return isinstance(step.input, Received) and step.changed.get("halted") not in (None, step.node)


@pytest.fixture(scope="module")
def bully() -> RecordStore:
    """Three nodes elect; 3 is killed and recovers."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run(20 * T_US)
    rig.do("restart 3")
    rig.run(20 * T_US)
    return _of(rig)


def _waits_before(store: RecordStore, number: int, node: int) -> tuple[Wait, ...]:
    return Timeline(store).at(number - 1).nodes[node].waits


def test_a_message_runs_the_lines_of_its_handler(bully: RecordStore) -> None:
    """The reached lines of its body, in execution order, and those of the functions it calls."""
    number, _ = _first(bully, _enters_election)
    assert _texts(bully, _run(bully, number, Bully)) == [
        'if self.parameters.halting == "at_once" and self.is_halted_above(sender):',
        "return super().on_enter_election(sender, message)",
        "self.status = Status.ELECTION",
        "self.stop_processing()",
        "self.stop(self.election, self.check, self.coordinator_timeout)",
        "self.halted = sender",
        "return EnterElectionAnswer(self.report(), self.version)",
    ]


def test_a_procedure_runs_from_one_wait_to_the_next(bully: RecordStore) -> None:
    """Both lines ran; nothing before the first, nothing after the second."""
    number, step = _first(bully, lambda each: each.input == Fired("election") and bool(each.began))
    before = LastSteps(bully).at(number - 1, step.node)
    assert before is not None
    listing = Listing(bully.header.protocol)
    was, now = (
        next(wait for wait in waits if wait.procedure == "election")
        for waits in (_waits_before(bully, number, step.node), step.began)
    )
    ran = _run(bully, number, Bully)
    begun, ended = listing.line_of(was), listing.line_of(now)
    assert begun in ran
    assert ended in ran
    left, entered = listing.function_at(begun or 0), listing.function_at(ended or 0)
    assert left is not None
    assert entered is not None
    assert (left.name, entered.name) == ("is_highest", "halt_lower")
    assert all(line >= begun for line in ran if left.has(line))
    assert all(line <= ended for line in ran if entered.has(line))
    assert "self.halted = self.id" in _texts(bully, ran)


def test_an_incomplete_set_of_replies_runs_nothing() -> None:
    """The kernel stores the reply."""
    lines = open_recording(SHIPPED)
    steps = LastSteps(lines)

    def is_kept(number: int, step: Step) -> bool:
        before = steps.at(number - 1, step.node)
        fewer = [len(each.peers) for each in step.began]
        return (
            before is not None
            and isinstance(step.input, Received)
            and bool(fewer)
            and (
                fewer < [len(each.peers) for each in before.step.began]
                and [w.since_us for w in step.began] == [w.since_us for w in before.step.began]
                and not step.sent
            )
        )

    kept = [n for n, each in enumerate(lines.records()) if isinstance(each, Step) and is_kept(n, each)]
    assert kept
    assert all(_run(lines, number, Bully) == () for number in kept)
    lines.close()


def test_evaluating_timers_is_not_traced(bully: RecordStore) -> None:
    """A timer that fires runs the procedure, not the function that computes its time."""
    number, _ = _first(bully, lambda step: step.input == Fired("check"))
    texts = _texts(bully, _run(bully, number, Bully))
    assert texts[0].startswith("replies = await self.ask_all(self.peers, AreYouNormal()")
    assert not any("_check_due_us" in text or "begun_us" in text for text in texts)


def test_a_second_incarnation_begins_with_its_storage(bully: RecordStore) -> None:
    """Only the inputs of its own incarnation are executed."""
    number, step = _first(bully, lambda each: isinstance(each.input, Started) and each.input.incarnation == 2)
    assert step.node == 3
    assert _texts(bully, _run(bully, number, Bully))[0] == "self.recovery()"
    later, _ = _first(
        bully, lambda each: each.node == 3 and each.incarnation == 2 and each.changed.get("status") == "Normal"
    )
    assert "self.resume_processing()" in _texts(bully, _run(bully, later, Bully))


def test_the_lines_of_a_task_are_in_its_own_file() -> None:
    """The file of the election comes first."""
    protocol = stacked(Field, Bully)
    rig = Rig((1, 2, 3), protocol=protocol).started()
    rig.run_until_agreed()
    rig.run(10 * T_US)
    lines = _of(rig)
    listing = Listing(lines.header.protocol)
    number, step = _first(lines, lambda each: each.input == Fired("survey_regions"))
    ran = _run(lines, number, protocol)
    assert listing.place_of(ran[0])[0] == "field.py"
    assert {listing.place_of(line)[0] for line in ran} <= {"field.py", "publishing.py"}
    waits = [listing.line_of(wait) for wait in step.began if wait.procedure == "survey_regions"]
    assert waits
    assert set(waits) <= set(ran)


@pytest.mark.parametrize("node", [1, 2, 3])
def test_every_step_of_a_run_can_be_traced(bully: RecordStore, node: int) -> None:
    """And the line of a wait begun in it is among those that ran."""
    listing = Listing(bully.header.protocol)
    traced = 0
    seen: set[tuple[str, int]] = set()
    for number, record in enumerate(bully.records()):
        if isinstance(record, Step) and record.node == node:
            ran = _run(bully, number, Bully)
            for wait in record.began:
                if (wait.procedure, wait.since_us) not in seen:
                    assert listing.line_of(wait) in ran
                    traced += 1
                seen.add((wait.procedure, wait.since_us))
    assert traced > 3


def test_another_trace_is_restored(bully: RecordStore) -> None:
    """A debugger, or a measurement of coverage."""
    was = sys.gettrace()
    mine = lambda frame, event, argument: None  # noqa: E731
    sys.settrace(mine)
    try:
        _run(bully, _first(bully, lambda step: True)[0], Bully)
        assert sys.gettrace() is mine
    finally:
        sys.settrace(was)


# what cannot be told


def _edited(lines: RecordStore, number: int, change: Callable[[Step], Record]) -> RecordStore:
    records = [record for record in lines.records() if record is not None]
    step = records[number]
    assert isinstance(step, Step)
    records[number] = change(step)
    return MemoryLines(lines.header, records[1:])


def test_an_edited_recording_is_not_traced(bully: RecordStore) -> None:
    """Neither the edited step, nor later ones."""
    number, _ = _first(bully, lambda step: step.changed.get("status") == "Normal")
    edited = _edited(bully, number, lambda step: replace(step, changed={**step.changed, "coordinator": 7}))
    with pytest.raises(TraceUnavailableError, match=f"record {number} differs from its re-execution"):
        _run(edited, number, Bully)
    assert _run(edited, number - 1, Bully) == _run(bully, number - 1, Bully)


def test_impossible_inputs_are_reported(bully: RecordStore) -> None:
    """A timer that was never set, a message that was never sent, an incarnation without a start."""
    number, step = _first(bully, lambda each: each.input == Fired("election"))
    node = step.node
    for given in (Fired("nonsense"), Received(9, 9)):
        edited = _edited(bully, number, lambda step, given=given: replace(step, input=given))  # type: ignore[misc]
        with pytest.raises(TraceUnavailableError):
            _run(edited, number, Bully)
    begun, _ = _first(bully, lambda step: isinstance(step.input, Started) and step.node == node)
    headless = _edited(bully, begun, lambda step: replace(step, node=99))
    with pytest.raises(TraceUnavailableError):
        _run(headless, number, Bully)
    with pytest.raises(TraceUnavailableError, match="record 0 is not a step"):
        _run(bully, 0, Bully)


def test_a_long_incarnation_is_not_re_executed(bully: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    number, _ = _first(bully, lambda step: step.input == Fired("check"))
    for bound in ("_MOST_RECORDS", "_MOST_STEPS"):
        with monkeypatch.context() as patch:
            patch.setattr(rerun, bound, 5)
            with pytest.raises(TraceUnavailableError, match="the incarnation of the node began too far back"):
                _run(bully, number, Bully)


class _Poke(Payload, frozen=True):
    """A message."""


class Raising(Algorithm):
    """A protocol of this test, which raises where its parameters are read."""

    name = "raising"

    @on(_Poke)
    def poked(self, sender: int, message: _Poke) -> None:
        """Nothing."""

    def started(self) -> None:
        raise RuntimeError("on purpose")


def test_a_failed_step_is_traced_up_to_the_error() -> None:
    rig = Rig((1,), protocol=Raising).started()
    lines = _of(rig)
    number, step = _first(lines, lambda each: True)
    assert "on purpose" in step.failed
    assert _texts(lines, _run(lines, number, Raising)) == ['raise RuntimeError("on purpose")']


def test_the_installed_protocol_has_to_be_the_recorded_one() -> None:
    """Nothing out of a recording is executed: neither a changed source, nor a protocol that is not installed."""
    info = simulated_header(Bully, (1, 2)).protocol
    assert installed_protocol(info) is Bully
    with pytest.raises(TraceUnavailableError, match="the recorded source differs from the installed one"):
        installed_protocol(replace(info, source=info.source + "\nraise SystemExit\n"))
    with pytest.raises(TraceUnavailableError, match="the recorded source differs from the installed one"):
        installed_protocol(replace(info, file="other.py"))
    with pytest.raises(TraceUnavailableError, match="the protocol is not installed"):
        installed_protocol(replace(info, name="./mine.py:Mine"))
    with pytest.raises(TraceUnavailableError, match="the protocol is not installed"):
        installed_protocol(replace(info, name="field", parameters={"election": "nope"}))


def test_a_users_protocol_counts_once_it_is_loaded() -> None:
    """As in the process that began a run of it."""
    assert installed_protocol(simulated_header(Raising, (1,)).protocol) is Raising
    stack = stacked(Field, Bully)
    assert installed_protocol(simulated_header(stack, (1,)).protocol) is stack


# about what ran


def test_the_estimate_for_a_message_is_its_handler(bully: RecordStore) -> None:
    listing = Listing(bully.header.protocol)
    _, step = _first(bully, _enters_election)
    handler = listing.named("on_enter_election")[0]
    estimate = approximate_lines(listing, replace(step, began=()), "EnterElection", ())
    assert estimate == tuple(range(handler.line, handler.last + 1))


def test_the_estimate_of_a_procedure_is_between_two_waits(bully: RecordStore) -> None:
    """It includes all lines that ran."""
    listing = Listing(bully.header.protocol)
    steps = LastSteps(bully)
    looked_at = 0
    for number, record in enumerate(bully.records()):
        before = None if not isinstance(record, Step) else steps.at(number - 1, record.node)
        if isinstance(record, Step) and before is not None and record.input == Fired("election"):
            estimate = approximate_lines(listing, record, "", _waits_before(bully, number, record.node))
            ran = _run(bully, number, Bully)
            function = listing.named("election")[0]
            assert {line for line in ran if function.has(line)} <= set(estimate)
            looked_at += 1
    assert looked_at


def test_the_estimate_may_be_empty() -> None:
    """If the source is not Python, or has no such lines."""
    header = simulated_header(Bully, (1, 2))
    log = MemoryLog(header)
    assert log.records
    listing = Listing(replace(header.protocol, source="no Python"))
    for given in (Started({}, 1, 1), Fired("election"), Received(1, 1)):
        assert approximate_lines(listing, Step(0, 1, 1, given), "AreYouUp", ()) == ()
