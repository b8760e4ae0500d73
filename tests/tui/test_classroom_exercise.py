"""The exercise beside its cluster: tasks tick as they are met, answers, hints and what they cost, and replays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text
from textual.widgets import Button, Input, Static, TextArea

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_library import find_exercise
from lab.glyphs import UNICODE
from lab.recording.reader import open_recording
from lab.recording.records import Commanded
from lab.tui.classroom.exercise_dialogs import (
    LONGEST_ANSWER,
    ChoiceDialog,
    ExplanationDialog,
    LineDialog,
    TextDialog,
    as_line,
)
from lab.tui.classroom.markdown import markdown_lines
from lab.tui.terminal.theme_styles import ThemeStyles
from lab.worlds.config import HostReady
from tests.tui.classroom import INSTRUCTIONS, attempt_of, attempted, classroom, made, student, taught
from tests.tui.seen import Seen, attached, replay, served

NAME = "two-coordinators"


def _row(seen: Seen, text: str) -> str:
    return next((row for row in seen.view.split("\n") if text in row), "")


def _given(path: Path) -> list[str]:
    """The commands that were given by hand."""
    lines = open_recording(path)
    found = [each.text for each in lines.records() if isinstance(each, Commanded) and not each.line]
    lines.close()
    return found


async def _stands(seen: Seen, task: int, state: str) -> None:
    """Wait until a task stands so, and that is drawn."""
    await seen.until(lambda: attempt_of(seen).last.results[task - 1].state == state, f"task {task} is {state}")
    word = {"done": "done +", "open": "open,"}.get(state, state)
    await seen.until(lambda: word in seen.view, f"{word} is seen")


async def _typed(seen: Seen, line: str) -> None:
    await seen.press("colon")
    await seen.type(line)
    await seen.press("enter")


async def _over(seen: Seen, dialog: type[object]) -> None:
    await seen.until(lambda: isinstance(seen.top, dialog), f"{dialog.__name__} is over it")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_it_is_what_is_seen_first(tmp_path: Path, size: tuple[int, int]) -> None:
    """Beside the log where there is room; the first open task is selected, and what to press is said."""

    async def test(seen: Seen) -> None:
        assert seen.run.views.chosen == "exercise"
        assert seen.run.views.shown_views == (("log", "exercise") if size[0] >= 150 else ("exercise",))
        assert seen.view.split("\n")[0].startswith(" 1○  2○  3○  4○  0 of 4 points · attempt 1", size[0] == 200)
        assert "▶ 1 Predict" in seen.text
        assert "Five nodes run the bully. Press 5, then p." in seen.text
        assert "Enter answers, H gives a hint" in seen.said
        footer = seen.text.split("\n")[-1]
        assert "A answer" in footer
        assert "H hint" in footer

    taught(test, tmp_path, size)


def test_predict_and_bring_it_about(tmp_path: Path) -> None:
    """The answer by the dialog is noted, what comes of it is seen, and told the moment it comes."""

    async def test(seen: Seen) -> None:
        await seen.press("enter")
        await _over(seen, ChoiceDialog)
        assert "The first answer counts, and only if given before" in seen.text
        await seen.press("down", "down", "enter")
        await _stands(seen, 1, "answered")
        assert "you answered: 4 and 5" in seen.view
        assert "▶ 2 Two leaders" in seen.view
        await seen.press("5", "p")
        await _stands(seen, 1, "done")
        await seen.says("task 1 done: +1; task 2 done: +2; 3 of 4 points")
        await seen.until(lambda: "✓ done +2" in seen.view, "the tick")
        assert "The bully takes silence for death." in seen.view

    home = taught(test, tmp_path)
    assert home.progress_of("pause-one").points == 3
    assert _given(home.recordings("pause-one")[0]) == ['answer 1 "4 and 5"', "pause 5"]


def test_what_was_predicted_wrongly_is_explained(tmp_path: Path) -> None:
    """It is missed when it has been seen, and not before; more commands than are allowed miss a task, too."""

    async def test(seen: Seen) -> None:
        await _typed(seen, "answer 1 4")
        await _stands(seen, 1, "answered")
        await _typed(seen, "pause 1")
        await seen.until(lambda: "1 given so far" in seen.view, "it is counted")
        await _typed(seen, "pause 2")
        await seen.says("task 2 missed: it took more than 1 command; 0 of 4 points")
        assert seen.said.startswith("pause 2: ")
        await _typed(seen, "pause 5")
        await seen.says("task 1 missed: you answered 4; correct is 4 and 5")
        await seen.press("up", "up", "up")
        await seen.until(lambda: "Silence is all that a paused node and a dead one" in seen.view, "why")

    taught(test, tmp_path)


def test_the_first_answer_counts(tmp_path: Path) -> None:
    """A line is typed; what is asked only once is not asked again, and a task that is no question takes none."""

    async def test(seen: Seen) -> None:
        await _typed(seen, "answer 4")
        await _over(seen, LineDialog)
        await seen.press("enter")
        assert isinstance(seen.top, LineDialog), "nothing is no answer"
        await seen.press(*"four", "enter")
        await seen.says("task 4 missed: you answered four; correct is 5; 0 of 4 points")
        await _typed(seen, "answer 4 five")
        await seen.says("task 4 has been answered, and the first answer counts")
        await _typed(seen, "answer 2 five")
        await seen.says("task 2 is no question")
        await _typed(seen, "answer 9")
        await seen.says("there is no task 9; they are 1, 2, 3, 4")

    taught(test, tmp_path)


def test_an_explanation_is_written_in_lines_and_kept_when_it_is_left(tmp_path: Path) -> None:
    """It is given in one line, without the quotes that would end it; too long a one is not given."""

    async def test(seen: Seen) -> None:
        await _typed(seen, "answer 3")
        await _over(seen, ExplanationDialog)
        area = seen.top.query_one(TextArea)
        area.text = 'It "was"\npaused'
        await seen.press("escape")
        await _typed(seen, "answer 3")
        await _over(seen, ExplanationDialog)
        area = seen.top.query_one(TextArea)
        assert area.text == 'It "was"\npaused'
        assert f"{LONGEST_ANSWER - 15} characters left" in seen.text
        area.text = "x" * (LONGEST_ANSWER + 1)
        await seen.until(lambda: "1 characters too long" in seen.text, "it is too long")
        await seen.press("tab", "enter")
        assert isinstance(seen.top, ExplanationDialog)
        area.text = 'It "was"\npaused'
        button = seen.top.query_one(Button)
        await seen.until(lambda: not button.has_class("-active"), "it can be pressed again")
        await seen.press("enter")
        await seen.says("task 3 is kept for your teacher")
        await seen.until(lambda: "✓ kept" in seen.view and "your teacher reads it" in seen.view, "that it is kept")

    home = taught(test, tmp_path)
    assert _given(home.recordings("pause-one")[0]) == ["answer 3 \"It 'was' paused\""]


def test_a_hint_is_asked_for_once_and_costs_what_it_says(tmp_path: Path) -> None:
    """Esc leaves it; what was taken is shown, and missing in the points."""

    async def test(seen: Seen) -> None:
        await seen.press("H")
        await seen.says("there is no hint for task 1")
        await seen.press("down", "H")
        await _over(seen, ChoiceDialog)
        assert "There is a hint, which costs nothing." in seen.text
        await seen.press("escape")
        assert attempt_of(seen).last.results[1].hints == 0
        await seen.press("H")
        await _over(seen, ChoiceDialog)
        await seen.press("enter")
        await seen.until(lambda: "Who has to be silent?" in seen.view, "the hint")
        assert "▶ 2 Two leaders" in seen.view
        await seen.press("H")
        await _over(seen, ChoiceDialog)
        assert "costs 1 of 2 points" in seen.text
        await seen.press("enter")
        await seen.until(lambda: "hint 2 of 2, cost 1" in seen.view, "the second")
        await seen.press("H")
        await seen.says("there is no other hint for task 2")
        await _typed(seen, "pause 5")
        await _stands(seen, 2, "done")
        assert attempt_of(seen).last.results[1].points == 1

    home = taught(test, tmp_path)
    assert _given(home.recordings("pause-one")[0]) == ["hint 2", "hint 2", "pause 5"]


def test_what_is_not_allowed_is_not_offered_and_refused(tmp_path: Path) -> None:
    """By the key, and by the host, with what may be done instead."""

    async def test(seen: Seen) -> None:
        await seen.press("5", "k")
        await seen.says("kill is not for this exercise; what may be done here: pause, resume")
        assert {"pause"} == {action.word for action in seen.run.actions() if action.group == "cluster"} - {
            "command"
        }
        await _typed(seen, "kill 5")
        await seen.says("kill is not allowed in this exercise")
        assert "5 ● Normal" in seen.text
        await _typed(seen, "tour")
        await seen.says("the tour does not run in an exercise")

    taught(test, tmp_path)


def test_the_mouse_selects_a_task_and_opens_it(tmp_path: Path) -> None:
    """A click on another one selects it; on the one that is selected, it opens what Enter does."""

    async def test(seen: Seen) -> None:
        view = seen.run.views.exercise
        place = next(n for n, row in enumerate(seen.view.split("\n")) if "2 Two leaders" in row)
        await seen.pilot.click("#exercise", offset=(10, place))
        await seen.until(lambda: view.selected == 2, "it is selected")
        await seen.pilot.click("#exercise", offset=(10, place))
        await _over(seen, TextDialog)
        assert "Make two nodes lead." in str(seen.top.query_one(Static).render())
        await seen.press("escape")
        await seen.pilot.click("#exercise", offset=(10, 0))
        assert view.selected == 2

    taught(test, tmp_path)


def test_up_and_down_read_on_and_select(tmp_path: Path) -> None:
    """However little is seen at once: what is selected is in sight, from the introduction to the last task."""

    async def test(seen: Seen) -> None:
        view = seen.run.views.exercise
        for _ in range(12):
            await seen.press("down")
            await seen.pilot.pause(0.12)
        assert view.selected == 4
        assert "▶ 4 Count" in seen.view
        await seen.press("pageup", *["up"] * 16)
        await seen.until(lambda: "Five nodes run the bully" in seen.view, "the introduction")
        assert view.selected == 1

    taught(test, tmp_path, (80, 24))


HOSTILE = INSTRUCTIONS.replace(
    "Make two nodes lead.",
    "Red \x1b[31mtext\x1b]52;c;AAAA\x07 \u202eevil <b>bold</b> [@click=app.quit]here[/] "
    "[a link](https://example.org/\x9b2J)\n\n```\ncode \x1b[2J\n```",
)


def test_a_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    """Escape codes, markup and HTML are letters."""
    home, exercise = student(tmp_path), made(tmp_path, instructions=HOSTILE)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        await seen.until(lambda: "\\x1b[31mtext" in seen.text, "it is seen")
        assert "<b>bold</b> [@click=app.quit]here[/]" in seen.text
        assert "code \\x1b[2J" in seen.text
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in seen.text.replace("\n", ""))
        assert "\u202e" not in seen.text

    classroom(test, home, [exercise], first="pause-one", size=(120, 50))


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """One of those that come with the program."""
    return find_exercise(NAME)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attempt at it, with a hint, and all done."""
    return attempted(tmp_path_factory.mktemp("attempt") / f"{NAME}-001.jsonl", NAME)


def test_a_replay_shows_how_it_stood_at_the_cursor(recording: Path) -> None:
    """Nothing can be answered there, and nothing is noted; the texts can be read."""

    async def test(seen: Seen) -> None:
        assert seen.run.views.chosen == "exercise"
        assert "0 of 5 points · attempt 2" in seen.view
        assert "○ open, 2 points" in _row(seen, "Make two nodes lead")
        await seen.press("end")
        await seen.until(lambda: "SOLVED" in seen.view, "the end")
        assert "you answered: 4 and 5" in seen.view
        solved = attempt_of(seen).last.record
        seen.player.go(solved - 1)
        await seen.until(lambda: "SOLVED" not in seen.view, "just before")
        await seen.press("home")
        await seen.until(lambda: "0 of 5 points" in seen.view, "the start")
        await seen.press("A")
        await _over(seen, TextDialog)
        await seen.press("escape", "H")
        await seen.says("no hint any more: this is a recording")
        await seen.press("R")
        await seen.says("again is for whoever began the attempt")
        assert not attempt_of(seen).is_own

    replay(test, recording)


def test_a_recording_of_an_exercise_that_is_not_here_has_no_view(recording: Path, tmp_path: Path) -> None:
    """Whatever it calls itself: no name leads to another folder."""
    head, rest = recording.read_bytes().split(b"\n", 1)
    for name in (b"no-such-one", b"../library/two-coordinators", b"/etc"):
        path = tmp_path / "run.jsonl"
        path.write_bytes(head.replace(f'"name":"{NAME}"'.encode(), b'"name":"' + name + b'"') + b"\n" + rest)

        async def test(seen: Seen) -> None:
            assert seen.source.attempt is None
            await seen.press("I")
            await seen.says("this run belongs to no exercise")
            assert seen.run.views.chosen == "log"

        replay(test, path)


@pytest.fixture
def host(exercise: Exercise, tmp_path: Path) -> Iterator[HostReady]:
    """An attempt that goes on."""
    with served(replace(attempt_config(exercise, "anna", 3, tmp_path / "run.jsonl"), world="simulated")) as ready:
        yield ready


def test_a_viewer_sees_it_and_answers_nothing(host: HostReady) -> None:
    """Over the shoulder: the same view, the texts, and no more."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "attempt 3" in seen.view, "the exercise")
        assert "Enter answers" not in seen.view
        await seen.press("enter")
        await _over(seen, TextDialog)
        await seen.press("escape", "H")
        await seen.says("no hint any more: this viewer gives no commands")

    attached(test, host.socket, "viewer")


def test_whoever_drives_from_elsewhere_can_answer_but_not_end_it(host: HostReady) -> None:
    """As ``lab attach`` does: what ends the run and begins another is for whoever began it."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "attempt 3" in seen.view, "the exercise")
        await _typed(seen, 'answer 1 "only 4"')
        await _stands(seen, 1, "answered")
        await seen.press("J")
        await seen.says("hand-in is for whoever began the attempt")

    attached(test, host.socket)


def test_markdown_is_set_in_lines() -> None:
    """Paragraphs, lists with their numbers, code as it stands, bold letters; no line is too wide."""
    text = (
        "One **bold** `code`\nstill one.\n\n- first\n- second, which is long enough for two lines\n\n3. three\n\n"
    )
    lines = markdown_lines(text + "```\n  x = 1\n```\n\n> said\n\n# Head", 30, ThemeStyles(UNICODE))
    assert [line.plain.rstrip() for line in lines] == [
        *("One bold code still one.", "· first", "· second, which is long enough", "  for two lines", "3. three"),
        *("", "    x = 1", "", "  said", "", "Head"),
    ]
    assert all(line.cell_len <= 31 for line in lines)
    bold = [span for span in lines[0].spans if lines[0].plain[span.start : span.end] == "bold"]
    assert bold
    assert isinstance(lines[0], Text)


def test_an_answer_is_one_line_without_double_quotes() -> None:
    """It is given between double quotes, in a line."""
    assert as_line(' It "was"\n  so\t\x1b ') == "It 'was' so \\x1b"


def test_a_record_that_is_asked_for_begins_with_the_one_at_the_cursor(tmp_path: Path) -> None:
    """Go there, and answer."""
    head = """\
title = "Find it"
kind = "find"
level = 1
teaches = ["B1"]
may = ["pause"]

[[task]]
points = 1
question = "With which record do all become Normal?"
record = "all normal"
"""
    home = student(tmp_path)
    found = made(tmp_path, head, INSTRUCTIONS[: INSTRUCTIONS.index("## 2.")], "", "find")

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        await seen.press("home", "full_stop", "full_stop", "enter")
        await _over(seen, LineDialog)
        assert seen.top.query_one(Input).value == str(seen.player.number) == "2"
        await seen.press("enter")
        await seen.until(lambda: "missed" in seen.said, "it is another")

    classroom(test, home, [found], first="find")
