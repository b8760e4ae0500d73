"""The progress of long work: on a terminal a line that leaves no trace, in a log file plain lines."""

import re
import shutil
import sys
from pathlib import Path

import pyte
import pytest

from lab.exercises.exercise_reader import find_exercise
from tests.cli.invocation import ROOT, SHIPPED, Lab
from tests.exercises.attempts import run_attempt, solution_of
from tests.profile import SOAK, sampled
from tests.tui.terminal import colours, without_codes

COLUMNS, ROWS = 120, 24
CHECK = ("check", "bully", "--runs", "4", "--workers", "1", "--json")
EXPLORE = ("explore", "bully", "--timeouts", "prompt", "--json")
WORK = {
    "check": (CHECK, r"checking bully: \d of 4 runs in"),
    "systematic": (
        ("check", "2pc", "--systematic", "2", "--nodes", "2", "--workers", "1", "--json"),
        r"checking 2pc: [\d,]+ runs in .* more runs known",
    ),
    "explore": (EXPLORE, r"exploring bully: [\d,]+ states in .*, depth \d+, [\d,]+ in the frontier"),
    "export": (
        ("export", "long.jsonl", "--to", "html", "--force"),
        r"exporting long.jsonl: [\d,]+ of [\d,]+ records in",
    ),
    "verify": (("verify", "long.jsonl"), r"verifying long.jsonl: [\d,]+ of [\d,]+ records in"),
    "exercise check": (("exercise", "check", "two-coordinators"), "checking exercises: 0 of 1 exercise in"),
    "scale": (("scale", "bully", "--nodes", "3,30,60", "--json"), r"measuring: [\d,]+ messages in"),
    "mutate": (
        ("mutate", "bully", "--only", "min-max,unsafe", "--runs", "3", "--no-explore", "--workers", "1"),
        r"running mutants: \d+ of \d+ mutants in .* killed, \d+ survived",
    ),
    "compare": (
        ("compare", "bully", "ring", "--runs", "3", "--workers", "1", "--json"),
        r"comparing 2 protocols: \d of 3 runs in",
    ),
    "scenario": (
        ("scenario", "check", "--sim", "--runs", "3", "--workers", "1", "slow-coordinator"),
        r"checking scenarios: \d of 3 runs in",
    ),
    "run": (
        ("run", "bully", "--sim", "--headless", "--for", "90s", "--seed", "1", "--record", "new.jsonl"),
        r"simulating: \d+ of 90 seconds in",
    ),
}
WITHOUT_TOTAL = ("systematic", "explore")
WITHOUT_RATE = ("exercise check",)
"""None of the exercises is checked until the end."""


@pytest.fixture
def impatient(tmp_path: Path, home: Path) -> Lab:
    """Return the command that shows progress at once, in a folder with recordings."""
    shutil.copy(SHIPPED, tmp_path / "run.jsonl")
    return Lab(tmp_path, home, (sys.executable, str(ROOT / "tests/cli/impatient.py")))


@pytest.fixture
def patient(impatient: Lab, home: Path) -> Lab:
    """Return the command that users have, without a terminal, in the same folder."""
    (home / "p").mkdir()
    return Lab(impatient.folder, home / "p")


def record_long(patient: Lab) -> None:
    """Record a run of some thousand records."""
    words = ("run", "bully", "--sim", "--headless", "--for", "240s", "--record", "long.jsonl")
    assert patient(*words).status == 0


def screen_of(written: str) -> pyte.Screen:
    """Return the terminal after this was written to it."""
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(screen).feed(written)
    return screen


def without_times(output: str) -> str:
    return re.sub(r"\d+\.\d+ s\b|\"seconds\":[\d.e-]+|[\w-]+-\d{8}-\d{6}[\w.-]*|\d+\.\d s", "TIME", output)


@pytest.mark.parametrize("name", sampled([*WORK], 3))
def test_a_bar_on_a_terminal(impatient: Lab, patient: Lab, name: str) -> None:
    """With a rate and the time left; it leaves no trace, and the report is that without a terminal."""
    words, line = WORK[name]
    if "long.jsonl" in words:
        record_long(patient)
    text = _check_progress(impatient, patient, words)
    assert re.search(line, text), text
    assert name in WITHOUT_RATE or re.search(r" in \d:\d\d, (\d:\d\d left, )?[\d.,]+/s", text), text
    if name not in WITHOUT_TOTAL:
        assert re.search(r"[━╸] .*, \d:\d\d left", text), text


@pytest.mark.live
def test_a_bar_while_an_attempt_is_graded(impatient: Lab, patient: Lab) -> None:
    exercise = find_exercise("two-coordinators")
    path = run_attempt(exercise, solution_of(exercise), impatient.folder / "1.jsonl", end_us=5_000_000)
    for number in range(2, 9):
        shutil.copy(path, path.with_name(f"{number}.jsonl"))
    text = _check_progress(
        impatient, patient, ("exercise", "grade", *(f"{number}.jsonl" for number in range(1, 9)))
    )
    assert re.search(r"[━╸] +grading: \d of 8 recordings in 0:\d\d, 0:\d\d left, [\d.]+/s, \d.jsonl", text), text


def _check_progress(impatient: Lab, patient: Lab, words: tuple[str, ...]) -> str:
    """Call it on a terminal, and check what is left of the progress; return all that was shown."""
    called = impatient.on_terminal(*words, environment={"PYTHONPATH": str(ROOT)})
    text = without_codes(called.err.encode())
    left = "".join(screen_of(called.err).display).strip()
    assert not left or left == "3 runs", "lab scenario check prints this first"
    assert "\x1b[?25" not in called.err, "the cursor is never hidden"
    (impatient.folder / "new.jsonl").unlink(missing_ok=True)
    again = patient(*words)
    assert (called.status, without_times(called.out)) == (again.status, without_times(again.out))
    return text


def test_ctrl_c_leaves_no_trace(impatient: Lab) -> None:
    words = ("explore", "bully", "--timeouts", "any", "--states", "100000000")
    called, _ = impatient.interrupted(
        *words, when=rb"\d,\d{3} states in .* frontier", environment={"PYTHONPATH": str(ROOT)}
    )
    assert called.status == 130
    screen = screen_of(called.err)
    assert not "".join(screen.display).strip()
    assert not screen.cursor.hidden


def test_plain_lines_in_a_log_file(impatient: Lab) -> None:
    """A line now and then, without any codes; nothing on standard output but the report."""
    words = [*CHECK]
    words[words.index("4")] = "40"  # which take longer than any pause of the machine
    called = impatient.fresh(*words, environment={"PYTHONPATH": str(ROOT)})
    lines = called.err.splitlines()
    assert len(lines) > 1
    for line in lines:
        assert re.fullmatch(
            r"checking bully: \d+ of 40 runs in 0:\d\d(, \d:\d\d left)?(, [\d.]+/s, [\d,]+ steps)?", line
        ), line
    assert called.out.startswith("{")


def test_short_work_shows_nothing(lab: Lab) -> None:
    """Neither on a terminal nor in a file."""
    words = ("verify", str(SHIPPED))
    assert lab.on_terminal(*words).err == lab.fresh(*words).err == ""


@pytest.mark.parametrize(
    ("variables", "is_ascii"),
    [
        ({}, False),
        ({"LC_ALL": "C", "PYTHONUTF8": "0"}, True),
        ({"TERM": "linux"}, True),
    ],
)
def test_the_terminal_gets_what_it_can_show(impatient: Lab, variables: dict[str, str], is_ascii: bool) -> None:
    """Characters of its encoding; no colours, as ``NO_COLOR`` is set for all calls."""
    for words in (CHECK, EXPLORE) if SOAK else (CHECK,):
        called = impatient.on_terminal(*words, environment={"PYTHONPATH": str(ROOT), **variables})
        assert " in 0:0" in called.err
        assert called.err.isascii() == is_ascii
        assert colours(called.err.encode()) == set()


def test_a_dumb_terminal_gets_plain_lines(impatient: Lab) -> None:
    called = impatient.on_terminal(*CHECK, environment={"PYTHONPATH": str(ROOT), "TERM": "dumb"})
    assert re.match(r"checking bully: \d of 4 runs in 0:\d\d", called.err)
    assert "\x1b" not in called.err


def test_file_names_are_sanitized(impatient: Lab) -> None:
    """Codes in them reach neither the terminal nor the log."""
    name = "a\x1b[31m\nb.jsonl"
    (impatient.folder / "run.jsonl").rename(impatient.folder / name)
    called = impatient.on_terminal("verify", name, environment={"PYTHONPATH": str(ROOT)})
    assert r"verifying a\x1b[31m b.jsonl: " in without_codes(called.err.encode())
    assert "\x1b[31m" not in called.err


def test_what_is_printed_meanwhile_is_not_mixed_with_it(impatient: Lab) -> None:
    """On a terminal with both outputs, only the report is left."""
    called = impatient.on_terminal(
        "exercise", "check", "two-coordinators", environment={"PYTHONPATH": str(ROOT)}, with_output=True
    )
    assert "checking exercises: 0 of 1" in called.err
    lines = [line.rstrip() for line in screen_of(called.err).display]
    assert lines[:2] == ["two-coordinators: correct", "1 exercise, none incorrect"]
    assert not "".join(lines[2:])
