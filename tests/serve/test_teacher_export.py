"""``lab serve export``: grades of a class by re-execution, and refusals with their reasons."""

import asyncio
import csv
import shutil
from pathlib import Path

import msgspec
import pytest

from lab.exercises.attempts import recording_of
from lab.exercises.exercise_reader import find_exercise
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.gradebook import SealBook, Sealer
from tests.cli.invocation import Called, Lab
from tests.exercises.attempts import run_attempt, solution_of

pytestmark = pytest.mark.live  # anna's attempt is one on processes
_EXERCISE = "two-coordinators"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Anna's first attempt, solved; run once."""
    exercise = find_exercise(_EXERCISE)
    return run_attempt(exercise, solution_of(exercise), tmp_path_factory.mktemp("solved") / "run.jsonl")


class Class:
    """A data folder as a server leaves it, with ``lab serve export``."""

    def __init__(self, folder: Path, lab: Lab, solved: Path) -> None:
        self.folder = DataFolder(folder)
        self._lab = lab
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
        table = self._lab.folder / "grades.csv"
        called = self._lab("serve", "export", "--data", str(self.folder.path), "--csv", str(table), *words)
        return called, list(csv.DictReader(table.read_text("utf-8").splitlines()))


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
    assert "2 attempts of 2 students graded; 1 not sealed" in called.out
    results = msgspec.json.decode((tmp_path / "results" / "anna.json").read_bytes())
    assert results["score"] == 5
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["anna.json", "ben.json"]


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
    """For every student with a folder, also without attempts."""
    school_class.seal(school_class.put("anna"))
    (school_class.folder.path / "students" / "cara" / "attempts").mkdir(parents=True)
    called, (grade,) = school_class.export()
    assert [line.split() for line in called.out.splitlines()[1:3]] == [
        ["anna", grade["points"], "1", "1"],
        ["cara", "0", "0", "0"],
    ]
