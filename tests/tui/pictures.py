"""Make the pictures of the guide: ``python -m tests.tui.pictures`` draws them all anew, from recordings.

A test compares them with the interface as it is, so they are never out of date.
"""

import asyncio
from pathlib import Path

from msgspec import Struct

from lab.tui.apps.runs_app import LabApp
from lab.tui.source import FileSource, Source
from tests.tui.seen import Seen

RECORDINGS = Path(__file__).parents[2] / "recordings"
FOLDER = RECORDINGS / "pictures"


class Picture(Struct, frozen=True):
    """A screen: the recording, the time in seconds, the keys, the size, and a text that it must show."""

    recording: str
    at_s: float
    keys: tuple[str, ...]
    shows: str
    size: tuple[int, int] = (120, 36)


_PAUSE, _GROUPS = "two-coordinators.jsonl", "scenarios/invitation-partition-in-two.jsonl"
_BANK, _CUT = "scenarios/same-blocking-crash-2pc.jsonl", "scenarios/partition-in-two.jsonl"

PICTURES = {
    "two-coordinators": Picture(_PAUSE, 6.05, ("5",), "2 COORDINATORS"),
    "rows": Picture(_PAUSE, 6.05, ("5",), "activity", (80, 24)),
    "hall": Picture(_PAUSE, 7.5, ("f11",), "████", (100, 30)),
    "diagram": Picture(_PAUSE, 6.05, ("s", "z"), "AreYouUp"),
    "assertions": Picture(_PAUSE, 6.05, ("a",), "A1.1"),
    "code": Picture(_PAUSE, 6.05, ("4", "c"), "in record 243: 5 lines"),
    "inspector": Picture(_PAUSE, 6.05, ("4", "i"), "node 4"),
    "network": Picture(_CUT, 2.3, ("l",), "partition"),
    "groups": Picture(_GROUPS, 8.0, ("g",), "group"),
    "bank": Picture(_BANK, 6.0, ("t",), "blocked"),
    "script": Picture(_CUT, 8.0, ("semicolon",), "done"),
}


def draw(name: str) -> str:
    """Return the picture with this name, as SVG."""
    picture = PICTURES[name]

    async def opened() -> Source:
        return FileSource(RECORDINGS / picture.recording)

    async def drawn() -> str:
        app = LabApp(opened, Path(picture.recording).name)
        async with app.run_test(size=picture.size) as pilot:
            seen = Seen(app, pilot)
            await seen.paused_at_start()
            seen.player.seek(round(picture.at_s * 1e6))
            await seen.press(*picture.keys)
            seen.run.query_one("#message").display = False
            await seen.until(lambda: picture.shows in seen.text, f"it shows {picture.shows}")
            shown = None
            while shown != seen.text:  # the source in colours, and what is traced, come after the first frame
                shown = seen.text
                await pilot.pause(0.3)
            return app.export_screenshot(title=f"lab · {name}")

    return asyncio.run(drawn())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PICTURES:
        (FOLDER / f"{each}.svg").write_text(draw(each), "utf-8")
