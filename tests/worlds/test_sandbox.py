"""The sandbox: what a stranger's file can do in it, which is to compute the steps of a node, and nothing else."""

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.exercises.exercise_reader import SHIPPED
from lab.kernel import Step
from lab.protocols import Algorithm
from lab.protocols.bully import Bully
from lab.recording.records import Record
from lab.worlds.loading.confinement import unavailable
from lab.worlds.loading.sandbox import Origin
from lab.worlds.loading.sandboxed_protocol import SandboxedProtocol, represent
from lab.worlds.loading.targets import load_protocol, sandboxed_target
from lab.worlds.loading.user_module import TargetError
from tests.harness import T_US, Rig
from tests.profile import amount

PLAIN = "class Mine(Bully):\n    pass\n"
SEEDS = amount(quick=4, soak=200)


class Sandboxes:
    """Loads files in sandboxes. The children end with the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.loaded: list[type[SandboxedProtocol]] = []

    def load(self, code: str, module: str = "", budget_s: float = 60) -> type[SandboxedProtocol]:
        """Load the class ``Mine`` of this code. ``beside``, the other module, is not checked for determinism."""
        path = self._folder / f"mine_{len(self.loaded)}.py"
        path.write_text(f"from lab.protocols import Bully\n{code}", "utf-8")
        (self._folder / "beside.py").write_text(module, "utf-8")
        found = represent(Origin(f"{path}:Mine", path, budget_s=budget_s))
        self.loaded.append(found)
        return found


@pytest.fixture
def sandboxes(tmp_path: Path) -> Iterator[Sandboxes]:
    made = Sandboxes(tmp_path)
    yield made
    for protocol in made.loaded:
        protocol.pool.close()


def records_of(protocol: type[Algorithm], seed: int, nodes: int = 2) -> list[Record]:
    """The records of a run with a crash and a restart."""
    rig = Rig(range(1, nodes + 1), protocol=protocol, seed=seed).started()
    rig.do("at 1s kill 1")
    rig.do("at 2s restart 1")
    rig.run_to(3_000_000)
    return list(rig.records)[1:]


def first_failure(records: list[Record]) -> str:
    return next((each.failed for each in records if isinstance(each, Step) and each.failed), "")


def children_so_far(sandboxes: Sandboxes | None = None) -> set[psutil.Process]:
    """The processes of this one's sandboxes; load in ``sandboxes``, so that their fork server is one of them."""
    if sandboxes is not None:
        sandboxes.load(PLAIN)
    return set(psutil.Process().children(recursive=True))


needs_confinement = pytest.mark.skipif(bool(unavailable()), reason="this system has no Landlock or no seccomp")


def test_what_is_unavailable_is_what_could_not_be_done(sandboxes: Sandboxes) -> None:
    assert sandboxes.load(PLAIN).pool.missing == unavailable()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_run_is_the_same_in_a_sandbox(sandboxes: Sandboxes, tmp_path: Path, seed: int) -> None:
    """The records do not tell where the nodes were executed."""
    code = PLAIN
    represented = sandboxes.load(code)
    assert issubclass(represented, Bully)
    assert records_of(represented, seed) == records_of(load_protocol(f"{tmp_path}/mine_0.py:Mine"), seed)


ACTS = {
    "read a file": "open('/etc/passwd').read()",
    "read the protocols": "open(lab.protocols.bully.__file__).read()",
    "read a solution": f"open({str(SHIPPED / 'mend-the-bully' / 'solution.py')!r}).read()",
    "write a file": "open('/tmp/was-here', 'w')",
    "write beside itself": "open(__file__, 'a')",
    "write in its folder": "open('x', 'w')",
    "remove a file": "os.unlink(__file__)",
    "list a folder": "os.listdir('/')",
    "look at other processes": f"open('/proc/{os.getpid()}/environ').read()",
    "open a socket": "socket.socket()",
    "make a pair of sockets": "socket.socketpair()",
    "begin a process": "os.fork()",
    "execute a program": "os.execv('/bin/true', ['true'])",
    "begin a thread": "threading.Thread(target=print).start()",
    "signal the judge": "os.kill(os.getppid(), 0)",
    "signal its group": "os.killpg(0, 0)",
    "have the kernel signal the judge": "fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())",
    "lock a file that all can see": "fcntl.lockf(open(os.__file__), fcntl.LOCK_SH)",
    "measure the memory of others": "bytes(ctypes.CDLL(None).sysinfo(ctypes.create_string_buffer(200)))",
    "take memory": "bytes(2 << 30)",
    "make a pipe": "os.pipe()",
    "become another user": "os.setuid(12345)",
    "lift a limit": "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))",
}


ATTEMPTS = """
import ctypes, fcntl, os, resource, socket, sys, threading
import lab.protocols

def attempts():
    found = {{}}
    for name, act in {acts!r}.items():
        try:
            eval(act)
            found[name] = "done"
        except (OSError, RuntimeError, MemoryError, ValueError) as error:
            found[name] = type(error).__name__
    return found

AT_LOADING = attempts()
"""


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    """What became of each act: while the file was loaded, and in a step."""
    code = """
import beside

class Mine(Bully):
    def started(self):
        self.note(f"{beside.AT_LOADING}")
        self.note(f"{beside.attempts()}")
        super().started()
"""
    sandboxes = Sandboxes(tmp_path_factory.mktemp("attempts"))
    protocol = sandboxes.load(code, ATTEMPTS.format(acts=ACTS))
    notes = next(each.notes for each in records_of(protocol, 1, nodes=1) if isinstance(each, Step))
    protocol.pool.close()
    return ast.literal_eval(notes[0]), ast.literal_eval(notes[1])


@needs_confinement
@pytest.mark.parametrize("act", ACTS)
def test_what_it_cannot_do(attempts: tuple[dict[str, str], dict[str, str]], act: str) -> None:
    """Neither while the file is loaded, nor in a step."""
    at_loading, in_step = attempts
    assert "done" not in (at_loading[act], in_step[act])


@needs_confinement
def test_the_standard_library_can_be_imported(sandboxes: Sandboxes) -> None:
    """So a file is loaded as it is outside, compiled modules included."""
    assert records_of(sandboxes.load(f"import dataclasses, decimal, heapq, statistics\n{PLAIN}"), 1)


SHARED = """
import beside

class Mine(Bully):
    def started(self):
        self.note(f"after {' '.join(beside.SEEN)}")
        beside.SEEN.append(f"{self.id}")
        super().started()
"""


def test_nodes_share_no_memory_and_none_outlives_a_crash(sandboxes: Sandboxes) -> None:
    """Two nodes, one of which starts twice: each finds memory that no other has used."""
    protocol = sandboxes.load(SHARED, "SEEN = []")
    notes = [each.notes for each in records_of(protocol, 1) if isinstance(each, Step) and each.notes]
    assert notes == [("after ",)] * 3


def test_a_child_is_used_again_in_the_next_run(sandboxes: Sandboxes) -> None:
    """A run needs one child for each incarnation: a node is killed and restarted, so there are three."""
    before = children_so_far(sandboxes)
    protocol = sandboxes.load(PLAIN)
    records_of(protocol, 1)
    children = children_so_far() - before
    records_of(protocol, 2)
    assert children_so_far() - before == children
    assert len(children) == 3


@pytest.mark.parametrize(
    "declared",
    [
        "class_name='a' + chr(0)",
        "fields={'__class__': 'volatile'}",
        "parameters={'__init__': 1}",
        "parameters={'a-b': 1}",
        "payloads={'X' * 1000: True}",
        "payloads={f'X{n}': True for n in range(100_000)}",
    ],
)
def test_declarations_that_no_class_has_are_refused(sandboxes: Sandboxes, declared: str) -> None:
    """What a child declares becomes a class here, and is judged before."""
    module = f"""
import lab.worlds.loading.sandbox_child as child
from msgspec.structs import replace

honest = child._declarations
child._declarations = lambda *given: replace(honest(*given), {declared})
"""
    with pytest.raises(TargetError, match="it declares"):
        sandboxes.load(f"import beside\n{PLAIN}", module)


DRAWING = """
class Mine(Bully):
    def started(self):
        self.note(f"{self.random.random()}")
        super().started()
"""


def test_a_graded_file_cannot_know_the_seed_of_its_faults(tmp_path: Path) -> None:
    """With the seed it could compute when which node will crash. Other runs are the same as outside."""
    path = tmp_path / "mine.py"
    path.write_text(f"from lab.protocols import Bully\n{DRAWING}", "utf-8")
    drawn = []
    for secret in ("", "a", "a", "b"):
        protocol = represent(Origin(f"{path}:Mine", path, secret=secret))
        drawn.append([each.draws for each in records_of(protocol, 1) if isinstance(each, Step) and each.draws])
        protocol.pool.close()
    plain, first, again, other = drawn
    outside = records_of(load_protocol(f"{path}:Mine"), 1)
    assert plain == [each.draws for each in outside if isinstance(each, Step) and each.draws]
    assert first == again
    assert plain != first != other != plain


LIES = {
    "a message of another node": (
        "step = replace(step, sent=tuple(replace(m, source=1) for m in step.sent))",
        "a message of another node",
    ),
    "a message to nobody": (
        "step = replace(step, sent=tuple(replace(m, target=9) for m in step.sent))",
        "to none of the nodes",
    ),
    "a message again": (
        "step = replace(step, sent=tuple(replace(m, serial=1) for m in step.sent))",
        "a message of another node",
    ),
    "an unknown message": (
        "step = replace(step, sent=tuple(replace(m, kind='X') for m in step.sent))",
        "not a message of its protocol",
    ),
    "the step of another": ("step = replace(step, node=1)", "the step of another node"),
    "a step of the past": ("step = replace(step, at_us=0)", "the step of another node"),
    "a hidden field": ("step = replace(step, changed={'x': 1})", "does not declare"),
    "a wait without a timer": (
        "Node.next_timer = lambda self: None; step = replace(step, began=(Wait('x', 1, '', now_us, now_us + 1),))",
        "no timer",
    ),
    "a wait from before": (
        "Node.next_timer = lambda self: (1, Fired('x')); step = replace(step, began=(Wait('x', 1, '', 1, 1),))",
        "at another time than now",
    ),
    "nothing": ("os._exit(3)", "its process ended"),
    "garbage": ("os.write(CHANNEL, b'garbage\\n'); os._exit(0)", "what is not a step"),
    "another reply": (
        'os.write(CHANNEL, b\'{"type":"confined","missing":[]}\\n\'); os._exit(0)',
        "something else than a step",
    ),
    "two replies": ('os.write(CHANNEL, 2 * b\'{"type":"confined","missing":[]}\\n\')', "it sent more than"),
    "a flood": ("step = replace(step, notes=(1_500_000 * 'x',))", "too large"),
    "half a line": ("os.write(CHANNEL, b'{'); os._exit(0)", "its process ended"),
}


LYING = """
import os, sys
from msgspec import Raw
from msgspec.structs import replace
from lab.kernel import Fired, Node, Wait

CHANNEL = 3
honest = Node.step

def step(self, given, now_us, draws=()):
    step = honest(self, given, now_us, draws)
    if self.id == 2 and now_us > 1_000 and step.sent:
        {lie}
    return step

Node.step = step
"""
"""The file replaces the kernel's own step: all that a stranger can do is to lie."""


@pytest.mark.parametrize(("lie", "error"), LIES.values(), ids=LIES.keys())
def test_a_reply_that_no_node_could_give_fails_the_node(sandboxes: Sandboxes, lie: str, error: str) -> None:
    assert error in first_failure(records_of(sandboxes.load(f"import beside\n{PLAIN}", LYING.format(lie=lie)), 1))


URGENT = """import socket, time
        its = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, CHANNEL)
        its.send(b"x", socket.MSG_OOB)
        time.sleep(1000)
"""
FLOOD = """pass
    if self.id == 2:
        body = Raw(b'"' + (4 << 20) * b"x" + b'"')
        step = replace(step, sent=tuple(replace(message, body=body) for message in step.sent))
    else:
        import time
        from lab.worlds.json_lines import Channel
        Channel.receive = lambda self: time.sleep(1000)
"""


MANY = """pass
    step = replace(step, notes=("x" * (1 << 20),))
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (URGENT, "timed out"),
        (FLOOD, "a line of more than 4,194,304 bytes"),
        (MANY, "its steps are too large"),
    ],
    ids=["urgent data", "a large reply", "large replies"],
)
def test_a_child_cannot_block_the_judge(
    sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch, lie: str, error: str
) -> None:
    """Neither while the judge reads, nor while it writes."""
    monkeypatch.setattr("lab.worlds.loading.sandbox._ANSWER_S", 1.0)
    protocol = sandboxes.load(f"import beside\n{PLAIN}", LYING.format(lie=lie))
    assert error in first_failure(records_of(protocol, 1))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux decides by this score")
def test_children_end_first_if_memory_runs_out(sandboxes: Sandboxes) -> None:
    """Each may take a gigabyte, and a run has many."""
    before = children_so_far(sandboxes)
    sandboxes.load(PLAIN)
    (child,) = children_so_far() - before
    assert Path(f"/proc/{child.pid}/oom_score_adj").read_text("ascii") == "1000\n"


def test_an_endless_step_fails_the_node(sandboxes: Sandboxes) -> None:
    """The limit of steps holds in the child."""
    code = (
        "from lab.protocols import Bully\nclass Mine(Bully):\n    def started(self):\n        while True: pass\n"
    )
    failure = first_failure(records_of(sandboxes.load(code), 1))
    assert "did not return" in failure or "did not reply" in failure  # the latter if the machine is slow


def test_a_child_that_sleeps_is_ended(sandboxes: Sandboxes) -> None:
    """Time that it spends waiting is limited, too."""
    code = "import beside\nclass Mine(Bully):\n    def started(self):\n        beside.sleep()\n"
    module = "import time\ndef sleep():\n    time.sleep(1000)\n"
    assert "did not reply" in first_failure(records_of(sandboxes.load(code, module, budget_s=3), 1))


@pytest.mark.timeout(60)
def test_of_the_other_modules_only_regular_files_are_copied(sandboxes: Sandboxes, tmp_path: Path) -> None:
    """No link to a file of the user's, no pipe that is waited for, no endless device."""
    secret = tmp_path / "private" / "key"
    secret.parent.mkdir()
    secret.write_text("KEY = 'secret'\n", "utf-8")
    (tmp_path / "key.py").symlink_to(secret)
    (tmp_path / "zeros.py").symlink_to("/dev/zero")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(TargetError, match="No module named 'key'"):
        sandboxes.load(f"import key\n{PLAIN}")
    assert records_of(sandboxes.load(PLAIN), 1)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "folder", "large"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(5 << 30)
    with pytest.raises(TargetError, match=r"mine\.py"):
        represent(Origin(f"{path}:Mine", path))


def test_modules_of_its_folder_are_not_those_of_the_child(
    sandboxes: Sandboxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if this process imports from that folder, because the user's own properties are there, too."""
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("sitecustomize", "msgspec"):
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'was-here')!r}, 'w')\n", "utf-8")
    assert records_of(sandboxes.load(PLAIN), 1)
    assert not (tmp_path / "was-here").exists()


def test_errors_name_the_file_of_the_user(tmp_path: Path) -> None:
    """The copy in the sandbox is nobody's business."""
    (tmp_path / "torn.py").write_text("class Mine(:\n", "utf-8")
    with pytest.raises(TargetError, match=rf"^{tmp_path}/torn.py:1: "):
        load_protocol(sandboxed_target(f"{tmp_path}/torn.py:Mine"))


def test_built_in_protocols_need_none() -> None:
    with pytest.raises(TargetError, match="bully is built in, and needs no sandbox"):
        sandboxed_target("bully")


def test_its_files_go_with_it(sandboxes: Sandboxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its end nothing is left of a sandbox: neither folders nor processes."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    protocol = sandboxes.load(PLAIN)
    records_of(protocol, 1)
    assert list((tmp_path / "temporary").iterdir())
    protocol.pool.close()
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("form", ["field above {}", "{}"])
def test_a_task_on_an_election_in_a_sandbox(tmp_path: Path, form: str) -> None:
    """The layers that are built in are represented by themselves."""
    path = tmp_path / "own.py"
    path.write_text("from lab.protocols import Bully\nclass Own(Bully):\n    pass\n", "utf-8")
    target = form.format(f"{path}:Own")
    protocol, outside = load_protocol(sandboxed_target(target)), load_protocol(target)
    assert protocol.name == outside.name
    assert protocol.payloads.keys() == outside.payloads.keys()
    assert [field.name for field in protocol.fields] == [field.name for field in outside.fields]
    assert protocol.promises == outside.promises
    assert records_of(protocol, 3) == records_of(outside, 3)


def test_what_it_declares_for_a_run(sandboxes: Sandboxes) -> None:
    """Parameters, bounds and reliance are values that the child computes."""
    code = """
class Mine(Bully):
    class Parameters(Bully.Parameters, frozen=True):
        patience_us: int = 7

    @classmethod
    def settles_within_us(cls, timing, parameters, nodes):
        return parameters.patience_us * nodes * timing.t_us
"""
    protocol = sandboxes.load(code)
    assert protocol.settles_within_us(Rig([1]).header.timing, protocol.Parameters(), 3) == 21 * T_US
    assert protocol.relied_on(protocol.Parameters()) == Bully.relied_on(Bully.Parameters())
