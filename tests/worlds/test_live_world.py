"""The live world without processes: what the host does with a node's lines, and in which order it records that."""

import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lab.kernel import CommandInput, Message, Received, Started, Step, Timing
from lab.protocols import Bully
from lab.recording.records import Captioned, Link, Process, Routed
from lab.recording.writer import MemoryLog
from lab.script.parse import parse
from lab.worlds.fork_server import Fork, Forked, ProcessChange, Signal
from lab.worlds.live.live_world import LiveWorld
from lab.worlds.live.wire import Hello
from tests.harness import simulated_header

BODY = msgspec.Raw(b"{}")


class World(LiveWorld):
    """A live world of nodes 1 and 2, which are up; ``peers`` are their ends of the connections."""

    def __init__(self, folder: Path) -> None:
        self.memory = MemoryLog(simulated_header(Bully, (1, 2), Timing(80_000, 40_000), Link()))
        super().__init__(Bully, self.memory, folder, 0)
        self.peers: dict[int, socket.socket] = {}
        self.ours: list[socket.socket] = []
        self.fork_all()
        for request in self.taken_requests():
            assert isinstance(request, Fork)
            ours, self.peers[request.serial] = socket.socketpair()
            ours.setblocking(False)
            self.ours.append(ours)
            job = request.job
            hello = Hello(job.node, job.incarnation, job.token)
            self.on_forked(Forked(request.serial, 100 + request.serial))
            assert self.on_hello(hello, ours) is not None

    def taken_requests(self) -> list[object]:
        """Return the new requests to the fork server."""
        taken: list[object] = [*self.requests]
        self.requests.clear()
        return taken

    def send_step(self, step: Step) -> None:
        """Let a node's process write a step."""
        connection = self.incarnations[step.node]
        self.peers[step.node].sendall(msgspec.json.encode(step) + b"\n")
        assert self.read(connection)

    @property
    def summary(self) -> list[str]:
        """What was recorded after the nodes were up, in short."""
        found = []
        for record in self.memory.records:
            match record:
                case Routed():
                    found.append(f"{record.fate} {record.serial} {record.why}")
                case Captioned():
                    found.append(record.text)
                case Process() if record.event != "started":
                    found.append(f"{record.node} {record.event}")
                case Step():
                    found.append(f"step of {record.node}")
        return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    for end in (*world.ours, *world.peers.values()):
        end.close()


def _message(serial: int) -> Message:
    return Message(1, 2, serial, "AreYouUp", BODY)


def _first_step(*serials: int) -> Step:
    return Step(1, 1, 1, Started({}, 1, 1), sent=tuple(map(_message, serials)))


def test_a_death_is_recorded_as_in_simulation(world: World) -> None:
    """The loss of all messages that a node had not taken in comes before any command that it triggers."""
    world.director.add(parse('on drop AreYouUp: say "lost"'))
    world.send_step(_first_step(1, 2))
    world.kill(2)
    assert world.summary == ["step of 1", "dropped 1 killed", "dropped 2 killed", "lost"]
    assert world.taken_requests() == [Signal(102, 9)]
    world.on_process_change(ProcessChange(102, "ended"))
    assert world.summary[-1] == "2 killed"


def test_a_fault_strikes_between_two_messages_of_a_step(world: World) -> None:
    world.director.add(parse("on send AreYouUp 1->2: kill 1"))
    world.send_step(_first_step(1, 2))
    assert world.summary == ["step of 1", "dropped 2 unsent"]


def test_steps_of_a_paused_node_wait(world: World) -> None:
    """Its messages, too: what it wrote before it was seen to stop counts only when it continues."""
    world.director.add(parse("on send AreYouUp 1->2: pause 1"))
    world.send_step(_first_step(1, 2))
    answer = Step(2, 1, 1, CommandInput("noted"))
    world.incarnations[1].give(CommandInput("noted"))
    world.send_step(answer)
    world.on_process_change(ProcessChange(101, "stopped"))
    assert world.summary == ["step of 1", "1 paused"]
    assert world.incarnations[1].unsent == [_message(2)]
    assert world.resume(1)
    world.on_process_change(ProcessChange(101, "continued"))
    assert world.summary == ["step of 1", "1 paused", "1 resumed", "step of 1"]
    assert world.incarnations[1].unsent == []
    assert [message.serial for message in world.incarnations[2].remove_waiting()] == [1, 2]


def test_a_step_that_was_not_due_fails_its_node(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.peers[2].sendall(msgspec.json.encode(Step(1, 2, 1, Received(1, 7))) + b"\n")
    assert not world.read(world.incarnations[2])
    assert "message 7 of node 1, which was not delivered to it" in capsys.readouterr().err
    world.on_process_change(ProcessChange(102, "ended"))
    assert world.summary == ["2 failed"]


def test_a_command_for_a_node_that_has_died_is_lost(world: World) -> None:
    world.kill(2)
    world.give_command(2, CommandInput("noted"))
    assert world.summary == []
