"""The exercise view: tasks are ticked as they are met, answers, hints and their cost, and replays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text
from textual.widgets import Button, Input, Static, TextArea

from lab.exercises.attempts import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import find_exercise
from lab.glyphs import UNICODE
from lab.recording.reader import open_recording
from lab.recording.records import Commanded
from lab.styles import ThemeStyles
from lab.tui.views.exercise_view import markdown_lines
from lab.tui.widgets.dialogs import (
    LONGEST_ANSWER,
    ChoiceDialog,
    ExplanationDialog,
    FinalAnswerDialog,
    FinalLineDialog,
    TextDialog,
    as_line,
    as_lines,
)
from lab.worlds.loading.config import HostReady
from tests.tui.classroom import HEAD, INSTRUCTIONS, attempt_of, attempted, classroom, made, student, taught
from tests.tui.seen import Seen, attached, replay, served

NAME = "two-coordinators"


def _row(seen: Seen, text: str) -> str:
    return next((row for row in seen.view.split("\n") if text in row), "")


def _given(path: Path) -> list[str]:
    """Return the commands that the student gave."""
    lines = open_recording(path)
    found = [each.text for each in lines.records() if isinstance(each, Commanded) and not each.line]
    lines.close()
    return found


async def _until_state(seen: Seen, task: int, state: str) -> None:
    """Wait until the task is in this state and drawn."""
    await seen.until(lambda: attempt_of(seen).last.results[task - 1].state == state, f"task {task} is {state}")
    word = {"done": "done +", "open": "open,"}.get(state, state)
    await seen.until(lambda: word in seen.view, f"{word} is seen")


async def _typed(seen: Seen, line: str) -> None:
    await seen.press("colon")
    await seen.type(line)
    await seen.press("enter")


async def _over(seen: Seen, dialog: type[object]) -> None:
    await seen.until(lambda: isinstance(seen.top, dialog), f"{dialog.__name__} is over it")


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.soak), (200, 60)])
def test_the_exercise_is_shown_first(tmp_path: Path, size: tuple[int, int]) -> None:
    """Beside the log on a wide screen; the first open task is selected, with a hint at the keys."""

    async def test(seen: Seen) -> None:
        assert seen.run.views.chosen == "exercise"
        assert seen.run.views.shown_views == (("log", "exercise") if size[0] >= 150 else ("exercise",))
        assert seen.view.split("\n")[0].startswith(" 1○  2○  3○  4○  0 of 4 points · attempt 1", size[0] == 200)
        assert "▶ 1 Predict" in seen.text
        assert "Five nodes run the bully. Press 5, then p." in seen.text
        assert "Enter answers it, :hint helps" in seen.message
        footer = seen.text.split("\n")[-1]
        assert "Enter answer" in footer
        assert ":hint" in footer

    taught(test, tmp_path, size)


def test_a_prediction_is_followed_by_its_outcome(tmp_path: Path) -> None:
    """The answer is saved, and the outcome is reported at once."""

    async def test(seen: Seen) -> None:
        await seen.press("enter")
        await _over(seen, FinalAnswerDialog)
        assert "The first answer counts, and only if given before" in seen.text
        await seen.press("enter")
        assert isinstance(seen.top, FinalAnswerDialog), "nothing is preselected"
        assert "Enter twice hands it in" in seen.text
        await seen.press("down", "down", "down", "enter")
        await seen.until(lambda: "Enter again hands it in: only this answer counts" in seen.text, "asked again")
        await seen.press("enter")
        await _until_state(seen, 1, "answered")
        assert "task 1 is answered; it is judged when" in seen.message
        assert "you answered: 4 and 5" in seen.view
        assert "▶ 2 Two leaders" in seen.view
        await seen.press("5", "p")
        await _until_state(seen, 1, "done")
        await seen.until_message("task 1 done: +1; task 2 done: +2; 3 of 4 points")
        await seen.until(lambda: "✓ done +2" in seen.view, "the tick")
        assert "The bully takes silence for death." in seen.view

    home = taught(test, tmp_path)
    assert home.progress_of("pause-one").points == 3
    assert _given(home.recordings("pause-one")[0]) == ['answer 1 "4 and 5"', "pause 5"]


def test_a_wrong_prediction_is_explained(tmp_path: Path) -> None:
    """It is missed once the outcome is known, not before; too many commands miss a task, too."""

    async def test(seen: Seen) -> None:
        await _typed(seen, "answer 1 4")
        await _until_state(seen, 1, "answered")
        await _typed(seen, "pause 1")
        await seen.until(lambda: "1 given so far" in seen.view, "it is counted")
        await _typed(seen, "pause 2")
        await seen.until_message("task 2 missed: it took more than 1 command; 0 of 4 points")
        assert seen.message.startswith("pause 2: ")
        await _typed(seen, "pause 5")
        await seen.until_message("task 1 missed: you answered 4; correct is 4 and 5")
        await seen.press("up", "up", "up")
        await seen.until(lambda: "Silence is all that a paused node and a dead one" in seen.view, "why")
        assert seen.view.count("you answered") == 1
        await _typed(seen, "answer 1")
        await _over(seen, TextDialog)
        shown = str(seen.top.query_one(Static).render())
        assert "✗ 1  4  your answer\n" in shown
        assert "  2  5  \n" in shown
        assert "✓ 3  4 and 5  right\n" in shown
        assert "you answered 4; correct is 4 and 5" in shown

    taught(test, tmp_path)


_TWO = (
    HEAD.partition("[[task]]")[0]
    + """
[[task]]
points = 1
reach = "5 paused"

[[task]]
points = 2
question = "Who leads, when 5 is paused?"
answer = "4 and 5"
before = "5 paused and 4 leads"
"""
)
_HINT = "# Task 2\n\n## Costs 1\n\nWho is silent?\n"


def test_all_that_one_command_decides_is_named_the_missed_first(tmp_path: Path) -> None:
    """Also what it decides a second after the reply, when the first was reported already."""
    home, exercise = student(tmp_path), made(tmp_path, _TWO, INSTRUCTIONS[: INSTRUCTIONS.index("## 3.")], _HINT)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        await _typed(seen, "pause 5")
        await seen.until_message("task 1 done: +1; 1 of 3 points")
        await seen.until_message("task 2 missed; task 1 done: +1; 1 of 3 points")
        assert "✗ missed" in seen.view, "in sight"

    classroom(test, home, [exercise], first="pause-one", size=(80, 24))


def test_an_answered_task_gives_no_more_hints(tmp_path: Path) -> None:
    """They would cost points, and help with nothing."""
    home, exercise = student(tmp_path), made(tmp_path, _TWO, INSTRUCTIONS[: INSTRUCTIONS.index("## 3.")], _HINT)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: ":hint gives a hint that costs 1 of 2 points" in seen.view, "the offer")
        await _typed(seen, "answer 2 4")
        await _until_state(seen, 2, "answered")
        await seen.until(lambda: ":hint gives" not in seen.view, "no offer")
        await _typed(seen, "hint 2")
        await seen.until_message("task 2 is answered, and only the first answer counts")

    classroom(test, home, [exercise], first="pause-one")


def test_the_past_shows_the_tasks_as_they_are_now(tmp_path: Path) -> None:
    """The cursor in time is for looking at the run; the answers and points of the student stay."""

    async def test(seen: Seen) -> None:
        await _typed(seen, "answer 4 five")
        await _until_state(seen, 4, "done")
        await seen.press("home", "full_stop")
        assert not seen.player.following
        await seen.until(lambda: "4✓" in seen.view and "1 of 4 points" in seen.view, "the state of now")
        await _typed(seen, "answer 1 4")
        await seen.until(lambda: "you answered: 4" in seen.view, "an answer given in the past")

    taught(test, tmp_path)


def test_nothing_is_wrapped_for_a_view_without_a_size(tmp_path: Path) -> None:
    """As before it is laid out, or while another view is shown in its place."""

    async def test(seen: Seen) -> None:
        view = seen.run.views.exercise
        assert view.texts()
        await seen.press("e")
        await seen.until(lambda: not view.scrollable_content_region.width, "it is hidden")
        before = view.texts()
        view.show(seen.run.context.cursor())
        assert view.texts() == before

    taught(test, tmp_path)


def test_a_marker_can_be_seen_after_each_task(tmp_path: Path) -> None:
    """Although the first open task is far above what has changed."""
    long = INSTRUCTIONS.replace("In your own words.", "In your own words. " * 40)
    home, exercise = student(tmp_path), made(tmp_path, instructions=long)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        await _typed(seen, "answer 4 five")
        await _until_state(seen, 4, "done")
        await seen.until(lambda: "▶ 4 Count" in seen.view, "the task that has changed is marked")
        await _typed(seen, "answer 1 4")
        await seen.until(lambda: "1 Predict" in seen.view and "▶" in seen.view, "and the next one")

    classroom(test, home, [exercise], first="pause-one", size=(80, 24))


def test_the_first_answer_counts(tmp_path: Path) -> None:
    """A question is not asked twice, and a task that is no question takes no answer."""

    async def test(seen: Seen) -> None:
        await _typed(seen, "answer 4")
        await _over(seen, FinalLineDialog)
        await seen.press("enter")
        assert isinstance(seen.top, FinalLineDialog), "nothing is no answer"
        await seen.press(*"four", "enter")
        assert isinstance(seen.top, FinalLineDialog), "the first answer counts, so it is confirmed"
        await seen.press("enter")
        await seen.until_message("task 4 missed: you answered four; correct is 5; 0 of 4 points")
        await _typed(seen, "answer 4 five")
        await seen.until_message("task 4 is answered already; only the first answer counts")
        await _typed(seen, "answer 2 five")
        await seen.until_message("task 2 is not a question")
        await _typed(seen, "answer 9")
        await seen.until_message("no task 9; the tasks are 1, 2, 3, 4")

    taught(test, tmp_path)


def test_an_explanation_has_lines_and_its_draft_is_kept(tmp_path: Path) -> None:
    """It is submitted as it was written; one that is too long is not submitted."""

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
        assert f"{LONGEST_ANSWER - 18} characters left" in seen.text
        area.text = "x" * (LONGEST_ANSWER + 1)
        await seen.until(lambda: "1 characters too long" in seen.text, "it is too long")
        await seen.press("tab", "enter")
        assert isinstance(seen.top, ExplanationDialog)
        area.text = 'It "was"\npaused'
        button = seen.top.query_one(Button)
        await seen.until(lambda: not button.has_class("-active"), "it can be pressed again")
        await seen.press("enter")
        await seen.until_message("task 3 is saved for your teacher")
        await seen.until(lambda: "✓ saved" in seen.view and "your teacher reads it" in seen.view, "it is saved")

    home = taught(test, tmp_path)
    (given,) = _given(home.recordings("pause-one")[0])
    assert given == r'answer 3 "It \"was\"\npaused"'
    assert home.progress_of("pause-one").best[2].answer == 'It "was"\npaused'


def test_a_hint_is_confirmed_and_costs_points(tmp_path: Path) -> None:
    """Esc cancels; a hint that was taken is shown, and its cost is deducted."""

    async def test(seen: Seen) -> None:
        await seen.press(":hint")
        await seen.until_message("there is no hint for task 1")
        await seen.press("down", ":hint")
        await _over(seen, ChoiceDialog)
        assert "There is a hint that costs nothing." in seen.text
        await seen.press("escape")
        assert attempt_of(seen).last.results[1].hints == 0
        await seen.press(":hint")
        await _over(seen, ChoiceDialog)
        await seen.press("enter")
        await seen.until(lambda: "Who has to be silent?" in seen.view, "the hint")
        assert "▶ 2 Two leaders" in seen.view
        await seen.press(":hint")
        await _over(seen, ChoiceDialog)
        assert "costs 1 of 2 points" in seen.text
        await seen.press("enter")
        await seen.until(lambda: "hint 2 of 2, cost 1" in seen.view, "the second")
        await seen.press(":hint")
        await seen.until_message("there is no other hint for task 2")
        await _typed(seen, "pause 5")
        await _until_state(seen, 2, "done")
        assert attempt_of(seen).last.results[1].points == 1

    home = taught(test, tmp_path)
    assert _given(home.recordings("pause-one")[0]) == ["hint 2", "hint 2", "pause 5"]


def test_a_forbidden_command_is_not_offered_and_is_refused(tmp_path: Path) -> None:
    """By the key and by the host, naming the allowed commands."""

    async def test(seen: Seen) -> None:
        await seen.press("5", "k")
        await seen.until_message("kill is not allowed in this exercise; allowed commands: pause, resume")
        assert {"pause"} == {action.word for action in seen.run.actions() if action.group == "cluster"} - {
            "command"
        }
        await _typed(seen, "kill 5")
        await seen.until_message("kill 5: kill is not allowed in this exercise")
        assert "5 ● Normal" in seen.text
        await _typed(seen, "tour")
        await seen.until_message("the tour does not run in an exercise")

    taught(test, tmp_path)


def test_the_mouse_selects_a_task_and_opens_it(tmp_path: Path) -> None:
    """A click on another task selects it; a click on the selected one acts like Enter."""

    async def test(seen: Seen) -> None:
        view = seen.run.views.exercise

        async def click() -> None:
            place = next(n for n, row in enumerate(seen.view.split("\n")) if "2 Two leaders" in row)
            await seen.pilot.click("#exercise", offset=(10, place))

        while view.selected != 2:  # the cluster comes up meanwhile, and the rows may move between look and click
            await click()
        while not isinstance(seen.top, TextDialog):
            await click()
        assert "Make two nodes lead." in str(seen.top.query_one(Static).render())
        await seen.press("escape")
        await seen.pilot.click("#exercise", offset=(10, 0))
        assert view.selected == 2

    taught(test, tmp_path)


def test_up_and_down_scroll_and_select(tmp_path: Path) -> None:
    """Even in a low view the selection stays visible, from the introduction to the last task."""

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
    """Escape codes, markup and HTML are shown as text."""
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
    """A built-in exercise."""
    return find_exercise(NAME)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attempt at it, with a hint and all tasks done."""
    return attempted(tmp_path_factory.mktemp("attempt") / f"{NAME}-001.jsonl", NAME)


def test_a_replay_shows_the_tasks_at_the_cursor(recording: Path) -> None:
    """Nothing can be answered and nothing is saved; the texts can be read."""

    async def test(seen: Seen) -> None:
        assert seen.run.views.chosen == "exercise"
        assert "0 of 5 points · attempt 2" in seen.view
        assert "○ open, 2 points" in _row(seen, "Make two nodes lead")
        await seen.press("end")
        await seen.until(lambda: "SOLVED" in seen.view, "the end")
        assert "you answered: only 5" in seen.view
        solved = attempt_of(seen).last.record
        seen.player.go(solved - 1)
        await seen.until(lambda: "SOLVED" not in seen.view, "just before")
        await seen.press("home")
        await seen.until(lambda: "0 of 5 points" in seen.view, "the start")
        await seen.press("enter")
        await _over(seen, TextDialog)
        await seen.press("escape", ":hint")
        await seen.until_message("hint is no longer possible: this is a recording")
        await seen.press(":again")
        await seen.until_message("only the student of this attempt can use again")
        assert not attempt_of(seen).is_own

    replay(test, recording)


def test_a_recording_of_an_unknown_exercise_has_no_view(recording: Path, tmp_path: Path) -> None:
    """No name of an exercise leads to another folder."""
    head, rest = recording.read_bytes().split(b"\n", 1)
    for name in (b"no-such-one", b"../library/two-coordinators", b"/etc"):
        path = tmp_path / "run.jsonl"
        path.write_bytes(head.replace(f'"name":"{NAME}"'.encode(), b'"name":"' + name + b'"') + b"\n" + rest)

        async def test(seen: Seen) -> None:
            assert seen.source.attempt is None
            await seen.press("e")
            await seen.until_message("this run belongs to no exercise")
            assert seen.run.views.chosen == "log"

        replay(test, path)


@pytest.fixture
def host(exercise: Exercise, tmp_path: Path) -> Iterator[HostReady]:
    """A running attempt."""
    with served(replace(attempt_config(exercise, "anna", 3, tmp_path / "run.jsonl"), world="simulated")) as ready:
        yield ready


def test_a_viewer_can_only_read_the_exercise(host: HostReady) -> None:
    async def test(seen: Seen) -> None:
        await seen.until(lambda: "attempt 3" in seen.view, "the exercise")
        assert "Enter answers" not in seen.view
        await seen.press("enter")
        await _over(seen, TextDialog)
        await seen.press("escape", ":hint")
        await seen.until_message("hint is no longer possible: this viewer gives no commands")

    attached(test, host.socket, "viewer")


def test_another_driver_can_answer_but_not_end_the_attempt(host: HostReady) -> None:
    """As with ``lab attach``: only the student who began the attempt can end or restart it."""

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "attempt 3" in seen.view, "the exercise")
        await _typed(seen, 'answer 1 "only 4"')
        await _until_state(seen, 1, "answered")
        await seen.press(":hand-in")
        await seen.until_message("only the student of this attempt can use hand-in")

    attached(test, host.socket)


def test_markdown_is_rendered_in_lines() -> None:
    """Paragraphs, numbered lists, code, bold text; no line is too wide."""
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


def test_an_answer_is_as_it_was_typed() -> None:
    """Without control characters, and blanks at its ends."""
    assert as_line(' It "was"\n  so\t\x1b ') == 'It "was" so \\x1b'
    assert as_lines(' It "was"  \n\n  so\x1b \n') == 'It "was"\n\n  so\\x1b'


def test_a_question_for_a_record_starts_with_the_one_at_the_cursor(tmp_path: Path) -> None:
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
        await _over(seen, FinalLineDialog)
        line = seen.top.query_one(Input)
        assert line.value == str(seen.player.number) == "2"
        assert "suggested: the record at the cursor" in seen.text
        await seen.press(*"99999")
        assert line.value == "99999", "the first key replaces the suggestion"
        assert "suggested" not in seen.text
        await seen.press("enter", "enter")
        await seen.until(lambda: "there is no record 99999: type a number from 0 to " in seen.text, "refused")
        await seen.press("escape")
        await _typed(seen, "answer 1 four")
        await seen.until_message("this is not handed in: there is no record four")
        assert attempt_of(seen).last.results[0].state == "open"
        await seen.press("enter")
        await _over(seen, FinalLineDialog)
        await seen.press("enter", "enter")
        await seen.until(lambda: "missed" in seen.message, "it is another")

    classroom(test, home, [found], first="find")


def test_a_table_in_markdown_is_a_table() -> None:
    """With its columns aligned, in the width that there is."""
    table = "| step | cost |\n|---|--:|\n| ask *all* | 4 |\n| wait for T | 12 |\n"
    lines = [
        line.plain for line in markdown_lines(f"Two rounds:\n\n{table}\nThen stop.", 40, ThemeStyles(UNICODE))
    ]
    assert lines == [
        "Two rounds:",
        "",
        "step         cost",
        "─────────────────",
        "ask all         4",
        "wait for T     12",
        "",
        "Then stop.",
    ]
    wide = f"| a | b |\n|---|---|\n| {'word ' * 20}| {'more ' * 20}|\n"
    assert all(line.cell_len <= 30 for line in markdown_lines(wide, 30, ThemeStyles(UNICODE)))


def test_a_long_command_is_folded() -> None:
    """All of it can be read, at 80 columns too; what fits stays as it is."""
    command = "    lab explore bully --kills 1 --timeouts prompt --nodes 2\n\n        x  =  1"
    lines = [line.plain for line in markdown_lines(f"Do:\n\n{command}", 40, ThemeStyles(UNICODE))]
    assert lines == [
        "Do:",
        "",
        "  lab explore bully --kills 1 --timeouts",
        "      prompt --nodes 2",
        "  ",
        "      x  =  1",
    ]
