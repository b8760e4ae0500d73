"""Odd contents of the data folder, made by hand or by a crash, break none of the teacher's tools."""

import os
from pathlib import Path

import pytest

from lab.durable import write_durably
from lab.exercises.attempts import recording_of
from lab.serve.admin_client import AdminConnection
from lab.serve.data_folder import DataFolder
from lab.serve.student_lists import InvitationError, Invitations
from tests.cli.invocation import Lab
from tests.profile import sampled
from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server
from tests.serve.test_teacher_export import Class, school_class

__all__ = ["school_class"]

_EXERCISE = "two-coordinators"


def test_a_file_in_place_of_a_folder_hides_no_other_student(tmp_path: Path, school: School) -> None:
    """Nor does a file that is no recording keep the server from starting."""
    students = tmp_path / "data" / "students"
    for name in ("file", "kinds"):
        (students / name).mkdir(parents=True)
    (students / "file" / "attempts").write_text("")
    (students / "kinds" / "attempts").mkdir()
    recording_of(students / "kinds", _EXERCISE, 1).mkdir()
    recording_of(students / "kinds", _EXERCISE, 2).symlink_to("nowhere")
    os.mkfifo(recording_of(students / "kinds", _EXERCISE, 3))
    recording_of(students / "kinds", _EXERCISE, 4).symlink_to("/etc/passwd")
    serving = Server(tmp_path / "data", class_file=school.class_file)
    with serving as server, AdminConnection(DataFolder(server.data)) as line:
        found = [each.name for each in line.report().students]
    assert found == ["anna", "ben", "file", "kinds"]


@pytest.mark.parametrize(
    ("since", "stuck_s"),
    sampled([("yesterday", None), ("2026-01-01T00:00:00", None), ("2999-01-01T00:00:00+00:00", 0.0)], 2),
)
def test_an_impossible_time_breaks_no_report(
    server: Server, school: School, since: str, stuck_s: float | None
) -> None:
    """It may have been edited, or the clock was set back."""
    current = f'"exercise": "{_EXERCISE}", "attempt": {{}}, "done": 0, "tasks": 3, "since": "{since}"'
    progress = server.data / "students" / "anna" / "progress.json"
    with Client(server, school.anna).terminal("start", _EXERCISE) as terminal:
        terminal.shows("5 leads")
        with AdminConnection(DataFolder(server.data)) as line:
            attempt = line.report().students[0].attempt
            write_durably(progress, f'{{"doing": {{{current.replace("{}", str(attempt))}}}}}'.encode())
            student = line.report().students[0]
        terminal.type("\x03")
        terminal.status()
    assert (student.name, student.tasks, student.stuck_s) == ("anna", 3, stuck_s)


@pytest.mark.live
def test_a_file_that_is_no_recording_is_refused_alone(school_class: Class, tmp_path: Path) -> None:
    """With its student and exercise, from the names of folder and file; all others are graded."""
    school_class.seal(school_class.put("anna"))
    attempts = school_class.folder.student_path("ben") / "attempts"
    for name in ("ben", "carla"):
        recording_of(school_class.folder.student_path(name), _EXERCISE, 1).touch()
    (attempts / "notes.jsonl").write_text("{}\n")
    (attempts / "a-folder.jsonl").mkdir()
    (attempts / "gone.jsonl").symlink_to("nowhere")
    called, rows = school_class.export("--gradescope", str(tmp_path / "results"))
    assert called.status == 1
    found = [(row["student"], row["exercise"], row["points"]) for row in rows]
    assert found == [
        ("anna", _EXERCISE, "5"),
        ("ben", "notes", ""),
        ("ben", _EXERCISE, ""),
        ("carla", _EXERCISE, ""),
    ]
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["anna.json", "ben.json", "carla.json"]


def test_unreadable_invitations_are_reported(tmp_path: Path) -> None:
    """By the command in one line, and to a student who uses a code."""
    (tmp_path / "home").mkdir()
    folder = DataFolder(tmp_path / "data")
    folder.invites.write_text("[{]")
    line = Lab(tmp_path, tmp_path / "home")("serve", "invite", "anna", "--data", str(folder.path)).refused()
    assert line.startswith(f"{folder.invites} is damaged; repair it, or move it away")
    with pytest.raises(InvitationError, match="the server cannot read its invitations; tell your teacher"):
        Invitations(folder.invites).name_for("abcd-efgh-jkmn-pqrs")
    assert folder.invites.read_text() == "[{]"
