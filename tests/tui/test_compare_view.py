"""Comparison with another recording: at the same record up to the divergence, then at the same time."""

import shutil
from pathlib import Path

import pytest

from lab.recording.reader import open_recording
from lab.replay.divergence import RecordingComparison, find_divergence
from lab.tui.controllers.branching import TreeDialog
from lab.tui.player import Cursor
from lab.tui.views.compare_view import CompareView
from lab.tui.views.log_view import MessageLog, RecordDialog
from lab.tui.widgets.status_lines import Line
from tests.tui.recorded import SHIPPED, written
from tests.tui.seen import Seen, replay
from tests.worlds.branches import grow

AT = 150


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording in a folder of its own."""
    return Path(shutil.copy(SHIPPED, tmp_path / "run.jsonl"))


@pytest.fixture
def branch(recording: Path) -> Path:
    """A branch of it, in which node 5 is not paused."""
    grown = grow(recording, AT)
    grown.run.run_to(grown.began_us + 4_000_000)
    grown.checked()
    return recording.with_name(f"run-{AT}.jsonl")


def _other_number(seen: Seen) -> int:
    return seen.of("#compare-log", MessageLog)._number


async def _opened(seen: Seen, path: Path) -> CompareView:
    await seen.press("colon")
    await seen.type(f"compare {path}")
    await seen.press("enter")
    await seen.until(lambda: seen.run.views.chosen == "compare", "it is seen")
    await seen.until(lambda: all(worker.is_finished for worker in seen.app.workers), "the two are compared")
    await seen.until(lambda: seen.run.query("#compare-log"), "its log")
    return seen.of("#compare", CompareView)


def test_same_record_before_the_divergence_same_time_after(recording: Path, branch: Path) -> None:
    async def test(seen: Seen) -> None:
        await _opened(seen, branch)
        other = open_recording(branch)
        for number in (0, 20, AT):
            seen.player.go(number)
            await seen.until(lambda number=number: _other_number(seen) == number, f"at {number}")  # type: ignore[misc]
            assert "identical up to here; they diverge in " in seen.text
            assert "≠" not in seen.text
        divergence = find_divergence(seen.player.store, other)
        assert divergence.one is not None
        assert divergence.one > AT
        await seen.press("home", "enter")
        await seen.until(lambda: seen.player.number == divergence.one, "Enter goes to where they part")
        message = f"diverged 0.000 s ago, at record {divergence.one}: Enter goes there"
        await seen.until(lambda: message in seen.text, "it says so")
        assert "first difference: " in seen.text
        seen.player.seek(6_050_000)
        await seen.until(lambda: "≠  5 ● Normal leads here ‖ paused leads" in seen.text, "5 leads there too")
        record = other.record(_other_number(seen))
        assert getattr(record, "at_us", 0) <= 6_050_000
        assert (
            _other_number(seen) == len(other) - 1
            or getattr(other.record(_other_number(seen) + 1), "at_us", 0) > 6_050_000
        )
        other.close()

    replay(test, recording)


def test_hidden_future_hides_the_divergence(recording: Path, branch: Path) -> None:
    """Up to the divergence both are called identical; from there on the difference is shown."""

    async def test(seen: Seen) -> None:
        view = await _opened(seen, branch)
        head = seen.of("#compare-head", Line)
        divergence = find_divergence(seen.player.store, open_recording(branch)).one or 0

        def shown(number: int, hides_future: bool) -> str:
            seen.player.go(number)
            view.show(Cursor(seen.player.cluster(), seen.player.now_us, hides_future=hides_future))
            return head.plain

        for number in (AT, divergence - 1):
            assert "they diverge in" in shown(number, False)
            assert "first difference" in shown(number, False)
            hidden = shown(number, True)
            assert "identical up to here" in hidden
            assert "diverge" not in hidden
            assert "differ" not in hidden
        assert f"at record {divergence}" in shown(divergence, True)
        assert "first difference" in shown(divergence, True)

    replay(test, recording)


def test_the_log_of_the_other_opens_its_own_records(recording: Path, branch: Path) -> None:
    async def test(seen: Seen) -> None:
        await _opened(seen, branch)
        await seen.press("end")
        await seen.until(lambda: _other_number(seen) > AT, "its end")
        log = seen.of("#compare-log", MessageLog)
        await seen.pilot.double_click("#compare-log", offset=(20, 2))
        await seen.until(lambda: isinstance(seen.top, RecordDialog), "the record")
        row = log.rows.row(log.cursor or 0, log._number)
        assert row is not None
        assert seen.top._raw == open_recording(branch).raw(row[0].record)  # type: ignore[attr-defined]

    replay(test, recording)


def test_a_branch_is_compared_with_its_parent_unless_another_is_chosen(recording: Path, branch: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("equals_sign")
        assert isinstance(seen.top, TreeDialog)
        await seen.press("enter")
        await seen.until(lambda: seen.run.views.chosen == "compare", "it is seen")
        await seen.until(lambda: recording.name in seen.text, "its name")

    replay(test, branch)


def test_a_recording_alone_has_nothing_to_be_compared_with(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("equals_sign")
        await seen.until_message("there is no other recording in ")
        assert ":compare FILE opens one" in seen.message

    replay(test, recording)


def test_the_key_lets_choose_from_the_tree_and_turns_to_it_and_back(recording: Path, branch: Path) -> None:
    assert branch.exists()

    async def test(seen: Seen) -> None:
        await seen.press("equals_sign")
        assert isinstance(seen.top, TreeDialog)
        await seen.press("enter")  # the recording itself cannot be chosen
        await seen.until(lambda: seen.run.views.chosen == "compare", "it is seen")
        await seen.until(lambda: branch.name in seen.text, "its name")
        await seen.press("equals_sign")
        assert seen.run.views.chosen == "log"
        await seen.press("equals_sign")
        assert seen.run.views.chosen == "compare"

    replay(test, recording)


def test_an_identical_recording_and_a_broken_one(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("colon")
        await seen.type("compare nothing.jsonl")
        await seen.press("enter")
        await seen.until_message("nothing.jsonl cannot be opened: No such file or directory")
        assert seen.run.views.chosen == "log"
        await _opened(seen, recording)
        assert "identical to the end" in seen.text
        await seen.press("enter")
        assert seen.player.number == 0

    replay(test, recording)


def test_records_are_matched_despite_different_keyframes(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(b"".join(line for line in lines if not line.startswith(b'{"record":"keyframe"')))
    one, other = open_recording(path), open_recording(plain)
    comparison = RecordingComparison(one, other)
    while not comparison.advance(100):
        pass
    assert comparison.same == len(other) - 1
    for number in range(0, len(one), 7):
        counterpart = comparison.counterpart(number)
        assert counterpart is not None
        assert number in one.keyframes or one.raw(number) == other.raw(counterpart)
        back = RecordingComparison(other, one)
        back.same = comparison.same
        assert back.counterpart(counterpart) == number or number in one.keyframes
    one.close()
    other.close()
