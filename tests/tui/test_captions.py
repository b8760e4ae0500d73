"""The captions of a run: each can be read, and the layout does not jump when one appears."""

from pathlib import Path

import pytest
from rich.style import Style

from lab.styles import DIM
from lab.tui.widgets.status_lines import CaptionLine, Headline
from tests.profile import sampled
from tests.tui.scripted import scripted_file
from tests.tui.seen import Seen, replay

_LONG = "a caption of so many words that it is longer than a line of eighty letters can be, and goes on"
HEAD = """\
title = "Much is said"
shows = \"\"\"One sentence of what there is to see, and another sentence, long enough for more than one line of
eighty letters, and after that a third one, of which the end is not seen in the smallest of terminals: end.\"\"\"
protocol = "bully"
for = "4s"
---
"""
SCRIPT = f"""\
at 300ms: say "early"
at 3s: say "one"
then say "two"
then say "three"
at 3500ms: say "{_LONG}"
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with several captions at the same instant."""
    return scripted_file(tmp_path_factory.mktemp("captions") / "run.jsonl", HEAD + SCRIPT)


@pytest.fixture(scope="module")
def headless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the script without a scenario head."""
    return scripted_file(tmp_path_factory.mktemp("captions") / "script.jsonl", SCRIPT)


def _rows(seen: Seen) -> list[str]:
    line = seen.of("#caption", CaptionLine)
    return line._shown.plain.split("\n") if line.display else []


def _words(seen: Seen) -> list[str]:
    return [row[1:].split("  ")[0].strip() for row in _rows(seen)]


async def _redrawn(seen: Seen) -> None:
    frames = seen.run._drawn_frames
    await seen.until(lambda: seen.run._drawn_frames > frames + 1, "frames go by")


def test_captions_of_one_instant_are_all_shown(recording: Path) -> None:
    """The newest is at the bottom, and each has its time."""

    async def test(seen: Seen) -> None:
        seen.player.seek(3_000_000)
        await _redrawn(seen)
        assert _words(seen) == ["one", "two", "three"]
        assert all(row.endswith("3.000 s") for row in _rows(seen))

    replay(test, recording)


def test_the_newest_caption_is_bold_and_old_ones_are_dim(recording: Path) -> None:
    """One that may not have been read yet is neither."""

    async def test(seen: Seen) -> None:
        seen.player.go(_caption_records(seen)[2])
        await seen.until(lambda: _words(seen) == ["early", "one", "two"], "three captions")
        shown = seen.of("#caption", CaptionLine)._shown

        def styles(word: str) -> list[object]:
            place = shown.plain.index(word)
            return [span.style for span in shown.spans if span.start <= place < span.end]

        assert styles("early") == [DIM]
        assert styles("one") == []
        assert styles("two") == [Style(bold=True)]

    replay(test, recording)


def _caption_records(seen: Seen) -> list[int]:
    marks = seen.source.marks
    return [number for number, kind in zip(marks.records, marks.kinds, strict=True) if kind == "caption"]


@pytest.mark.parametrize(("size", "most"), sampled([((80, 24), 2), ((60, 16), 2), ((120, 40), 3)], 2))
def test_the_widgets_below_do_not_move(recording: Path, size: tuple[int, int], most: int) -> None:
    """From the purpose of the run to the last caption, long or short."""

    async def test(seen: Seen) -> None:
        rows_above = seen.of("#headline", Headline).region.y - most
        for number in (0, *_caption_records(seen)):
            seen.player.go(number)
            await _redrawn(seen)
            assert len(_rows(seen)) == most
            assert seen.of("#headline", Headline).region.y == rows_above + most

    replay(test, recording, size=size)


def test_captions_take_their_rows_from_other_lines_before_the_log(recording: Path) -> None:
    """At 80x24 the log of five nodes keeps its twelve rows."""

    async def test(seen: Seen) -> None:
        await _redrawn(seen)
        assert len(_rows(seen)) == 2
        await seen.until(lambda: seen.run.has_class("no-title"), "room is made")
        await seen.until(lambda: seen.run.views.message_log.size.height == 12, "twelve rows")

    replay(test, recording, size=(80, 24))


def test_the_purpose_is_shown_before_the_first_caption(recording: Path) -> None:
    """It is cut to the height of the captions; the script view shows it in full."""

    async def test(seen: Seen) -> None:
        assert _rows(seen)[0].startswith("  One sentence of what there is to see, and another")
        assert _rows(seen)[1].rstrip().endswith("…")
        await seen.press("semicolon")
        await seen.until(lambda: not _rows(seen), "no caption")
        assert seen.text.count("One sentence") == 1
        assert "terminals: end." in seen.text

    replay(test, recording, size=(80, 24))


def test_a_long_caption_is_shown_in_full_while_it_is_the_newest(recording: Path) -> None:
    """Earlier captions get less room."""

    async def test(seen: Seen) -> None:
        await seen.press("end")
        await seen.until(lambda: "a caption of so many words" in seen.text, "the last one")
        assert " ".join(row[2:].strip() for row in _rows(seen)) == _LONG

    replay(test, recording, size=(80, 24))


def test_without_a_purpose_there_is_no_line_before_the_first_caption(headless: Path) -> None:
    """Later there are as many lines as captions."""

    async def test(seen: Seen) -> None:
        assert _rows(seen) == []
        seen.player.seek(600_000)
        await _redrawn(seen)
        assert _words(seen) == ["early"]
        seen.player.seek(3_000_000)
        await _redrawn(seen)
        assert _words(seen) == ["one", "two", "three"]

    replay(test, headless)
