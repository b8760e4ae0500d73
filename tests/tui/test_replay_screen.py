"""A replay in the interface: every key that moves in time does what its help says, and so does the mouse."""

import json
from pathlib import Path

import pytest

from lab.analysis.delivery import LogPage
from lab.analysis.marks import MarkKind, Marks
from lab.recording.reader import open_recording
from lab.tui.views.log_view import MessageLog
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.scrub_bar import ScrubBar
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay, replay_in_sizes

LAST = SHIPPED.read_bytes().count(b"\n") - 1


@pytest.fixture(scope="module")
def marks() -> Marks:
    """Return the marks of the recording."""
    lines, found = open_recording(SHIPPED), Marks()
    for _ in found.find_in(lines):
        pass
    lines.close()
    return found


def _marked(marks: Marks, *kinds: MarkKind) -> list[int]:
    return [number for number, kind in zip(marks.records, marks.kinds, strict=True) if kind in kinds]


def test_parameters_and_remark_are_shown(tmp_path: Path) -> None:
    """The parameters in the title, the remark as the first message."""
    header, *rest = SHIPPED.read_bytes().split(b"\n")
    texts = json.loads(header)
    texts["protocol"]["parameters"] = {"halting": "at_once"}
    texts["remark"] = "a coordinator that stood still, and another one"
    path = tmp_path / "told.jsonl"
    path.write_bytes(b"\n".join([json.dumps(texts).encode(), *rest]))

    async def test(seen: Seen) -> None:
        assert seen.message == "a coordinator that stood still, and another one (? for all keys)"
        assert "lab bully · recording · record 0 · halting=at_once · a coordinator" in seen.text

    replay(test, path)


def test_by_records_to_both_ends_and_by_five_seconds() -> None:
    async def test(seen: Seen) -> None:
        assert seen.player.number == 0
        await seen.press("full_stop", "full_stop", "full_stop")
        assert seen.player.number == 3
        await seen.press("comma")
        assert seen.player.number == 2
        assert " record 2 " in seen.text
        await seen.press("end")
        assert (seen.player.number, seen.player.now_us) == (LAST, seen.player.end_us)
        await seen.press("full_stop")
        assert seen.player.number == LAST, "there is no record after the last"
        await seen.press("home")
        assert (seen.player.number, seen.player.now_us) == (0, 0)
        seen.player.seek(1_000_000)
        await seen.press("shift+right")
        assert seen.player.now_us == 6_000_000
        assert "2 COORDINATORS" in seen.leaders
        await seen.press("shift+left")
        assert seen.player.now_us == 1_000_000
        await seen.press("shift+left")
        assert seen.player.now_us == 0, "not before the start"

    replay(test)


def test_from_mark_to_mark(marks: Marks) -> None:
    keys: tuple[tuple[str, str, tuple[MarkKind, ...]], ...] = (
        ("left_curly_bracket", "right_curly_bracket", ("fault", "repair")),
        ("left_parenthesis", "right_parenthesis", ("election", "leader")),
        ("left_square_bracket", "right_square_bracket", ("status", "election", "leader")),
    )

    async def test(seen: Seen) -> None:
        for back, on, kinds in keys:
            wanted = _marked(marks, *kinds)
            await seen.press("home", back)
            assert seen.message.startswith(f"no {kinds[0]} before")
            for number in wanted[:4]:
                await seen.press(on)
                assert seen.player.number == number
            await seen.press(back)
            assert seen.player.number == wanted[2]
            seen.player.go(wanted[-1])
            await seen.press(on)
            assert seen.message.startswith(f"no {kinds[0]} after")
            assert seen.player.number == wanted[-1]

    replay(test)


def test_a_step_goes_past_hidden_heartbeats() -> None:
    """And with them shown, from record to record."""

    async def test(seen: Seen) -> None:
        player, rows = seen.player, seen.run.views.rows
        player.go(190)
        await seen.press("comma")
        before = player.number
        assert before < 185
        assert not rows.is_hidden(before)
        assert all(rows.is_hidden(number) for number in range(before + 1, 190))
        await seen.press("full_stop")
        assert player.number > 190
        assert all(rows.is_hidden(number) for number in range(before + 1, player.number))
        player.go(190)
        seen.run.action_do("heartbeats")
        await seen.press("comma")
        assert player.number == 189

    replay(test)


def test_space_plays_and_pauses_and_the_speed_changes() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("greater_than_sign", "greater_than_sign")
        assert seen.player.speed == 5
        await seen.press("space")
        await seen.until(lambda: seen.player.number > 100, "it plays")
        await seen.press("space")
        at_us, frames = seen.player.now_us, seen.run._drawn_frames
        await seen.until(lambda: seen.run._drawn_frames > frames + 3, "frames go by")
        assert seen.player.now_us == at_us
        await seen.press(*["less_than_sign"] * 9)
        assert seen.player.speed == 0.1
        assert "0.1x" in seen.text

    replay(test)


def test_it_plays_to_the_end_and_then_from_the_start_again() -> None:
    async def test(seen: Seen) -> None:
        seen.player.seek(seen.player.end_us - 200_000)
        await seen.press("space")
        await seen.until(lambda: not seen.player.playing, "it is at its end")
        assert seen.player.number == LAST
        await seen.press("space")
        assert seen.player.playing
        assert seen.player.now_us < 1_000_000

    replay(test)


def test_a_click_on_the_scrub_bar_goes_there_and_digits_go_to_tenths() -> None:
    async def test(seen: Seen) -> None:
        bar, end_us = seen.of("ScrubBar", ScrubBar), seen.player.end_us
        left, width = bar._bar()
        for place in (width // 2, width - 1, 0):
            await seen.pilot.click(ScrubBar, offset=(1 + left + place, 0))
            assert seen.player.now_us == round(place / (width - 1) * end_us)
        bar.focus()
        await seen.press("7")
        assert seen.player.now_us == round(0.7 * end_us)
        assert seen.selected() is None

    replay(test)


def test_a_click_selects_a_node_and_so_do_digits_and_arrows() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("3")
        assert (seen.selected(), seen.message) == (3, "node 3 selected")
        await seen.press("right")
        assert seen.selected() == 4
        await seen.press("up")
        assert seen.selected() == 1
        panes = seen.of("NodePanes", NodePanes)
        await seen.pilot.click(NodePanes, offset=(panes.size.width // 2, 7))
        assert seen.selected() == 5
        assert "┏━ 5 " in seen.text
        await seen.press("escape", "9")
        assert (seen.selected(), seen.message) == (None, "no node 9")

    replay(test)


def test_a_row_of_the_log_is_clicked_gone_to_and_opened_with_its_record_in_full() -> None:
    async def test(seen: Seen) -> None:
        seen.player.go(170)
        log = seen.of("MessageLog", MessageLog)
        await seen.until(lambda: log._number == 170, "the log is there")
        await seen.pilot.click(MessageLog, offset=(20, 4))
        assert log.cursor == log.scroll_offset.y + 4
        row = log.rows.row(log.cursor, 170)
        assert row is not None
        await seen.press("enter")
        assert seen.player.number == row[0].record
        await seen.until(lambda: log._number == row[0].record, "the log ends there")
        await seen.press("enter")
        await seen.until(
            lambda: f" record {row[0].record} " in seen.text and seen.top is not seen.run, "the record"
        )
        content = seen.top.content().plain  # type: ignore[attr-defined]
        lines = open_recording(SHIPPED)
        assert json.loads(content[content.index("{\n") :]) == json.loads(lines.raw(row[0].record))
        lines.close()
        assert all(line.strip() in seen.text for line in content[content.index("{\n") :].splitlines()[:8])
        await seen.press("escape")
        assert seen.top is seen.run

    replay(test)


def test_the_log_is_walked_through_with_arrows_and_follows_the_end_again() -> None:
    async def test(seen: Seen) -> None:
        seen.player.go(300)
        log = seen.of("MessageLog", MessageLog)
        await seen.until(lambda: log._number == 300, "the log is there")
        log.focus()
        await seen.press("up", "up")
        assert log.cursor == log._count - 3
        await seen.press("pageup", "pageup")
        assert log.scroll_offset.y == log.cursor
        top = log.scroll_offset.y
        seen.player.number = 310  # as playback does
        await seen.until(lambda: log._number == 310, "ten records on")
        assert log.scroll_offset.y == top, "scrolled away, it stays"
        await seen.press(*["pagedown"] * 12)
        assert log._follow
        await seen.until(lambda: log.scroll_offset.y == log._last_top, "it follows the end")
        await seen.press("pageup", "pageup")
        await seen.until(lambda: not log._follow, "scrolled away again")
        await seen.press("left_square_bracket")
        number = seen.player.number
        await seen.until(lambda: log._number == number and log._follow, "the log goes along with a jump")
        await seen.until(lambda: log.scroll_offset.y == log._last_top, "its record is in sight")

    replay(test)


def test_home_and_end_move_in_time_from_the_log_too() -> None:
    async def test(seen: Seen) -> None:
        log = seen.of("MessageLog", MessageLog)
        log.focus()
        await seen.press("end")
        await seen.until(lambda: log._number == len(seen.player.store) - 1, "the end")
        await seen.press("home")
        await seen.until(lambda: log._number == 0, "the start")

    replay(test)


def test_f_shows_the_heartbeats_and_hides_them() -> None:
    lines = open_recording(SHIPPED)
    page = LogPage(0, None)
    for record in lines.records():
        page.feed(record)
    lines.close()
    quiet = sum(line.kind not in lines.header.protocol.heartbeats for line in page.lines)

    async def test(seen: Seen) -> None:
        log = seen.of("MessageLog", MessageLog)
        await seen.press("end")
        assert log._count == quiet
        assert f"{len(page.lines) - quiet} heartbeats hidden" in seen.text
        await seen.press(":heartbeats")
        assert log._count == len(page.lines)
        assert "AreYouNormal" in seen.text
        assert "hidden" not in seen.text
        await seen.press(":heartbeats")
        assert log._count == quiet

    replay(test)


def test_light_and_dark_theme() -> None:
    async def test(seen: Seen) -> None:
        assert seen.run.context.styles.dark
        await seen.press(":theme")
        await seen.until(lambda: not seen.run.context.styles.dark, "darker colours")
        await seen.until(lambda: seen.run.styles.background.brightness > 0.7, "a light ground")
        await seen.press(":theme")
        await seen.until(
            lambda: seen.run.context.styles.dark and seen.run.styles.background.brightness < 0.3, "dark"
        )

    replay(test)


def test_every_size_shows_the_essential_lines() -> None:
    async def test(seen: Seen) -> None:
        seen.player.seek(6_050_000)
        await seen.press("5")
        assert "2 COORDINATORS" in seen.text[: 3 * seen.app.size.width]
        if seen.app.size.height >= 24:
            for node in range(1, 6):
                assert any(f" {node} " in line for line in seen.text.split("\n")[2:])
            assert "‖ paused" in seen.text
            assert f" record {seen.player.number} " in seen.text.split("\n")[0]
            assert "q quit" in seen.text or seen.app.size.width < 120

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60), (40, 10)])


def test_q_quits_with_status_0() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("q")

    assert replay(test).return_code == 0


def test_a_hostile_recording_writes_no_control_character(tmp_path: Path) -> None:
    """Every text in it has terminal codes, except the kinds of records."""
    evil = "\\u001b]0;t\\u0007\\u009b5n\\u202e"
    text = SHIPPED.read_text("utf-8")
    for word in ('"bully"', '"Normal"', '"check"', '"EnterElection"', '"AreYouNormal answers"', '"pause"'):
        assert word in text
        text = text.replace(word, f'{word[:-1]}{evil}"')
    path = tmp_path / "evil.jsonl"
    path.write_text(text.replace("its time was up", evil), "utf-8")

    async def test(seen: Seen) -> None:
        for at_us in (500_000, 5_720_000, 6_050_000, seen.player.end_us):
            seen.player.seek(at_us)
            await seen.press(":heartbeats")
            await seen.until(lambda: r"\x1b" in seen.text, "its codes, written out")
            assert [letter for letter in seen.text if not letter.isprintable() and letter != "\n"] == []

    replay(test, path)
