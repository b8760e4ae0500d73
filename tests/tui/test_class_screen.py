"""The teacher's screen: a class of thirty at a glance, and changes that need a confirmation."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises.assessment import State
from lab.exercises.teacher import ClassReport, ServerAdminError, Student, situation_of, sort_by_need
from lab.tui.apps.class_app import ClassRows, ControlGrant, WatchApp
from lab.tui.widgets.dialogs import ChoiceDialog, LineDialog
from tests.tui.seen import Seen

SIZES = [(80, 24), (120, 40), (200, 60)]


def attempting(name: str, stuck_s: float | None, states: str = "+-o", **more: object) -> Student:
    """Return a student in an attempt; ``states`` has a sign for each task: done, missed, answered, open."""
    signs: dict[str, State] = {"+": "done", "-": "missed", "?": "answered", "o": "open"}
    found = Student(
        name,
        since="2026-11-20T10:00:00+00:00",
        on_s=1800.0,
        exercise="two-coordinators",
        attempt=2,
        done=states.count("+"),
        tasks=len(states),
        stuck_s=stuck_s,
        cluster="bully, 5 nodes",
        points=12,
        states=tuple(signs[sign] for sign in states),
        latest="two-coordinators",
        latest_attempt=2,
    )
    return replace(found, **more)


def thirty() -> list[Student]:
    """Return a class: four stuck, two idle, ten at work, two done, two choosing, the rest away or removed."""
    return [
        *(attempting(f"stuck-{n}", 300.0 + 240 * n, "++-o?") for n in range(4)),
        *(attempting(f"idle-{n}", 900.0, idle_s=400.0) for n in range(2)),
        *(attempting(f"busy-{n}", 20.0 * n, "+oooo") for n in range(10)),
        *(attempting(f"done-{n}", None, "+++") for n in range(2)),
        *(Student(f"list-{n}", since="2026-11-20T10:00:00+00:00", on_s=60.0, points=3) for n in range(2)),
        *(Student(f"away-{n}", points=20, unread=n % 2) for n in range(9)),
        Student("gone", removed=True),
    ]


class ClassOfOneScreen:
    """A server of the test's; it notes what the teacher asks for."""

    def __init__(self, students: Sequence[Student]) -> None:
        self.students = list(students)
        self.asked: list[tuple[object, ...]] = []
        self.failure = ""

    def report(self) -> ClassReport:
        return ClassReport(2222, tuple(self.students), 40, 343)

    def notify(self, students: tuple[str, ...], text: str) -> list[str]:
        self._note("notify", students, text)
        return list(students)

    def take_control(self, student: str) -> ControlGrant:
        raise ServerAdminError("not in this test")

    def comment(self, student: str, exercise: str, attempt: int, text: str) -> str:
        return self._note("comment", student, exercise, attempt, text)

    def remove(self, student: str) -> str:
        return self._note("remove", student)

    def readmit(self, student: str) -> str:
        return self._note("readmit", student)

    def archive(self, student: str, to: Path) -> str:
        return self._note("archive", student, to)

    def erase(self, student: str) -> str:
        return self._note("erase", student)

    def _note(self, *request: object) -> str:
        self.asked.append(request)
        if self.failure:
            raise ServerAdminError(self.failure)
        return f"did {request[0]}"


def watched(
    admin: ClassOfOneScreen, test: Callable[[Seen, WatchApp], Awaitable[None]], size: tuple[int, int] = (120, 40)
) -> None:
    """Run the test on the screen of this class."""

    async def run() -> None:
        app = WatchApp(admin, lambda name: None, lambda name: "")
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot)
            await seen.until(lambda: "lab class" in seen.text, "the class")
            await test(seen, app)

    asyncio.run(run())


def test_those_who_need_help_come_first() -> None:
    """Who is stuck longest; then who presses no key, who works, who chooses, who is done, and who is away."""
    students = thirty()
    found = [student.name for student in sort_by_need(tuple(reversed(students)))]
    assert found[:6] == ["stuck-3", "stuck-2", "stuck-1", "stuck-0", "idle-0", "idle-1"]
    assert found[6:8] == ["busy-9", "busy-8"]
    assert found[16:20] == ["list-0", "list-1", "done-0", "done-1"]
    assert found[-1] == "gone"
    assert situation_of(attempting("x", 299.0)) == "working"
    assert situation_of(attempting("x", None, idle_s=900.0)) == "done"


@pytest.mark.parametrize("size", SIZES)
def test_thirty_students_are_seen_at_a_glance(size: tuple[int, int]) -> None:
    """A row each, with what they are doing, for how long, a tick for each task, and the exercise."""

    async def test(seen: Seen, app: WatchApp) -> None:
        await seen.until(lambda: "stuck-3" in seen.text, "the class")
        rows = seen.text.split("\n")
        first = next(row for row in rows if "stuck-3" in row)
        attempt = "2" if size[0] >= 120 else "2…"  # its comment is cut off
        assert first.split()[1:][:7] == ["stuck-3", "stuck", "17", "min", "✓✓✗○…", "two-coordinators", attempt]
        assert "20 of 30 students logged in · 4 stuck · 2 idle" in rows[0]
        names = [student.name for student in sort_by_need(tuple(thirty()))]
        shown = [name for name in names if f" {name} " in seen.text]
        assert shown == names[: len(shown)]
        assert len(shown) >= (18 if size[1] == 24 else 30)
        assert ("1 comment unread" in seen.text) == (size[0] >= 120)
        await seen.press(*["down"] * 29)
        await seen.until(lambda: " gone " in seen.text, "the last")

    watched(ClassOfOneScreen(thirty()), test, size)


def test_the_screen_follows_the_class() -> None:
    """The selection stays with its student, wherever the row goes."""
    admin = ClassOfOneScreen([attempting("anna", 10.0), attempting("ben", 5.0)])

    async def test(seen: Seen, app: WatchApp) -> None:
        rows = app.screen.query_one(ClassRows)
        await seen.until(lambda: rows.chosen == "anna", "anna is first")
        await seen.press("down")
        admin.students = [attempting("anna", 10.0), attempting("ben", 400.0, "+?")]
        await seen.until(lambda: "ben" in seen.text.split("\n")[2] and "stuck" in seen.text, "ben comes first")
        assert rows.chosen == "ben"
        assert "✓…" in seen.text

    watched(admin, test)


def test_changes_are_made_by_keys_with_a_confirmation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comment, remove, archive and erase; the name has to be typed to erase."""
    monkeypatch.chdir(tmp_path)
    admin = ClassOfOneScreen([attempting("anna", 10.0)])

    async def test(seen: Seen, app: WatchApp) -> None:
        await seen.until(lambda: "anna" in seen.text, "the class")
        await seen.press("c")
        await seen.until(lambda: isinstance(seen.top, LineDialog), "the comment")
        assert "your answer" not in seen.text
        assert "comment on anna, two-coordinators 2" in seen.text
        await seen.type("well done")
        await seen.press("enter")
        await seen.until(lambda: "did comment" in seen.text, "the result")
        for key, title, request in (
            ("x", "remove anna?", ("remove", "anna")),
            ("a", "archive the data?", ("archive", "anna", tmp_path / "anna.zip")),
        ):
            await seen.press(key)
            await seen.until(lambda: isinstance(seen.top, ChoiceDialog), title)
            assert title in seen.text
            await seen.press("escape", key)
            await seen.until(lambda: isinstance(seen.top, ChoiceDialog), title)
            await seen.press("enter")
            await seen.until(lambda: admin.asked[-1][0] == request[0], "it is done")  # noqa: B023 - awaited here
            assert admin.asked[-1] == request
        for typed in ("ann", "anna"):
            await seen.press("D")
            await seen.until(lambda: isinstance(seen.top, LineDialog), "the name")
            await seen.type(typed)
            await seen.press("enter")
            if typed == "ann":
                await seen.until(lambda: "nothing was erased: that is not the name" in seen.text, "it is refused")
        await seen.until(lambda: admin.asked[-1] == ("erase", "anna"), "it is done")

    watched(admin, test)
    assert [request[0] for request in admin.asked] == ["comment", "remove", "archive", "erase"]
    assert admin.asked[0] == ("comment", "anna", "two-coordinators", 2, "well done")


def test_a_removed_student_is_readmitted_and_a_refusal_is_shown() -> None:
    admin = ClassOfOneScreen([Student("anna", removed=True)])
    admin.failure = "the disk is full"

    async def test(seen: Seen, app: WatchApp) -> None:
        await seen.until(lambda: "removed" in seen.text, "the class")
        await seen.press("x")
        await seen.until(lambda: "readmit anna?" in seen.text, "it is asked")
        await seen.press("enter")
        await seen.until(lambda: "this failed: the disk is full" in seen.text, "the reason")
        await seen.press("c")
        await seen.until(lambda: "no attempt yet" in seen.text, "nothing to comment on")

    watched(admin, test)
    assert admin.asked == [("readmit", "anna")]


def test_the_message_about_a_removal_goes_with_the_readmission() -> None:
    """By a command elsewhere."""
    admin = ClassOfOneScreen([Student("anna"), Student("ben")])

    async def test(seen: Seen, app: WatchApp) -> None:
        await seen.press("x")
        await seen.until(lambda: "remove anna?" in seen.text, "it is asked")
        await seen.press("enter")
        await seen.until(lambda: "did remove" in seen.text, "the result")
        admin.students[0] = Student("anna", removed=True)
        await seen.until(lambda: "1 removed" in seen.text, "it is removed")
        assert "did remove" in seen.text
        admin.students[0] = Student("anna")
        await seen.until(lambda: "did remove" not in seen.text, "the message is gone")

    watched(admin, test)
