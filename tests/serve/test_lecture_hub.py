"""A lecture from a file at the hub: what each session is sent, what is stored, and what no branch begins with."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar, cast

import pytest
from msgspec.structs import replace

from lab.exercises.teacher import (
    Audience,
    LecturePosition,
    Notice,
    ServerAdminError,
    ShownLecture,
    VoteQuestion,
    VoteTally,
)
from lab.lectures.presentation import read_head, read_progress, write_presentation
from lab.lectures.recorded_lecture import record_lecture
from lab.serve.broadcast_hub import BroadcastHub
from lab.serve.children import ChildEnvironment, Children
from lab.serve.data_folder import DataFolder, ServerLog
from lab.serve.given_lectures import (
    edited_lecture,
    interrupted_lecture,
    new_folder,
    past_lectures,
    replace_lecture,
)
from lab.serve.lecture_branches import LectureBranches
from lab.serve.limits import Limits
from lab.worlds.launch import HostFailedError
from tests.lectures.lecture_files import TEXT, make_lecture

_NOW = datetime(2026, 11, 27, 20, 0, 0)
_HERE = LecturePosition(place=1, record=40, view="diagram", reached=1, shown=(40,))

_CLOSED = VoteTally(1, "Who leads now?", ("only 5", "4 and 5"), (0, 1), False, 2, "only 5", "They wait.")


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


@pytest.fixture
def hub(data: DataFolder) -> Iterator[BroadcastHub]:
    log = ServerLog(data.log)
    yield BroadcastHub(log)
    log.close()


@pytest.fixture
def folder(data: DataFolder, tmp_path: Path) -> Path:
    """The folder of a lecture that has been prepared."""
    folder = new_folder(data, "pause", _NOW)
    write_presentation(record_lecture(make_lecture(tmp_path), folder).presentation, folder)
    return folder


def _kinds(notices: list[Notice]) -> list[type]:
    return [type(each) for each in notices]


def test_who_comes_late_gets_all_that_applies(hub: BroadcastHub, folder: Path) -> None:
    """The lecture at once, the closed votes, where the teacher is, and the open question."""
    early, late = list[Notice](), list[Notice]()
    with hub.lecture_on("", "A pause", str(folder)), hub.subscription("anna", early.append):
        hub.ask("Who leads now?", ("only 5", "4 and 5"), 2, "only 5", "They wait.")
        question = early[-1]
        assert isinstance(question, VoteQuestion)
        hub.vote("anna", question.serial, 1)
        hub.close_vote()
        hub.show_position(_HERE)
        hub.ask("And now?", ("4", "5"))
        early.clear()
        with hub.subscription("ben", late.append):
            assert _kinds(late) == [ShownLecture, VoteTally, LecturePosition, VoteQuestion]
            assert late[:3] == [
                ShownLecture("", "A pause", at_once=True, folder=str(folder)),
                _CLOSED,
                _HERE,
            ]
        assert early == [], "nothing is repeated to the others"


def test_the_answer_is_sent_with_the_closed_vote_alone(hub: BroadcastHub, folder: Path) -> None:
    sent = list[Notice]()
    with hub.lecture_on("", "A pause", str(folder)), hub.subscription("anna", sent.append):
        hub.ask("Who leads now?", ("only 5", "4 and 5"), 2, "only 5", "They wait.")
        assert hub.tally().answer == ""
        assert "They wait" not in repr(sent)
        assert hub.close_vote().explanation == "They wait."
        hub.ask("And now?", ("4", "5"))
        assert hub.close_vote().answer == "", "that was the answer of another question"
    assert list(read_progress(folder).tallies) == [2]


def test_a_position_is_sent_and_stored_when_it_changes(hub: BroadcastHub, folder: Path) -> None:
    """And the teacher learns how many follow."""
    sent = list[Notice]()
    with hub.lecture_on("", "A pause", str(folder)), hub.subscription("anna", sent.append):
        with hub.subscription("ben", lambda notice: None):
            hub.report_following("ben", True)
            assert hub.show_position(_HERE) == Audience(2, 1)
            assert hub.show_position(_HERE) == Audience(2, 1)
        assert hub.show_position(_HERE) == Audience(1, 0), "ben has left"
        assert sent.count(_HERE) == 1
        assert read_progress(folder).position == _HERE


@pytest.mark.parametrize("is_over", [False, True])
def test_a_dropped_connection_differs_from_the_end(hub: BroadcastHub, folder: Path, is_over: bool) -> None:
    sent = list[Notice]()
    with hub.subscription("anna", sent.append):
        with hub.lecture_on("", "A pause", str(folder)):
            hub.show_position(_HERE)
            if is_over:
                hub.end_lecture()
        assert sent[-1] == ShownLecture("", "", interrupted=not is_over)
    assert read_progress(folder).is_over == is_over


def test_an_open_vote_goes_on_with_an_interrupted_lecture(hub: BroadcastHub, folder: Path) -> None:
    """With its votes; all are asked again, and nobody meanwhile. It ends with its lecture, or in another one."""
    sent = list[Notice]()
    with hub.subscription("anna", sent.append):
        with hub.lecture_on("", "A pause", str(folder)):
            hub.ask("Who leads now?", ("only 5", "4 and 5"), 2, "only 5", "They wait.")
            question = sent[-1]
            assert isinstance(question, VoteQuestion)
            hub.vote("anna", question.serial, 1)
        with hub.subscription("ben", (late := list[Notice]()).append):
            assert late == []
        with hub.lecture_on("", "A pause", str(folder)):
            assert sent[-1] == question
            assert hub.close_vote() == replace(_CLOSED, serial=question.serial)
            hub.ask("And now?", ("4", "5"), 2)
            with hub.subscription("ben", (later := list[Notice]()).append):
                assert _kinds(later) == [ShownLecture, LecturePosition, VoteQuestion], (
                    "no result of an earlier vote"
                )
            hub.end_lecture()
        with hub.lecture_on("", "A pause", str(folder)), pytest.raises(ServerAdminError, match="no vote is open"):
            hub.tally()


def test_a_vote_does_not_go_on_in_another_lecture(hub: BroadcastHub, folder: Path) -> None:
    with hub.lecture_on("", "A pause", str(folder)):
        hub.ask("Who leads now?", ("only 5", "4 and 5"), 2)
    with hub.lecture_on("/run/feed", "bully"), pytest.raises(ServerAdminError, match="no vote is open"):
        hub.tally()


def test_no_position_without_a_lecture_from_a_file(hub: BroadcastHub) -> None:
    with pytest.raises(ServerAdminError, match=r"no lecture from a file .* lab serve lecture FILE.md"):
        hub.show_position(_HERE)
    with hub.lecture_on("/run/feed", "bully"), pytest.raises(ServerAdminError):
        hub.end_lecture()


def test_an_interrupted_lecture_goes_on_for_hours(hub: BroadcastHub, data: DataFolder, folder: Path) -> None:
    """The one with the same text, unless it was ended."""
    digest = read_head(folder).digest
    assert interrupted_lecture(data, digest, _NOW + timedelta(hours=11)) == folder
    assert interrupted_lecture(data, digest, _NOW + timedelta(hours=13)) is None
    assert interrupted_lecture(data, "of another text", _NOW) is None
    with hub.lecture_on("", "A pause", str(folder)):
        hub.show_position(_HERE)
        hub.end_lecture()
    assert interrupted_lecture(data, digest, _NOW) is None


def test_an_edited_lecture_goes_on_in_place_of_the_first(
    hub: BroadcastHub, data: DataFolder, folder: Path, tmp_path: Path
) -> None:
    """At the step of the same title, with the votes on questions that are still asked; it is listed once."""
    with hub.lecture_on("", "A pause", str(folder)):
        hub.show_position(_HERE)
        hub.ask("Who leads now?", ("only 5", "4 and 5"), 2, "only 5", "They wait.")
        hub.close_vote()
    edited = make_lecture(tmp_path, "## The coordinator", "## One more text\n\nMore.\n\n## The coordinator")
    assert edited_lecture(data, "pause", "Another title", _NOW) is None
    assert edited_lecture(data, "pause", "A pause", _NOW + timedelta(hours=13)) is None
    assert edited_lecture(data, "pause", "A pause", _NOW) == folder
    later = new_folder(data, "pause", _NOW + timedelta(hours=1))
    presentation = record_lecture(edited, later).presentation
    write_presentation(presentation, later)
    progress = replace_lecture(folder, later)
    assert (progress.position.place, progress.position.reached) == (2, 2), "the third step now"
    assert {number: tally.step for number, tally in progress.tallies.items()} == {3: 3}
    assert progress.position.shown == (0,), "the run of the step is shown again"
    assert [each.folder for each in past_lectures(data)] == [str(later)]
    assert edited_lecture(data, "pause", "A pause", _NOW) == later
    assert read_progress(later) == progress


def test_a_vote_on_a_question_that_has_changed_is_not_kept(
    hub: BroadcastHub, data: DataFolder, folder: Path, tmp_path: Path
) -> None:
    """And a step whose title has changed, too, is known by its number."""
    with hub.lecture_on("", "A pause", str(folder)):
        hub.show_position(_HERE)
        hub.ask("Who leads now?", ("only 5", "4 and 5"), 2, "only 5", "They wait.")
        hub.close_vote()
    text = TEXT.replace("Who leads now?", "And now?").replace("## The coordinator is", "## It is")
    later = new_folder(data, "pause", _NOW + timedelta(hours=1))
    write_presentation(record_lecture(make_lecture(tmp_path, TEXT, text), later).presentation, later)
    progress = replace_lecture(folder, later)
    assert (progress.position.place, progress.tallies) == (1, {})


def test_a_lecture_is_listed_once_something_was_shown(hub: BroadcastHub, data: DataFolder, folder: Path) -> None:
    """Not one that is damaged, or of another version."""
    assert past_lectures(data) == ()
    with hub.lecture_on("", "A pause", str(folder)):
        hub.show_position(_HERE)
    (listed,) = past_lectures(data)
    assert (listed.title, listed.date, listed.folder) == ("A pause", "2026-11-27", str(folder))
    (folder / "lecture.json").write_bytes(b"{")
    assert past_lectures(data) == ()


class _Host:
    """A host that runs until it is told to end."""

    started: ClassVar[list["_Host"]] = []
    ready = None

    def __init__(self) -> None:
        self.child = self
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.started.append(self)

    async def end(self) -> str:
        return ""

    @classmethod
    async def start(cls, *_: object) -> "_Host":
        await asyncio.sleep(0)
        return cls()


def test_a_class_that_branches_at_once_starts_no_more_than_may_run(
    hub: BroadcastHub, data: DataFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do branches count whose host has ended by itself."""
    with hub.lecture_on("", "A pause", str(folder)):
        hub.show_position(_HERE)
    log = ServerLog(data.log)

    def room_of(student: str) -> ChildEnvironment:
        return ChildEnvironment({}, str(data.student_path(student)), 0, 0, 0)

    for student in "abcdef":
        data.student_path(student).mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("lab.serve.lecture_branches.ClusterProcess", _Host)
    branches = LectureBranches(data, cast(Children, None), Limits(clusters=2), log, room_of)

    async def branch_at_once(students: str) -> list[object]:
        starts = (branches.start(student, str(folder), 0, 0) for student in students)
        return [type(each) for each in await asyncio.gather(*starts, return_exceptions=True)]

    async def check() -> None:
        assert (await branch_at_once("abcd")).count(HostFailedError) == 2
        assert len(_Host.started) == 2
        _Host.started[0].ended.set_result(0)
        assert await branch_at_once("e") == [type(None)]
        assert await branch_at_once("f") == [HostFailedError]

    asyncio.run(check())
    log.close()


@pytest.mark.parametrize(
    ("lecture", "run", "record", "reason"),
    [
        ("", 0, 41, "your teacher has not shown this yet"),
        ("", 1, 0, "your teacher has not shown this yet"),
        ("", -1, 0, "your teacher has not shown this yet"),
        ("", 0, -1, "your teacher has not shown this yet"),
        ("../../students", 0, 0, "has no lecture"),
        ("..", 0, 0, "has no lecture"),
    ],
)
def test_only_what_was_shown_is_branched_from(
    hub: BroadcastHub, data: DataFolder, folder: Path, lecture: str, run: int, record: int, reason: str
) -> None:
    """No path leads out of the folder of the lectures."""
    with hub.lecture_on("", "A pause", str(folder)):
        hub.show_position(_HERE)
    log = ServerLog(data.log)
    room = ChildEnvironment({}, str(data.student_path("anna")), 0, 0, 0)
    branches = LectureBranches(data, cast(Children, None), Limits(), log, lambda _: room)
    with pytest.raises(HostFailedError, match=reason):
        asyncio.run(branches.start("anna", lecture or str(folder), run, record))
    log.close()
