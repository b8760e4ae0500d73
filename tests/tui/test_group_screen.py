"""The history of groups in the interface, and the group in each node's pane."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from lab.analysis.delivery import LogPage
from lab.analysis.group_history import GroupLog
from lab.recording.reader import open_recording
from lab.tui.views.group_view import GroupView
from lab.tui.views.views import Views
from tests.tui.grouped import partitioned_file
from tests.tui.seen import Seen, replay, replay_in_sizes


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups that split and merge."""
    return partitioned_file(tmp_path_factory.mktemp("groups") / "run.jsonl")


async def _to_end(seen: Seen) -> None:
    await seen.press("end")
    await seen.until(lambda: "4.3" in seen.text, "the last group")


def test_g_shows_the_history_of_groups_and_g_again_the_log(recording: Path) -> None:
    """The drawing is the same as on the command line."""

    async def test(seen: Seen) -> None:
        await _to_end(seen)
        await seen.press("g")
        await seen.until(lambda: "4 leads 1-3, of 1.3 2.4 3.2 4.2" in seen.text, "the last group's row")
        assert "seconds    1     2     3     4     5" in seen.text
        await seen.until_message("Enter goes to")
        await seen.press("g")
        await seen.until(lambda: "AcceptAnswer" in seen.text, "the log")
        await seen.until_message("back to the log")

    replay(test, recording)


def test_a_run_without_groups_stays_at_its_log() -> None:
    """A message names a protocol with groups; the footer has no key for it."""

    async def test(seen: Seen) -> None:
        assert "g groups" not in seen.text.split("\n")[-1]
        await seen.press("g")
        assert seen.message == "bully has no groups; try lab run invitation"
        assert seen.of("Views", Views).chosen == "log"

    replay(test)


def test_a_tab_offers_the_history(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        assert " g groups " in seen.text

    replay(test, recording)


def test_the_history_follows_the_cursor_in_time(recording: Path) -> None:
    """It is empty at the start, and shows nothing after the cursor."""

    async def test(seen: Seen) -> None:
        await seen.press("g")
        await seen.until(lambda: "no node is in a group so far" in seen.text, "an empty history")
        await seen.press("right_curly_bracket")
        await seen.until(lambda: "partition 1 2 | 3 4 5" in seen.text, "the first fault")
        assert "★ 5 leads 1-4" in seen.leaders
        assert "★5.2" in seen.text
        assert "★5.3" not in seen.text
        await seen.press("right_curly_bracket", "left_square_bracket")
        await seen.until(lambda: "2 leads 1," in seen.text, "two groups")
        assert "2 groups (g)  ★ 5 leads 3 4  ·  ★ 2 leads 1 " in seen.leaders
        await _to_end(seen)
        assert "★5.3" in seen.text
        await seen.press("home")
        await seen.until(lambda: "no node is in a group so far" in seen.text, "the start")

    replay(test, recording, size=(120, 60))


@pytest.mark.parametrize("by", ["key", "click"])
def test_a_row_leads_to_the_record_at_which_its_group_was_formed(recording: Path, by: str) -> None:
    """Up moves from row to row; End returns to the end of the run."""
    with closing(open_recording(recording)) as lines:
        formed = {group.name: group.formed.record for group in GroupLog.of(lines.records()).groups}

    async def test(seen: Seen) -> None:
        await _to_end(seen)
        await seen.press("g")
        await seen.until(lambda: "4 leads 1-3" in seen.text, "the last row")
        if by == "key":
            await seen.press(*["up"] * 6, "enter")
        else:
            view = seen.of("#groups", GroupView)
            shown = seen.text.splitlines()[view.region.y :]
            row = next(place for place, line in enumerate(shown) if "5 leads 3 4" in line)
            await seen.pilot.click("#groups", offset=(40, row))
        await seen.until(lambda: seen.player.number == formed["5.3"], "the record that forms 5.3")
        await seen.until(lambda: "5 is forming it" in seen.text, "what was known then")
        await _to_end(seen)

    replay(test, recording)


def test_the_cursor_stays_visible_and_follows_the_end(recording: Path) -> None:
    """Also if the history is longer than the screen."""

    async def test(seen: Seen) -> None:
        await _to_end(seen)
        await seen.press("g")
        await seen.until(lambda: "4 leads 1-3" in seen.text, "the last row")
        view = seen.of("#groups", GroupView)
        assert view.scroll_offset.y > 0
        await seen.press("pageup", "pageup", "pageup", "pageup", "pageup")
        await seen.until(lambda: "▶" in seen.text and "1-5 start" in seen.text, "the first row under the cursor")
        await seen.press("pagedown", "pagedown", "pagedown", "pagedown", "pagedown", "pagedown")
        await seen.until(lambda: view.cursor is None and "4 leads 1-3" in seen.text, "the end, followed")

    replay(test, recording, size=(80, 24))


def test_a_wide_pane_has_the_word_group(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await _to_end(seen)
        assert seen.text.count(" group 4.3  coordinator 4") == 4

    replay(test, recording, size=(120, 40))


def _shown_in(seen: Seen, coordinator: int, group: str) -> int:
    """Return how many cards or rows have this group and coordinator."""
    return len(re.findall(rf" {group}  coordinator {coordinator}| {coordinator} +{group} ", seen.text))


def test_a_pane_has_its_group_as_id_and_counter(recording: Path) -> None:
    """In boxes and in the list; a group has one colour everywhere."""

    async def test(seen: Seen) -> None:
        await seen.press("right_curly_bracket")
        await seen.until(lambda: _shown_in(seen, 5, "5.2") == 5, "the group of all")
        await _to_end(seen)
        assert _shown_in(seen, 4, "4.3") == 4

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60), (60, 16)], recording)


def test_the_log_still_shows_groups_and_hides_heartbeats(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await _to_end(seen)
        await seen.press("g", ":heartbeats")
        assert seen.of("Views", Views).rows.heartbeats
        await seen.press(":heartbeats", "g")
        await seen.until(lambda: "AcceptAnswer" in seen.text, "the log")
        with closing(open_recording(recording)) as lines:
            page = LogPage(0, len(lines))
            for record in lines.records():
                page.feed(record)
        assert "Election, coordinator 4, group 4.3" in {line.text for line in page.lines}

    replay(test, recording)
