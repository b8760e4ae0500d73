"""The inspector: one node in full at the cursor in time."""

import re
from pathlib import Path

import pytest

from lab.kernel import Started, Step
from lab.tui.views.inspect_view import InspectView, value_rows
from tests.tui.hostile import hostile_recording
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay

BANK = SHIPPED.parent / "scenarios" / "same-blocking-crash-2pc.jsonl"


def _text(seen: Seen) -> str:
    _, text = seen.of("#inspect", InspectView).copied()
    return text


async def _go(seen: Seen, number: int, node: int | None = None) -> str:
    seen.run.context.selected = node
    seen.player.go(number)
    seen.run.draw()
    return _text(seen)


def _numbers(seen: Seen) -> list[tuple[int, Step]]:
    lines = seen.source.store
    return [(n, each) for n in range(len(lines)) if isinstance(each := lines.record(n), Step)]


def test_a_long_value_is_indented_by_its_parts() -> None:
    """Nothing is left out."""
    assert [*value_rows({"version": 2, "members": [1, 2]}, 40)] == ["version 2 members 1 2"]
    nested = {"version": 2, "members": list(range(20)), "work": [{"a": "x" * 20}, {"b": "y" * 20}]}
    assert [*value_rows(nested, 30)] == [
        "version 2",
        "members",
        "  0 1 2 3 4 5 6 7 8 9 10 11 12",
        "  13 14 15 16 17 18 19",
        "work",
        "  · a xxxxxxxxxxxxxxxxxxxx",
        "  · b yyyyyyyyyyyyyyyyyyyy",
    ]
    assert [*value_rows([], 30)] == ["-"]
    assert all(len(row) <= 30 for row in value_rows("word " * 100, 30))


def test_a_value_nested_too_deeply() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    assert [*value_rows(value, 30)] == ["nested too deeply to be shown"]
    while isinstance(value, list):
        value = value[0]  # taken apart one by one, for Python does that by recursion too


def test_it_shows_what_the_step_changed() -> None:
    """Old and new values, what was stored, the input, and what was sent."""

    async def test(seen: Seen) -> None:
        await seen.press("i")
        number, step = next(
            (n, each)
            for n, each in _numbers(seen)
            if each.changed.get("status") == "Normal" and each.stored and each.sent and each.at_us > 1_000_000
        )
        text = await _go(seen, number)
        assert text.startswith(f" node {step.node}  ● Normal")
        assert "it made the last step; a digit selects another" in text.split("\n")[0]
        assert f"its last step: record {number} at {step.at_us / 1e6:.3f} s" in text
        leader = seen.player.cluster().nodes[step.node].coordinator
        version = step.stored["version"]
        assert f"  input          NewState from {leader}  definition" in text
        assert "  changed        status  Reorganization → Normal" in text
        assert f"  stored         version  {version - 1} → {version}\n" in text
        assert f"  sent           NewStateAnswer to {leader}" in text
        stored = text.partition("stable storage, which outlives a crash")[2]
        assert stored.split() == ["version", str(step.stored["version"])]

    replay(test)


def test_it_shows_who_has_answered_and_who_has_not() -> None:
    """With the file, the line and the time left."""

    async def test(seen: Seen) -> None:
        await seen.press("i")
        number = next(
            n for n, each in _numbers(seen) if any(w.procedure == "check" and w.peers == (5,) for w in each.began)
        )
        text = await _go(seen, number)
        waits = text.partition("\n waits\n")[2].partition("\n state\n")[0]
        assert re.search(r"line \d+ of bully\.py", waits)
        assert " of 0.3 s left" in waits
        assert "for AreYouNormal answers" in waits
        assert "1-3 answered" in waits
        assert "5 not yet" in waits

    replay(test)


def test_it_shows_the_selected_node_and_what_is_left_of_a_dead_one() -> None:
    """A dead node has no waits and no state, only what it stored."""

    async def test(seen: Seen) -> None:
        await seen.press("i")
        text = await _go(seen, 130, 5)
        assert text.startswith(" node 5  ✖ killed")
        assert "selected" in text.split("\n")[0]
        assert "\n waits\n" not in text
        assert "\n state\n" not in text
        assert text.partition("stable storage, which outlives a crash")[2].split() == ["version", "1"]
        await seen.press("1")
        assert _text(seen).startswith(" node 1 ")
        text = await _go(seen, 0)
        assert "no node has made a step so far" in text

    replay(test)


def test_the_head_fits_in_80_columns() -> None:
    """Whichever node made the last step, in whichever status; with the reason why this node is shown."""

    async def test(seen: Seen) -> None:
        await seen.press("i")
        for number, step in _numbers(seen)[::40]:
            head = (await _go(seen, number)).split("\n")[0]
            assert len(head) <= 80
            assert head.endswith("  it made the last step")
            selected = (await _go(seen, number, step.node)).split("\n")[0]
            assert selected.endswith("  selected")

    replay(test, size=(80, 24))


def test_an_incarnation_begins_with_the_stored_values() -> None:
    """The start is shown, but not the whole state as a change."""

    async def test(seen: Seen) -> None:
        await seen.press("i")
        number = next(
            n for n, each in _numbers(seen) if isinstance(each.input, Started) and each.input.incarnation == 2
        )
        text = await _go(seen, number)
        assert "input          start of incarnation 2" in text
        assert "incarnation 2" in text
        assert "→" not in text.partition("\n waits\n")[0]

    replay(test)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_log_of_a_bank_shows_the_newest_entry_last(size: tuple[int, int]) -> None:
    """It is not repeated in the state; the keys scroll."""

    async def test(seen: Seen) -> None:
        await seen.press("i", "end", "4")
        text = _text(seen)
        stored = text.partition("stable storage, which outlives a crash")[2].strip().split("\n")
        assert stored[0].startswith("log")
        assert " entr" in stored[0]
        state = text.partition("\n state\n")[2].partition("\n\n")[0]
        assert "\n  log " not in state
        view = seen.of("#inspect", InspectView)
        await seen.press(*["pagedown"] * 9)
        bottom = view.scroll_offset.y
        assert bottom > 0 or view.size.height > len(view.texts())
        assert view.render_line(0).text.startswith(" node 4 ")
        await seen.press("up")
        assert view.scroll_offset.y == max(0, bottom - 1)

    replay(test, BANK, size)


def test_a_hostile_recording_is_inspected_and_does_no_harm(tmp_path: Path) -> None:
    """Nested values, thousands of them, escape sequences: nothing reaches the screen, nothing raises."""
    path = hostile_recording(tmp_path / "hostile.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("i")
        for number, node in ((2, None), (30, None), (61, 4), (100, 5), (250, 1)):
            text = await _go(seen, number, node)
            assert all(letter.isprintable() or letter == "\n" for letter in text)
            await seen.press("pagedown", "down")
            assert all(letter.isprintable() or letter == "\n" for letter in seen.text)

    replay(test, path)
