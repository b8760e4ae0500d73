"""``lab serve export``: grades of a class by re-execution, and refusals with their reasons."""

import asyncio
import csv
import os
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from lab.exercises.attempts import recording_of
from lab.exercises.exercise_reader import SHIPPED, all_exercises, drawn_for, find_exercise
from lab.exercises.exercise_validation import read_commands
from lab.exercises.grading import UNPROVED
from lab.exercises.handout import fill
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.gradebook import SealBook, Sealer, grade_class
from tests.cli.invocation import Called, Lab
from tests.exercises.attempts import run_attempt, solution_of
from tests.exercises.forging import forge_attempt

pytestmark = pytest.mark.live  # anna's attempt is one on processes
_EXERCISE = "two-coordinators"


class Class:
    """A data folder as a server leaves it, with ``lab serve export``."""

    def __init__(self, folder: Path, lab: Lab, solved: Path) -> None:
        self.folder = DataFolder(folder)
        self.lab = lab
        self._solved = solved

    def put(self, student: str, attempt: int = 1) -> Path:
        """Copy anna's solution into this student's folder."""
        path = recording_of(self.folder.student_path(student), _EXERCISE, attempt)
        shutil.copyfile(self._solved, path)
        return path

    def seal(self, *paths: Path) -> None:
        """Seal recordings as at the end of each run; without any, as at the server's start."""

        async def sealed() -> None:
            for path in paths:
                await sealer.seal(path, path.parts[-3])
            if not paths:
                await sealer.seal_missing()

        log = ServerLog(self.folder.log)
        sealer = Sealer(self.folder, SealBook(self.folder.seals), log)
        asyncio.run(sealed())
        log.close()

    def export(self, *words: str) -> tuple[Called, list[dict[str, str]]]:
        """Return the output, and the rows of the table."""
        call = ("serve", "export", "--data", str(self.folder.path), "--csv", "grades.csv", "--force")
        return self.run(*call, *words)

    def run(self, *words: str) -> tuple[Called, list[dict[str, str]]]:
        """Run a command that writes ``grades.csv``; return the output, and the rows of the table."""
        called = self.lab(*words)
        return called, list(csv.DictReader((self.lab.folder / "grades.csv").read_text("utf-8").splitlines()))


@pytest.fixture
def school_class(tmp_path: Path, solved: Path) -> Class:
    """A class without students."""
    (tmp_path / "home").mkdir()
    return Class(tmp_path / "data", Lab(tmp_path, tmp_path / "home"), solved)


def _renamed(path: Path, student: str) -> None:
    """Change the student's name in the recording, and cut off its end, which would show it."""
    header, *rest, _ = path.read_bytes().splitlines(keepends=True)
    assert b'"student":"anna"' in header
    path.write_bytes(header.replace(b'"student":"anna"', f'"student":"{student}"'.encode()) + b"".join(rest))


def test_a_sealed_unchanged_recording_is_graded(school_class: Class, tmp_path: Path) -> None:
    """In a table, and in a file per student for Gradescope; an unfinished run is graded as far as it goes."""
    school_class.seal(school_class.put("anna"))
    ben = recording_of(school_class.folder.student_path("ben"), _EXERCISE, 1)
    run_attempt(find_exercise(_EXERCISE), [], ben, "ben", 1_000_000)
    lines = ben.read_bytes().splitlines(keepends=True)
    ben.write_bytes(b"".join(lines[:-1]) + lines[-1][:7])  # it goes on: its last line is torn
    called, rows = school_class.export("--gradescope", str(tmp_path / "results"))
    assert (called.status, called.err) == (0, "")
    assert [row["student"] for row in rows] == ["anna", "ben"]
    assert (rows[0]["points"], rows[0]["of"]) == ("5", "5")
    assert "2 attempts of 2 students graded; 1 unproved: " in called.out
    results = msgspec.json.decode((tmp_path / "results" / "anna.json").read_bytes())
    assert results["score"] == 5
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["anna.json", "ben.json"]
    data = str(school_class.folder.path)
    again = school_class.lab("serve", "export", "--data", data, "--gradescope", str(tmp_path / "results"))
    assert again.status == 2
    why = f"{tmp_path}/results/anna.json exists already; name another with --gradescope"
    assert why in " ".join(again.err.split())


def test_the_best_attempt_or_every_attempt_is_listed(school_class: Class) -> None:
    """As with lab exercise grade."""
    school_class.seal(school_class.put("anna"), school_class.put("anna", 2))
    assert len(school_class.export()[1]) == 1
    assert len(school_class.export("--every")[1]) == 2


def test_an_edited_recording_is_refused(school_class: Class) -> None:
    """The seal shows when it was still unchanged."""
    recording = school_class.put("anna")
    school_class.seal(recording)
    recording.write_bytes(recording.read_bytes()[:-1] + b" \n")  # as good as before, but for a blank
    called, (row,) = school_class.export()
    assert called.status == 1
    assert (row["student"], row["exercise"], row["points"]) == ("anna", _EXERCISE, "")
    assert row["refused"].startswith("it was edited after it was sealed on 20")
    assert "not graded: it was edited" in called.err


def test_a_recording_in_another_s_folder_is_refused(school_class: Class) -> None:
    """Its header names the author, who keeps the grade."""
    school_class.seal(school_class.put("anna"))
    school_class.put("ben")
    school_class.seal()
    called, rows = school_class.export()
    assert called.status == 1
    assert [(row["student"], row["points"]) for row in rows] == [("anna", "5"), ("ben", "")]
    assert rows[1]["refused"].startswith("its header names anna, but it is in")


def test_a_copy_with_another_name_in_it_is_refused(school_class: Class) -> None:
    """It was put there while the server was down, and so sealed at its start: the run is anna's."""
    school_class.seal(school_class.put("anna"))
    _renamed(school_class.put("ben"), "ben")
    school_class.seal()
    _, rows = school_class.export()
    assert [(row["student"], row["points"]) for row in rows] == [("anna", "5"), ("ben", "")]
    assert rows[1]["refused"] == "anna handed in the same run"


def test_a_made_up_live_attempt_is_never_sealed(school_class: Class) -> None:
    """It earns its points, but as unproved, even if somebody puts it into the data folder."""
    exercise = find_exercise(_EXERCISE)
    path = recording_of(school_class.folder.student_path("mallory"), _EXERCISE, 1)
    forge_attempt(exercise, solution_of(exercise), path)
    school_class.seal(school_class.put("anna"))
    for _ in range(2):
        _, rows = school_class.export()
        assert [(row["student"], row["points"], row["proof"]) for row in rows] == [
            ("anna", "5", "sealed"),
            ("mallory", "5", "unproved"),
        ]
        school_class.seal()  # as the server does at its start


@pytest.fixture
def handed_in(school_class: Class, tmp_path: Path) -> Path:
    """A folder with a copy of anna's sealed attempt, mallory's made-up one, and an edited one."""
    folder, exercise = tmp_path / "handed-in", find_exercise(_EXERCISE)
    folder.mkdir()
    sealed = school_class.put("anna")
    school_class.seal(sealed)
    shutil.copyfile(sealed, folder / "a.jsonl")
    forge_attempt(exercise, solution_of(exercise), folder / "m.jsonl")
    edited = sealed.read_bytes().replace(b'"student":"anna"', b'"student":"zora"')
    (folder / "z.jsonl").write_bytes(edited)  # of the same size
    return folder


def test_only_sealed_recordings_count_if_the_class_worked_on_the_server(
    school_class: Class, handed_in: Path
) -> None:
    """Whatever they claim; a copy does not take the points from its author."""
    words = ("exercise", "grade", str(handed_in), "--csv", "grades.csv")
    called, rows = school_class.run(*words, "--sealed-by", str(school_class.folder.path))
    assert called.status == 1
    assert [(row["student"], row["points"], row["proof"]) for row in rows] == [
        ("anna", "5", "sealed"),
        ("mallory", "", ""),
        ("zora", "", ""),
    ]
    assert "has not sealed it: it was made elsewhere, edited, or not ended" in rows[1]["refused"]
    assert "1 attempt graded, 2 refused" in called.out


def test_a_recording_found_after_a_crash_is_not_proved(school_class: Class, handed_in: Path) -> None:
    """The server saw no run end; its own folder may have been written to meanwhile."""
    forged = school_class.folder.student_path("mallory") / "attempts" / f"{_EXERCISE}-001.jsonl"
    shutil.copyfile(handed_in / "m.jsonl", forged)
    school_class.seal()
    words = ("exercise", "grade", str(handed_in / "m.jsonl"), "--csv", "grades.csv")
    called, (row,) = school_class.run(*words, "--sealed-by", str(school_class.folder.path))
    assert (called.status, row["points"]) == (1, "")
    assert "did not see its run end" in row["refused"]


def test_without_the_option_recordings_are_unproved(school_class: Class, handed_in: Path) -> None:
    """In the table, with a sentence, in the spreadsheet and for Gradescope; handed-in seals do not count."""
    shutil.copyfile(school_class.folder.seals, handed_in / "seals")
    words = (
        "exercise",
        "grade",
        str(handed_in / "m.jsonl"),
        "--csv",
        "grades.csv",
        "--gradescope",
        "results.json",
    )
    called, (row,) = school_class.run(*words)
    assert (called.status, row["points"], row["proof"]) == (0, "5", "unproved")
    assert f"unproved: {UNPROVED}" in called.out
    results = msgspec.json.decode((school_class.lab.folder / "results.json").read_bytes())
    assert results["output"] == f"unproved ({_EXERCISE}): {UNPROVED}"


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (b"garbage\n", "line 2 of "),
        (b'{"file":"students/m/attempts/x.jsonl","student":"m","at":"","measured":{"size":1,"sha256":""},'
         b'"witnessed":true}\n', "does not continue the line before it"),
    ],
)  # fmt: skip
def test_no_grades_from_edited_seals(school_class: Class, handed_in: Path, edit: bytes, error: str) -> None:
    """The error names the line, and what to do."""
    with school_class.folder.seals.open("ab") as seals:
        seals.write(edit)
    data = school_class.folder.path
    called = school_class.lab("exercise", "grade", str(handed_in), "--sealed-by", str(data))
    assert (called.status, called.out) == (2, "")
    assert error in called.err
    assert "the seals were edited; use a backup of the data folder" in called.err
    nowhere = school_class.lab("exercise", "grade", str(handed_in), "--sealed-by", str(handed_in))
    assert nowhere.status == 2
    assert "has no seals; name the data folder of lab serve" in nowhere.err


def test_a_missing_sealed_recording_is_reported(school_class: Class) -> None:
    """In its own row of the table."""
    recording = school_class.put("anna")
    school_class.seal(recording)
    recording.unlink()
    called, (row,) = school_class.export()
    assert called.status == 1
    assert row["refused"].endswith(", and is missing")


@pytest.mark.parametrize("edit", ["changed", "taken out", "cut off"])
def test_edited_seals_are_detected(school_class: Class, edit: str) -> None:
    """By their chain, and at the end by the server's log."""
    school_class.seal(*(school_class.put("anna", number) for number in (1, 2, 3)))
    seals = school_class.folder.seals
    lines = seals.read_bytes().splitlines(keepends=True)
    kept = {
        "changed": [lines[0].replace(b"anna", b"ben"), *lines[1:]],
        "taken out": [lines[0], lines[2]],
        "cut off": lines[:2],
    }
    seals.write_bytes(b"".join(kept[edit]))
    called, _ = school_class.export()
    assert called.status == 1
    assert "the seals were edited, so these grades are not reliable" in called.err


def test_a_server_killed_while_sealing_continues(school_class: Class) -> None:
    """A torn last line is no seal; the next server creates it again."""
    school_class.seal(school_class.put("anna"))
    school_class.put("anna", 2)
    with school_class.folder.seals.open("ab") as seals:
        seals.write(b'{"file":"students/anna/att')
    school_class.seal()
    report = SealBook(school_class.folder.seals).read()
    assert (list(report.seals), report.problem) == (
        [f"students/anna/attempts/{_EXERCISE}-00{number}.jsonl" for number in (1, 2)],
        "",
    )
    called, _ = school_class.export("--every")
    assert called.status == 0


def test_each_student_s_points_are_printed(school_class: Class) -> None:
    """For every student with a folder or a browser, also without attempts."""
    school_class.seal(school_class.put("anna"))
    school_class.folder.browsers.write_text(f"{'0' * 64} dora 2026-11-27T20:00:00+00:00\n")
    (school_class.folder.path / "students" / "cara" / "attempts").mkdir(parents=True)
    called, (grade,) = school_class.export()
    served = sum(each.points for each in all_exercises() if not each.starting_files)
    assert f" points of {served} " in called.out.splitlines()[0]
    assert [line.split() for line in called.out.splitlines()[1:4]] == [
        ["anna", grade["points"], "1", "1", "1"],
        ["cara", "0", "0", "0", "0"],
        ["dora", "0", "0", "0", "0"],
    ]


@pytest.mark.parametrize("option", ["--csv", "--grades"])
def test_an_existing_file_is_overwritten_on_demand_alone(school_class: Class, option: str) -> None:
    school_class.folder.course.write_text(_COURSE.replace("DEADLINE", "2026-12-04"))
    file = school_class.lab.folder / "kept.csv"
    file.write_text("kept")
    words = ("serve", "export", "--data", str(school_class.folder.path), option, "kept.csv")
    assert "kept.csv exists already; name another with" in school_class.lab(*words).refused()
    assert file.read_text() == "kept"
    assert school_class.lab(*words, "--force").status == 0
    assert file.read_text() != "kept"


_COURSE = """
[late]
days = 2
cost = 20
[[group]]
name = "Warm up"
weight = 1
exercises = ["two-coordinators"]
deadline = DEADLINE
"""


@pytest.mark.parametrize(
    ("days", "counted", "grade"), [(1, "5.0", "100.0"), (-0.5, "4.0", "80.0"), (-3, "0.0", "0.0")]
)
def test_a_course_decides_the_grade(school_class: Class, days: float, counted: str, grade: str) -> None:
    """By when the points were earned, not by when the run ended; students without attempts have their row, too."""
    recording = school_class.put("anna")
    school_class.seal(recording)
    (school_class.folder.path / "students" / "cara" / "attempts").mkdir(parents=True)
    began = msgspec.json.decode(recording.read_bytes().splitlines()[0])["began"]
    deadline = datetime.fromisoformat(began) + timedelta(days=days)
    school_class.folder.course.write_text(_COURSE.replace("DEADLINE", deadline.isoformat()))
    called, _ = school_class.export("--grades", "course.csv")
    assert called.status == 0
    rows = list(csv.DictReader((school_class.lab.folder / "course.csv").read_text().splitlines()))
    assert [(row["student"], row["Warm up: raw"], row["Warm up: counted"], row["grade"]) for row in rows] == [
        ("anna", "5", counted, grade),
        ("cara", "0", "0.0", "0.0"),
    ]
    assert [line.split() for line in called.out.splitlines()[1:3]] == [
        ["anna", counted, "100.0", rows[0]["late days"], grade],
        ["cara", "0.0", "0.0", "0", "0.0"],
    ]


def test_a_simulated_attempt_was_made_when_it_was_sealed_at_the_latest(school_class: Class) -> None:
    """Whoever copies or touches the file later does not make it late."""
    exercise = drawn_for(find_exercise("when-did-two-lead"), "anna", school_class.folder.nonce())
    recording = recording_of(school_class.folder.student_path("anna"), exercise.name, 1)
    script = fill((exercise.folder / "solution.script").read_text("utf-8"), exercise.drawn)
    nonce = school_class.folder.nonce()
    run_attempt(exercise, read_commands(exercise, script), recording, end_us=120_000_000, nonce=nonce)
    school_class.seal(recording)
    (seal,) = SealBook(school_class.folder.seals).read().seals.values()
    later = datetime.fromisoformat(seal.at) + timedelta(days=9)
    os.utime(recording, (later.timestamp(),) * 2)
    (grade,) = grade_class(school_class.folder, SHIPPED, lambda *_: None).grades
    assert grade.earned
    assert {each.at for each in grade.earned} == {seal.at}


def test_a_data_folder_that_is_not_there_is_no_empty_class(tmp_path: Path) -> None:
    """The option was forgotten, or misspelt."""
    error = Lab(tmp_path, tmp_path)("serve", "export", "--data", str(tmp_path / "dat")).refused()
    assert error == f"--data {tmp_path / 'dat'}: there is no such folder; name the server's data folder"
    assert not (tmp_path / "dat").exists()


def test_attempts_are_graded_by_the_exercises_that_were_served(school_class: Class, tmp_path: Path) -> None:
    """Without the option, which a teacher forgets: one of the same name may be worth something else."""
    folder = tmp_path / "exercises"
    shutil.copytree(find_exercise(_EXERCISE).folder, folder / _EXERCISE)
    file = folder / _EXERCISE / "exercise.toml"
    file.write_text(file.read_text("utf-8").replace("points = 2", "points = 9", 1), "utf-8")
    school_class.seal(school_class.put("anna"))
    built_in = school_class.export()[1][0]["of"]
    school_class.folder.keep_exercises(folder)
    assert int(school_class.export()[1][0]["of"]) == int(built_in) + 7
    shutil.rmtree(folder)
    assert school_class.export()[1][0]["of"] == built_in
    school_class.folder.keep_exercises(SHIPPED)
    assert school_class.folder.exercises == SHIPPED
