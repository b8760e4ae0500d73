"""The built wheel, installed into an empty environment, works as the checkout does."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.exercise_reader import all_exercises
from tests.cli.invocation import ROOT, SHIPPED, Lab
from tests.exercises.exercise_files import shipped_exercises
from tests.profile import SOAK

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="there is no pip")


COST, LOW_COST = "n=2**14", "n=2**4"
"""Of stretching an answer: half a minute of each build, by intent, so ``quick`` builds with a low one."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what a wheel is built from."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in [path for path in ROOT.iterdir() if path.is_file()]:
        shutil.copy(path, copy)
    for name in (".ci", "lab", "recordings", "scenarios"):
        shutil.copytree(ROOT / name, copy / name)
    handout = copy / "lab" / "exercises" / "handout.py"
    text = handout.read_text("utf-8")
    assert text.count(COST) == 1
    if not SOAK:
        handout.write_text(text.replace(COST, LOW_COST), "utf-8")
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with pip, as a student does."""
    return _built(checkout, tmp_path_factory.mktemp("wheel"))


def _built(checkout: Path, folder: Path, **variables: str) -> Path:
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(checkout)]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=os.environ | variables
    )
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel; its dependencies come from the present one."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    venv.EnvBuilder(symlinks=True).create(folder)
    python = folder / "bin" / "python"
    words = ["--python", str(python), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    paths = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
    others = {*site.getsitepackages(), sysconfig.get_paths()["purelib"]}
    # of a .pth file's folders no .pth files are read, so an editable installation of lab there does not count
    (Path(paths["purelib"]) / "others.pth").write_text("\n".join(sorted(others)) + "\n")
    return folder


@pytest.fixture
def lab(tmp_path: Path, home: Path, installed: Path) -> Lab:
    """Yield the command of that environment."""
    return Lab(tmp_path, home, (str(installed / "bin" / "lab"),))


def test_the_description_has_no_links_into_the_checkout(wheel: Path) -> None:
    """An index shows the README without the files beside it."""
    with zipfile.ZipFile(wheel) as files:
        (name,) = [each for each in files.namelist() if each.endswith(".dist-info/METADATA")]
        metadata = files.read(name).decode()
    assert "Description-Content-Type: text/markdown" in metadata
    description = metadata.partition("\n\n")[2]
    assert "A laboratory for coordinator election" in description
    assert "first steps" in description
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)]*)\)", description))


def test_contents_of_the_wheel(wheel: Path) -> None:
    """The package, the grammar, the recordings, the scenarios; no tests or leftovers."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "lab").rglob("*.py")}
    assert {name for name in package if re.search(r"/(solution(-\d)?|wrong-[^/]*)\.py$", name) is None} <= names
    assert {
        "lab/guide/teach/class.md",
        "lab/guide/build/your-own-protocol.md",
        "lab/serve/static/xterm/LICENSE",
        "lab/script/grammar.lark",
        "lab/py.typed",
        f"lab/recordings/{SHIPPED.name}",
        "lab/recordings/holes/bully-two-leaders.jsonl",
        "lab/scenarios/coordinator-dies.scenario",
    } <= names
    assert {name.split("/")[0] for name in names} == {"lab"}
    assert not [name for name in names if "__pycache__" in name]


def test_no_solution_is_in_the_wheel(wheel: Path) -> None:
    """Under no name; and no accepted answer and no explanation, but in another form."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert not [name for name in contents if re.match(r"(solution(-\d)?|wrong-.*)\.(py|script)$", Path(name).name)]
    exercises = {name: text for name, text in contents.items() if name.startswith("lab/exercises/library/")}
    heads = [text for name, text in exercises.items() if name.endswith("/exercise.toml")]
    assert len(heads) == len(shipped_exercises())
    assert not [text for text in heads if re.search(rb"^\s*(answer|explains)\b", text, re.MULTILINE)]
    everything = b"\n".join(contents.values())
    for exercise in shipped_exercises():
        for task in exercise.tasks:
            for line in [line for line in task.explanation.splitlines() if len(line) > 40]:
                assert line.encode() not in everything, f"{exercise.name}, task {task.number}"
        for solution in exercise.folder.glob("solution*"):
            assert solution.read_bytes() not in everything, exercise.name


def test_its_exercises_are_judged_as_in_the_checkout(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All conditions are the same; every accepted answer is recognized, and opens the explanation."""
    scrypt = hashlib.scrypt
    if not SOAK:
        monkeypatch.setattr(hashlib, "scrypt", lambda *given, **named: scrypt(*given, **{**named, "n": 2**4}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
        for entry in archive.infolist():  # as pip does, for the programs to begin with
            (tmp_path / entry.filename).chmod(0o600 | (entry.external_attr >> 16) & 0o777)
    library = tmp_path / "lab" / "exercises" / "library"
    answered = 0
    for teacher, student in zip(shipped_exercises(), all_exercises(library), strict=True):
        assert (teacher.name, teacher.may, student.edition) == (student.name, student.may, "student")
        for task, same in zip(teacher.tasks, student.tasks, strict=True):
            kept = replace(task, locked=same.locked, explanation=same.explanation, answer=(), key=None)
            assert kept == same, f"{teacher.name}, task {task.number}"
            for answer in task.accepted_answers[:1]:
                answered += 1
                assert same.explanation_after(answer) == task.explanation
                assert not same.accepts(f"{answer}, or not")
    assert answered > 30


def test_a_teacher_s_wheel_has_the_solutions(checkout: Path, tmp_path: Path) -> None:
    """It is built on request."""
    with zipfile.ZipFile(_built(checkout, tmp_path, LAB_EDITION="teacher")) as archive:
        names = set(archive.namelist())
        head = archive.read("lab/exercises/library/two-coordinators/exercise.toml")
    library = ROOT / "lab" / "exercises" / "library"
    assert {str(path.relative_to(ROOT)) for path in library.glob("*/solution.*")} <= names
    assert head == (library / "two-coordinators" / "exercise.toml").read_bytes()


def test_students_install_no_solutions(lab: Lab) -> None:
    """Commands that need one say what to install; an answer is still recognized."""
    for words in ("show", "two-coordinators", "--solution"), ("check", "two-coordinators"):
        refused = lab("exercise", *words)
        assert refused.status == 2
        assert "the students' edition; install the teacher's" in refused.err


def test_it_is_the_wheel_that_runs(installed: Path, lab: Lab) -> None:
    """Not the checkout."""
    code = "import lab.places as it; print(it.__file__, *it.shipped_recordings(), sep='\\n')"
    done = subprocess.run(
        [str(installed / "bin" / "python"), "-I", "-c", code],
        cwd=lab.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    module, *recordings = map(Path, done.stdout.splitlines())
    assert module.is_relative_to(installed)
    assert SHIPPED.name in [path.name for path in recordings]
    assert all(path.is_relative_to(installed) for path in recordings)


@pytest.mark.live
def test_it_runs(lab: Lab, installed: Path) -> None:
    """Headless, with a command; it verifies its own recording, and shows the shipped one."""
    done = lab("run", "bully", "--headless", "--for", "1s", "--json", "--do", "when all normal cut 1->2")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert [fault["command"] for fault in found["faults"]] == ["cut 1->2"]
    (shipped,) = installed.rglob(f"recordings/{SHIPPED.name}")
    for words in ("verify", found["recording"]), ("show", str(shipped)):
        done = lab(*words)
        assert (done.status, done.err) == (0, ""), done
    assert lab.left() == []


def test_it_has_the_scenarios(lab: Lab) -> None:
    """By name, and they run."""
    done = lab("run", "coordinator-dies", "--sim", "--headless")
    assert (done.status, done.err) == (0, "")
    assert "coordinator-dies, simulated, seed 1: passed" in done.out


def test_its_help_needs_the_grammar_and_the_protocols(lab: Lab) -> None:
    """Both are in the wheel."""
    assert "kill NODES" in lab("ctl", "--help").out
    assert "Garcia-Molina" in lab("list").out
