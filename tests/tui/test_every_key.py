"""Every key in every view: whatever it does there, the interface goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.journal import Link, Writer
from lab.tui.actions import ACTIONS
from lab.tui.views import LOG, VIEWS
from lab.worlds.config import Ready, RunConfig
from tests.harness import TIMING
from tests.journal.split_field import split_run
from tests.tui.recorded import SHIPPED, blocked_run
from tests.tui.seen import Seen, attached, replay, served

SCENARIOS = Path(__file__).parents[2] / "recordings" / "scenarios"
LEAVES = {"quit", "branch", "kill", "choose"}
"""What goes to another screen, which other tests do; and what an end of the run would come of here."""
KEYS = [key for action in ACTIONS if action.word not in LEAVES for key in action.keys.split(",") if key]
OTHERS = ["1", "9", "tab", "up", "down", "left", "right", "pageup", "pagedown"]


async def _back(seen: Seen) -> None:
    """Out of whatever was opened: dialogs and lines that are typed."""
    for _ in range(4):
        if seen.top is seen.run and not hasattr(seen.run.focused, "value"):
            return
        await seen.press("escape")
    assert seen.top is seen.run, f"escape does not leave {seen.top}"


async def _press_all(seen: Seen) -> None:
    """In the views that there are in this run, whatever views and keys there will be."""
    offered = {action.word for action in seen.run.actions()}
    for kind in VIEWS:
        if kind.word not in {LOG, *offered}:
            continue
        for key in [*KEYS, *OTHERS]:
            if seen.run.views.chosen != kind.word:
                seen.run.turn_to(kind.word)
            await seen.pilot.press(key)
            await _back(seen)
            assert seen.app.return_code is None, (kind.word, key)


def _two_phases(folder: Path) -> Path:
    return blocked_run().write(folder / "blocked.jsonl")


def _field(folder: Path) -> Path:
    header, records = split_run("bully")
    writer = Writer(folder / "split.jsonl", header)
    for record in records:
        writer.append(record)
    writer.close()
    return folder / "split.jsonl"


@pytest.mark.parametrize(
    "recording",
    [
        lambda _: SHIPPED,
        _two_phases,
        lambda _: SCENARIOS / "invitation-partition-in-two.jsonl",
        _field,
    ],
    ids=["bully", "2pc", "invitation", "field"],
)
@pytest.mark.timeout(600)
def test_every_key_in_every_view_of_a_recording(recording: Callable[[Path], Path], tmp_path: Path) -> None:
    replay(_press_all, recording(tmp_path), size=(100, 30))


@pytest.fixture
def host(runs: Path) -> Iterator[Ready]:
    """A simulated run that is frozen when it begins, with hours to go."""
    config = RunConfig(
        *("keys", "bully", (1, 2, 3), TIMING, {}, Link(8_000, 3_000), 1, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )
    with served(config) as ready:
        yield ready


@pytest.mark.timeout(600)
def test_every_key_in_every_view_of_a_simulated_run(host: Ready) -> None:
    attached(_press_all, host.socket)
