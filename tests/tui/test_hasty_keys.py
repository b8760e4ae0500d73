"""Keys that come faster than screens change: none closes the screen below or meets a half-mounted one."""

import threading
from itertools import product
from pathlib import Path

import pytest
from textual import events

from lab.exercises.attempts import LocalClusters
from lab.tui.apps.exercise_list import ListScreen
from lab.tui.controllers.branching import RecordingChosen
from lab.tui.screen import RunScreen
from tests.profile import sampled
from tests.tui.classroom import classroom, made, student
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay


def test_a_dialog_that_is_answered_twice_keeps_the_run_open() -> None:
    """Textual would close the run's screen at the second answer."""

    async def test(seen: Seen) -> None:
        await seen.press(":predict", "right_parenthesis")
        await seen.until(lambda: seen.top is not seen.run, "the question")
        question = seen.top
        question.dismiss("4")
        question.dismiss("4")
        await seen.pilot.pause()
        await seen.until(lambda: seen.top is seen.run, "the run")
        assert "predicted" in seen.line("#title")

    replay(test)


def test_the_help_is_filtered_by_any_character() -> None:
    """A bracket is not markup."""

    async def test(seen: Seen) -> None:
        await seen.press("question_mark")
        await seen.press("left_square_bracket", "a", "equals_sign", "ampersand")
        assert "[a=&" in seen.text
        await seen.press("escape", "escape")

    replay(test)


def test_keys_do_nothing_on_a_screen_that_is_too_small() -> None:
    """However narrow it gets while the diagram is shown, the diagram returns with the room."""

    async def test(seen: Seen) -> None:
        seen.player.go(200)
        await seen.press("s", "5")
        for _ in range(3):
            await seen.pilot.resize_terminal(20, 12)
            await seen.press("4", "v", "left_parenthesis")
            assert "too small" in seen.text
            await seen.pilot.resize_terminal(80, 12)
            await seen.press("v")
        await seen.pilot.resize_terminal(120, 40)
        await seen.until(lambda: "space" in seen.text, "the screen")
        assert seen.run.views.chosen == "diagram"

    replay(test)


def test_keys_do_nothing_on_a_screen_that_was_left() -> None:
    """Nor on one whose widgets are not mounted yet."""

    async def test(seen: Seen) -> None:
        number = seen.player.number
        seen.run.is_ready = False
        seen.run.action_do("step")
        seen.run.context.notify("unheard")
        assert (seen.player.number, seen.message == "unheard") == (number, False)
        seen.run.is_ready = True
        await seen.press("full_stop")
        assert seen.player.number == number + 1

    replay(test)


class _SlowClusters(LocalClusters):
    """Clusters that end when they ``may_end``."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()
        self.may_end.set()

    def end(self) -> str:
        self.may_end.wait()
        return super().end()


@pytest.mark.parametrize(
    ("leaves", "key"),
    sampled([*product((("q", "enter"), (":again", "enter")), ("question_mark", ":export", ":next-message"))], 4),
)
def test_keys_while_an_exercise_closes(tmp_path: Path, leaves: tuple[str, str], key: str) -> None:
    """A dialog may be over the run by the time it closes: it closes too, and nothing reads the run after that."""
    clusters = _SlowClusters()

    async def test(seen: Seen) -> None:
        await seen.until(lambda: "5 leads" in seen.leaders, "5 leads")
        left = seen.run
        clusters.may_end.clear()
        await seen.press(leaves[0])
        await seen.until(lambda: seen.top is not left, "the question")
        await seen.press(leaves[1])
        await seen.until(lambda: "ending the run" in seen.message, "the run ends")
        await seen.press(key)
        clusters.may_end.set()
        await seen.until(lambda: left not in seen.app.screen_stack, "the run is left")
        shown = ListScreen if leaves[0] == "q" else RunScreen
        await seen.until(lambda: isinstance(seen.top, shown), "what comes after it")
        await seen.press(":next-message", "full_stop")
        assert isinstance(seen.top, shown)

    try:
        classroom(test, student(tmp_path), [made(tmp_path)], clusters, first="pause-one")
    finally:
        clusters.may_end.set()
        clusters.end()


def test_a_dialog_that_opens_while_a_run_is_left_closes_with_it() -> None:
    """The run below is shown again, and takes keys."""

    async def test(seen: Seen) -> None:
        lowest = seen.run
        lowest.context.post(RecordingChosen(lowest.context, SHIPPED))
        await seen.until(lambda: seen.run is not lowest, "the other recording")
        await seen.drawn()
        for key in ("q", "question_mark"):
            seen.app.post_message(events.Key(key, None))
        await seen.until(lambda: seen.top is lowest, "the run below")
        number = seen.player.number
        await seen.press("full_stop")
        assert seen.player.number == number + 1

    replay(test)


def test_a_damaged_recording_is_reported(tmp_path: Path) -> None:
    """The title counts unreadable lines; the end notes a truncated last line."""
    lines = SHIPPED.read_bytes().splitlines(keepends=True)
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"".join([*lines[:50], b"no record\n", *lines[51:99], lines[99][:40]]))

    async def test(seen: Seen) -> None:
        assert "1 line unreadable" in seen.line("#title")
        await seen.press("end")
        await seen.until_message("the recording is truncated here")

    replay(test, path)


def test_keys_typed_ahead_act_in_order() -> None:
    """A view, then a node: if the node came first, ``p5`` would pause the wrong one."""

    async def test(seen: Seen) -> None:
        for key, node in (("i", "4"), ("l", "5"), ("a", "1"), ("s", "2")):
            seen.app.post_message(events.Key(key, key))
            seen.app.post_message(events.Key(node, node))
            await seen.pilot.pause()
            await seen.pilot.pause()
            assert (seen.selected(), seen.message) == (int(node), f"node {node} selected")
        for key in ("comma", "k"):
            seen.app.post_message(events.Key(key, key))
        await seen.until_message("this is a recording")

    replay(test)
