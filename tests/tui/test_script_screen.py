"""A run with a script: captions, marks, outcomes of expectations, and the script view."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Commanded, Expected
from lab.tui.views.script_view import ScriptView
from lab.tui.views.views import Views
from lab.tui.widgets.scrub_bar import ScrubBar
from lab.tui.widgets.status_lines import CaptionLine
from lab.worlds.loading.config import HostReady
from tests.tui.recorded import SHIPPED
from tests.tui.scripted import SCENARIO, scripted_config, scripted_file
from tests.tui.seen import Seen, attached, replay, replay_in_sizes, served


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the scenario."""
    return scripted_file(tmp_path_factory.mktemp("scripted") / "run.jsonl")


@pytest.fixture(scope="module")
def records(recording: Path) -> dict[str, int]:
    """The first record of each caption, mark and expectation, by text."""
    lines = open_recording(recording)
    found: dict[str, int] = {}
    for number, record in enumerate(lines.records()):
        if isinstance(record, Captioned | Expected | Commanded):
            found.setdefault(record.text, number)
    lines.close()
    return found


def _caption(seen: Seen) -> str:
    line = seen.of("#caption", CaptionLine)
    return line._shown.plain if line.display else ""


def _reached(seen: Seen, start: str) -> bool:
    """Return whether a line of the script begins so; beside the log there is a border before it."""
    return any(row.lstrip("▊").startswith(start) for row in seen.view.split("\n"))


def _row(seen: Seen, text: str) -> str:
    return next(row for row in seen.view.split("\n") if text in row)


async def _shown(seen: Seen, text: str) -> None:
    await seen.until(lambda: text in seen.text, f"{text!r} is seen")


def test_the_last_caption_is_above_the_nodes(recording: Path, records: dict[str, int]) -> None:
    """At any position; before the first caption, the scenario's purpose is shown."""
    shows = "  Every way in which a line of a script can end."

    async def test(seen: Seen) -> None:
        assert "no node is up" in seen.leaders
        assert _caption(seen).rstrip() == shows
        seen.player.go(records["5 is gone"])
        await seen.until(lambda: _caption(seen).startswith('" 5 is gone  '), "the caption")
        assert "5 is gone" in seen.text.split("\n")[1]
        await seen.press("comma")
        assert _caption(seen).rstrip() == shows
        await seen.press("end")
        await seen.until(lambda: '\n" 4 takes over  ' in _caption(seen), "the last caption")
        await seen.press("home")
        assert _caption(seen).rstrip() == shows

    replay(test, recording)


def test_n_visits_captions_marks_and_unmet_expectations(recording: Path, records: dict[str, int]) -> None:
    """Not the expectations that are met."""

    async def test(seen: Seen) -> None:
        lines = seen.player.store
        wanted = [
            number
            for number in range(len(lines))
            if isinstance(record := lines.record(number), Captioned | Expected)
            and not (isinstance(record, Expected) and record.met)
        ]
        for number in wanted[:5]:
            await seen.press("n")
            assert seen.player.number == number
        await seen.press("N")
        assert seen.player.number == wanted[3]
        await seen.press("home", "N")
        await seen.until_message("no bookmark, caption, mark or unmet expectation before this one")

    assert records["5 is gone"] < records["here"]
    replay(test, recording)


def test_the_scrub_bar_has_their_signs(recording: Path) -> None:
    """An unmet expectation has priority in its cell."""

    async def test(seen: Seen) -> None:
        bar = seen.of("ScrubBar", ScrubBar).render().plain
        assert {'"', "⚑", "✗"} <= set(bar)

    replay(test, recording)


def test_the_log_shows_them_with_sign_and_word(recording: Path, records: dict[str, int]) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("end")
        seen.player.go(records["then expect 5 leads within 300ms"])
        await _shown(seen, "✗ then expect 5 leads within 300ms · NOT MET: timed out")
        assert "⚑ mark: here" in seen.text
        seen.player.go(records["5 is gone"])
        await _shown(seen, '" caption: 5 is gone')

    replay(test, recording, size=(120, 60))


def test_s_shows_the_script_with_the_state_of_each_line(recording: Path, records: dict[str, int]) -> None:
    """As of the cursor: done, last reached, waiting, not met."""

    async def test(seen: Seen) -> None:
        seen.player.go(records["5 is gone"])
        await seen.press("semicolon")
        await _shown(seen, "Every way in which a line of a script can end.")
        assert "✓ done" in _row(seen, "kill 5   # it leads")
        row = _row(seen, 'then say "5 is gone"')
        assert row.startswith("▶  10 ✓ said ")
        at_us = seen.player.cluster().at_us
        assert f" {at_us / 1e6:.3f} " in row
        assert "… waits" in _row(seen, "on send SetCoordinator 4->1")
        assert "at the end" in _row(seen, "expect 4 leads")
        assert "watched" in _row(seen, "expect no violation")
        await seen.press("semicolon")
        await seen.until_message("back to the log")

    replay(test, recording)


def test_the_script_at_the_end(recording: Path) -> None:
    """Unreached lines, unmet expectations with reasons; expected verdicts are settled too."""

    async def test(seen: Seen) -> None:
        await seen.press("end", "semicolon")
        await _shown(seen, "✗ NOT MET")
        for text, word in (
            ('say "never said"', "✗ NEVER"),
            ("on send NewState 1->2", "✗ NEVER"),
            ("expect always live == 5", "✗ NOT MET"),
            ("expect 4 leads", "✓ met"),
            ("expect no violation", "✓ met"),
            ("expect violation A5", "✗ NOT MET"),
        ):
            assert word in _row(seen, text), text
        assert "timed out" in seen.text
        assert "3 times so far" in seen.text or "4 times so far" in seen.text
        assert "no such violation was found" in seen.text

    replay(test, recording, size=(120, 60))


def test_enter_and_a_click_go_to_the_record_of_a_line(recording: Path, records: dict[str, int]) -> None:
    """A line without a record goes nowhere."""

    async def test(seen: Seen) -> None:
        await seen.press("end", "semicolon")
        await _shown(seen, "kill 5   # it leads")
        view = seen.of("#script", ScriptView)
        rows = seen.text.split("\n")
        place = next(number for number, row in enumerate(rows) if 'then say "5 is gone"' in row)
        await seen.pilot.click("#script", offset=(40, place - view.region.y))
        await seen.until(lambda: seen.player.number == records["5 is gone"], "the record of the line")
        await seen.press("down", "enter")
        await seen.until(lambda: seen.player.number == records["5 is gone"], "nothing: it has not come yet")
        await seen.press("end")
        view.cursor = None
        await seen.press(*["up"] * 30, "enter")
        await seen.until(lambda: seen.player.number == records["when all normal: kill 5"], "the first line")

    replay(test, recording, size=(120, 60))


def test_the_line_reached_last_is_visible(recording: Path) -> None:
    """On any screen, at any time; before that, the top."""

    async def test(seen: Seen) -> None:
        await seen.press("semicolon")
        await _shown(seen, "Every way in which")
        for _ in range(4):
            await seen.press("n")
            await seen.until(lambda: _reached(seen, "▶"), f"at {seen.player.number}")
        await seen.press("home")
        await _shown(seen, "Every way in which")

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60), (60, 16)], recording)


def test_the_head_can_be_scrolled_to_by_keys(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("end", "semicolon")
        view = seen.of("#script", ScriptView)
        await seen.until(lambda: view.scroll_offset.y > 3, "the last lines")
        await seen.press(*["up"] * 30)
        await _shown(seen, "Every way in which")
        assert view.scroll_offset.y == 0
        await seen.press("end", *["pagedown"] * 20)
        await seen.until(lambda: view.scroll_offset.y > 3, "the last lines again")

    replay(test, recording, size=(80, 24))


def test_scrolled_away_it_stays_and_scrolled_back_it_follows(recording: Path) -> None:
    """Until the line reached last is visible again."""

    async def test(seen: Seen) -> None:
        await seen.press("end", "semicolon")
        view = seen.of("#script", ScriptView)
        await seen.until(lambda: view.scroll_offset.y > 3, "the last lines")
        there = view.scroll_offset.y
        view.on_mouse_scroll_up()
        view.scroll_to(y=0, animate=False, immediate=True)
        frames = seen.run._drawn_frames
        await seen.until(lambda: seen.run._drawn_frames > frames + 3, "frames go by")
        assert (view.scroll_offset.y, view._follow) == (0, False)
        view.scroll_to(y=there, animate=False, immediate=True)
        await seen.until(lambda: view._follow, "it follows")

    replay(test, recording, size=(80, 24))


def test_a_run_without_a_script_stays_at_its_log() -> None:
    """A message names runs with a script; the footer has no key for it."""

    async def test(seen: Seen) -> None:
        assert "; script" not in seen.text
        assert "next mark" not in seen.text
        await seen.press("n")
        assert seen.message == "this run has no bookmark, caption, mark or unmet expectation so far; m adds one"
        await seen.press("semicolon")
        assert seen.message.startswith("this run has no script; try lab run SCENARIO")
        assert seen.of("Views", Views).chosen == "log"

    replay(test, SHIPPED)


def test_the_title_and_the_first_hint_show_the_scenario(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        assert " · What becomes of lines · " in seen.line("#title")
        assert seen.message == "What becomes of lines (? for all keys; ; shows the script)"
        assert "n next mark" in seen.text.split("\n")[-1]
        assert " ; script " in seen.text  # the tab

    replay(test, recording)


@pytest.mark.parametrize("given", [{"LC_ALL": "C"}, {"NO_COLOR": "1"}], ids=["ascii", "no colour"])
def test_ascii_without_colour_has_the_same_words(
    recording: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    is_ascii = "LC_ALL" in given

    async def test(seen: Seen) -> None:
        await seen.press("end", "semicolon")
        await _shown(seen, f"{'!' if is_ascii else '✗'} NOT MET")
        assert f"{'+' if is_ascii else '✓'} done" in seen.text
        assert '" 4 takes over' in _caption(seen)

    replay(test, recording, size=(120, 60))


def test_a_hostile_scenario_writes_no_control_character(tmp_path: Path) -> None:
    """Nor does invalid TOML or an unknown line end the interface."""
    evil = 'title = [[[\n---\nsay "\x1b]0;t\x07\x9b5n"\n\x1b[2J nonsense \u202e\n'
    text = scripted_file(tmp_path / "run.jsonl").read_text("utf-8")
    header, *rest = text.split("\n")
    edited = {**json.loads(header), "scenario": evil, "remark": "\x1b[2J"}
    path = tmp_path / "evil.jsonl"
    path.write_text("\n".join([json.dumps(edited), *rest]), "utf-8")

    async def test(seen: Seen) -> None:
        await seen.press("end", "semicolon")
        await _shown(seen, r"\x1b[2J nonsense \x202e")
        assert [letter for letter in seen.text if not letter.isprintable() and letter != "\n"] == []

    replay(test, path)


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """The scenario in a simulated run that is still going on, frozen when 5 is dead."""
    script = SCENARIO.replace('mark "here"', 'mark "here"\nfreeze')
    assert runs.parent.is_dir()
    with served(scripted_config(runs.parent / "live.jsonl", script, None)) as ready:
        yield ready


def test_a_live_run_shows_the_state_of_its_script(host: HostReady) -> None:
    """A caption typed at the prompt is not a line of the script."""

    async def test(seen: Seen) -> None:
        await seen.press("semicolon")
        await seen.until(lambda: _reached(seen, "▶  13 ✗ NO EFFECT"), "frozen")
        assert '" 5 is gone' in _caption(seen)
        assert "… waits" in _row(seen, "then expect 5 leads")
        await seen.press("colon")
        seen.top.focused.value = 'say "look at 4"'  # type: ignore[union-attr]
        await seen.press("enter")
        await seen.until(lambda: '" look at 4' in _caption(seen), "what was typed")
        assert _reached(seen, "▶")

    attached(test, host.socket)
