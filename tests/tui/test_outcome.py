"""The outcome of a scenario, shown at the end of a recording or a live run."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.recording.reader import open_recording
from lab.tui.source import RecordedScenario
from tests.tui.recorded import SHIPPED
from tests.tui.scripted import SCENARIO, scripted_config, scripted_file
from tests.tui.seen import Seen, attached, replay, served

PASSING = """\
title = "It goes well"
shows = "4 takes over."
protocol = "bully"
for = "4s"
---
when all normal: kill 5
then expect 4 leads within 2s
then say "4 leads"
"""
THROUGH = "n and N visit the captions and marks, ; shows the script, q quits"


def _recorded(path: Path, script: str) -> Path:
    return scripted_file(path / "run.jsonl", script)


def test_the_end_of_a_recording_shows_that_the_scenario_passed(tmp_path: Path) -> None:
    """Each time the cursor arrives there."""
    message = f"the run is over: ✓ passed; {THROUGH}"

    async def test(seen: Seen) -> None:
        assert "passed" not in seen.message
        for _ in range(2):
            await seen.press("1")
            await seen.press("end")
            await seen.until_message(message)
            await seen.press("1")
            assert seen.message == "node 1 selected"
            await seen.press("home")

    replay(test, _recorded(tmp_path, PASSING))


def test_the_end_of_a_recording_shows_the_first_failed_line(tmp_path: Path) -> None:
    """With the reason, and the number of other failures."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        await seen.until_message("the run is over: ✗ FAILED, line 12: 4: already up, nothing changed")
        assert " more); " in seen.message
        assert seen.message.endswith(THROUGH)

    replay(test, _recorded(tmp_path, SCENARIO))


def test_the_outcome_is_shown_after_playback(tmp_path: Path) -> None:
    async def test(seen: Seen) -> None:
        seen.player.seek(seen.player.end_us - 200_000)
        await seen.press("space")
        await seen.until_message("the run is over: ✓ passed")
        assert not seen.player.playing

    replay(test, _recorded(tmp_path, PASSING))


def test_a_failure_without_a_line_shows_what_was_expected(tmp_path: Path) -> None:
    """Such as a truncated recording; in ASCII, a word stands for each sign."""
    path = _recorded(tmp_path, PASSING)
    *kept, _ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(kept))

    async def test(seen: Seen) -> None:
        await seen.press("end")
        await seen.until_message("✗ FAILED, expected: the run lasts 4s: the recording is truncated")

    replay(test, path)


def test_a_recording_without_a_scenario_shows_no_outcome() -> None:
    async def test(seen: Seen) -> None:
        before = seen.message
        await seen.press("end")
        frames = seen.run._drawn_frames
        await seen.until(lambda: seen.run._drawn_frames > frames + 3, "frames go by")
        assert seen.message == before

    replay(test, SHIPPED)


@pytest.mark.parametrize(("more", "message"), [("", "✓ passed"), ("expect 5 leads\n", "✗ FAILED, line 10: ")])
def test_a_live_run_shows_the_outcome_when_it_is_over(runs: Path, more: str, message: str) -> None:
    assert runs.parent.is_dir()

    async def test(seen: Seen) -> None:
        await seen.until(lambda: seen.source.clock is not None and seen.source.clock.frozen, "it stands still")
        assert "over" not in seen.message
        await seen.press("space")
        await seen.until_message(f"the run is over: {message}")

    config = scripted_config(runs.parent / "live.jsonl", f"{PASSING}then freeze\n{more}")
    with served(replace(config, speed=10)) as ready:
        attached(test, ready.socket)


@pytest.mark.parametrize("text", ["kill 5", "title = [[[\n---\nkill 5", SCENARIO.replace("mark", "nonsense")])
def test_an_unreadable_scenario_is_not_judged(text: str, tmp_path: Path) -> None:
    """No head, invalid TOML, a line of another version of the language; nor is a branch."""
    header = json.loads(SHIPPED.read_bytes().splitlines()[0])
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({**header, "scenario": text}) + "\n", "utf-8")
    lines = open_recording(path)
    assert RecordedScenario(lines.header.scenario).checker(lines.header) is None
    assert RecordedScenario(lines.header.scenario).purpose in (
        "",
        "Every way in which a line of a script can end.",
    )
    lines.close()
