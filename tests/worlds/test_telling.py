"""Commands of a protocol's own reach its nodes in every world, are recorded, and fail no node."""

from pathlib import Path

import pytest

from lab.kernel import CommandInput, Step
from lab.recording.log_lines import lines_of
from lab.recording.reader import open_recording
from lab.recording.records import Commanded, Link, Record, decode
from lab.script import parse
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.campaign.trial import carry_out
from tests.harness import T_US, Rig, simulated_header
from tests.worlds.branches import Grown
from tests.worlds.live import STEADY, LiveRun, reexecutes
from tests.worlds.protocols import Board

NODES = (1, 2, 3)


@pytest.fixture
def rig() -> Rig:
    """Three nodes under 3, with a board each."""
    rig = Rig(NODES, protocol=Board).started()
    rig.settle()
    return rig


def _told(records: list[Record]) -> list[tuple[int, CommandInput]]:
    return [
        (each.node, each.input)
        for each in records
        if isinstance(each, Step) and isinstance(each.input, CommandInput)
    ]


def _command(records: list[Record]) -> Commanded:
    return next(record for record in reversed(records) if isinstance(record, Commanded))


def _notes(rig: Rig) -> dict[int, tuple[str, ...]]:
    return {node: rig.protocol(node).notes for node in rig.lives}


# simulated


def test_simulated_it_is_a_step_behind_the_command(rig: Rig) -> None:
    """The step's input is the command; the command's record says whom it reached."""
    assert rig.do("tell coordinator pin hello") == "3 told"
    assert _command(rig.records).reached == (3,)
    step = rig.records[-1]
    assert isinstance(step, Step)
    assert (step.input, step.changed) == (CommandInput("pin", ("hello",)), {"notes": ["hello"]})
    rig.run(T_US)
    assert _notes(rig) == dict.fromkeys(NODES, ("hello",))


def test_the_log_says_what_a_node_was_told(rig: Rig) -> None:
    """Before what came of it."""
    rig.do("tell 3 pin hello")
    lines = lines_of(0, rig.records[-1])
    assert (lines[0].what, lines[0].source, lines[0].text) == ("told", 3, "pin hello")
    assert [line.kind for line in lines[1:]] == ["Pinned", "Pinned"]


def test_a_node_that_stands_still_takes_it_when_it_goes_on(rig: Rig) -> None:
    """In the order of what came meanwhile."""
    rig.do("pause 2")
    assert rig.do("tell 1 2 pin a") == "1 told; 2 told once it goes on"
    rig.run(T_US)
    assert _told(rig.records) == [(1, CommandInput("pin", ("a",)))]
    rig.do("tell 2 pin b", "resume 2")
    assert rig.protocol(2).notes == ("a", "a", "b"), "told a, heard of it by 1, told b"


def test_it_dies_with_a_node_that_stands_still(rig: Rig) -> None:
    """The next life knows nothing of it."""
    rig.do("pause 2", "tell 2 pin a", "kill 2", "restart 2")
    rig.run(T_US)
    assert _told(rig.records) == []


def test_a_node_that_is_down_is_not_reached(rig: Rig) -> None:
    """Which is said, and is no change where nobody else was."""
    rig.do("kill 2")
    assert rig.do("tell 1 2 clear") == "1 told; 2 down"
    done = rig.control.execute(parse("tell 2 clear"))
    assert (done.changed, done.refused, done.text) == (False, False, "2 down, nothing changed")
    assert _command(rig.records).reached == ()


@pytest.mark.parametrize("text", ["tell 1 publish", "tell 1 pin", "tell 1 pin a b"])
def test_what_the_protocol_does_not_take_fails_no_node(rig: Rig, text: str) -> None:
    """It is refused, and no node hears of it."""
    done = rig.control.execute(parse(text))
    assert done.refused
    assert not _told(rig.records)
    assert set(rig.lives) == set(NODES)


def test_told_in_the_middle_of_its_step_it_first_ends_that(rig: Rig) -> None:
    """What it sends then comes behind what it was sending: the links keep its order."""
    rig.do("on send Pinned 1->2 tell 1 pin b")
    rig.do("tell 1 pin a")
    sent = [(m.serial, m.target) for step in rig.steps for m in step.sent if m.kind == "Pinned"]
    assert sent == sorted(sent)
    rig.run(T_US)
    assert _notes(rig) == dict.fromkeys(NODES, ("a", "b"))


def test_a_simulated_run_with_commands_reexecutes(rig: Rig, tmp_path: Path) -> None:
    """Told while it ran, stood still, and in the middle of a step."""
    rig.do("on send Pinned 1->2 tell 1 pin b", "pause 2", "tell 1 2 pin a", "resume 2")
    path = rig.run(T_US).write(tmp_path / "told.jsonl")
    assert reexecutes(path, Board) == len(rig.steps)


# branches


def test_a_branch_gives_what_was_not_taken_yet(rig: Rig, tmp_path: Path) -> None:
    """Right behind the command, and while a node stands still; not what was taken, or died with its node."""
    rig.do("tell 1 pin a", "pause 2", "tell 2 pin b", "pause 3", "tell 3 pin c", "kill 3")
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    commands = [n for n, record in enumerate(rig.records) if isinstance(record, Commanded) and record.reached]
    right_behind = Grown(parent, commands[0], tmp_path / "one.jsonl", protocol=Board)
    assert _told(right_behind.new) == [(1, CommandInput("pin", ("a",)))]
    at_the_end = Grown(parent, len(rig.records) - 1, tmp_path / "two.jsonl", protocol=Board)
    assert _told(at_the_end.new) == []
    at_the_end.run.resume(2)
    assert _told(at_the_end.new) == [(2, CommandInput("pin", ("b",)))]
    at_the_end.writer.close()
    reexecutes(tmp_path / "two.jsonl", Board)


# campaigns


def test_a_schedule_may_tell(rig: Rig) -> None:
    """As it may strike; a command that nobody is there for is refused and no harm done."""
    strikes = (
        ScheduledFault(0, "", "tell coordinators pin early"),
        ScheduledFault(2_000_000, "", "tell coordinators pin late"),
    )
    schedule = Schedule(1, NODES, Link(10_000), strikes, 3_000_000)
    trial = carry_out(Board, simulated_header(Board, NODES), schedule)
    assert _told(trial.records) == [(3, CommandInput("pin", ("late",)))]
    assert trial.violations == []


# live


def test_live_it_comes_over_the_nodes_socket(tmp_path: Path) -> None:
    """While it stands still it waits there, as messages do; a down node is told of; nobody fails."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Board, timing=STEADY) as run:
        run.settled(3)
        assert run.order("tell coordinators pin a").text == "3 told"
        run.until(lambda cluster: cluster.nodes[1].state.get("notes") == ["a"], "a on the board of 1")
        run.order("pause 2")
        run.process_is(2, "paused")
        assert run.order("tell 2 pin b").text == "2 told once it goes on"
        run.order("resume 2")
        run.until(lambda cluster: cluster.nodes[1].state.get("notes") == ["a", "b"], "b on the board of 1")
        refused = run.order("tell 1 pin a b")
        assert (refused.ok, refused.text) == (False, "the words of pin are TEXT; got a b: tell NODES pin TEXT")
        run.order("kill 2")
        assert run.order("tell 2 clear").text == "2 down, nothing changed"
        assert _told(run.tail.records) == [(3, CommandInput("pin", ("a",))), (2, CommandInput("pin", ("b",)))]
        assert run.processes(1)[-1].event == "started"


def test_a_branch_of_a_live_run_gives_what_was_not_taken_yet(tmp_path: Path) -> None:
    """The command was recorded; the node had not come to it."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Board, timing=STEADY) as run:
        run.settled(3)
        run.order("tell 1 pin a")
        run.until(lambda cluster: cluster.nodes[3].state.get("notes") == ["a"], "a on the board of 3")
    lines = open_recording(run.path)
    at = next(n for n, each in enumerate(lines.records()) if isinstance(each, Commanded))
    lines.close()
    branch = Grown(run.path, at, tmp_path / "branch.jsonl", protocol=Board)
    assert _told(branch.new)[:1] == [(1, CommandInput("pin", ("a",)))]


def test_a_command_record_is_one_line() -> None:
    """The nodes reached are in it, where there are any."""
    line = b'{"record":"command","at_us":1,"text":"clear","outcome":"3 told","reached":[3]}'
    assert decode(line) == Commanded(1, "clear", "3 told", reached=(3,))
