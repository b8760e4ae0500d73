"""A protocol in a user's file: run, recorded, verified, and with mistakes."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.properties.assertions import BUILT_IN
from lab.recording.reader import open_recording
from lab.recording.records import Header
from tests.cli.invocation import Called, Lab

MINE = '''"""Bully, by another name."""

import asyncio

from beside_mine import NAME
from lab.kernel import on, procedure
from lab.protocols import Bully
from lab.protocols.bully import AreYouUp

print("loading")


class MyElection(Bully):
    """Bully, and it talks."""

    promises = ("A1.1",)

    def started(self) -> None:
        print("hello")
        self.note(f"node {self.id} of {NAME}")
        super().started()
'''
KNOWN = ", ".join(each.id for each in BUILT_IN)  # tests of exercises add to those that are known here
BROKEN = "        if self.id == 2:\n            raise ValueError(f'{self.id} is\\nno good')\n"
RUN = ("run", "there/mine.py:MyElection", "--nodes", "3", "--headless", "--for", "1s")


def _write(folder: Path) -> Path:
    path = folder / "there" / "mine.py"
    path.parent.mkdir()
    path.write_text(MINE)
    (path.parent / "beside_mine.py").write_text("NAME = 'mine'\n")
    return path


@pytest.fixture
def mine(lab: Lab) -> Path:
    """Return ``there/mine.py``, below the working directory."""
    return _write(lab.folder)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the recording of a run on real processes, started from another folder."""
    home = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
    lab = Lab(tmp_path_factory.mktemp("recorded"), home)
    _write(lab.folder)
    done = lab(*RUN[:-1], "5s", "--json")
    assert done.status == 0, done
    assert set(done.err.split()) <= {"loading", "hello"}
    found = json.loads(done.out)
    assert found["protocol"] == "my-election"
    assert {node["coordinator"] for node in found["nodes"].values()} == {3}
    yield Path(found["recording"])
    shutil.rmtree(home, ignore_errors=True)


def _header(path: str) -> Header:
    lines = open_recording(Path(path))
    lines.close()
    return lines.header


@pytest.mark.live
def test_it_runs_on_real_processes(lab: Lab, recorded: Path) -> None:
    """Started from another folder: the host loads the file and its imports; its prints are not output."""
    recording = str(recorded)
    assert re.fullmatch(r"my-election-\d{4}-\d{6}-[0-9a-f]{4}\.jsonl", Path(recording).name)
    info = _header(recording).protocol
    assert (info.name, info.file, info.promises) == ("my-election", "mine.py", ("A1.1",))
    assert info.source.startswith(f"{MINE}\n# ---- bully.py ----\n")
    assert re.search(r" 2 +note: node 2 of mine$", lab("show", recording, "--only", "note").out, re.MULTILINE)


@pytest.mark.live
@pytest.mark.parametrize(
    "words", [("run", *RUN[1:], "--sim"), ("check", RUN[1], "--nodes", "3", "--runs", "2", "--workers", "1")]
)
def test_what_it_prints_is_in_no_document(lab: Lab, mine: Path, words: tuple[str, ...]) -> None:
    """It goes to standard error, as from live nodes; so does what the files beside it print."""
    (mine.parent / "beside_mine.py").write_text("def NAME_OF():\n    print('beside')\n    return 'mine'\n")
    mine.write_text(MINE.replace("import NAME", "import NAME_OF").replace("{NAME}", "{NAME_OF()}"))
    done = lab(*words, "--json")
    assert json.loads(done.out)["protocol"] == "my-election"
    assert {"hello", "beside"} <= {*done.err.splitlines()}


def test_a_recording_of_it_is_verified_with_its_file(lab: Lab, mine: Path, recorded: Path) -> None:
    """It holds; without the file the error says what to add; a change of the file is reported."""
    recording = str(recorded)
    result = "cannot be re-executed: its protocol, my-election, is not built in: add --protocol mine.py"
    assert (
        lab.within("verify", recording).refused()
        == f"{recording} {result}:MyElection, with the path where mine.py lies"
    )
    with_it = ("--protocol", "there/mine.py")
    done = lab("verify", recording, *with_it)
    assert done.status == 0
    assert re.search(r"\.jsonl: as recorded; \d+ steps re-executed$", done.out, re.MULTILINE)
    mine.write_text(MINE.replace("self.note(", "self.note('now ' + "))
    done = lab("verify", recording, *with_it)
    assert done.status == 1
    assert "the source of my-election differs from the recorded one" in done.out


@pytest.mark.live
def test_no_code_in_a_recording_is_executed(lab: Lab, mine: Path, recorded: Path) -> None:
    """Changing the source in the header only changes what is reported."""
    path = lab.folder / "edited.jsonl"
    text = recorded.read_text("utf-8")
    path.write_text(text.replace("import asyncio", "raise SystemExit(9)", 1), "utf-8")
    assert _header(str(path)).protocol.source != MINE
    done = lab("verify", str(path), "--protocol", str(mine))
    assert done.status == 0
    assert "holds" in done.out
    assert "differs from the recorded one" in done.out


@pytest.mark.live
def test_verify_with_a_wrong_file(lab: Lab, mine: Path, recorded: Path) -> None:
    """A target that cannot be loaded, and one that is another protocol."""
    recording = str(recorded)
    assert (
        lab.within("verify", recording, "--protocol", "gone.py")
        .refused()
        .startswith("--protocol: there is no file gone")
    )
    mine.write_text(MINE.replace("MyElection", "Other"))
    done = lab("verify", recording, "--protocol", "there/mine.py")
    assert done.status == 2
    result = "its protocol is my-election, and --protocol there/mine.py is other"
    assert f"lab: {recording} cannot be re-executed: {result}\n" in done.err


@pytest.mark.live
def test_an_exception_is_reported(lab: Lab, mine: Path) -> None:
    """With the error and the user's line, once, after the report; status 1; the JSON stays an object."""
    mine.write_text(MINE + BROKEN)
    number = MINE.count("\n") + 2
    result = (
        rf"lab: node 2 failed at 0\.\d+ s: ValueError: 2 is no good \(mine\.py:{number} in started: raise .*\)"
    )
    done = lab(*RUN[:-1], "3s")
    assert done.status == 1
    assert re.search("^  node 2  failed   Down$", done.out, re.MULTILINE)
    assert re.fullmatch(result, _last_line(done))
    done = lab(*RUN[:-1], "3s", "--json")
    assert done.status == 1
    assert json.loads(done.out)["nodes"]["2"]["process"] == "failed"
    assert re.fullmatch(result, _last_line(done))


def test_many_failures_are_shortened(lab: Lab, mine: Path) -> None:
    """Five, and the number of others."""
    mine.write_text(MINE + BROKEN)
    restarts = [word for at in range(1, 8) for word in ("--do", f"at {at * 700}ms restart 2")]
    done = lab(*RUN, "--for", "6s", "--sim", *restarts)
    lines = [line for line in done.err.splitlines() if line.startswith("lab: ")]
    assert len(lines) == 6
    (recording,) = re.findall(r"recorded in (.*)$", done.out, re.MULTILINE)
    (shown,) = re.findall(r"^# (\d+) lines", lab("show", recording, "--only", "failure").out, re.MULTILINE)
    assert lines[-1] == f"lab: and {int(shown) - 5} failures more"


def _last_line(done: Called) -> str:
    return done.err.rstrip("\n").rpartition("\n")[2]


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("class", "clas", "there/mine.py:13: SyntaxError: invalid syntax"),
        ("import asyncio", "import asyncioo", "there/mine.py:3: ModuleNotFoundError: No module named 'asyncioo'"),
        (
            "    promises = ('A1.1',)",
            "    promises = ('A99',)",
            f"there/mine.py: MyElection promises 'A99', which is no assertion (known: {KNOWN})",
        ),
        (
            "    def started(self) -> None:",
            "    @procedure\n    def started(self) -> None:",
            "there/mine.py:18: started is a procedure: write async def, not def",
        ),
        (
            "    def started(self) -> None:",
            "    @on(AreYouUp)\n    async def started(self) -> None:",
            "there/mine.py:18: started is a handler, which never waits: write def, not async def",
        ),
    ],
)
def test_a_mistake_in_the_file(lab: Lab, mine: Path, old: str, new: str, result: str) -> None:
    """Its line, and no traceback; nothing is started."""
    source = MINE.replace('("A1.1",)', "('A1.1',)").replace('print("loading")\n', "\n")
    assert old in source
    mine.write_text(source.replace(old, new, 1))
    assert lab.within(*RUN).refused() == result
    assert not lab.recordings.exists()


@pytest.mark.live
def test_a_users_file_does_not_shadow_our_modules(lab: Lab, mine: Path, home: Path) -> None:
    """Neither next to the protocol nor in the working directory."""
    for folder in (mine.parent, lab.folder):
        for name in ("trio.py", "lab.py"):
            (folder / name).write_text("raise RuntimeError('not meant')\n")
    (home / "2").mkdir()
    installed = Lab(lab.folder, home / "2", (sys.executable, "-P", "-m", "lab"))
    assert installed(*RUN).status == 0
