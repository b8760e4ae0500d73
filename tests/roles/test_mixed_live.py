"""Mixed clusters of real processes: two protocols, and a program beside nodes in Python."""

import sys
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.kernel import Received, Step, Wrote
from lab.protocols import Bully
from lab.recording.reader import open_recording
from lab.replay.reexecution import reexecute
from lab.script.scope import CommandError
from lab.text import UserError
from lab.worlds.loading.config import NotRunnableError
from lab.worlds.loading.targets import load_protocol
from tests.waiting import WAIT_S

pytestmark = pytest.mark.live
HERE = Path(__file__).parent
MINE = f"{HERE / 'my_bully.py'}:MyBully"
WITHIN = f"{WAIT_S:g}s"


def _executed_again(path: Path) -> int:
    """Return how many steps were executed again, with the recorded effects."""
    store = open_recording(path)
    report = reexecute(store, Bully, store.header.protocol.source)
    assert not report.differences
    assert report.steps
    return report.steps


def test_two_versions_elect_together(tmp_path: Path) -> None:
    """They take commands by name too; the recording is executed again, and a branch goes on from it."""
    path = tmp_path / "run.jsonl"
    with lab.live("bully", 3, role={"3": MINE}, record=path) as cluster:
        cluster.wait_until("all.coordinator == n3", WITHIN)
        assert cluster.execute("tell n3 greet").changed
        with pytest.raises(CommandError, match="node 1 executes bully, which has no command greet"):
            cluster.execute("tell 1 greet")
        cluster.execute("kill n3")
        cluster.wait_until("2.coordinator == 2 and 1.coordinator == 2", WITHIN)
        run = cluster.end()
    notes = [note for record in run.records if isinstance(record, Step) for note in record.notes]
    assert "Greeting is not a message of this protocol" in notes
    _executed_again(path)
    branch = run.branch(run.at_us, script="restart 3", for_="5s")
    assert branch.elections[-1].coordinator == 3


def test_a_program_among_nodes_in_python(tmp_path: Path) -> None:
    """It reads their requests as those of clients, and they read its answers."""
    program = _executable(tmp_path, "follower")
    path = tmp_path / "run.jsonl"
    with lab.live("bully", 3, role={"1": str(program)}, t="400ms", record=path) as cluster:
        cluster.wait_until("1.coordinator == 3 and 2.coordinator == 3 and all.status == Normal", WITHIN)
        cluster.execute("kill 3")
        cluster.wait_until("1.coordinator == 2 and 2.coordinator == 2", WITHIN)
        run = cluster.end()
    assert run.header.title == "bully (nodes 2 3), program (node 1)"
    inputs = [record.input for record in run.records if isinstance(record, Step)]
    assert {each.source for each in inputs if isinstance(each, Received)} == {1, 2, 3}
    _executed_again(path)
    with pytest.raises(NotRunnableError, match="program runs programs, which cannot be simulated"):
        run.branch(run.at_us, for_="1s")


def test_a_program_as_a_service(tmp_path: Path) -> None:
    """The nodes ask it as they ask any other; it is struck by its name, and its log is kept."""
    service = f"my-store={_executable(tmp_path, 'store')}"
    target, path = f"{HERE / 'servers.py'}:Backed", tmp_path / "run.jsonl"
    arguments: dict[str, Any] = {"services": [service], "workload": "lin-kv", "clients": 2, "rate": 20}
    with lab.live(target, 2, t="400ms", record=path, **arguments) as cluster:
        cluster.wait_until("messages(ReadOk) > 6 and messages(WriteOk) > 6", WITHIN)
        assert cluster.execute("kill my-store").text == "my-store killed"
        cluster.wait_until("my-store down", WITHIN)
        run = cluster.end()
    store = next(role for role in run.header.roles if role.name == "my-store")
    assert (store.protocol, store.nodes) == ("program", {5: "my-store"})
    steps = [record for record in run.records if isinstance(record, Step)]
    logged = [step.input.line for step in steps if isinstance(step.input, Wrote) and step.input.log]
    assert logged == ["I am my-store among n1 n2"]
    sent = [message for step in steps for message in step.sent if step.node == 5]
    assert {message.kind for message in sent} >= {"ReadOk", "WriteOk"}
    assert {operation.outcome for operation in run.operations.operations} >= {"ok"}
    assert not reexecute(open_recording(path), load_protocol(target), run.header.protocol.source).differences
    with pytest.raises(NotRunnableError, match="program runs programs, which cannot be simulated"):
        lab.simulate(target, 2, for_="2s", services=[service])


@pytest.mark.parametrize(
    ("service", "why"),
    [
        ("lin-kv=./store", "lin-kv is built in .*; give the program another name, such as my-kv"),
        ("c7=./store", "choose another name, of small letters with a hyphen"),
        ("store=./store", "choose another name, of small letters with a hyphen"),
        ("my-store=./nothing", "there is no such file"),
    ],
)
def test_services_that_cannot_be(service: str, why: str) -> None:
    with pytest.raises(UserError, match=f"service.*{why}"):
        lab.simulate("bully", 2, for_="2s", services=[service])


def _executable(folder: Path, name: str) -> Path:
    """Return the program of the tests with this name, as a file that can be executed."""
    program = folder / name
    text = (HERE.parent / "programs" / f"{name}.py").read_text("utf-8")
    program.write_text(f"#!{sys.executable}\n{text}", "utf-8")
    program.chmod(0o755)
    return program
