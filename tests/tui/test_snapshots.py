"""Pictures of a replay that stands still: two coordinators, in three sizes.

They are in ``__snapshots__``; after a change that is meant, ``pytest tests/tui/test_snapshots.py
--snapshot-update`` makes them anew, and they are looked at before they are committed.
"""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from lab.tui.app import LabApp
from lab.tui.source import FileSource, Source
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_two_coordinators(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    async def opened() -> Source:
        return FileSource(SHIPPED)

    async def stand_still(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, LabApp)
        seen = Seen(pilot.app, pilot)
        await seen.standing_still()
        seen.player.seek(6_050_000)
        await seen.press("5")

    assert snap_compare(LabApp(opened, SHIPPED.name), run_before=stand_still, terminal_size=size)
