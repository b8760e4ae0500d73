"""The first moments of a run, when only its header has been received."""

import asyncio
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from msgspec.structs import replace

from lab.recording.reader import open_recording
from lab.recording.records import encode
from lab.tui.source import FeedSource, Source
from lab.tui.widgets.scrub_bar import ScrubBar
from lab.worlds.feed_protocol import Clock
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, over


def _header(world: Literal["live", "simulated"]) -> bytes:
    lines = open_recording(SHIPPED)
    header = encode(replace(lines.header, world=world))
    lines.close()
    return header


@pytest.mark.parametrize(("world", "state"), [("simulated", "starting"), ("live", "live    1x")])
def test_time_starts_at_zero_before_the_first_record(
    runs: Path, world: Literal["live", "simulated"], state: str
) -> None:
    """Not at the machine's time; the pace of a simulated run is shown only once it is known."""
    path = str(runs.parent / "feed")
    texts: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(_header(world) + b"\n")
        texts.append(writer)

    async def opened() -> Source:
        servers.append(await asyncio.start_unix_server(serve, path))
        return await FeedSource.open(path, "driver")

    servers: list[asyncio.Server] = []

    async def test(seen: Seen) -> None:
        bar = seen.of("ScrubBar", ScrubBar)
        frames = seen.run._drawn_frames
        await seen.until(lambda: seen.run._drawn_frames > frames + 6, "some frames")
        assert seen.source.now_us() == seen.player.now_us == 0
        text = bar.render().plain.split("\n")[-1]
        assert text.split("◆")[0].strip() == state
        assert text.endswith(" 0.0 / 0.0 s")
        if world == "simulated":
            texts[0].write(msgspec.json.encode(Clock(2_500_000, 0, True, 1.0)) + b"\n")
            await seen.until(lambda: "\nfrozen    1x " in bar.render().plain, "its clock")
            assert bar.render().plain.endswith(" 2.5000 s")
        texts[0].close()
        servers[0].close()

    over(opened, test)
