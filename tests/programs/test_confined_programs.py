"""Strangers' programs as nodes: what they can do in their sandbox, which is to read and to write messages."""

import os
import resource
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest

from lab.exercises.exercise_reader import SHIPPED
from lab.kernel import Step, Wrote
from lab.protocols import Program
from lab.recording.records import Process
from lab.worlds.loading.confinement import unavailable
from lab.worlds.loading.program_confinement import (
    MEMORY_BYTES,
    ConfinedProgram,
    confine_program,
    describe_end,
    processor_s,
)
from lab.worlds.loading.programs import words_that_execute
from lab.worlds.loading.user_module import TargetError
from tests.programs.intruder import INTRUSIONS
from tests.waiting import WAIT_S
from tests.worlds.live import STEADY, LiveRun

HERE = Path(__file__).parent
NODES = SHIPPED.parents[1] / "guide" / "build" / "nodes"
SOLUTION = SHIPPED / "write-the-ring" / "solution.py"
REASONS = {
    "fork": "PermissionError",
    "execute another program beside it": "PermissionError",
    "connect": "PermissionError",
    "reconnect": "PermissionError",
    "read a solution": "Permission denied",
    "list its folder": "Permission denied",
    "write a file": "PermissionError",
    "change a mode": "PermissionError",
    "kill its parent": "PermissionError",
    "fill the memory": "MemoryError",
    "fill shared memory": "PermissionError",
    "flood": "wrote more than 10,000 lines",
    "write an endless line": "wrote a line of more than 1,048,576 bytes",
}
"""What the record of the failure says, or else the last line of the log."""

needs_confinement = pytest.mark.skipif(bool(unavailable()), reason="this system confines nothing")


class Confined(LiveRun):
    """A run of this program, alone in its folder."""

    def __init__(self, folder: Path, file: Path, nodes: tuple[int, ...] = (1, 2, 3), argument: str = "") -> None:
        code = folder / "code"
        code.mkdir()
        copy = Path(shutil.copy(file, code))
        words = [*words_that_execute(copy), *filter(None, [argument])]
        super().__init__(
            folder,
            nodes=nodes,
            protocol=Program,
            parameters={"program": shlex.join(words)},
            timing=STEADY,
            module="lab.worlds",
            end_us=600_000_000,
            confined=ConfinedProgram(str(code), (str(SHIPPED.parents[1]),)),
        )

    def last_log(self, node: int) -> str:
        """Return the last line of the program's log that is not empty."""
        lines = [
            step.input.line
            for step in self.tail.of(Step)
            if step.node == node and isinstance(step.input, Wrote) and step.input.log and step.input.line.strip()
        ]
        return lines[-1] if lines else ""


@needs_confinement
@pytest.mark.live
@pytest.mark.timeout(300)
def test_what_it_may_not_do_fails_its_node(tmp_path: Path) -> None:
    """Each node tries something else: none succeeds, each fails with a reason, and the run goes on."""
    nodes = tuple(range(1, len(INTRUSIONS) + 1))
    with Confined(tmp_path, HERE / "intruder.py", nodes, str(SOLUTION)) as run:
        run.until(
            lambda c: len([each for each in run.tail.of(Process) if each.event == "failed"]) == len(nodes),
            "all nodes have failed",
            WAIT_S,
        )
        ended = {each.node: each.why for each in run.tail.of(Process) if each.event == "failed"}
        reasons = {
            intrusion: f"{ended[node]}; {run.last_log(node)}" for node, intrusion in enumerate(INTRUSIONS, 1)
        }
        assert {intrusion: why for intrusion, why in reasons.items() if REASONS[intrusion] not in why} == {}
        assert not any("done: " in why for why in reasons.values())
    assert sorted(path.name for path in (tmp_path / "code").iterdir()) == ["intruder.py"]


@needs_confinement
@pytest.mark.live
@pytest.mark.parametrize("file", ["elect.py", "elect.js"])
def test_a_confined_program_is_a_node_like_others(tmp_path: Path, file: str) -> None:
    """Interpreters start in their sandbox; the nodes talk, are killed, and start again."""
    if file.endswith(".js") and shutil.which("node") is None:
        pytest.skip("node is not installed")
    with Confined(tmp_path, NODES / file) as run:
        run.until(lambda c: {each.state.get("coordinator") for each in c.nodes.values()} == {3}, "all follow 3")
        run.order("kill 3")
        run.until(lambda c: {c.nodes[node].state.get("coordinator") for node in (1, 2)} == {2}, "both follow 2")
        run.order("restart 3")
        run.until(lambda c: {each.state.get("coordinator") for each in c.nodes.values()} == {3}, "all follow 3")


@needs_confinement
def test_memory_and_processor_time_are_bounded(tmp_path: Path) -> None:
    """A program that computes without end is ended after its time, which is in the reason."""
    spinning = tmp_path / "spins.py"
    spinning.write_text("#!/usr/bin/env python3\nwhile True:\n    pass\n")
    pid = os.fork()
    if pid == 0:
        words = words_that_execute(spinning)
        missing = confine_program(ConfinedProgram(str(tmp_path)), words[0], None)
        if missing or resource.getrlimit(resource.RLIMIT_DATA)[0] != MEMORY_BYTES:
            os._exit(1)
        os.execve(words[0], words, {})
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGXCPU
    seconds = processor_s(None)
    assert describe_end(-signal.SIGXCPU, None) == f"the program used up its {seconds} s of processor time"
    assert processor_s(40_000_000) == seconds + 10
    assert describe_end(-signal.SIGKILL, None) == ""
    assert describe_end(-signal.SIGSEGV, None) == "the program was ended by SIGSEGV"


# the command that executes a file


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("#!/usr/bin/env python3", [os.path.realpath(sys.executable)]),
        ("#!/usr/bin/python3 -u", [os.path.realpath(sys.executable), "-u"]),
        ("#!/usr/bin/env -S sh -e", [os.path.realpath(shutil.which("sh") or ""), "-e"]),
        ("\x7fELF", []),
    ],
)
def test_the_first_line_names_the_interpreter(tmp_path: Path, first: str, words: list[str]) -> None:
    """A compiled program needs none."""
    file = tmp_path / "node"
    file.write_text(f"{first}\nrest")
    assert words_that_execute(file) == [*words, str(file)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("print(1)\n", "its first line must name its interpreter, such as #!/usr/bin/env python3"),
        ("", "its first line must name its interpreter"),
        ("#!/usr/bin/env\n", "node:1 names no interpreter"),
        ("#!/usr/bin/env 'x\n", "node:1: No closing quotation"),
        ("#!/usr/bin/env no-such-language\n", "node:1: there is no no-such-language on this machine"),
        (None, "No such file or directory; name the file of a program"),
    ],
)
def test_what_is_no_program(tmp_path: Path, text: str | None, error: str) -> None:
    """The reason, and what to write."""
    if text is not None:
        (tmp_path / "node").write_text(text)
    with pytest.raises(TargetError) as raised:
        words_that_execute(tmp_path / "node")
    assert error in str(raised.value)
