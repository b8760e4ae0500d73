"""Protocol commands reach nodes in every world, are recorded, and fail no node."""

from pathlib import Path

import pytest

from lab.kernel import CommandInput, Step
from lab.recording.log_lines import lines_of
from lab.recording.reader import open_recording
from lab.recording.records import Commanded, Link, Record, decode
from lab.script.parse import parse
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.campaign.trial import run_trial
from tests.harness import T_US, Rig, simulated_header
from tests.worlds.branches import Grown
from tests.worlds.live import STEADY, LiveRun, reexecutes
from tests.worlds.protocols import Board

NODES = (1, 2, 3)


@pytest.fixture
def rig() -> Rig:
    """Three nodes under 3, with a board each."""
    rig = Rig(NODES, protocol=Board).started()
    rig.run_until_agreed()
    return rig


def _command_steps(records: list[Record]) -> list[tuple[int, CommandInput]]:
    return [
        (each.node, each.input)
        for each in records
        if isinstance(each, Step) and isinstance(each.input, CommandInput)
    ]


def _command(records: list[Record]) -> Commanded:
    return next(record for record in reversed(records) if isinstance(record, Commanded))


def _notes(rig: Rig) -> dict[int, tuple[str, ...]]:
    return {node: rig.protocol(node).notes for node in rig.incarnations}


# simulated


def test_simulated_its_step_follows_the_command(rig: Rig) -> None:
    """The step's input is the command; the command's record has the nodes reached."""
    assert rig.do("tell coordinator pin hello") == "3 told"
    assert _command(rig.records).reached == (3,)
    step = rig.records[-1]
    assert isinstance(step, Step)
    assert (step.input, step.changed) == (CommandInput("pin", ("hello",)), {"notes": ["hello"]})
    rig.run(T_US)
    assert _notes(rig) == dict.fromkeys(NODES, ("hello",))


def test_the_log_shows_the_command(rig: Rig) -> None:
    """Before its effects."""
    rig.do("tell 3 pin hello")
    lines = lines_of(0, rig.records[-1])
    assert (lines[0].what, lines[0].source, lines[0].text) == ("protocol-command", 3, "pin hello")
    assert [line.kind for line in lines[1:]] == ["Pinned", "Pinned"]


def test_a_paused_node_takes_it_when_it_resumes(rig: Rig) -> None:
    """In the order of arrival."""
    rig.do("pause 2")
    assert rig.do("tell 1 2 pin a") == "1 told; 2 told when it resumes"
    rig.run(T_US)
    assert _command_steps(rig.records) == [(1, CommandInput("pin", ("a",)))]
    rig.do("tell 2 pin b", "resume 2")
    assert rig.protocol(2).notes == ("a", "a", "b"), "told a, heard of it by 1, told b"


def test_it_dies_with_a_paused_node(rig: Rig) -> None:
    """The next incarnation does not get it."""
    rig.do("pause 2", "tell 2 pin a", "kill 2", "restart 2")
    rig.run(T_US)
    assert _command_steps(rig.records) == []


def test_a_node_that_is_down_is_not_reached(rig: Rig) -> None:
    """The reply says so; nothing changes if no other node was reached."""
    rig.do("kill 2")
    assert rig.do("tell 1 2 clear") == "1 told; 2 down"
    done = rig.control.execute(parse("tell 2 clear"))
    assert (done.changed, done.refused, done.text) == (False, False, "2 down, nothing changed")
    assert _command(rig.records).reached == ()


@pytest.mark.parametrize("text", ["tell 1 publish", "tell 1 pin", "tell 1 pin a b"])
def test_an_invalid_command_fails_no_node(rig: Rig, text: str) -> None:
    """It is refused, and reaches no node."""
    done = rig.control.execute(parse(text))
    assert done.refused
    assert not _command_steps(rig.records)
    assert set(rig.incarnations) == set(NODES)


def test_during_a_step_it_waits_for_the_end_of_the_step(rig: Rig) -> None:
    """Its messages come after those of the step: links keep their order."""
    rig.do("on send Pinned 1->2 tell 1 pin b")
    rig.do("tell 1 pin a")
    sent = [(m.serial, m.target) for step in rig.steps for m in step.sent if m.kind == "Pinned"]
    assert sent == sorted(sent)
    rig.run(T_US)
    assert _notes(rig) == dict.fromkeys(NODES, ("a", "b"))


def test_a_simulated_run_with_commands_reexecutes(rig: Rig, tmp_path: Path) -> None:
    """Given to a running node, a paused one, and one in a step."""
    rig.do("on send Pinned 1->2 tell 1 pin b", "pause 2", "tell 1 2 pin a", "resume 2")
    path = rig.run(T_US).write(tmp_path / "told.jsonl")
    assert reexecutes(path, Board) == len(rig.steps)


# branches


def test_a_branch_gives_pending_commands(rig: Rig, tmp_path: Path) -> None:
    """Right after the command, and while a node is paused; not if it was taken, or its node died."""
    rig.do("tell 1 pin a", "pause 2", "tell 2 pin b", "pause 3", "tell 3 pin c", "kill 3")
    parent = rig.write(tmp_path / "parent.jsonl", end=False)
    commands = [n for n, record in enumerate(rig.records) if isinstance(record, Commanded) and record.reached]
    right_behind = Grown(parent, commands[0], tmp_path / "one.jsonl", protocol=Board)
    assert _command_steps(right_behind.new) == [(1, CommandInput("pin", ("a",)))]
    at_the_end = Grown(parent, len(rig.records) - 1, tmp_path / "two.jsonl", protocol=Board)
    assert _command_steps(at_the_end.new) == []
    at_the_end.run.resume(2)
    assert _command_steps(at_the_end.new) == [(2, CommandInput("pin", ("b",)))]
    at_the_end.writer.close()
    reexecutes(tmp_path / "two.jsonl", Board)


# campaigns


def test_a_schedule_may_have_protocol_commands(rig: Rig) -> None:
    """A command that reaches no node is refused without harm."""
    strikes = (
        ScheduledFault(0, "", "tell coordinators pin early"),
        ScheduledFault(2_000_000, "", "tell coordinators pin late"),
    )
    schedule = Schedule(1, NODES, Link(10_000), strikes, 3_000_000)
    trial = run_trial(Board, simulated_header(Board, NODES), schedule)
    assert _command_steps(trial.records) == [(3, CommandInput("pin", ("late",)))]
    assert trial.violations == []


# live


@pytest.mark.live
def test_live_it_comes_over_the_nodes_socket(tmp_path: Path) -> None:
    """It waits there while the node is paused; the reply names down nodes; no node fails."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Board, timing=STEADY) as run:
        run.settled(3)
        assert run.order("tell coordinators pin a").text == "3 told"
        run.until(lambda cluster: cluster.nodes[1].state.get("notes") == ["a"], "a on the board of 1")
        run.order("pause 2")
        run.process_is(2, "paused")
        assert run.order("tell 2 pin b").text == "2 told when it resumes"
        run.order("resume 2")
        run.until(lambda cluster: cluster.nodes[1].state.get("notes") == ["a", "b"], "b on the board of 1")
        refused = run.order("tell 1 pin a b")
        assert (refused.ok, refused.text) == (False, "usage: pin TEXT; got a b: tell NODES pin TEXT")
        run.order("kill 2")
        assert run.order("tell 2 clear").text == "2 down, nothing changed"
        assert _command_steps(run.tail.records) == [
            (3, CommandInput("pin", ("a",))),
            (2, CommandInput("pin", ("b",))),
        ]
        assert run.processes(1)[-1].event == "started"


@pytest.mark.live
def test_a_branch_of_a_live_run_gives_pending_commands(tmp_path: Path) -> None:
    """The command was recorded, but the node had not taken it."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Board, timing=STEADY) as run:
        run.settled(3)
        run.order("tell 1 pin a")
        run.until(lambda cluster: cluster.nodes[3].state.get("notes") == ["a"], "a on the board of 3")
    lines = open_recording(run.path)
    at = next(n for n, each in enumerate(lines.records()) if isinstance(each, Commanded))
    lines.close()
    branch = Grown(run.path, at, tmp_path / "branch.jsonl", protocol=Board)
    assert _command_steps(branch.new)[:1] == [(1, CommandInput("pin", ("a",)))]


def test_a_command_record_is_one_line() -> None:
    """It has the nodes reached, if there are any."""
    line = b'{"record":"command","at_us":1,"text":"clear","outcome":"3 told","reached":[3]}'
    assert decode(line) == Commanded(1, "clear", "3 told", reached=(3,))
