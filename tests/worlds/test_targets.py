"""Protocols in users' files, with one line for every possible mistake."""

import sys
from pathlib import Path

import pytest

from lab.properties.assertions import BUILT_IN
from lab.protocols import PROTOCOLS, TASKS, Algorithm, Bully, source_of
from lab.recording.records import ProtocolInfo
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.targets import (
    absolute_target,
    check_declarations,
    load_protocol,
    loaded_targets,
    recorded_protocol,
    split_target,
    split_targets,
)
from lab.worlds.loading.user_module import TargetError
from tests.harness import TIMING, Rig

HEAD = """from typing import ClassVar
from lab.kernel import Protocol, on, procedure
from lab.protocols import Bully, Election, Status
"""
ASSERTED = ", ".join(each.id for each in BUILT_IN)
KNOWN = ", ".join(sorted((*PROTOCOLS, *TASKS)))
MINE = f"{HEAD}class MyElection(Bully):\n    seen: int = 0\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; changes of the search path by loading are undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(text: str, name: str = "mine.py") -> str:
    Path(name).write_text(text, "utf-8")
    return name


def _refused(target: str) -> str:
    with pytest.raises(TargetError) as caught:
        load_protocol(target)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_protocol_by_its_name() -> None:
    assert load_protocol("bully") is Bully
    assert absolute_target("bully") == "bully"


def test_a_class_in_a_file(folder: Path) -> None:
    """The class has a name, the file's name and its source; it runs."""
    _write(MINE)
    found = load_protocol("mine.py:MyElection")
    assert issubclass(found, Bully)
    assert [field.name for field in found.fields][-1] == "seen"
    assert found.name == "my-election"
    file, source = source_of(found)
    assert file == "mine.py"
    assert source.startswith(f"{MINE}\n# ---- bully.py ----\n")
    assert Rig([1, 2, 3], protocol=found).started().run_until_agreed() == 3
    assert not (folder / "__pycache__").exists()


def test_the_only_protocol_of_a_file() -> None:
    """Its class need not be named; imported protocols do not count."""
    _write(MINE)
    assert load_protocol("mine.py") is load_protocol("mine.py:MyElection") is load_protocol("mine.py:")


def test_a_file_is_loaded_once(folder: Path) -> None:
    """However it is named: as a path from here, from the root, or through another folder."""
    _write(MINE)
    first = load_protocol("mine.py")
    assert load_protocol(f"{folder}/mine.py") is load_protocol("./mine.py") is first
    assert absolute_target("mine.py:MyElection") == f"{folder}/mine.py:MyElection"
    assert absolute_target("./mine.py") == f"{folder}/mine.py"


@pytest.mark.parametrize("name", ["ring with bells", "far above", "one, two", "a with b above c, d"])
def test_a_folder_may_have_any_name(folder: Path, name: str) -> None:
    """With the words that stand between the parts of a target, too: by its relative and its absolute path."""
    (folder / name).mkdir()
    _write(MINE, f"{name}/mine.py")
    _write("", f"{name}/more.py")
    assert load_protocol(f"{name}/mine.py").name == "my-election"
    assert absolute_target(f"{name}/mine.py:MyElection") == f"{folder}/{name}/mine.py:MyElection"
    own = f"{folder}/{name}/mine.py:MyElection"
    assert load_protocol(own).name == "my-election"
    assert load_protocol(f"3pc above {own}").name == "3pc"
    assert absolute_target(own) == own
    assert split_target(f"{own} with {folder}/{name}/more.py") == (own, f"{folder}/{name}/more.py")
    assert split_target(f"bully with {folder}/{name}/more.py") == ("bully", f"{folder}/{name}/more.py")
    two = [f"{folder}/{name}/mine.py:MyElection", "bully"]
    assert split_targets(",".join(two)) == two
    assert split_targets(",".join(reversed(two))) == two[::-1]


def test_a_file_that_was_changed_within_a_second(folder: Path) -> None:
    """The present text is loaded, not a cached compilation: tested in a process of its own."""
    path = folder / "mine.py"
    for number in (1, 2):
        path.write_text(f"{MINE}    edition: int = {number}\n")
        for key in [key for key in sys.modules if "mine_py" in key]:
            del sys.modules[key]
        assert load_protocol("mine.py").fields[-1].default == number


def test_two_files_of_the_same_name(folder: Path) -> None:
    """In two folders: two protocols."""
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    _write(MINE, "a/mine.py")
    _write(MINE.replace("MyElection", "YourElection"), "b/mine.py")
    assert [load_protocol(f"{name}/mine.py").name for name in "ab"] == ["my-election", "your-election"]


def test_each_protocol_imports_its_own_file_of_a_name(folder: Path) -> None:
    """Each protocol has the one beside it."""
    for name, times in (("a", 3), ("b", 5)):
        (folder / name).mkdir()
        _write(f"TIMES = {times}\n", f"{name}/times_of_mine.py")
        _write(f"from times_of_mine import TIMES\n{MINE}    times: int = TIMES\n", f"{name}/mine.py")
    assert [load_protocol(f"{name}/mine.py").fields[-1].default for name in "ab"] == [3, 5]


def test_files_in_its_folder_can_be_imported(folder: Path) -> None:
    """From another folder too, and inside functions; they do not shadow the program's modules."""
    (folder / "there").mkdir()
    _write("TIMES = 3\n", "there/beside_mine.py")
    _write("LATER = 4\n", "there/later_mine.py")
    _write("raise RuntimeError\n", "there/trio.py")
    later = "    def later(self):\n        from later_mine import LATER\n        return LATER\n"
    _write(f"from beside_mine import TIMES\n{MINE}    times: int = TIMES\n{later}", "there/mine.py")
    path = [*sys.path]
    found = load_protocol("there/mine.py")
    assert found.fields[-1].default == 3
    assert found.later(None) == 4  # type: ignore[attr-defined]
    assert sys.path == [*path, str(folder / "there")]


def test_annotations_that_are_not_evaluated() -> None:
    """``from __future__ import annotations`` works: the names are looked up in the file."""
    _write(f"from __future__ import annotations\n{HEAD}class Mine(Election):\n    seen: Status = Status.DOWN\n")
    assert load_protocol("mine.py").fields[-1].name == "seen"


def test_what_the_file_prints_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The program's own output stays machine-readable."""
    _write(f"print('hello')\n{MINE}")
    load_protocol("mine.py")
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize(
    ("name", "kebab"),
    [
        ("MyElection", "my-election"),
        ("my_election", "my-election"),
        ("_Raft2Lite", "raft2-lite"),
        ("HTTPVote", "http-vote"),
    ],
)
def test_the_default_name(name: str, kebab: str) -> None:
    """The class's name, in lower case with hyphens, even if a base class has a name."""
    _write(MINE.replace("MyElection", name))
    assert load_protocol("mine.py").name == kebab


def test_a_declared_name_is_kept() -> None:
    _write(f"{MINE}    name: ClassVar[str] = 'other'\n")
    assert load_protocol("mine.py").name == "other"


def _body(line: str) -> str:
    return f"{HEAD}class Mine(Election):\n    {line}\n"


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (
            "",
            "bulli",
            f"unknown protocol 'bulli'; known: {KNOWN}, or FILE.py:CLASS for your own; did you mean bully?",
        ),
        (
            MINE,
            "mine",
            f"unknown protocol 'mine'; known: {KNOWN}, or FILE.py:CLASS for your own; did you mean mine.py?",
        ),
        (
            MINE,
            "mine:MyElection",
            f"unknown protocol 'mine:MyElection'; known: {KNOWN}, or FILE.py:CLASS for your own; "
            "did you mean mine.py:MyElection?",
        ),
        ("", "gone.py:Mine", "there is no file gone.py; name one of your Python files: FILE.py:CLASS"),
        ("", "gone/mine.py", "there is no file gone/mine.py; name one of your Python files: FILE.py:CLASS"),
        ("", ".", "there is no file .; name one of your Python files: FILE.py:CLASS"),
        ("", "mine.txt:Mine", "mine.txt is not a Python file; name one: FILE.py:CLASS"),
        (
            "",
            "mine.py",
            "mine.py has no protocol: write class MyProtocol(Election), or (Algorithm)",
        ),
        (
            HEAD,
            "mine.py",
            "mine.py has no protocol: write class MyProtocol(Election), or (Algorithm)",
        ),
        (
            f"{MINE}class Other(Election):\n    pass\n",
            "mine.py",
            "mine.py has several protocols; name one: mine.py:MyElection or mine.py:Other",
        ),
        (
            MINE,
            "mine.py:MyElektion",
            "mine.py has no class MyElektion (known: MyElection); did you mean mine.py:MyElection?",
        ),
        (MINE, "mine.py:Zab", "mine.py has no class Zab (known: MyElection)"),
        (MINE, "mine.py:Status", "mine.py: Status is not an election protocol: write class Status(Election)"),
        (
            MINE,
            "mine.py:Election",
            "mine.py has no class Election (known: MyElection); did you mean mine.py:MyElection?",
        ),
        (
            f"{HEAD}class Talk(Protocol):\n    pass\n",
            "mine.py:Talk",
            "mine.py: Talk is not an election protocol: write class Talk(Election)",
        ),
        ("x = 1\ny = x +\n", "mine.py", "mine.py:2: SyntaxError: invalid syntax"),
        (
            "if 1:\nx = 1\n",
            "mine.py",
            "mine.py:2: IndentationError: expected an indented block after 'if' statement on line 1",
        ),
        (
            f"{HEAD}\ndef wrong():\n    return 1 / 0\n\nwrong()\n",
            "mine.py",
            "mine.py:6: ZeroDivisionError: division by zero",
        ),
        (
            "import json\njson.loads('[')\n",
            "mine.py",
            "mine.py:2: JSONDecodeError: Expecting value: line 1 column 2 (char 1)",
        ),
        (
            "import nowhere_mine\n",
            "mine.py",
            "mine.py:1: ModuleNotFoundError: No module named 'nowhere_mine'",
        ),
        ("import sys\nsys.exit(3)\n", "mine.py", "mine.py:2: SystemExit: 3"),
        (
            _body("seen: list[int] = []"),
            "mine.py",
            "mine.py:4: Mine.seen is a list, which could be changed unnoticed: "
            "use a tuple, a frozenset or a frozen struct",
        ),
        (
            _body("@on(int)\n    def number(self, sender, message): pass"),
            "mine.py",
            "mine.py:5: @on takes a message class: class Name(Payload, frozen=True)",
        ),
        (
            _body("seen: int"),
            "mine.py",
            "mine.py:4: Mine.seen is declared without a value: seen: … = …",
        ),
        (
            _body("name: ClassVar[str] = 'My Election'"),
            "mine.py",
            "mine.py: the name of Mine is 'My Election': write small letters, digits and hyphens, such as "
            "name: ClassVar[str] = 'my-election'",
        ),
        (
            _body("name = 'bully'"),
            "mine.py",
            "mine.py: Mine has the name 'bully', which is the name of a built-in protocol: choose another",
        ),
        (
            _body("promises: ClassVar[tuple[str, ...]] = ('A1.1', 'A9.9')"),
            "mine.py",
            f"mine.py: Mine promises 'A9.9', which is no assertion (known: {ASSERTED})",
        ),
        (
            _body("promises = ('A1.1')"),
            "mine.py",
            "mine.py: Mine.promises is 'A1.1': write a tuple, such as ('A1.1',)",
        ),
        (
            _body("relies_on = {'A1.1': 9}"),
            "mine.py",
            "mine.py: Mine.relies_on gives for an assertion the assumptions it needs, such as {'A1.1': (8, 9)}: "
            "Expected `array`, got `int` - at `$[...]`",
        ),
        (
            _body("heartbeats = ('ILead',)"),
            "mine.py",
            "mine.py: Mine.heartbeats is ('ILead',): write a tuple of messages, such as (ILead,)",
        ),
        (
            _body("workload = ('work')"),
            "mine.py",
            "mine.py: Mine.workload is 'work': write a tuple of commands, such as ('publish',)",
        ),
        (
            _body("workload = ('work 3',)"),
            "mine.py",
            "mine.py: Mine is kept busy by 'work 3', which is none of its commands (known: none)",
        ),
        (
            _body("class Parameters: pass"),
            "mine.py",
            "mine.py: Mine.Parameters is no struct: write class Parameters(Struct, frozen=True)",
        ),
        (
            f"from msgspec import Struct\n{_body('class Parameters(Struct): often_us: int')}",
            "mine.py",
            "mine.py: Mine.Parameters.often_us has no default: write often_us: … = …",
        ),
    ],
)
def test_mistakes(text: str, target: str, message: str) -> None:
    """One line each: what was got, what was expected, what to do next."""
    _write(text)
    _write(text, "mine.txt")
    assert _refused(target) == message


def _procedure(line: str, before: str = "") -> str:
    """Return a file with a procedure with this line, which is the file's ninth unless lines come ``before``."""
    return (
        f"from lab.kernel import periodic\n{HEAD}{before}class Mine(Election):\n    seen: int = 0\n"
        f"    @procedure\n    async def elect(self) -> None:\n        {line}\n"
        "    async def helper(self) -> int:\n        return 3\n"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("above = self.ask_all(self.higher, None, within=1)", "await is missing before self.ask_all(…)"),
        ("self.ask(1, None, within=1)", "await is missing before self.ask(…)"),
        ("self.sleep(1)", "await is missing before self.sleep(…)"),
        ("if self.until(lambda: True, 'it'): pass", "await is missing before self.until(…)"),
        ("self.seen = self.helper()", "await is missing before self.helper()"),
        ("super().sleep(1)", "await is missing before super().sleep(…)"),
        ("return self.sleep(1)", "await is missing before self.sleep(…)"),
        ("await self.sleep(self.helper())", "await is missing before self.helper()"),
        ("self.begin(self.elect())", "write self.begin(self.elect), without the parentheses"),
        ("self.stop(self.elect, self.helper())", "write self.stop(self.helper), without the parentheses"),
    ],
)
def test_a_missing_await(line: str, message: str) -> None:
    """The error has its line, its method, and the correction."""
    _write(_procedure(line))
    assert _refused("mine.py") == f"mine.py:9 in elect: {message}"


@pytest.mark.parametrize(
    "line",
    [
        "above = await self.ask_all(self.higher, None, within=1)",
        "await (self.sleep(1) if self.seen else self.sleep(2))",
        "self.begin(self.elect); self.restart(self.elect); self.stop(self.elect, self.elect)",
        "self.seen = self.begun_us(self.elect) if self.is_running(self.elect) else 0",
        "self.seen = await self.helper() + len(self.higher)",
        "self.sleep",
        "await (lambda: self.sleep(1))()",
    ],
)
def test_calls_that_are_awaited(line: str) -> None:
    """None of these is a mistake."""
    _write(_procedure(line))
    assert load_protocol("mine.py").name == "mine"


def test_a_plain_method_may_return_a_coroutine() -> None:
    """Its caller awaits it; but a handler or the start of a node cannot."""
    helper = "    def nap(self):\n        return self.sleep(5)\n"
    _write(f"{MINE}{helper}")
    assert load_protocol("mine.py").name == "my-election"
    _write(f"{MINE}    def started(self):\n        self.sleep(5)\n", "other.py")
    message = "started never waits, so it cannot call self.sleep(…): begin a procedure that does"
    assert _refused("other.py") == f"other.py:7 in started: {message}"


@pytest.mark.parametrize("name", ["started", "higher", "settles_within_us", "on_are_you_up", "due_us"])
def test_methods_that_may_not_be_async(name: str) -> None:
    """The start, an overridden handler, a property, a due time: none of them can wait."""
    periodic = "    @periodic(due_us)\n    async def tick(self):\n        pass\n" if name == "due_us" else ""
    head = f"from lab.kernel import periodic\n{MINE}"
    _write(f"{head}    async def {name}(self):\n        return 1\n{periodic}")
    assert _refused("mine.py") == f"mine.py:7: {name} never waits: write def, not async def"


def test_a_missing_await_in_an_imported_file(folder: Path) -> None:
    """The error has that file's line."""
    (folder / "there").mkdir()
    _write(_procedure("self.sleep(1)"), "there/based_mine.py")
    _write("from based_mine import Mine\nclass Further(Mine):\n    pass\n", "there/mine.py")
    assert _refused("there/mine.py") == "there/based_mine.py:9 in elect: await is missing before self.sleep(…)"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_programs_own_protocols_pass(name: str) -> None:
    """The checks for users' protocols apply to them, too."""
    check_declarations(PROTOCOLS[name])


def test_an_error_in_an_imported_file() -> None:
    """The error has that file's line."""
    _write("x = 1\nraise KeyError('beside')\n", "broken_beside_mine.py")
    _write("import broken_beside_mine\n")
    assert _refused("mine.py") == "broken_beside_mine.py:2: KeyError: 'beside'"


def test_a_file_that_could_not_be_loaded_is_loaded_anew() -> None:
    """After the mistake has been corrected."""
    _write("oops\n")
    assert _refused("mine.py") == "mine.py:1: NameError: name 'oops' is not defined"
    _write(MINE)
    assert load_protocol("mine.py").name == "my-election"


def test_a_file_that_may_not_be_read(folder: Path) -> None:
    """A broken link is no file; bytes that are no text are an error."""
    (folder / "link.py").symlink_to(folder / "gone")
    assert _refused("link.py") == "there is no file link.py; name one of your Python files: FILE.py:CLASS"
    (folder / "bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    assert _refused("bytes.py").startswith("bytes.py:1: SyntaxError: (unicode error)")


def _info(name: str) -> ProtocolInfo:
    return ProtocolInfo(name, {}, "mine.py", "raise SystemExit('code out of a recording')")


@pytest.mark.parametrize(
    "source",
    [
        "class Other(Bully):\n    pass\n\n\nclass MyElection(Bully):\n    pass\n",
        'class Other(Bully):\n    pass\n\n\nclass Mine(Bully):\n    name: ClassVar[str] = "my-election"\n',
    ],
)
def test_the_class_is_looked_up_in_the_recorded_source(source: str) -> None:
    """By its name, or by the name of its protocol; the source is read, not executed."""
    name = "MyElection" if "MyElection" in source else "Mine"
    with pytest.raises(TargetError, match=rf"add --protocol mine\.py:{name}, with the path where mine\.py lies$"):
        recorded_protocol(ProtocolInfo("my-election", {}, "mine.py", source), None)


def test_the_protocol_of_a_recording() -> None:
    """A built-in one by its name, a user's by its file, which must be the recorded one."""
    _write(MINE)
    assert recorded_protocol(_info("bully"), None) is Bully
    found: type[Algorithm] = recorded_protocol(_info("my-election"), "mine.py")
    assert found is load_protocol("mine.py")
    message = r"my-election, is not built in: add --protocol mine\.py:CLASS, with the path where mine\.py lies$"
    with pytest.raises(TargetError, match=message):
        recorded_protocol(_info("my-election"), None)
    with pytest.raises(TargetError, match=r"its protocol is other, and --protocol mine\.py is my-election$"):
        recorded_protocol(_info("other"), "mine.py")


def test_the_loaded_protocol_of_a_run(folder: Path) -> None:
    """The interface branches with the file that the user has named; a built-in protocol needs none."""
    _write(MINE)
    mine = load_protocol("mine.py:MyElection")
    for protocol, target in ((mine, f"{folder / 'mine.py'}:MyElection"), (Bully, "")):
        assert loaded_targets(simulation_header(protocol, (1, 2), TIMING, {})) == target


@pytest.mark.parametrize(
    ("base", "body", "mistake"),
    [
        ("Algorithm", "promises = ('A1.1',)", "which is about status, and the state of its nodes has no status"),
        ("Election", "promises = ('A3.1',)", "which is about group, and the state of its nodes has no group"),
        (
            "Election",
            "promises = ('A5',)\n    group: int = 0",
            "which is about groups, and its group is a plain value",
        ),
        ("Election", "promises = ('A6',)", "declare log: Log[Entry] = Log()"),
        ("Election", "promises = ('stages',)", "declare halted: int | None = None"),
        ("Task", "promises = ('shares', 'surveys')", "the state of its nodes has no surveying: declare surveying"),
    ],
)
def test_a_promise_about_a_state_that_nodes_do_not_have(
    tmp_path: Path, base: str, body: str, mistake: str
) -> None:
    """It could never be judged."""
    file = tmp_path / "mine.py"
    file.write_text(
        f'from lab.protocols import Algorithm, Election, Task\n\n\nclass Mine({base}):\n    """Mine."""\n\n'
        f'    name = "mine"\n    {body}\n'
    )
    with pytest.raises(TargetError) as caught:
        load_protocol(str(file))
    assert mistake in str(caught.value)


def test_a_task_may_promise_what_is_about_its_election(tmp_path: Path) -> None:
    """The state of its nodes has the fields of both."""
    file = tmp_path / "mine.py"
    file.write_text(
        'from lab.protocols import Field\n\n\nclass Mine(Field):\n    """Mine."""\n\n    name = "mine"\n'
    )
    assert {"A3.1", "surveys", "shares", "joins", "counts", "editions"} <= {*load_protocol(str(file)).promises}
