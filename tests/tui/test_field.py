"""The field view: a map for each group, nodes that survey nothing, and runs without a field."""

from pathlib import Path

import pytest

from lab.recording.writer import Writer
from lab.tui.views.lines_view import RenderedView
from lab.tui.views.views import Views
from tests.analysis.split_field import SPLIT_US, STRUCK_US, split_run
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay, replay_in_sizes


def _written(path: Path, election: str) -> Path:
    header, records = split_run(election)
    writer = Writer(path, header)
    for record in records:
        writer.append(record)
    writer.close()
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The field above bully, partitioned, as a file."""
    return _written(tmp_path / "split.jsonl", "bully")


def test_the_map_takes_the_place_of_the_log(recording: Path) -> None:
    """``m`` shows it and hides it. At each size both maps are shown with their state."""

    async def test(seen: Seen) -> None:
        seen.player.seek(SPLIT_US)
        await seen.press("t")
        assert seen.run.query_one("#map").display
        assert "★ 5" in seen.text
        assert "★ 2" in seen.text
        assert "refused: 2 of 5" in seen.text
        assert "edition 2 is published" in seen.text
        lines = seen.text.splitlines()
        assert any("survey 2: 24 of 64" in line and "survey 1: 47 of 64" in line for line in lines)
        await seen.press("t")
        assert not seen.run.query_one("#map").display
        assert "back to the log" in seen.message

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60)], recording)


def test_a_map_has_its_group_where_the_election_has_groups(tmp_path: Path) -> None:
    """With the identifier and colour that the panes use."""

    async def test(seen: Seen) -> None:
        seen.player.seek(SPLIT_US)
        await seen.press("t")
        await seen.until(lambda: " 5.3  ★ 5 leads 3 4" in seen.text, "the group of the upper map")
        assert " 2.3  ★ 2 leads 1" in seen.text
        plates = {
            (segment.text, segment.style.bgcolor)
            for widget, line in (("NodePanes", 1), ("NodePanes", 6), ("#map", 0))
            for segment in seen.run.query_one(widget).render_line(line)
            if segment.style is not None and segment.text in (" 2.3 ", " 5.3 ")
        }
        assert len(plates) == 2, "one colour each, and not the same"
        assert len({colour for _, colour in plates}) == 2

    replay(test, _written(tmp_path / "groups.jsonl", "invitation"))


def test_nodes_that_survey_nothing_are_listed(recording: Path) -> None:
    """In the last line."""

    async def test(seen: Seen) -> None:
        seen.player.seek(STRUCK_US)
        await seen.press("t")
        assert "not surveying: ‖ 3 paused   ✖ 4 killed" in seen.text

    replay(test, recording)


def test_a_run_without_a_field() -> None:
    """A message says how to see one."""

    async def test(seen: Seen) -> None:
        await seen.press(":map")
        assert seen.message == "bully has no field; try lab run field"
        assert seen.of("Views", Views).chosen == "log"

    replay(test, SHIPPED)


def test_without_utf8(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Surveyed regions have a mark that needs no colour."""
    monkeypatch.setenv("LC_ALL", "C")

    async def test(seen: Seen) -> None:
        seen.player.seek(SPLIT_US)
        await seen.press("t")
        drawn = "".join(
            segment.text for y in range(20) for segment in seen.run.query_one("#map", RenderedView).render_line(y)
        )
        assert "#4" in drawn
        assert "★" not in drawn

    replay(test, recording)
