"""``lab exercise try`` and the grades of what was written: for a student, and for whoever grades."""

import json
import stat
from pathlib import Path

import pytest

from lab.exercises.attempts import login_name
from lab.exercises.exercise_reader import drawn_for, find_exercise
from tests.cli.invocation import Lab
from tests.documents import fitting

NAME = "write-the-ring"
OTHER = "from lab.protocols import Election\n\nclass Ring(Election):\n    pass\n"


@pytest.fixture
def skeleton() -> str:
    file = find_exercise(NAME).starting_file
    assert file is not None
    return file.read_text()


def test_from_the_start_to_the_first_counterexample(lab: Lab, skeleton: str) -> None:
    """The skeleton is copied; what breaks the first stage is recorded, and the lines to look at it are printed."""
    started = lab("exercise", "start", NAME)
    assert started.status == 0
    assert "Try it with: lab exercise try write-the-ring write_the_ring.py" in started.out
    assert (lab.folder / "write_the_ring.py").read_text() == skeleton
    done = lab("exercise", "try", NAME, "write_the_ring.py")
    assert done.status == 1
    lines = done.out.splitlines()
    assert lines[0] == "1. Once round: broken"
    assert "4. Few messages: not tried, an earlier stage is broken" in lines
    assert "0 of 12 points, if the hidden campaigns find nothing more:" in lines
    (replay,) = [line for line in lines if line.startswith("replay: ")]
    assert replay == "replay:   lab replay write-the-ring-1-A2.jsonl"
    assert (lab.folder / "write-the-ring-1-A2.jsonl").is_file()
    shown = lab("show", "write-the-ring-1-A2.jsonl")
    assert shown.status == 0
    (again,) = [line for line in lines if line.startswith("again: ")]
    assert "lab run write_the_ring.py:MyRing --sim" in again


def test_a_program_begins_in_some_languages(lab: Lab) -> None:
    """Each of its files is copied, and can be executed; a file in a third language is as good."""
    name = "elect-in-any-language"
    started = lab("exercise", "start", name)
    assert started.status == 0
    assert "elect_in_any_language.py or elect_in_any_language.js or a file in another language" in started.out
    for suffix in ("py", "js"):
        copy = lab.folder / f"elect_in_any_language.{suffix}"
        assert copy.read_bytes() == (find_exercise(name).folder / f"my_node.{suffix}").read_bytes()
        assert copy.stat().st_mode & stat.S_IXUSR
    again = lab.within("exercise", "start", name).refused()
    assert "elect_in_any_language.py exists already; continue with it" in " ".join(again.split())
    (lab.folder / "mine.rb").write_text("puts 1")
    mine = lab.within("exercise", "try", name, "mine.rb").refused()
    assert "mine.rb is no program: its first line must name its interpreter" in " ".join(mine.split())
    missing = lab.within("exercise", "grade", "other.rb", "--exercise", name).refused()
    assert "other.rb: No such file; lab exercise start elect-in-any-language writes" in " ".join(missing.split())


def test_the_line_that_raises(lab: Lab, skeleton: str) -> None:
    """Of an error in the file, the events name the line and its text."""
    (lab.folder / "mine.py").write_text(f"{skeleton}        self.send(self.hihger[0], None)\n")
    done = lab("exercise", "try", NAME, "mine.py")
    number = len(skeleton.splitlines()) + 1
    assert f"no attribute 'hihger' (mine.py:{number} in started: self.send(self.hihger[0], None))" in done.out


def test_show_keeps_drawn_answers(lab: Lab) -> None:
    """Values of which only the answer is made are printed with the solution; each question always is."""
    name = "the-smallest-cluster"
    drawn = drawn_for(find_exercise(name), "anna").drawn
    shown = lab("exercise", "show", name, "--student", "anna").out
    restarts = drawn["restarts"]
    assert f"size {drawn['size']}, kills {drawn['kills']}, restarts {restarts} (for anna; each student" in shown
    assert "Question: How many states does the proof visit?" in shown
    solved = lab("exercise", "show", name, "--student", "anna", "--solution").out
    assert f"restarts {restarts}, states {drawn['states']}" in solved


def test_show_draws_as_start_does(lab: Lab) -> None:
    """For the login."""
    name = "just-above-t"
    own, mine = lab("exercise", "show", name).out, lab("exercise", "show", name, "--student", login_name()).out
    assert own == mine
    assert f" (for {login_name()}; each student has their own: --student NAME)" in own
    drawn = drawn_for(find_exercise(name), login_name()).drawn
    assert f"all messages from {drawn['n5']} take 50 ms longer" in " ".join(own.split())


def test_as_json(lab: Lab, skeleton: str) -> None:
    (lab.folder / "mine.py").write_text(skeleton)
    done = lab("exercise", "try", NAME, "mine.py", "--json")
    tried = fitting("exercise-try", done.out)
    assert (done.status, tried["points"], tried["of"]) == (1, 0, 12)
    first, second, *_ = tried["stages"]
    assert (first["state"], second["state"]) == ("broken", "not tried")
    assert first["why"].startswith("A2 is broken")
    assert Path(lab.folder / first["recording"]).is_file()
    assert Path(lab.folder / first["script"]).is_file()


@pytest.mark.parametrize(
    ("code", "words", "error"),
    [
        ("", ("try", NAME, "mine.py"), "mine.py has no class MyRing, and no other protocol"),
        (OTHER, ("try", NAME, "mine.py"), "class MyRing (known: Ring); name yours MyRing, as write-the-ring asks"),
        ("class MyRing(:\n", ("try", NAME, "mine.py"), "mine.py:1: SyntaxError"),
        ("", ("try", NAME, "nowhere.py"), "nowhere.py: No such file; lab exercise start write-the-ring writes"),
        ("", ("try", "two-coordinators", "mine.py"), "two-coordinators has no stages"),
        ("", ("try", NAME, "mine.py", "--seed", "x"), "--seed x: write a whole number"),
        ("", ("grade", "mine.py", "--exercise", NAME, "--student", "anna"), "with --student NAME and --data DIR"),
        ("", ("grade", "run.jsonl", "--data", "."), "--data is for a FILE"),
    ],
)
def test_mistakes(lab: Lab, code: str, words: tuple[str, ...], error: str) -> None:
    """One line each, with what to do."""
    (lab.folder / "mine.py").write_text(code)
    assert error in " ".join(lab.within("exercise", *words).refused().split())


def test_a_grade_for_a_student_can_be_repeated(lab: Lab, skeleton: str) -> None:
    """Its runs follow from the name and the nonce; those of another student differ."""
    (lab.folder / "mine.py").write_text(skeleton)
    (lab.folder / "nonce").write_bytes(b"secret")

    def graded(student: str) -> str:
        words = ("exercise", "grade", "mine.py", "--exercise", NAME, "--student", student, "--data", ".", "--json")
        (grade,) = json.loads(lab(*words).out)["grades"]
        assert (grade["student"], grade["points"]) == (student, 0)
        return str(grade["tasks"][0]["why"])

    assert graded("anna") == graded("anna")
    assert graded("anna") != graded("ben")
