"""Branches: any recording continues in simulation, from exactly the state at any of its records."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from lab.analysis.elections import agreed_coordinator
from lab.kernel import Message, Received, Started, Step
from lab.network import links_among
from lab.protocols import Bully
from lab.protocols.bully import NewState, NewStateAnswer
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Expected, Fault, Parent, Process, Record, Routed, decode
from lab.worlds.simulated.branch import NotBranchableError, reexecute_to
from tests.harness import T_US, Rig
from tests.profile import SOAK, amount, sampled
from tests.recording.samples import eventful_lines, write_lines
from tests.worlds.branches import Grown, grow

STEP = amount(quick=26, soak=4)
"""From how many records one is branched."""
LIVE = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"


def _records(path: Path) -> list[Record | None]:
    lines = open_recording(path)
    records = list(lines.records())
    lines.close()
    return records


def _find(path: Path, wanted: Callable[[Record], bool], after: int = 0) -> int:
    """Return the number of the first such record."""
    return next(n for n, r in enumerate(_records(path)) if n > after and r is not None and wanted(r))


def _is_process(event: str, node: int) -> Callable[[Record], bool]:
    return lambda record: isinstance(record, Process) and (record.event, record.node) == (event, node)


@pytest.fixture
def eventful(tmp_path: Path) -> Path:
    """A simulated run with all faults."""
    return write_lines(tmp_path / "eventful.jsonl", eventful_lines())


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """A live run with pauses and kills."""
    path = tmp_path / "live.jsonl"
    path.write_bytes(LIVE.read_bytes())
    return path


# everywhere


@pytest.mark.parametrize("share", range(amount(quick=1, soak=4)))
def test_at_every_record_of_a_run_with_all_faults(eventful: Path, share: int) -> None:
    """The branch begins with the parent's bytes, re-executes, and elects once all is healed."""
    for at in range(share, len(eventful_lines()), STEP):
        grown = grow(eventful, at)
        grown.run.run_to(grown.began_us + 2 * T_US)
        assert grown.heal_all() == 4, f"branch at {at}"
        grown.checked()


@pytest.mark.parametrize("share", range(amount(quick=1, soak=4)))
def test_at_every_record_of_a_live_run(live: Path, share: int) -> None:
    """Its nodes were processes; they continue in virtual time."""
    for at in range(share, 363, STEP):
        grown = grow(live, at)
        grown.run.run_to(grown.began_us + 2 * T_US)
        assert grown.heal_all() == 5, f"branch at {at}"
        grown.checked()


def test_without_randomness_and_faults_a_branch_continues_as_its_parent_did(tmp_path: Path) -> None:
    """Every record is equal: timers, requests and messages in flight were restored."""
    rig = Rig([1, 2, 3])
    rig.do("at 1s kill 3", "at 2s restart 3")
    parent = rig.started().run(4_000_000).write(tmp_path / "parent.jsonl", end=False)
    commands = ("at 1s kill 3", "at 2s restart 3")
    whole = parent.read_bytes().splitlines()
    compared = 0
    for at, record in list(enumerate(_records(parent)))[:: amount(quick=3, soak=1)]:
        now_us = getattr(record, "at_us", 0)
        if now_us in (1_000_000, 2_000_000):
            continue  # there a command may be half done
        left = [line for line, due_us in zip(commands, (1_000_000, 2_000_000), strict=True) if due_us > now_us]
        grown = Grown(parent, at, tmp_path / "branch.jsonl", left)
        grown.run.run_to(4_000_000)
        grown.writer.close()
        assert (tmp_path / "branch.jsonl").read_bytes().splitlines()[1:] == whole[1:], f"branch at {at}"
        compared += 1
    assert compared > (len(whole) - 15) / amount(quick=3, soak=1)


_WITH_CAPTIONS = (
    'on send AreYouNormal 3->1: mark "asked"',
    'on deliver AreYouNormal 3->2: say "2 is asked"',
    "on deliver AreYouNormal 3->1: expect 3 leads",
    "on send AreYouNormal 3->2: expect 2 leads within 3ms",
    'on deliver AreYouNormal 3->1 #2: after 3ms: say "in between"',
    'on deliver AreYouUp 2->3: mark "missed"',
    'when 2 election: say "2 elects"',
)
"""Lines that change nothing: most come in the midst of a step, one while messages are on their way."""


@pytest.mark.parametrize(
    "fault",
    sampled(["lose 3->2 100%", "delay all 30ms", "cut 3->2", "duplicate 3->2 100%", "duplicate 3->2 100% 1us"], 2),
)
def test_at_a_caption_a_branch_continues_as_its_parent_did(tmp_path: Path, fault: str) -> None:
    """Unsent messages of a step meet the faults in force; sent messages do not leave again."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do(fault, *_WITH_CAPTIONS)
    began, end_us = len(rig.records) - 1, rig.now_us + 20 * T_US
    rig.run_to(end_us)
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    captions = [isinstance(record, Captioned | Expected) for record in rig.records]
    assert sum(captions) >= 4
    places = range(began, len(rig.records))
    for at in (at for at in places if SOAK or any(captions[at - 1 : at + 2]) or at % 5 == 0):
        grown = Grown(parent, at, tmp_path / "branch.jsonl")
        grown.run.run_to(end_us)
        course = [record for record in rig.records[at + 1 :] if not isinstance(record, Captioned | Expected)]
        assert grown.new == course, f"branch at {at}, {rig.records[at]}"
        grown.writer.close()


def test_the_same_branch_twice_gives_the_same_bytes(eventful: Path) -> None:
    """They depend on the parent, the record, the seed and the commands; another seed gives another run."""

    def bytes_of(seed: int) -> bytes:
        grown = grow(eventful, 200, "at 3s lose all 30%", seed=seed)
        grown.run.run_to(9_000_000)
        return grown.checked()

    assert bytes_of(3) == bytes_of(3)
    assert bytes_of(3).splitlines()[201:] != bytes_of(4).splitlines()[201:]


# its header


def test_the_header_names_the_parent_and_the_place(live: Path, tmp_path: Path) -> None:
    """By the file's name if it is in the branch's folder, else by its path."""
    nearby = grow(live, 100)
    parent = open_recording(live).header
    at_us = max(getattr(record, "at_us", 0) for record in _records(live)[:101])
    header = nearby.writer.header
    assert header.parent == Parent("live.jsonl", parent.run, 100, at_us)
    assert (header.world, header.began, header.run) == ("simulated", "", f"{parent.run} from 100")
    assert (header.seed, header.nodes, header.protocol) == (11, parent.nodes, parent.protocol)
    (tmp_path / "elsewhere").mkdir()
    away = Grown(live, 100, tmp_path / "elsewhere" / "branch.jsonl").writer.header.parent
    assert away is not None
    assert away.recording == str(live)


def test_a_recording_without_a_parent_names_none() -> None:
    """The first line of every other run is unchanged."""
    assert b'"parent"' not in eventful_lines()[0]


def test_the_end_of_the_parent_is_no_part_of_the_branch(eventful: Path) -> None:
    """The run continues where it had ended."""
    last = len(eventful_lines()) - 1
    grown = grow(eventful, last)
    assert grown.at == last - 1
    grown.run.run_to(grown.began_us + T_US)
    assert [b'"record":"end"' in line for line in grown.checked().splitlines()].count(True) == 1


def test_a_branch_of_a_branch(live: Path) -> None:
    """It has the records of both ancestors, and names the nearer one."""
    first = grow(live, 150, "at 5s kill 2")
    first.run.run_to(first.began_us + 3_000_000)
    first.checked()
    second = grow(first.path, first.writer.count - 30)
    assert second.heal_all() == 5
    second.checked()
    assert second.writer.header.parent is not None
    assert second.writer.header.parent.recording == "live-150.jsonl"
    assert second.path.read_bytes().splitlines()[1:151] == first.path.read_bytes().splitlines()[1:151]


# what is under way at the place


def test_in_the_middle_of_a_pause(live: Path) -> None:
    """The node is paused since the same instant, and takes in all waiting messages when it resumes."""
    at = _find(live, _is_process("paused", 5)) + 20
    records = _records(live)
    since_us = max(r.at_us for r in records[:at] if isinstance(r, Process) and r.event == "paused")
    cluster = ClusterState((1, 2, 3, 4, 5))
    for record in records[: at + 1]:
        cluster.apply(record)
    waiting = [(flight.source, flight.serial) for flight in cluster.in_flight.values() if flight.target == 5]
    assert waiting
    grown = grow(live, at)
    inbox = [(m.source, m.serial) for m in grown.run.incarnations[5].inbox if isinstance(m, Message)]
    for source in (1, 2, 3, 4):
        assert [key for key in inbox if key[0] == source] == [key for key in waiting if key[0] == source]
    assert not [r for r in grown.new if isinstance(r, Step) and r.node == 5]
    grown.run.run_to(grown.began_us + 100_000)
    grown.do("resume 5")
    resumed = next(r for r in grown.new if isinstance(r, Process))
    assert (resumed.event, resumed.paused_us) == ("resumed", grown.began_us + 100_000 - since_us)
    got = [r.input for r in grown.new if isinstance(r, Step) and r.node == 5 and isinstance(r.input, Received)]
    assert [(each.source, each.serial) for each in got][: len(waiting)] == inbox
    grown.checked()


def test_in_the_middle_of_a_partition(eventful: Path) -> None:
    """Its rule is in force with its number, without healed links; the next fault has the next number."""
    number = _find(eventful, lambda r: isinstance(r, Fault) and r.kind == "partition")
    narrowed = _find(eventful, lambda r: isinstance(r, Fault) and len(r.links) == 7)
    fault = _records(eventful)[number]
    assert isinstance(fault, Fault)
    grown = grow(eventful, narrowed)
    assert {n: len(rule.links) for n, rule in grown.run.network.rules.items()} == {fault.id: 7}
    grown.run.run_to(grown.began_us + 4 * T_US)
    cut = [r for r in grown.new if isinstance(r, Routed) and r.why == "cut"]
    assert cut
    assert {r.by for r in cut} == {(fault.id,)}
    grown.do("cut 1->2")
    grown.do("heal")
    faults = [(r.id, r.lifted) for r in grown.new if isinstance(r, Fault)]
    assert faults == [(fault.id + 1, False), (fault.id, True), (fault.id + 1, True)]
    assert grown.heal_all() == 4
    grown.checked()


@pytest.mark.parametrize(
    "command",
    ["delay 1<->2 80ms ±10ms", "lose all 40%", "duplicate 3 70% 1s", "reorder 1<->2 50% 90ms", "cut 1->2"],
)
def test_every_link_fault_continues(tmp_path: Path, command: str) -> None:
    """The rule parsed from the recorded text equals the one that was in force."""
    rig = Rig([1, 2, 3], seed=9).started()
    rig.run_until_agreed()
    rig.do(command)
    parent = rig.run(2 * T_US).write(tmp_path / "parent.jsonl", end=False)
    grown = grow(parent, len(rig.records) - 1)
    assert grown.run.network.rules == rig.network.rules


def test_a_fault_of_the_coordinator_continues_without_one(tmp_path: Path) -> None:
    """Its links are recorded; the present coordinator does not matter."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("delay coordinator 100ms", "kill 3")
    parent = rig.run(1_000).write(tmp_path / "parent.jsonl", end=False)
    assert grow(parent, len(rig.records) - 1).run.network.rules == rig.network.rules


@pytest.mark.parametrize("copies", ["duplicate all 100%", "duplicate all 100% 300ms"])
def test_copies_and_delays_in_flight(tmp_path: Path, copies: str) -> None:
    """Each copy arrives, at its recorded time, and messages that were in order stay in order."""
    rig = Rig([1, 2, 3], seed=2).started()
    rig.run_until_agreed()
    rig.do(copies, "delay all 200ms ±50ms", "kill 3")
    rig.run_until(lambda: len(rig.network.in_flight()) > 12, 40 * T_US, "many are in flight")
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    flying = [(due_us, message) for due_us, _, message in rig.network.in_flight()]
    grown = grow(parent, len(rig.records) - 1)
    assert [(due_us, message) for due_us, _, message in grown.run.network.in_flight()] == flying


def test_held_messages_without_their_fault_continue(tmp_path: Path) -> None:
    """Tests hold messages with rules of their own, which are not recorded."""
    rig = Rig([1, 2, 3])
    rig.hold(links_among(frozenset({1}), frozenset({2, 3})), "AreYouUpAnswer", "AreYouUp")
    rig.started().run(2 * T_US)
    held = [f for f in rig.cluster.in_flight.values() if f.held]
    assert held
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    grown = grow(parent, len(rig.records) - 1)
    released = [(r.source, r.serial) for r in grown.new if isinstance(r, Routed) and r.fate == "released"]
    assert released == [(f.source, f.serial) for f in held]
    assert grown.heal_all() == 3
    grown.checked()


def test_at_a_step_its_messages_have_yet_to_leave(tmp_path: Path) -> None:
    """A fault in force affects them; after the last record of their outcomes nothing is left to decide."""
    rig = Rig([1, 2, 3]).started()
    rig.run_until_agreed()
    rig.do("lose all 100%", "kill 3")
    parent = rig.run(10 * T_US).write(tmp_path / "parent.jsonl", end=False)
    at = _find(
        parent, lambda r: isinstance(r, Step) and len(r.sent) == 1, after=_find(parent, _is_process("killed", 3))
    )
    step, lost = _records(parent)[at : at + 2]
    assert isinstance(step, Step)
    assert isinstance(lost, Routed)
    assert grow(parent, at).new == [lost]
    assert grow(parent, at + 1).new == []


def test_a_node_without_a_first_step_begins(eventful: Path) -> None:
    """With the contents of its stable storage, and with the incarnation and serial it would have had."""
    at = _find(
        eventful, lambda r: isinstance(r, Process) and (r.event, r.node, r.incarnation) == ("started", 4, 2)
    )
    recorded = _records(eventful)[at + 1]
    assert isinstance(recorded, Step)
    assert isinstance(recorded.input, Started)
    assert recorded.input.stored
    begun = grow(eventful, at).new[0]
    assert isinstance(begun, Step)
    assert begun.input == recorded.input


def test_nodes_not_yet_started_are_started(live: Path) -> None:
    """At the header nothing has happened; the run begins again."""
    new = grow(live, 0).new
    assert [r.node for r in new if isinstance(r, Process)] == [1, 2, 3, 4, 5]


def test_wiped_storage_is_empty(eventful: Path) -> None:
    """A wiped node starts with nothing."""
    at = _find(eventful, _is_process("wiped", 2))
    grown = grow(eventful, at)
    grown.do("restart 2")
    begun = next(r for r in grown.new if isinstance(r, Step))
    assert isinstance(begun.input, Started)
    assert begun.input.stored == {}


@pytest.mark.parametrize("verb", ["kill", "pause"])
def test_a_fault_not_yet_confirmed_strikes(live: Path, verb: str) -> None:
    """A live host records a kill when the process has ended; the branch applies it at the fault's record."""
    at = _find(live, lambda r: isinstance(r, Fault) and r.kind == verb)
    fault = _records(live)[at]
    assert isinstance(fault, Fault)
    struck = [r for r in grow(live, at).new if isinstance(r, Process)]
    assert [(r.node, r.event) for r in struck] == [(fault.nodes[0], "killed" if verb == "kill" else "paused")]
    assert [
        r for r in grow(live, _find(live, _is_process(struck[0].event, struck[0].node), at)).new if r in struck
    ] == []


def test_at_the_step_of_a_failure_the_node_is_seen_failed(tmp_path: Path) -> None:
    """A step that raised halts the node; its failure is the next record."""

    class Fragile(Bully):
        def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
            raise RuntimeError("it breaks")

    rig = Rig([1, 2], protocol=Fragile).started()
    parent = rig.run(20 * T_US).write(tmp_path / "parent.jsonl", end=False)
    at = _find(parent, lambda r: isinstance(r, Step) and bool(r.failed))
    failed, *_ = Grown(parent, at, tmp_path / "branch.jsonl", protocol=Fragile).new
    assert failed == _records(parent)[at + 1]
    assert isinstance(failed, Process)
    assert failed.event == "failed"


def test_a_trigger_may_be_true_already(live: Path) -> None:
    """``when all normal`` where all nodes are Normal."""
    records = _records(live)
    cluster, at = ClusterState((1, 2, 3, 4, 5)), 0
    for number, record in enumerate(records):
        cluster.apply(record)
        if agreed_coordinator(cluster.nodes) == 5:
            at = number
            break
    new = grow(live, at, "when all normal kill 1").new
    assert [r.event for r in new if isinstance(r, Process)] == ["killed"]


# what cannot be branched


def _edited(path: Path, number: int, edit: Callable[[bytes], bytes]) -> Path:
    lines = path.read_bytes().splitlines()
    lines[number] = edit(lines[number])
    return write_lines(path, lines)


def _refusal(path: Path, at: int) -> str:
    lines = open_recording(path)
    with pytest.raises(NotBranchableError) as refused:
        reexecute_to(lines, at, Bully)
    lines.close()
    return str(refused.value)


def test_an_edited_record_is_refused_with_its_number(eventful: Path) -> None:
    """The recording can be branched before it."""
    at = _find(eventful, lambda r: isinstance(r, Step) and r.changed.get("status") == "Normal")
    _edited(eventful, at, lambda line: line.replace(b'"Normal"', b'"Election"'))
    with pytest.raises(NotBranchableError, match=f"record {at} "):
        grow(eventful, at + 5)
    assert [path.name for path in eventful.parent.iterdir()] == [eventful.name], "nothing is written"
    refusal = _refusal(eventful, at)
    assert refusal.startswith(f"record {at} (line {at + 1}) does not hold, so branch before it: step of node ")
    grow(eventful, at - 1).checked()


def test_a_damaged_record_is_refused_with_its_number(eventful: Path) -> None:
    _edited(eventful, 77, lambda line: line[:30])
    assert _refusal(eventful, 80).startswith(
        "record 77 (line 78) does not hold, so branch before it: it cannot be read: "
    )


def test_a_torn_recording_can_be_branched_up_to_the_tear(eventful: Path) -> None:
    """The torn line is left out; the lines before it are whole."""
    eventful.write_bytes(eventful.read_bytes()[:-9])
    grown = grow(eventful, len(eventful_lines()) - 2)
    assert grown.heal_all() == 4
    grown.checked()


def test_a_fault_that_cannot_be_read_is_refused(eventful: Path) -> None:
    """It may come from a newer version."""
    at = _find(eventful, lambda r: isinstance(r, Fault) and r.kind == "partition")
    number = decode(eventful.read_bytes().splitlines()[at])
    assert isinstance(number, Fault)
    lines = [line.replace(b'"text":"partition', b'"text":"bewitch') for line in eventful.read_bytes().splitlines()]
    write_lines(eventful, [line for line in lines if not line.startswith(b'{"record":"keyframe"')])
    at = _find(eventful, lambda r: isinstance(r, Fault) and r.kind == "partition")
    assert _refusal(eventful, at + 2).startswith(f"fault {number.id} in force cannot be read: column 1: ")


def test_parameters_that_are_not_the_protocols_are_refused(eventful: Path) -> None:
    """As by ``lab verify``."""

    def edit(line: bytes) -> bytes:
        header = msgspec.json.decode(line)
        header["protocol"]["parameters"] = {"check_every_us": "often"}
        return msgspec.json.encode(header)

    _edited(eventful, 0, edit)
    assert _refusal(eventful, 5).startswith("it cannot be re-executed: the parameters in the header")
