"""What ran in a step, line by line: found by re-execution, or not at all; and what is guessed where it is not."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.analysis.lookback import LastSteps
from lab.kernel import Fired, Payload, Received, Started, Step, on
from lab.protocols import Algorithm, Bully, Field, stacked
from lab.recording.memory import MemoryLog
from lab.recording.reader import RecordStore, open_recording
from lab.recording.records import Record
from lab.replay import line_trace as rerun
from lab.replay.approximate_lines import lines_about
from lab.replay.line_trace import CannotTellError, installed, lines_run
from lab.replay.source_listing import Listing
from tests.harness import T_US, Rig, simulated_header
from tests.recording.in_memory import MemoryLines

SHIPPED = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"


def _of(rig: Rig) -> RecordStore:
    return MemoryLines(rig.header, rig.records[1:])


def _run(lines: RecordStore, number: int, protocol: type[Algorithm]) -> tuple[int, ...]:
    running = lines_run(lines, number, protocol)
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


def _is_halted(step: Step) -> bool:
    """It is told to enter an election, and does."""
    return isinstance(step.input, Received) and step.changed.get("halted") not in (None, step.node)


@pytest.fixture(scope="module")
def bully() -> RecordStore:
    """Three nodes elect, 3 is killed and comes back."""
    rig = Rig((1, 2, 3)).started()
    rig.settle()
    rig.do("kill 3")
    rig.run(20 * T_US)
    rig.do("restart 3")
    rig.run(20 * T_US)
    return _of(rig)


def test_a_handler_s_lines_run_for_the_message_that_it_handles(bully: RecordStore) -> None:
    """Those of its body that were reached, in the order of running, and those of what it calls."""
    number, _ = _first(bully, _is_halted)
    assert _texts(bully, _run(bully, number, Bully)) == [
        "if self._is_halted_above(sender):",
        "not self.parameters.as_printed",
        "and self.status is Status.ELECTION",
        "return (",
        "self.status = Status.ELECTION",
        "self.stop_processing()",
        "self.stop(self.election, self.check, self.coordinator_timeout)",
        "self.halted = sender",
        "return EnterElectionAnswer(self.report(), self.version)",
    ]


def test_a_procedure_runs_from_where_it_waited_to_where_it_waits(bully: RecordStore) -> None:
    """Both lines are among those that ran; nothing before the one, nothing behind the other."""
    number, step = _first(bully, lambda each: each.input == Fired("election") and bool(each.waits))
    before = LastSteps(bully).at(number - 1, step.node)
    assert before is not None
    listing = Listing(bully.header.protocol)
    was, now = (next(w for w in each.waits if w.procedure == "election") for each in (before.step, step))
    ran = _run(bully, number, Bully)
    begun, ended = listing.line_of(was), listing.line_of(now)
    election = listing.named("election")[0]
    own = [line for line in ran if election.has(line)]
    assert (own[0], own[-1]) == (begun, ended)
    assert all(begun <= line <= ended for line in own)  # type: ignore[operator]
    assert "self._step_down()" in _texts(bully, ran)


def test_an_answer_that_is_not_the_last_one_runs_nothing() -> None:
    """It is the kernel that keeps it."""
    lines = open_recording(SHIPPED)
    steps = LastSteps(lines)

    def is_kept(number: int, step: Step) -> bool:
        before = steps.at(number - 1, step.node)
        fewer = [len(each.peers) for each in step.waits]
        return (
            before is not None
            and isinstance(step.input, Received)
            and bool(fewer)
            and (
                fewer < [len(each.peers) for each in before.step.waits]
                and [w.since_us for w in step.waits] == [w.since_us for w in before.step.waits]
                and not step.sent
            )
        )

    kept = [n for n, each in enumerate(lines.records()) if isinstance(each, Step) and is_kept(n, each)]
    assert kept
    assert all(_run(lines, number, Bully) == () for number in kept)
    lines.close()


def test_what_the_kernel_asks_about_timers_is_not_what_ran(bully: RecordStore) -> None:
    """A timer that fires runs the procedure, not the function that says when it is due."""
    number, _ = _first(bully, lambda step: step.input == Fired("check"))
    texts = _texts(bully, _run(bully, number, Bully))
    assert texts[0].startswith("answers = await self.ask_all(self.peers, AreYouNormal()")
    assert not any("_check_due_us" in text or "begun_us" in text for text in texts)


def test_a_second_life_begins_with_what_was_stored(bully: RecordStore) -> None:
    """Only the inputs of the step's own life are executed."""
    number, step = _first(bully, lambda each: isinstance(each.input, Started) and each.input.incarnation == 2)
    assert step.node == 3
    assert _texts(bully, _run(bully, number, Bully))[0] == "self.recovery()"
    later, _ = _first(
        bully, lambda each: each.node == 3 and each.incarnation == 2 and each.changed.get("status") == "Normal"
    )
    assert "self.resume_processing()" in _texts(bully, _run(bully, later, Bully))


def test_the_lines_of_a_task_are_in_its_own_file() -> None:
    """Above an election whose file comes first."""
    protocol = stacked(Field, Bully)
    rig = Rig((1, 2, 3), protocol=protocol).started()
    rig.settle()
    rig.run(10 * T_US)
    lines = _of(rig)
    listing = Listing(lines.header.protocol)
    number, step = _first(lines, lambda each: each.input == Fired("survey_regions"))
    ran = _run(lines, number, protocol)
    assert listing.place_of(ran[0])[0] == "field.py"
    assert {listing.place_of(line)[0] for line in ran} <= {"field.py", "publishing.py"}
    waits = [listing.line_of(wait) for wait in step.waits if wait.procedure == "survey_regions"]
    assert waits
    assert set(waits) <= set(ran)


@pytest.mark.parametrize("node", [1, 2, 3])
def test_every_step_of_a_run_can_be_told(bully: RecordStore, node: int) -> None:
    """And the line at which a wait began in it is one of those that ran."""
    listing = Listing(bully.header.protocol)
    told = 0
    seen: set[tuple[str, int]] = set()
    for number, record in enumerate(bully.records()):
        if isinstance(record, Step) and record.node == node:
            ran = _run(bully, number, Bully)
            for wait in record.waits:
                if (wait.procedure, wait.since_us) not in seen:
                    assert listing.line_of(wait) in ran
                    told += 1
                seen.add((wait.procedure, wait.since_us))
    assert told > 3


def test_another_trace_goes_on_afterwards(bully: RecordStore) -> None:
    """A debugger, a measurement of coverage."""
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


def test_an_edited_recording_is_not_told_of(bully: RecordStore) -> None:
    """A step that is not what its inputs give: neither it nor what comes after it."""
    number, _ = _first(bully, lambda step: step.changed.get("status") == "Normal")
    edited = _edited(bully, number, lambda step: replace(step, changed={**step.changed, "coordinator": 7}))
    with pytest.raises(CannotTellError, match=f"record {number} is not what re-execution gives"):
        _run(edited, number, Bully)
    assert _run(edited, number - 1, Bully) == _run(bully, number - 1, Bully)


def test_inputs_that_cannot_be_are_told_of(bully: RecordStore) -> None:
    """A timer that was never set, a message that nobody sent, a life without a beginning."""
    number, step = _first(bully, lambda each: each.input == Fired("election"))
    node = step.node
    for given in (Fired("nonsense"), Received(9, 9)):
        edited = _edited(bully, number, lambda step, given=given: replace(step, input=given))  # type: ignore[misc]
        with pytest.raises(CannotTellError):
            _run(edited, number, Bully)
    begun, _ = _first(bully, lambda step: isinstance(step.input, Started) and step.node == node)
    headless = _edited(bully, begun, lambda step: replace(step, node=99))
    with pytest.raises(CannotTellError):
        _run(headless, number, Bully)
    with pytest.raises(CannotTellError, match="record 0 is no step"):
        _run(bully, 0, Bully)


def test_it_goes_back_only_so_far(bully: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long life is not executed again for one step."""
    number, _ = _first(bully, lambda step: step.input == Fired("check"))
    for bound in ("_MOST_RECORDS", "_MOST_STEPS"):
        with monkeypatch.context() as patch:
            patch.setattr(rerun, bound, 5)
            with pytest.raises(CannotTellError, match="the node's life began too far back"):
                _run(bully, number, Bully)


class _Poke(Payload, frozen=True):
    """A message."""


class Raising(Algorithm):
    """Not in the program: a protocol of a test's own, which raises where its parameters are looked at."""

    name = "raising"

    @on(_Poke)
    def poked(self, sender: int, message: _Poke) -> None:
        """Nothing."""

    def started(self) -> None:
        """The node comes up."""
        raise RuntimeError("on purpose")


def test_a_protocol_that_raises_has_run_up_to_there() -> None:
    """The step in which a node failed can be told like any other."""
    rig = Rig((1,), protocol=Raising).started()
    lines = _of(rig)
    number, step = _first(lines, lambda each: True)
    assert "on purpose" in step.failed
    assert _texts(lines, _run(lines, number, Raising)) == ['raise RuntimeError("on purpose")']


def test_the_installed_protocol_has_to_be_the_recorded_one() -> None:
    """Nothing out of a recording is executed: not a changed source, nor one of a protocol that is not here."""
    info = simulated_header(Bully, (1, 2)).protocol
    assert installed(info) is Bully
    with pytest.raises(CannotTellError, match="the recorded source is not the installed one"):
        installed(replace(info, source=info.source + "\nraise SystemExit\n"))
    with pytest.raises(CannotTellError, match="the recorded source is not the installed one"):
        installed(replace(info, file="other.py"))
    with pytest.raises(CannotTellError, match="not the program's own"):
        installed(replace(info, name="./mine.py:Mine"))
    with pytest.raises(CannotTellError, match="not the program's own"):
        installed(replace(info, name="field", parameters={"election": "nope"}))


def test_one_of_the_users_own_counts_once_it_is_loaded() -> None:
    """As it is where a run of it was begun from the same process."""
    assert installed(simulated_header(Raising, (1,)).protocol) is Raising
    stack = stacked(Field, Bully)
    assert installed(simulated_header(stack, (1,)).protocol) is stack


# about what ran


def test_about_what_ran_is_the_handler_of_the_message(bully: RecordStore) -> None:
    """All of it."""
    listing = Listing(bully.header.protocol)
    _, step = _first(bully, _is_halted)
    handler = listing.named("enter_election")[0]
    about = lines_about(listing, replace(step, waits=()), "EnterElection", ())
    assert about == tuple(range(handler.line, handler.last + 1))


def test_about_what_ran_is_between_two_waits(bully: RecordStore) -> None:
    """And what exactly ran of the procedure is among that."""
    listing = Listing(bully.header.protocol)
    steps = LastSteps(bully)
    looked_at = 0
    for number, record in enumerate(bully.records()):
        before = None if not isinstance(record, Step) else steps.at(number - 1, record.node)
        if isinstance(record, Step) and before is not None and record.input == Fired("election"):
            about = lines_about(listing, record, "", before.step.waits)
            ran = _run(bully, number, Bully)
            function = listing.named("election")[0]
            assert {line for line in ran if function.has(line)} <= set(about)
            looked_at += 1
    assert looked_at


def test_about_what_ran_there_may_be_nothing() -> None:
    """Where the source is no Python, or names other lines than there are."""
    header = simulated_header(Bully, (1, 2))
    log = MemoryLog(header)
    assert log.records
    listing = Listing(replace(header.protocol, source="no Python"))
    for given in (Started({}, 1, 1), Fired("election"), Received(1, 1)):
        assert lines_about(listing, Step(0, 1, 1, given), "AreYouUp", ()) == ()
