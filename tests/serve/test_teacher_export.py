"""``lab serve export``: the grades of a class by re-execution, and what is not believed, and why."""

import asyncio
import csv
import shutil
from pathlib import Path

import msgspec
import pytest

from lab.exercises.exercise_library import find_exercise
from lab.exercises.student_folder import recording_of
from lab.serve.folder import DataFolder
from lab.serve.seals import SealBook, Sealer
from lab.serve.server_log import ServerLog
from tests.cli.invocation import Called, Lab
from tests.exercises.attempts import run_attempt, solution_of

_EXERCISE = "two-coordinators"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """anna's first attempt, solved; made once."""
    exercise = find_exercise(_EXERCISE)
    return run_attempt(exercise, solution_of(exercise), tmp_path_factory.mktemp("solved") / "run.jsonl")


class Class:
    """A data folder as a server leaves it, and ``lab serve export`` over it."""

    def __init__(self, folder: Path, lab: Lab, solved: Path) -> None:
        self.folder = DataFolder(folder)
        self._lab = lab
        self._solved = solved

    def put(self, student: str, attempt: int = 1) -> Path:
        """The recording of anna's solution, in this student's folder."""
        path = recording_of(self.folder.student_path(student), _EXERCISE, attempt)
        shutil.copyfile(self._solved, path)
        return path

    def seal(self, *paths: Path) -> None:
        """As the server does at the end of each run; without any, as it does when it starts."""

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
        """What it said, and the rows of the table."""
        table = self._lab.folder / "grades.csv"
        called = self._lab("serve", "export", "--data", str(self.folder.path), "--csv", str(table), *words)
        return called, list(csv.DictReader(table.read_text("utf-8").splitlines()))


@pytest.fixture
def school_class(tmp_path: Path, solved: Path) -> Class:
    """One with nobody in it."""
    (tmp_path / "home").mkdir()
    return Class(tmp_path / "data", Lab(tmp_path, tmp_path / "home"), solved)


def _renamed(path: Path, student: str) -> None:
    """Edit whose recording it says that it is, and take off its end, which would tell."""
    header, *rest, _ = path.read_bytes().splitlines(keepends=True)
    assert b'"student":"anna"' in header
    path.write_bytes(header.replace(b'"student":"anna"', f'"student":"{student}"'.encode()) + b"".join(rest))


def test_what_was_sealed_and_not_touched_is_graded(school_class: Class, tmp_path: Path) -> None:
    """In a table, and for Gradescope a file for each student; a run that goes on as far as it has come."""
    school_class.seal(school_class.put("anna"))
    ben = recording_of(school_class.folder.student_path("ben"), _EXERCISE, 1)
    run_attempt(find_exercise(_EXERCISE), [], ben, "ben", 1_000_000)
    lines = ben.read_bytes().splitlines(keepends=True)
    ben.write_bytes(b"".join(lines[:-1]) + lines[-1][:7])  # it goes on: its last line is torn
    called, rows = school_class.export("--gradescope", str(tmp_path / "results"))
    assert (called.status, called.err) == (0, "")
    assert [row["student"] for row in rows] == ["anna", "ben"]
    assert (rows[0]["points"], rows[0]["of"]) == ("5", "5")
    assert "2 attempts of 2 students graded; 1 not sealed yet" in called.out
    results = msgspec.json.decode((tmp_path / "results" / "anna.json").read_bytes())
    assert results["score"] == 5
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["anna.json", "ben.json"]


def test_the_best_attempt_counts_or_every_one_is_told(school_class: Class) -> None:
    """As with lab exercise grade."""
    school_class.seal(school_class.put("anna"), school_class.put("anna", 2))
    assert len(school_class.export()[1]) == 1
    assert len(school_class.export("--every")[1]) == 2


def test_an_edited_recording_is_refused(school_class: Class) -> None:
    """Whatever was edited in it: its seal tells when it was as it should be."""
    recording = school_class.put("anna")
    school_class.seal(recording)
    recording.write_bytes(recording.read_bytes()[:-1] + b" \n")  # as good as before, but for a blank
    called, (row,) = school_class.export()
    assert called.status == 1
    assert (row["student"], row["exercise"], row["points"]) == ("anna", _EXERCISE, "")
    assert row["refused"].startswith("it was edited after it was sealed on 20")
    assert "not graded: it was edited" in called.err


def test_a_recording_in_another_s_folder_is_refused(school_class: Class) -> None:
    """Its header names whose it is; whoever made it keeps the grade."""
    school_class.seal(school_class.put("anna"))
    school_class.put("ben")
    school_class.seal()
    called, rows = school_class.export()
    assert called.status == 1
    assert [(row["student"], row["points"]) for row in rows] == [("anna", "5"), ("ben", "")]
    assert rows[1]["refused"].startswith("its header names anna, but it is in")


def test_a_copy_with_another_name_in_it_is_refused(school_class: Class) -> None:
    """Put there while the server was down, and so sealed when it began: the run is one that anna made."""
    school_class.seal(school_class.put("anna"))
    _renamed(school_class.put("ben"), "ben")
    school_class.seal()
    _, rows = school_class.export()
    assert [(row["student"], row["points"]) for row in rows] == [("anna", "5"), ("ben", "")]
    assert rows[1]["refused"] == "anna handed in the same run"


def test_a_sealed_recording_that_is_gone_is_told(school_class: Class) -> None:
    """It does not simply lack a line in the table."""
    recording = school_class.put("anna")
    school_class.seal(recording)
    recording.unlink()
    called, (row,) = school_class.export()
    assert called.status == 1
    assert row["refused"].endswith(", and is missing")


@pytest.mark.parametrize("edit", ["changed", "taken out", "cut off"])
def test_who_edits_the_seals_is_found_out(school_class: Class, edit: str) -> None:
    """By the chain of them, and at the end by the server's log."""
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
    assert "somebody edited the seals; look into it" in called.err


def test_a_server_that_was_killed_while_it_sealed_goes_on(school_class: Class) -> None:
    """A torn last line was no seal; the next server makes it anew."""
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


def test_what_each_student_has_is_printed(school_class: Class) -> None:
    """Everybody who has a folder, also who has attempted nothing."""
    school_class.seal(school_class.put("anna"))
    (school_class.folder.path / "students" / "cara" / "attempts").mkdir(parents=True)
    called, (grade,) = school_class.export()
    assert [line.split() for line in called.out.splitlines()[1:3]] == [
        ["anna", grade["points"], "1", "1"],
        ["cara", "0", "0", "0"],
    ]
