"""Everything that shows a recording shows its scheduling stalls."""

from pathlib import Path
from typing import Any

import pytest

from lab.cli.show import ShowOptions, show
from lab.export.formats import FORMATS
from lab.recording.log_lines import lines_of
from lab.recording.reader import open_recording
from lab.recording.records import Stall, decode, encode
from lab.recording.timeline import Timeline
from tests.export.windows import excerpt_in, written
from tests.recording.samples import eventful_lines, execute_again, write_lines
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay

PLACE = 30
OF_HOST, OF_NODE = "the machine stood still for 11.4s", "not scheduled for 352ms"


def _with_stalls(path: Path, lines: list[bytes]) -> Path:
    """Write the recording with a stall of the host and one of node 2 after that record."""
    at_us = getattr(decode(lines[PLACE]), "at_us", 0)
    stalls = [encode(Stall(at_us, 11_400_000)), encode(Stall(at_us, 352_000, 2))]
    return write_lines(path, [*lines[: PLACE + 1], *stalls, *lines[PLACE + 1 :]])


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return _with_stalls(tmp_path / "run.jsonl", [*eventful_lines()])


def test_the_log_has_a_line_for_each(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.text for line in lines_of(0, Stall(1, 352_000, 2))] == [OF_NODE]
    assert show(ShowOptions(recording, only=["stall"])) == 0
    rows = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert rows == [f"stall: {OF_HOST}", f"2        stall: {OF_NODE}"]


@pytest.mark.parametrize("name", ["svg", "html", "text", "mermaid", "perfetto", "csv", "jsonl", "shiviz"])
def test_an_export_has_them(recording: Path, name: str) -> None:
    """ShiViz knows nodes alone."""
    store = open_recording(recording)
    form = next(each for each in FORMATS if each.name == name)
    options: dict[str, Any] = {"table": "events"} if name in ("csv", "jsonl") else {}
    if name == "mermaid":
        options = {"until_us": 80_000}
    text = written(form.write, excerpt_in(store, **options))
    assert OF_NODE in text
    assert (OF_HOST in text) == (name != "shiviz")
    store.close()


def test_the_state_of_the_cluster_is_the_same(recording: Path, tmp_path: Path) -> None:
    """A stall changes nothing but the number of lines of the log."""
    plain = open_recording(write_lines(tmp_path / "plain.jsonl", eventful_lines()))
    store = open_recording(recording)
    before, after = Timeline(plain).at(PLACE).snapshot(), Timeline(store).at(PLACE + 2).snapshot()
    assert (after.nodes, after.in_flight, after.lines) == (before.nodes, before.in_flight, before.lines + 2)


def test_a_stall_of_an_unknown_node_does_not_verify(tmp_path: Path) -> None:
    lines = [*eventful_lines()]
    put = encode(Stall(1_000_000, 352_000, 77))
    report = execute_again(write_lines(tmp_path / "run.jsonl", [*lines[:PLACE], put, *lines[PLACE:]]))
    assert "a stall of node 77, which is not in the header" in report.differences[0].text


def test_the_interface_shows_them(tmp_path: Path) -> None:
    """In the log and in the diagram; a search finds them."""
    path = _with_stalls(tmp_path / "run.jsonl", SHIPPED.read_bytes().splitlines())

    async def test(seen: Seen) -> None:
        seen.player.go(PLACE + 2)
        await seen.press("slash")
        await seen.type("what:stall")
        await seen.press("enter")
        assert OF_HOST in seen.text
        assert OF_NODE in seen.text
        await seen.press("escape", "s")
        assert OF_HOST[:20] in seen.view

    replay(test, path, size=(200, 60))
