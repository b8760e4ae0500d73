"""Pictures of replays that stand still: two coordinators, in several views, a blocked transaction; and of home.

They are in ``__snapshots__``; after a change that is meant, ``pytest tests/tui/test_snapshots.py
--snapshot-update`` makes them anew, and they are looked at before they are committed.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from lab.protocols import CURRICULUM
from lab.tui.apps.home_app import HomeApp
from lab.tui.apps.home_items import HomeItem, RecordingFile, Variant
from lab.tui.apps.runs_app import LabApp
from lab.tui.source import FileSource, Source
from lab.tui.views.code_view import CodeView
from tests.profile import sampled
from tests.tui.recorded import BLOCKED_US, SHIPPED, blocked_run
from tests.tui.seen import Seen
from tests.waiting import WAIT_S

SIZES = sampled([(80, 24), (120, 40), (200, 60)], 2)
Snap = Callable[..., bool]


def _is_as_before(
    snap: Snap,
    file: Path,
    size: tuple[int, int],
    at_us: int,
    key: str,
    is_complete: Callable[[Seen], bool] = lambda _: True,
) -> bool:
    """Compare the recording at that instant, after this key, with its picture, once that is complete."""

    async def opened() -> Source:
        return FileSource(file)

    async def stand_still(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, LabApp)
        seen = Seen(pilot.app, pilot)
        await seen.paused_at_start()
        seen.player.seek(at_us)
        await seen.press(key)
        await seen.until(lambda: is_complete(seen), "the picture is complete")

    return snap(LabApp(opened, file.name), run_before=stand_still, terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_two_coordinators(snap_compare: Snap, size: tuple[int, int]) -> None:
    """Node 5 is selected."""
    assert _is_as_before(snap_compare, SHIPPED, size, 6_050_000, "5")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_blocked_transaction(snap_compare: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    """With the bank view."""
    file = blocked_run().write(tmp_path / "blocked.jsonl")
    assert _is_as_before(snap_compare, file, size, BLOCKED_US, "t")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_space_and_time(snap_compare: Snap, size: tuple[int, int]) -> None:
    """The second coordinator has just been elected while the first is paused."""
    assert _is_as_before(snap_compare, SHIPPED, size, 5_720_000, "s")


@pytest.mark.parametrize("key", ["l", "i", "a"])
def test_a_view(snap_compare: Snap, key: str) -> None:
    """The network, one node, the assertions at the same instant."""
    assert _is_as_before(snap_compare, SHIPPED, (120, 40), 5_720_000, key)


def test_the_code(snap_compare: Snap) -> None:
    """The lines that the node executed, and the words of the text next to them."""

    def is_traced(seen: Seen) -> bool:
        ran = seen.of("#code", CodeView)._ran
        return ran is not None and ran.is_exact

    assert _is_as_before(snap_compare, SHIPPED, (120, 40), 2_950_000, "c", is_traced)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_home(snap_compare: Snap, size: tuple[int, int]) -> None:
    """With the preview of a recording, which is made in the background."""
    items = [
        HomeItem("continue", "two-coordinators", (Variant("", ("replay", SHIPPED.name)),), RecordingFile(SHIPPED)),
        *(HomeItem("start", name, (Variant("", ("run", name)),), "", "five nodes") for name in CURRICULUM),
        HomeItem("learn", "tour", (Variant("", ("tour",)),), "", "five steps, five minutes"),
        HomeItem("learn", "first-election", (Variant("", ("tour",)),), "", is_folded=True),
        HomeItem("running", "ring-1", (Variant("", ("attach", "ring-1")),), "", "since 2026-11-24 11:01"),
    ]
    app = HomeApp(items)

    async def previewed(pilot: Pilot[tuple[str, ...]]) -> None:
        ends_s = time.monotonic() + WAIT_S
        while "violated" not in str(app.query_one("#preview > Static", Static).render()):
            assert time.monotonic() < ends_s, "the preview"
            await pilot.pause(0.02)

    assert snap_compare(app, run_before=previewed, terminal_size=size)
