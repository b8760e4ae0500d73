"""Programs as nodes of a live run: real processes, struck by real signals."""

import os
import shlex
import signal
import sys
from pathlib import Path

import psutil
import pytest

from lab.kernel import Received, Step, Wrote
from lab.protocols import Program
from lab.recording.records import Fault, Process, Routed
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import STEADY, LiveRun, is_gone

pytestmark = pytest.mark.live
TALKER = Path(__file__).with_name("talker.py")


class Talkers(LiveRun):
    """A run of these programs, which are all in one mood."""

    def __init__(
        self, folder: Path, mood: str = "echo", program: str = "", nodes: tuple[int, ...] = (1, 2, 3)
    ) -> None:
        parameters = {"program": program or f"{sys.executable} {TALKER} {mood}"}
        super().__init__(
            folder, nodes=nodes, protocol=Program, parameters=parameters, timing=STEADY, module="lab.worlds"
        )

    def is_ready(self) -> None:
        """Wait until all programs have answered init."""
        self.until(lambda c: all(node.status == "Normal" for node in c.nodes.values()), "all programs are ready")

    def heard(self, node: int) -> list[str]:
        """Return whom the node says that it has heard, in this order."""
        return [
            step.input.line.partition('"heard": "')[2][:2]
            for step in self.tail.read().of(Step)
            if step.node == node and isinstance(step.input, Wrote) and '"heard"' in step.input.line
        ]

    def hears(self, node: int, *names: str) -> None:
        """Wait until the node has heard these, in any order."""
        wait_for(lambda: sorted(self.heard(node)) == sorted(names), f"{node} hears {names}", WAIT_S)


def _python(code: str) -> str:
    """Return a program that does this, and then reads until the end."""
    return shlex.join([sys.executable, "-c", f"import sys; {code}; sys.stdout.flush(); sys.stdin.read()"])


def test_programs_talk(tmp_path: Path) -> None:
    """A request by hand, messages from node to node, replies that name their requests; all of it re-executes."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        run.order('tell 2 rpc {"type":"ask_all"}')
        run.hears(2, "n1", "n3")
        sent = [message for step in run.tail.of(Step) for message in step.sent]
        asked = {message.serial: message.target for message in sent if message.kind == "AreYouThere"}
        replies = {message.source: message.reply_to for message in sent if message.kind == "IAmThere"}
        assert sorted(asked.values()) == [1, 3]
        assert {source: asked[serial] for source, serial in replies.items()} == {1: 1, 3: 3}
        received = [step.input for step in run.tail.of(Step) if isinstance(step.input, Received)]
        assert len(received) == 4


def test_the_process_is_the_program(tmp_path: Path) -> None:
    """Its pid is in the recording, and a signal from outside strikes the program itself."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        command = psutil.Process(run.pid(2)).cmdline()
        assert command[-2:] == [str(TALKER), "echo"]
        assert f"n2 is process {run.pid(2)}" in [
            step.input.line for step in run.tail.of(Step) if isinstance(step.input, Wrote) and step.input.log
        ]
        os.kill(run.pid(2), signal.SIGKILL)
        run.process_is(2, "killed")


def test_a_killed_program_starts_anew(tmp_path: Path) -> None:
    """With another process, which is named again; what was on its way to it is lost."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        before = run.pid(3)
        run.order("kill 3")
        run.process_is(3, "killed")
        assert not psutil.pid_exists(before)
        run.order('tell 1 rpc {"type":"ask_all"}')
        run.hears(1, "n2")
        assert [record.why for record in run.tail.of(Routed)] == ["down"]
        run.order("restart 3")
        run.until(lambda c: c.nodes[3].incarnation == 2 and c.nodes[3].status == "Normal", "3 is ready again")
        assert run.pid(3) != before
        run.order('tell 1 rpc {"type":"ask_all"}')
        run.hears(1, "n2", "n2", "n3")


def test_a_paused_program_stands_still(tmp_path: Path) -> None:
    """The system says so. It gets its messages when it continues, in order."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        run.order("pause 3")
        run.process_is(3, "paused")
        assert psutil.Process(run.pid(3)).status() == psutil.STATUS_STOPPED
        for _ in range(2):
            run.order('tell 1 rpc {"type":"ask_all"}')
        run.hears(1, "n2", "n2")
        received = len([step for step in run.tail.of(Step) if step.node == 3 and isinstance(step.input, Received)])
        assert received == 0
        run.order("resume 3")
        run.hears(1, "n2", "n2", "n3", "n3")


def test_faults_of_links_strike_programs(tmp_path: Path) -> None:
    """A partition loses its messages, and says how many; a fault that strikes nothing is inert."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        run.order("partition 1 2 | 3")
        run.order("delay 2->3 100ms")
        run.order('tell 1 rpc {"type":"ask_all"}')
        run.hears(1, "n2")
        partition, delay = run.tail.of(Fault)
        faults = run.cluster.faults
        assert (faults[partition.id].messages, faults[delay.id].messages) == (1, 0)
        run.order("heal")
        run.order('tell 1 rpc {"type":"ask_all"}')
        run.hears(1, "n2", "n2", "n3")


def test_a_fault_strikes_between_two_messages(tmp_path: Path) -> None:
    """A trigger on a message of a program: the second one does not leave."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        run.order("on send AreYouThere 1->2 kill 1")
        run.order('tell 1 rpc {"type":"ask_all"}')
        run.process_is(1, "killed")
        run.until(lambda c: not c.in_flight, "nothing is on its way")
        delivered = {step.node for step in run.tail.of(Step) if isinstance(step.input, Received)}
        assert 3 not in delivered


def test_a_forged_message_reaches_a_program(tmp_path: Path) -> None:
    """With the sender that it is forged from."""
    with Talkers(tmp_path) as run:
        run.is_ready()
        run.order('inject 3->1 AreYouThere {"type":"are_you_there","msg_id":9}')
        run.hears(3, "n1")


def test_a_program_that_ends_has_failed(tmp_path: Path) -> None:
    """The record says with which status, and has its last words."""
    with Talkers(tmp_path, "ends") as run:
        for node in (1, 2, 3):
            run.process_is(node, "failed")
        whys = {record.why for record in run.tail.of(Process) if record.event == "failed"}
        assert whys == {"the program ended by itself, with status 3; its last line of stderr: my last word"}
        assert [step.input.line for step in run.tail.of(Step) if isinstance(step.input, Wrote)] == 3 * [
            "my last word"
        ]


def test_a_program_that_cannot_be_executed(tmp_path: Path) -> None:
    """It fails with the reason, and the run goes on."""
    with Talkers(tmp_path, program=str(tmp_path)) as run:
        for node in (1, 2, 3):
            run.process_is(node, "failed")
        (why,) = {record.why for record in run.tail.of(Process) if record.event == "failed"}
        assert why == f"the program {str(tmp_path)!r} cannot be executed: Permission denied"
        assert run.order("restart 2").changed


def test_garbage_is_noted_and_the_program_goes_on(tmp_path: Path) -> None:
    """Lines that are no messages, bytes that are no text, empty lines."""
    with Talkers(tmp_path, "garbage", nodes=(1, 2)) as run:
        run.is_ready()
        for _ in range(2):
            run.order('tell 1 rpc {"type":"ask_all"}')
        run.hears(1, "n2", "n2")
        notes = [note for step in run.tail.of(Step) for note in step.notes if note.startswith("not a message")]
        assert len(notes) == 8


def test_a_program_that_writes_a_line_without_end_is_killed(tmp_path: Path) -> None:
    """As a node that sends garbage: nobody can fill the memory of the host."""
    with Talkers(tmp_path, program=_python("sys.stdout.write('x' * (3 << 20))"), nodes=(1,)) as run:
        run.process_is(1, "failed")


def test_a_log_line_without_end_is_left_out(tmp_path: Path) -> None:
    """The program goes on."""
    logs = "sys.stderr.write('x' * (3 << 20) + '\\nthe end\\n'); sys.stderr.flush()"
    with Talkers(tmp_path, program=_python(logs), nodes=(1,)) as run:
        run.until(lambda c: c.lines > 3, "its log")
        wait_for(
            lambda: any(
                isinstance(s.input, Wrote) and s.input.line == "the end" for s in run.tail.read().of(Step)
            ),
            "the end of its log",
        )
        assert run.cluster.nodes[1].process == "running"


def test_a_program_that_does_not_read_holds_up_nobody(tmp_path: Path) -> None:
    """The others go on; the deaf one is killed as every node."""
    with Talkers(tmp_path, "deaf", nodes=(1, 2)) as run:
        run.is_ready()
        for _ in range(50):
            run.order('tell all rpc {"type":"read","text":"' + "x" * 2000 + '"}')
        run.order("kill 1")
        run.process_is(1, "killed")
        run.process_is(2, "running")


def test_no_program_outlives_the_host(tmp_path: Path) -> None:
    """The host is killed amid the run; a program is paused then."""
    run = Talkers(tmp_path)
    run.ready = run.host.ready()
    run.is_ready()
    pids = [run.pid(node) for node in (1, 2, 3)]
    run.order("pause 2")
    run.process_is(2, "paused")
    os.kill(run.ready.pid, signal.SIGKILL)
    assert is_gone(run.session) == []
    assert not any(map(psutil.pid_exists, pids))
    run.close()
