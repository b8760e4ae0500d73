"""``lab exercise``: list, show, grade and check; and its errors."""

import csv
import json
from pathlib import Path

import pytest

from lab.cli.exercise import complete_exercise
from lab.exercises.draws import describe_draw
from lab.exercises.exercise_reader import drawn_for, find_exercise, names
from tests.cli.invocation import ROOT, SHIPPED, Lab
from tests.documents import fitting
from tests.exercises.attempts import run_attempt, solution_of
from tests.exercises.exercise_files import TASK, write_exercise
from tests.exercises.exercises_with_properties import BROKEN, REPAIRED, assertions_restored, make_own, make_repair

NAME = "two-coordinators"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of an attempt that solves it."""
    exercise = find_exercise(NAME)
    path = tmp_path_factory.mktemp("solved") / f"{NAME}-001.jsonl"
    return run_attempt(exercise, solution_of(exercise), path, end_us=5_000_000)


def test_list(lab: Lab) -> None:
    """Grouped by level, easy ones first; with --json one object."""
    done = lab("exercise", "list")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["name", "title", "kind", "points", "teaches"]
    assert lines[1].split() == ["first", "steps"]
    assert sorted(line.split()[0] for line in lines if line.startswith("  ")) == names()
    found = json.loads(lab("exercise", "list", "--json").out)["exercises"]
    (row,) = [each for each in found if each["name"] == NAME]
    assert (row["points"], row["level"], row["kind"]) == (5, 1, "bring about")


def test_show(lab: Lab) -> None:
    """Texts, points and allowed commands; the solution only on request."""
    output = lab("exercise", "show", NAME)
    assert output.status == 0
    assert "One pause, two coordinators\n" in output.out
    assert "2. Make two nodes lead (2 points)" in output.out
    assert "allowed      pause, resume" in output.out
    assert "  - only 4\n  - only 5\n  - 4 and 5\n  - none\n" in output.out
    assert "when all normal: pause 5" not in output.out
    assert "when all normal: pause 5" in lab("exercise", "show", NAME, "--solution").out


def test_show_what_a_student_has(lab: Lab, tmp_path: Path) -> None:
    """At home from the name alone, in a class with its nonce; texts and solution follow."""
    name = "the-highest-comes-back"
    (tmp_path / "nonce").write_bytes(b"secret")
    for nonce, options in ((b"", ()), (b"secret", ("--data", str(tmp_path)))):
        exercise = drawn_for(find_exercise(name), "ben", nonce)
        shown = lab("exercise", "show", name, "--student", "ben", "--solution", *options)
        assert shown.status == 0
        assert describe_draw(exercise.drawn) in shown.out
        assert f"Kill {exercise.drawn['n5']}, wait until {exercise.drawn['n4']} leads" in shown.out
        assert f"when all normal: kill {exercise.drawn['n5']}" in shown.out


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("show", "two-coordinator"), "did you mean two-coordinators?"),
        (("show", NAME, "--data", "."), "--data needs a student: --student NAME"),
        (("show", NAME, "--data", ".", "--student", "anna"), "has no nonce; name the data folder of lab serve"),
        (("show", NAME, "--student", "../x"), "use at most 32 letters"),
        (("show", "./nowhere"), "it has no exercise.toml"),
        (("grade", "nowhere.jsonl"), "nowhere.jsonl does not exist"),
        (("grade", "."), "contains no recordings"),
        (("grade", "x.py"), "name the exercise that it is for: --exercise NAME"),
        (("grade", str(ROOT / "README.md")), "name the exercise that it is for: --exercise NAME"),
        (("grade", "x.py", "--exercise", NAME), "expects no FILE; grade recordings, without --exercise"),
        (
            ("grade", "x.py", "--exercise", NAME, "--student", "anna"),
            "with --student NAME and --data DIR, or with",
        ),
        (("grade", "x.py", "--exercise", NAME, "--sealed-by", "data"), "leave out --sealed-by"),
        (("status", "--student", "../x"), "use at most 32 letters"),
        (("list", "--exercises", "."), "contains no exercises"),
        (("start", NAME), "the interface requires a terminal"),
    ],
)
def test_mistakes(lab: Lab, words: tuple[str, ...], output: str) -> None:
    """One line each, with what to do."""
    assert output in lab.within("exercise", *words).refused()


@pytest.mark.live
def test_grade(lab: Lab, solved: Path) -> None:
    """A table, with a line per task if there is one attempt; and the requested files."""
    done = lab("exercise", "grade", str(solved), "--csv", "grades.csv", "--gradescope", "results.json")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[1].split() == ["anna", NAME, "1", "5", "5", "unproved"]
    assert "2. Make two nodes lead: done, 2 of 2" in done.out
    (row,) = csv.DictReader((lab.folder / "grades.csv").read_text().splitlines())
    assert (row["student"], row["points"], row["of"], row["proof"]) == ("anna", "5", "5", "unproved")
    assert json.loads((lab.folder / "results.json").read_text())["score"] == 5


@pytest.mark.live
def test_grades_as_json(lab: Lab, solved: Path) -> None:
    """With every task of an attempt; and why another file is refused."""
    done = lab("exercise", "grade", str(solved), str(SHIPPED), "--every", "--json")
    graded, refused = fitting("exercise-grade", done.out)["grades"]
    if graded["refused"]:
        graded, refused = refused, graded
    assert (done.status, graded["student"], graded["points"], graded["of"]) == (1, "anna", 5, 5)
    assert [each["state"] for each in graded["tasks"]] == ["done"] * len(graded["tasks"])
    assert refused["refused"]
    assert refused["tasks"] == []


def test_grade_of_one_student(lab: Lab, solved: Path) -> None:
    """Another student's recording is refused, in Gradescope's file too."""
    assert lab("exercise", "grade", str(solved), "--student", "anna").status == 0
    done = lab("exercise", "grade", str(solved), "--student", "ben", "--gradescope", "results.json")
    assert done.status == 1
    assert "not graded: it is anna's attempt, not ben's" in " ".join(done.out.split())
    found = json.loads((lab.folder / "results.json").read_text())
    assert (found["score"], found["tests"][0]["status"]) == (0, "failed")


@pytest.mark.live
def test_grade_of_a_truncated_recording(lab: Lab, solved: Path) -> None:
    """The table says so."""
    torn = lab.folder / "torn.jsonl"
    torn.write_bytes(solved.read_bytes()[:-10])
    done = lab("exercise", "grade", str(torn), "--csv", "grades.csv")
    assert done.status == 0
    assert "truncated: by a crash, or by editing" in " ".join(done.out.split())
    (row,) = csv.DictReader((lab.folder / "grades.csv").read_text().splitlines())
    assert row["cut off"] == "yes"


@pytest.mark.live
def test_other_recordings_are_not_graded(lab: Lab, solved: Path) -> None:
    """With the reason; the others are graded, and the exit status is 1."""
    edited = lab.folder / "edited.jsonl"
    lines = solved.read_bytes().splitlines(keepends=True)
    sent = next(number for number, line in enumerate(lines) if b'"sent"' in line)
    edited.write_bytes(b"".join([*lines[:sent], *lines[sent + 1 :]]))
    done = lab("exercise", "grade", str(SHIPPED), str(edited), str(solved), "--every")
    assert done.status == 1
    assert "not graded: it is not an attempt at an exercise" in done.out
    assert "not graded: line " in done.out
    assert "1 attempt graded, 2 refused" in done.out


@pytest.mark.live
def test_an_exercise_with_properties_of_its_own(lab: Lab) -> None:
    """It is shown and graded with them."""
    with assertions_restored():
        exercise = make_own(lab.folder / "library" / "terms")
    shown = lab("exercise", "show", "./library/terms")
    assert "the_first_leads (only the first leads)" in " ".join(shown.out.split())
    path = run_attempt(exercise, ["when all normal: pause 5"], lab.folder / "terms-001.jsonl")
    done = lab("exercise", "grade", path.name, "--exercises", "library")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[1].split() == ["anna", "terms", "1", "6", "7", "unproved"]
    assert "1. Task 1: done, 2 of 2" in done.out
    assert "3. Task 3: missed, 0 of 1: the run is over" in done.out


def test_a_repair_with_properties(lab: Lab) -> None:
    """The copied file is checked and graded with the properties of the exercise."""
    with assertions_restored():
        exercise = make_repair(lab.folder / "library" / "tickets")
    started = lab("exercise", "start", "./library/tickets")
    file = exercise.folder / "ticket_properties.py"
    assert f"Check it with: lab check tickets.py --properties {file}" in started.out
    checked = lab("check", "tickets.py", "--properties", str(file), "--runs", "10")
    assert checked.status == 1
    assert "no_ticket_twice" in checked.out
    graded = lab("exercise", "grade", "tickets.py", "--exercise", "./library/tickets")
    assert graded.status == 1
    assert "1. Task 1: missed, 0 of 4: no_ticket_twice is broken: " in graded.out


def test_the_best_of_one_s_own_files_counts(lab: Lab) -> None:
    """A file that is graded alone is an attempt; several, or one of a student who is named, are none."""
    with assertions_restored():
        exercise = make_repair(lab.folder / "library" / "tickets")
    (lab.folder / "solved.py").write_text(REPAIRED)
    (lab.folder / "begun.py").write_text(BROKEN)
    (lab.folder / "nonce").write_bytes(b"secret")
    library = ("--exercises", "library")

    def grade(*words: str) -> str:
        graded = lab("exercise", "grade", *words, "--exercise", exercise.name, *library)
        assert graded.out, graded
        return graded.out.splitlines()[-1]

    def status() -> tuple[int, int, bool]:
        (own,) = json.loads(lab("exercise", "status", "--home", "mine", *library, "--json").out)["exercises"]
        return own["points"], own["attempts"], own["solved"]

    most = exercise.points
    assert grade("begun.py", "--home", "mine") == f"best of 1 attempt: 0 of {most} (lab exercise status)"
    assert status() == (0, 1, False)
    assert grade("solved.py", "--home", "mine") == f"best of 2 attempts: {most} of {most} (lab exercise status)"
    assert grade("begun.py", "--home", "mine") == f"best of 3 attempts: {most} of {most} (lab exercise status)"
    assert status() == (most, 3, True)
    assert list(lab.folder.glob("tickets-1-*.jsonl"))
    assert "best of" not in grade("begun.py", "begun.py")
    assert "best of" not in grade("begun.py", "--student", "anna", "--data", ".")
    refused = lab.within(
        "exercise", "grade", "begun.py", "begun.py", "--home", "mine", "--exercise", exercise.name, *library
    ).refused()
    assert "--home is for one FILE of yours" in refused


def test_status_without_an_attempt(lab: Lab) -> None:
    """Every exercise, without points."""
    done = lab("exercise", "status", "--student", "anna", "--home", "here")
    assert done.status == 0
    assert done.out.splitlines()[-1].startswith("anna: 0 of ")
    found = json.loads(lab("exercise", "status", "--student", "anna", "--home", "here", "--json").out)
    assert {each["points"] for each in found["exercises"]} == {0}


def test_check(lab: Lab) -> None:
    """Mistakes in a teacher's own exercise are printed, and the exit status is 1."""
    assert lab("exercise", "check", NAME).out.splitlines() == [
        f"{NAME}: correct",
        "1 exercise, none incorrect",
    ]
    folder = write_exercise(lab.folder / "mine", TASK)
    (folder / "solution.script").write_text("when all normal: kill 1\n")
    done = lab("exercise", "check", "./mine")
    assert done.status == 1
    assert "mine: INCORRECT\n  solution.script: task 1 is missed" in done.out
    (folder / "exercise.toml").write_text("[[")
    assert "exercise.toml" in lab.within("exercise", "check", "./mine").refused()


def test_handout(lab: Lab) -> None:
    """Students start the exercises in it; it is not overwritten, and is no source of another one."""
    folder = write_exercise(lab.folder / "mine" / "terms", TASK)
    (folder / "solution.script").write_text("when all normal: pause 5\n")
    done = lab("exercise", "handout", "mine", "--to", "given")
    assert (done.status, done.err) == (0, "")
    assert done.out == "1 exercise written to given; grade with --exercises mine\n"
    assert "Do it." in lab("exercise", "show", "./given/terms").out
    assert not (lab.folder / "given" / "terms" / "solution.script").exists()
    again = lab.within("exercise", "handout", "mine/terms", "--to", "given").refused()
    assert "given/terms exists already; remove it, or name another folder" in again
    words = ("exercise", "handout", "given", "--to", "more")
    assert "is the students' edition already; name your own folder" in lab.within(*words).refused()
    assert (
        "has no solution: it is the students' edition"
        in lab.within("exercise", "show", "./given/terms", "--solution").refused()
    )
    (folder / "solution.script").unlink()
    without = lab.within("exercise", "show", "./mine/terms", "--solution").refused()
    assert "solution.script does not exist; write the solution" in without


def test_repairing(lab: Lab) -> None:
    """The file is copied to the working directory, once; a submission is run with hidden seeds."""
    name = "mend-the-counter"
    file = f"{name.replace('-', '_')}.py"
    output = lab("exercise", "start", name)
    assert output.status == 0
    assert f"lab exercise grade {file} --exercise {name}" in output.out
    assert (lab.folder / file).is_file()
    assert "exists already" in lab.within("exercise", "start", name).refused()
    done = lab("exercise", "grade", file, "--exercise", name)
    assert done.status == 1
    assert done.out.startswith(f"{file}: 0 of ")


def test_completion() -> None:
    """Names with titles."""
    assert complete_exercise("two-c") == [(NAME, "One pause, two coordinators")]
