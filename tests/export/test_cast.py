"""A film of the interface: a player shows what the interface shows, with the chapters of the run."""

import asyncio
import io
import json
import re
import shutil
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyte
import pytest
from msgspec import Struct

from lab.export.excerpt import ExportError, ExportOptions, Film, read_excerpt
from lab.export.film import chapters_of
from lab.recording.reader import open_recording
from lab.tui.apps.cast import write_cast
from tests.export.fault_recordings import excerpt_in, exported
from tests.harness import Rig
from tests.profile import SOAK
from tests.tui.seen import Seen, replay
from tests.tui.terminal import Terminal

RECORDINGS = Path(__file__).parents[2] / "recordings"
TWO = RECORDINGS / "two-coordinators.jsonl"
COLUMNS, ROWS = 100, 30
_CODES = re.compile(r"\x1b\[(\d+;\d+H|[\d;]*m|2J|\?25[hl])")


class Cast(Struct):
    """A cast file: its header and its events."""

    head: dict[str, Any]
    events: list[tuple[float, str, str]]

    def shown(self, at_s: float) -> str:
        """Return what a terminal shows at that time."""
        return _shown("".join(data for time_s, what, data in self.events if what == "o" and time_s <= at_s))


def _shown(output: str) -> str:
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(screen).feed(output)
    return "\n".join(screen.display)


def _cast(path: Path = TWO, view: str = "log", from_s: float = 4.0, until_s: float = 7.0) -> Cast:
    film = Film(COLUMNS, ROWS, frames_per_s=4, view=view)
    options = ExportOptions(round(from_s * 1e6), round(until_s * 1e6), film=film)
    head, *events = map(json.loads, exported(write_cast, path, options).splitlines())
    return Cast(head, events)


@pytest.fixture(scope="module")
def two() -> Cast:
    """The recording in which a pause makes two coordinators."""
    return _cast()


def _shows(seen: Seen, picture: str) -> bool:
    """Compare except for the play symbol, and for what is more precise while nothing plays."""
    return re.sub(r"(\d+\.\d)\d\d / ", r"  \1 / ", seen.text.replace("▶", "‖")) == picture


@pytest.mark.parametrize("view", ["log", "diagram"])
def test_a_player_shows_what_the_interface_shows(view: str) -> None:
    """Every second frame is equal, cell by cell."""
    cast = _cast(view=view)

    async def compared(seen: Seen) -> None:
        if view != "log":
            seen.run.layout_controller.show_view(view)
        for half_s in range(1, 6 if SOAK else 4):
            seen.player.seek(4_000_000 + half_s * 500_000)
            seen.run.context.notify("")
            film = cast.shown(half_s / 2).replace("▶", "‖")
            await seen.until(partial(_shows, seen, film), f"the film's picture\n{film}")

    replay(compared, TWO, (COLUMNS, ROWS))


def test_the_header(two: Cast) -> None:
    """It has the version, size, start date and name; a simulated run has no start date."""
    assert two.head == {
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "timestamp": 1795285852,
        "title": open_recording(TWO).header.run,
    }
    assert "timestamp" not in _cast(RECORDINGS / "scenarios" / "figure-10-8.jsonl", until_s=4.2).head


def test_events_are_in_order_and_hold_only_changes(two: Cast) -> None:
    """After the first frame, each has fewer rows than the screen."""
    assert all(before[0] <= after[0] for before, after in pairwise(two.events))
    assert {what for _, what, _ in two.events} == {"o", "m"}
    pictures = [data for _, what, data in two.events if what == "o"]
    rows = [len(re.findall(r"\x1b\[\d+;1H", picture)) for picture in pictures]
    assert rows[0] == ROWS
    assert 0 < sum(rows[1:]) < ROWS * len(rows) * 2 // 3
    assert two.events[-1][0] == 3.0


def test_chapters_are_markers(two: Cast) -> None:
    """Each marker follows the frame that shows it."""
    chapters = chapters_of(excerpt_in(TWO, ExportOptions(4_000_000, 7_000_000)))
    markers = [(time_s, data) for time_s, what, data in two.events if what == "m"]
    assert [title for _, title in markers] == [chapter.title for chapter in chapters]
    for (time_s, _), chapter in zip(markers, chapters, strict=True):
        assert 0 <= time_s - (chapter.at_us - 4_000_000) / 1e6 <= 0.25
    paused_s = next(time_s for time_s, title in markers if title == "pause 5")
    assert "paused" in two.shown(paused_s)
    assert "paused" not in two.shown(paused_s - 0.25)


def test_a_film_is_deterministic() -> None:
    """Nothing in it depends on a clock or on the load of the machine."""
    until_s = 5.0 if SOAK else 4.5
    assert _cast(until_s=until_s) == _cast(until_s=until_s)


def test_it_can_be_made_in_a_thread_while_the_interface_runs() -> None:
    """The export dialog does this: the filmed screen is not the visible one."""
    film = Film(COLUMNS, ROWS, frames_per_s=4)

    def filmed() -> str:
        out = io.StringIO()
        write_cast(read_excerpt(open_recording(TWO), ExportOptions(4_500_000, 5_000_000, film=film)), out)
        return out.getvalue()

    async def made(seen: Seen) -> None:
        before = seen.text
        assert '"m","pause 5"' in await asyncio.to_thread(filmed)
        await seen.pilot.pause(0)
        assert seen.text == before

    replay(made, TWO, (COLUMNS, ROWS))


def test_no_codes_come_from_a_foreign_recording(tmp_path: Path) -> None:
    """Frames and chapters contain only the codes that position and colour rows."""
    rig = Rig([1, 2]).started()
    rig.do('at 100ms: say "x"')
    rig.run(500_000)
    path = rig.write(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"text":"x"', b'"text":"\\u001b]0;x\\u0007\\u009b2J"'))
    cast = _cast(path, from_s=0, until_s=0.5)
    for _, _, data in cast.events:
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", _CODES.sub("", data))
    assert "\\x1b]0;x\\x07\\x9b2J" in [data for _, what, data in cast.events if what == "m"]


def test_what_cannot_be_filmed_is_refused() -> None:
    """An unknown view, a view that the run does not have, or only some of the nodes."""
    with pytest.raises(ExportError, match=r"^unknown view 'x'; the views are exercise, log, diagram, "):
        _cast(view="x")
    with pytest.raises(ExportError, match=r"^--view bank: bully has no bank; "):
        _cast(view="bank")
    with pytest.raises(ExportError, match=r"^a cast shows the interface with all nodes: leave out --nodes$"):
        exported(write_cast, TWO, ExportOptions(nodes=(1,)))


@pytest.mark.skipif(shutil.which("asciinema") is None, reason="asciinema is not installed")
def test_asciinema_plays_it(tmp_path: Path) -> None:
    """``asciinema cat`` leaves the last frame on the terminal."""
    path = tmp_path / "run.cast"
    film = Film(COLUMNS, ROWS, frames_per_s=4)
    path.write_text(exported(write_cast, TWO, ExportOptions(6_000_000, 7_000_000, film=film)), "utf-8")
    head, *events = map(json.loads, path.read_text("utf-8").splitlines())
    played = f"import os; os.execvp('asciinema', ['asciinema', 'cat', {str(path)!r}])"
    with Terminal("-c", played, environment={"LC_ALL": "C.UTF-8"}) as terminal:
        assert terminal.status() == 0
        terminal.shows(events[-1][2])
        assert _shown(terminal.output.decode()) == Cast(head, events).shown(9.0)


def test_a_run_with_an_invalid_start_date_can_be_filmed(tmp_path: Path) -> None:
    """A foreign header may hold any text."""
    header, _, rest = TWO.read_bytes().partition(b"\n")
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(re.sub(rb'"began":"[^"]*"', b'"began":"some day"', header) + b"\n" + rest)
    assert "timestamp" not in _cast(path, until_s=4.6).head
