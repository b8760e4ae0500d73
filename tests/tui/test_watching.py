"""Watches: added and removed, shown at the cursor in a strip of few rows, and kept for each protocol."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from rich.style import Style
from textual.widgets import OptionList

from lab.glyphs import UNICODE
from lab.recording.reader import open_recording
from lab.recording.records import Link
from lab.recording.timeline import Timeline
from lab.script.parse import parse_watch
from lab.script.watches import WatchReading
from lab.styles import DIM, Piece, ThemeStyles, width_of
from lab.tui.apps.runs_app import LabApp
from lab.tui.controllers.layout import (
    LayoutSettings,
    read_layout_settings,
    write_layout_settings,
)
from lab.tui.controllers.watching import ReadingChanges
from lab.tui.source import FeedSource, FileSource, Source
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.prompts import CommandLine, RunWords, complete
from lab.tui.widgets.status_lines import WatchLines, watch_rows
from lab.worlds.loading.config import RunConfig
from tests.harness import TIMING
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, Test, over, replay, replay_in_sizes, served

WIDE = tuple(f"all.{name}" for name in ("status", "coordinator", "version", "process", "leads", "group", "up"))


async def _line(seen: Seen, text: str) -> None:
    await seen.press("colon")
    await seen.type(text)
    await seen.press("enter")


def _strip(seen: Seen) -> list[str]:
    return [row.rstrip() for row in _lines(seen).plain.split("\n")] if _lines(seen).display else []


def _lines(seen: Seen) -> WatchLines:
    return seen.of("#watches", WatchLines)


def _shown_at(expression: str, number: int) -> str:
    """Return what the expression shows after a record of the shipped recording."""
    cluster = Timeline(open_recording(SHIPPED)).at(number)
    return " ".join(map(str, parse_watch(expression).read(cluster)))


def _highlighted(seen: Seen) -> list[str]:
    """Return the texts in the strip that are marked as changed."""
    text, accent = _lines(seen)._shown, seen.run.context.styles.accent
    return [text.plain[span.start : span.end] for span in text.spans if span.style == accent]


def _over(test: Test, file: Path, watches: tuple[str, ...] = (), recording: Path = SHIPPED) -> None:
    """Run a test over a recording, with this file for settings, and more watches to begin with."""

    async def opened() -> Source:
        return FileSource(recording)

    async def run() -> None:
        app = LabApp(opened, "test", kept=file, watches=watches)
        async with app.run_test(size=(120, 40)) as pilot:
            seen = Seen(app, pilot)
            await seen.paused_at_start()
            await test(seen)

    asyncio.run(run())


def test_a_watch_follows_the_cursor() -> None:
    """Forwards, backwards and in jumps; without a watch, there is no strip."""

    async def test(seen: Seen) -> None:
        assert not _lines(seen).display
        assert _lines(seen).region.height == 0
        await seen.press("w")
        line = seen.of("CommandLine", CommandLine)
        assert line.value == "watch "
        await seen.type("4.version - 1.version")
        await seen.press("enter")
        await seen.until_message("watching 4.version - 1.version; :unwatch 4.version - 1.version ends it")
        await _line(seen, "watch all.coordinator")
        for keys in (("end",), ("v",), (",",), (".", "."), ("{",), (")",), ("home",)):
            await seen.press(*keys)
            number = seen.player.number
            first, second = _strip(seen)
            assert first == f"4.version - 1.version  {_shown_at('4.version - 1.version', number)}"
            assert second == f"all.coordinator        {_shown_at('all.coordinator', number)}"
        assert _lines(seen).region.height == 2
        assert _lines(seen).region.y == seen.of("NodePanes", NodePanes).region.bottom

    replay(test)


def test_what_has_changed_is_highlighted() -> None:
    """Since the cursor last moved: at a record by itself, and after a jump."""

    async def test(seen: Seen) -> None:
        await _line(seen, "watch all.coordinator")
        assert _highlighted(seen) == []
        await seen.press("v")
        at = seen.player.number
        await seen.press(",")
        await seen.press(".")
        before, now = (_shown_at("all.coordinator", number).split() for number in (at - 1, at))
        changed = [new for old, new in zip(before, now, strict=True) if old != new]
        assert len(changed) == 1
        assert [f"4:{text}" for text in _highlighted(seen)] == changed
        while _shown_at("all.coordinator", at) != _shown_at("all.coordinator", at + 1):
            await seen.press(".")
            at += 1
        await seen.press(".")
        assert _highlighted(seen) == []
        await seen.press("home")
        assert _highlighted(seen) == ["-"] * 5

    replay(test)


def test_expressions_are_removed() -> None:
    """By their text, however it is written, from the list, or all together."""

    async def test(seen: Seen) -> None:
        for text in ("groups > 1", "2.coordinator", "messages", "live"):
            await _line(seen, f"watch {text}")
        assert [row.split("  ")[0] for row in _strip(seen)] == ["groups > 1", "2.coordinator", "messages", "live"]
        await _line(seen, "unwatch groups>1")
        await seen.until_message("groups > 1 is watched no more")
        assert [row.split()[0] for row in _strip(seen)] == ["2.coordinator", "messages", "live"]
        await _line(seen, "unwatch")
        rows = [str(option.prompt) for option in seen.top.query_one(OptionList).options]
        assert [" ".join(row.split()) for row in rows] == ["2.coordinator -", "messages 0", "live 0"]
        await seen.press("down", "enter")
        await seen.until_message("messages is watched no more")
        assert [row.split()[0] for row in _strip(seen)] == ["2.coordinator", "live"]
        await _line(seen, "unwatch all")
        await seen.until_message("nothing is watched any more")
        assert _strip(seen) == []

    replay(test)


MISTAKES = {
    "watch 4.cordinator": "a node of bully has no attribute cordinator; it has ",
    "watch 9.coordinator": "there is no node 9; the nodes are 1 2 3 4 5",
    "watch foo": "column 1: 'foo' is not expected here; expected a value or a predicate",
    "watch 4 suspects 5": "4 suspects 5 depends on earlier records",
    "watch live": "live is watched already",
    "unwatch 4.status": "4.status is not watched; expected live, or all",
    "unwatch liv": "liv is not watched; expected live, or all; did you mean live?",
}


def test_a_mistake_is_explained() -> None:
    async def test(seen: Seen) -> None:
        await _line(seen, "watch live")
        before = _strip(seen)
        for typed, message in MISTAKES.items():
            await _line(seen, typed)
            await seen.until_message(message)
            assert _strip(seen) == before, typed

    replay(test)


def test_without_a_watch_there_is_none_to_remove() -> None:
    async def test(seen: Seen) -> None:
        await _line(seen, "unwatch")
        await seen.until_message("nothing is watched; for example: watch 4.coordinator")

    replay(test)


def test_the_number_of_watches_is_limited(tmp_path: Path) -> None:
    file = tmp_path / "interface.json"
    write_layout_settings(file, LayoutSettings(watches={"bully": tuple(f"live + {n}" for n in range(50))}))

    async def test(seen: Seen) -> None:
        await _line(seen, "watch messages")
        await seen.until_message("there are 50 watches; :unwatch removes one")
        assert re.search(r"  \+\d+ more$", _strip(seen)[-1])

    _over(test, file)


def test_the_strip_has_few_rows() -> None:
    """At most three on a low screen; the nodes give up the space."""

    async def test(seen: Seen) -> None:
        height = seen.app.size.height
        if not _strip(seen):
            for text in WIDE:
                await _line(seen, f"watch {text}")
        await seen.press("end")
        most = 3 if height < 32 else height // 8
        assert _lines(seen).region.height == len(_strip(seen)) == min(most, len(WIDE))
        assert seen.run.views.region.height >= 3
        assert all(width <= seen.app.size.width - 2 for width in map(len, _strip(seen)))
        left_out = re.search(r"\+(\d+) more$", _strip(seen)[-1])
        shown = sum(any(f"{text}  " in row for row in _strip(seen)) for text in WIDE)
        assert shown == len(WIDE) - int(left_out[1] if left_out else 0)

    replay_in_sizes(test, [(80, 24), (120, 40), (80, 16), (200, 60)])


def test_on_a_very_low_screen_there_is_no_strip() -> None:
    async def test(seen: Seen) -> None:
        await _line(seen, "watch live")
        assert _lines(seen).region.height == 0
        await seen.pilot.resize_terminal(80, 24)
        await seen.press("z")
        assert _lines(seen).region.height == 0, "only the view is shown"
        await seen.press("z")
        assert _lines(seen).region.height == 1

    replay(test, size=(80, 15))


# kept for each protocol


def test_watches_are_kept_for_each_protocol(tmp_path: Path) -> None:
    """A watch that has no meaning in a run is not shown there, and not lost."""
    file = tmp_path / "interface.json"
    kept = {"bully": ("7.coordinator", "no expression", "live+0"), "ring": ("messages",)}
    write_layout_settings(file, LayoutSettings(watches=kept))

    async def watch(seen: Seen) -> None:
        assert _strip(seen) == ["live + 0  0"]
        await _line(seen, "watch groups")
        await _line(seen, "unwatch live + 0")

    async def check(seen: Seen) -> None:
        assert [row.split()[0] for row in _strip(seen)] == ["groups"]
        await _line(seen, "unwatch groups")
        await _line(seen, "unwatch")
        await seen.until_message(
            "no watch of this protocol has a meaning in this run: 7.coordinator, no expression"
        )
        await _line(seen, "unwatch all")

    _over(watch, file)
    assert read_layout_settings(file).watches == {**kept, "bully": ("7.coordinator", "no expression", "groups")}
    _over(check, file)
    assert read_layout_settings(file).watches == {"ring": ("messages",)}


def test_watches_of_the_command_line_are_added(tmp_path: Path) -> None:
    """After those that are kept, each once."""
    file = tmp_path / "interface.json"
    write_layout_settings(file, LayoutSettings(watches={"bully": ("live", "groups")}))

    async def test(seen: Seen) -> None:
        assert [row.split()[0] for row in _strip(seen)] == ["live", "groups", "messages"]

    _over(test, file, ("groups", "messages"))


def test_a_branch_shows_the_same_watches(tmp_path: Path) -> None:
    async def test(seen: Seen) -> None:
        await _line(seen, "watch live")
        await seen.press("b")
        await seen.until(lambda: len(seen.app.screen_stack) > 2, "the branch")
        await seen.until(lambda: seen.run.query("#watches") and _strip(seen), "its watches")
        await _line(seen, "watch groups")
        await seen.until(lambda: len(_strip(seen)) == 2, "one more")
        await seen.press("q")
        await seen.until(lambda: len(seen.app.screen_stack) == 2, "back")
        assert [row.split()[0] for row in _strip(seen)] == ["live", "groups"]

    replay(test)


def test_in_a_frozen_run_the_last_event_is_highlighted(runs: Path) -> None:
    """For as long as nothing else happens."""
    config = RunConfig(
        *("watched", "bully", (1, 2, 3), TIMING, {}, Link(8_000, 3_000), 1, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )

    async def test(seen: Seen) -> None:
        await _line(seen, "watch messages")
        await _line(seen, "watch live - 3")
        before = _strip(seen)
        while _strip(seen) == before:
            await seen.press(".")
        assert _highlighted(seen) == [_strip(seen)[0].split()[-1]]

    with served(config) as ready:
        over(lambda: FeedSource.open(ready.socket, "driver"), test)


# the parts


def test_completion_knows_fields_and_watches() -> None:
    assert complete("watch 4.hal", [], RunWords(("halted",)))[0] == "watch 4.halted"
    assert complete("watch all.co", [])[0] == "watch all.coordinator"
    assert complete("unw", [])[0] == "unwatch"

    async def test(seen: Seen) -> None:
        await _line(seen, "watch 4.halted")
        line = seen.of("CommandLine", CommandLine)
        line.history.clear()
        assert line.completed("watch 4.hal") == "watch 4.halted"
        assert line.completed("unwatch ") == "unwatch 4.halted"
        assert line.completed("unwatch a") == "unwatch all"
        assert line.completed("unwatch 5") is None

    replay(test)


def _readings(**texts: str) -> dict[str, tuple[WatchReading, ...]]:
    return {name: tuple(map(WatchReading, text.split())) for name, text in texts.items()}


def test_readings_that_change() -> None:
    """At a standstill until the cursor moves, and for a second while it moves by itself."""
    changes = ReadingChanges()

    def update(record: int, is_moving: bool, now_s: float, **texts: str) -> dict[str, set[int]]:
        changes.update(_readings(**texts), record, is_moving, now_s)
        return {name: set(changes.of(name)) for name in texts if changes.of(name)}

    assert update(1, False, 0, a="1 2", b="3") == {}
    assert update(2, False, 1, a="1 5", b="3") == {"a": {1}}
    assert update(2, False, 9, a="1 5", b="3") == {"a": {1}}, "nothing has moved"
    assert update(3, False, 9, a="1 5", b="4") == {"b": {0}}
    assert update(4, True, 9.5, a="2 5", b="4") == {"a": {0}, "b": {0}}
    assert update(5, True, 10.2, a="2 5", b="4") == {"a": {0}}
    assert update(6, True, 11, a="2 5", b="4", c="1") == {}
    assert update(7, False, 11, b="5", c="2") == {"b": {0}, "c": {0}}


def _rows(texts: Sequence[tuple[str, str]], width: int, best: int, most: int) -> list[str]:
    cells = [(name, [(value, Style())], len(value)) for name, value in texts]
    rows: list[list[Piece]] = watch_rows(cells, width, best, most)
    assert all(width_of(row) <= width for row in rows)
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def test_rows_of_the_strip() -> None:
    """Aligned if there is a row for each; otherwise as many in a row as fit, and the others are counted."""
    texts = [("a", "1"), ("bbb", "22"), ("cc", "3")]
    assert _rows([], 40, 3, 3) == []
    assert _rows(texts, 40, 3, 3) == ["a    1", "bbb  22", "cc   3"]
    assert _rows(texts, 40, 1, 3) == ["a  1    bbb  22    cc  3"]
    assert _rows(texts, 15, 1, 3) == ["a  1    bbb  22", "cc  3"]
    assert _rows(texts, 15, 1, 1) == ["a  1    +2 more"]
    assert _rows([*texts, ("d", "4")], 24, 1, 1) == ["a  1    bbb  22  +2 more"]
    assert _rows([("x" * 50, "y" * 50)], 40, 1, 1) == [f"{'x' * 17}…  {'y' * 19}…"]
    assert _rows([("x" * 50, "y")], 40, 1, 1) == [f"{'x' * 36}…  y"]


def test_a_value_that_is_not_known_is_dim() -> None:
    """And a node's number before its value, too."""
    styles = ThemeStyles(UNICODE)

    async def test(seen: Seen) -> None:
        await _line(seen, "watch all.coordinator")
        text = _lines(seen)._shown
        found = {text.plain[span.start : span.end]: span.style for span in text.spans}
        assert found["-"] == found["1:"] == DIM != styles.accent

    replay(test)
