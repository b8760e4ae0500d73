"""A node that raises, or sends garbage, has failed, with its traceback in the record; the others continue."""

from pathlib import Path

import pytest

from lab.kernel import Step
from lab.recording.records import Process
from tests.profile import sampled
from tests.worlds.live import LiveRun
from tests.worlds.protocols import Brittle, Rude, Twofaced

pytestmark = pytest.mark.live

NODES = (1, 2, 3, 4)


def _events(run: LiveRun, node: int) -> list[str]:
    return [record.event for record in run.processes(node)]


def test_a_node_that_raises_is_failed(tmp_path: Path) -> None:
    """The step has the place; the others follow 4; it restarts, fails again, and then follows 3."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Brittle) as run:
        run.process_is(2, "failed")
        run.settled(4)
        view = run.cluster.nodes[2]
        assert view.traceback.endswith("RuntimeError: node 2 does not like node 4")
        assert "protocols.py" in view.traceback
        assert str(tmp_path.anchor) + "work" not in view.traceback, "no folders of this machine"
        failing = [step for step in run.tail.of(Step) if step.failed]
        assert [(step.node, step.sent, step.stored) for step in failing] == [(2, (), {})]
        run.order("restart 2")
        run.until(lambda _: _events(run, 2) == ["started", "failed"] * 2, "failed again")
        run.order("kill 4")
        run.settled(3)
        run.order("restart 2")
        run.until(lambda cluster: cluster.nodes[2].state.get("coordinator") == 3, "2 under 3")
        run.settled(3)
        assert run.cluster.nodes[2].traceback == ""


def test_a_failed_node_is_not_struck_again(tmp_path: Path) -> None:
    """It is down: kill and pause change nothing, wipe does."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Brittle) as run:
        run.process_is(2, "failed")
        assert run.order("kill 2").text == "2: already down, nothing changed"
        assert run.order("pause 2").text == "2: not running, nothing changed"
        run.settled(4)


STEP = '{"record":"step","at_us":1,"node":%d,"life":%d,"input":{"type":"received","source":3,"serial":%d}}\n'


@pytest.mark.parametrize(
    ("garbage", "times"),
    sampled(
        [
            pytest.param("\xff\xfe\x00\x80\n", 1, id="bytes"),
            pytest.param("hello\n", 1, id="no JSON"),
            pytest.param("{}\n", 1, id="no step"),
            pytest.param("[", 200_000, id="deep"),
            pytest.param('{"record":"step","x":', 50_000, id="deep inside"),
            pytest.param('{"node":2,"life":1,"token":"0"}\n', 1, id="a second Hello"),
            pytest.param(STEP % (3, 1, 1), 1, id="another's step"),
            pytest.param(STEP % (2, 7, 1), 1, id="another life's step"),
            pytest.param(STEP % (2, 1, 999), 1, id="a step on a message it was not given"),
            pytest.param("x", 3_000_000, id="a line without end"),
            pytest.param('{"record":"keyframe","at_us":1}\n', 1, id="a record that is no step"),
        ],
        2,
    ),
)
def test_a_process_that_sends_garbage_is_failed(tmp_path: Path, garbage: str, times: int) -> None:
    """It is ended, and none of the garbage is recorded; the others elect, and it can be restarted."""
    parameters = {"garbage": garbage, "times": times}
    with LiveRun(tmp_path, nodes=NODES, protocol=Rude, parameters=parameters) as run:
        run.process_is(2, "failed")
        run.settled(4)
        (why,) = {record.why for record in run.tail.of(Process) if record.event == "failed"}
        assert why.startswith(("sent garbage: ", "made too large a step: "))
        assert f"node 2 {why}" in run.host.stderr_text()
        run.order("kill 4")
        run.settled(3)
        run.order("restart 2")
        run.process_is(2, "running")
        run.settled(3)


def test_half_a_line_and_dead(tmp_path: Path) -> None:
    """An incomplete line of a dead process is neither garbage nor a step."""
    parameters = {"garbage": '{"record":"step","at', "die": True}
    with LiveRun(tmp_path, nodes=NODES, protocol=Rude, parameters=parameters) as run:
        run.process_is(2, "killed")
        run.settled(4)
        assert run.host.stderr_text() == ""


def test_garbage_from_a_process_that_is_being_paused(tmp_path: Path) -> None:
    """It waits in the backlog, and takes effect when the process resumes."""
    commands = ("on send NewState 4->2: pause 2",)
    with LiveRun(tmp_path, nodes=NODES, protocol=Rude, parameters={"garbage": "{}\n"}, commands=commands) as run:
        run.process_is(2, "paused")
        run.order("resume 2")
        run.process_is(2, "failed")
        run.settled(4)


def test_a_second_connection_with_the_right_token_is_refused(tmp_path: Path) -> None:
    """Each process sends Hello once; the second connection is closed, the first continues."""
    with LiveRun(tmp_path, nodes=NODES, protocol=Twofaced) as run:
        run.settled(4)
        starts = [step for step in run.tail.of(Step) if step.notes]
        assert [step.notes for step in starts] == [("hung up on",)] * 4
        assert [record.event for record in run.tail.of(Process)] == ["started"] * 4
