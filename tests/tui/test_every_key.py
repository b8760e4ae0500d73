"""Every key in every view: whatever it does, the interface goes on.

In the profile ``quick``, half of all keys are pressed in the log, and a twelfth in each other view. Each action is
performed by its key, by its word or from the palette, in turn, in a recording, in a simulated run or in a live
one; the word is pasted, not typed letter by letter.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from textual._callback import invoke
from textual.events import Paste

from lab.recording.records import Link
from lab.recording.writer import Writer
from lab.tui.actions import ACTIONS, Action
from lab.tui.screen import RunScreen
from lab.tui.source import FeedSource
from lab.tui.views.views import LOG, VIEWS
from lab.tui.widgets.help import ActionProvider
from lab.worlds.loading.config import HostReady, RunConfig
from tests.analysis.split_field import split_run
from tests.harness import TIMING
from tests.profile import SOAK, sampled
from tests.tui.classroom import attempted
from tests.tui.idle import render
from tests.tui.recorded import SHIPPED, blocked_run
from tests.tui.seen import Seen, Test, over, replay, served

SCENARIOS = Path(__file__).parents[2] / "recordings" / "scenarios"
LEAVES = {"quit", "branch"}
"""What goes to another screen, or out of all of them, is pressed last."""
KEYS = [key for action in ACTIONS if action.word not in LEAVES for key in action.keys.split(",") if key]
OTHERS = ["9", "tab", "up", "down", "left", "right", "pageup", "pagedown"]
HOPS = 20
"""Turns of the event loop: a key goes to the application, to what has the keys, and up to the screen."""
SIZE = (80, 24)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make pressing a key wait only for its own effect, not until everything is idle; files go to a folder."""
    monkeypatch.chdir(tmp_path)

    async def give_way(_: float) -> None:
        for _ in range(HOPS):
            await asyncio.sleep(0)

    monkeypatch.setattr("textual.app.wait_for_idle", give_way)


async def _back(seen: Seen) -> None:
    """Close whatever was opened: dialogs and prompts."""
    for _ in range(4):
        if seen.top is seen.run and not hasattr(seen.run.focused, "value"):
            return
        await seen.pilot.press("escape")
    assert seen.top is seen.run, f"escape does not leave {seen.top}"


async def _closed(seen: Seen) -> None:
    """Close what an action opens, also what it opens a little later."""
    for _ in range(2):
        await seen.pilot.pause()
        await _back(seen)


def _keys(view: str) -> Sequence[str]:
    """Return every second key for the log; for each other view every twelfth, but in the profile ``soak`` all."""
    if SOAK:
        return KEYS
    return KEYS[::2] if view == LOG else KEYS[list(VIEWS).index(view) % 12 :: 12]


def _pressing(views: Sequence[str]) -> Test:
    """Press keys in each of these views with a node selected; then branch, return and quit."""

    async def press_all(seen: Seen) -> None:
        assert {LOG, *(action.word for action in seen.run.actions())}.issuperset(views)
        for view in views:
            for key in ("1", *_keys(view), *OTHERS):
                if seen.run.views.chosen != view:
                    seen.run.layout_controller.show_view(view)
                await seen.pilot.press(key)
                render(seen.app)
                await _back(seen)
                assert seen.app.return_code is None, (view, key)
        await _leave(seen)

    return press_all


async def _leave(seen: Seen) -> None:
    """Branch, return from the branch, and quit."""

    def runs() -> list[RunScreen]:
        return [screen for screen in seen.app.screen_stack if isinstance(screen, RunScreen)]

    await seen.pilot.press("b")
    await seen.until(lambda: len(runs()) == 2, "the branch is over it")
    await seen.until(lambda: seen.top is runs()[-1], "it has the keys")
    await seen.pilot.press("q")
    await seen.until(lambda: len(runs()) == 1, "back from the branch")
    await seen.pilot.press("q")
    await seen.until(lambda: seen.app.return_code == 0, "the end")


def _two_phases(folder: Path) -> Path:
    return blocked_run().write(folder / "blocked.jsonl")


def _field(folder: Path) -> Path:
    header, records = split_run("bully")
    writer = Writer(folder / "split.jsonl", header)
    for record in records:
        writer.append(record)
    writer.close()
    return folder / "split.jsonl"


RUNS: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "bully": (lambda _: SHIPPED, (LOG, "diagram", "code", "assertions", "compare")),
    "2pc": (_two_phases, ("bank", "inspect")),
    "invitation": (lambda _: SCENARIOS / "invitation-partition-in-two.jsonl", ("groups", "script")),
    "field": (_field, ("map",)),
    "exercise": (lambda folder: attempted(folder / "attempt.jsonl"), ("exercise",)),
}


STEERED = (LOG, "network")
"""The views in which most is done in a run that goes on."""


def test_no_view_is_left_out() -> None:
    """A new view must be tested here, too."""
    pressed = {view for _, views in RUNS.values() for view in views}
    assert pressed.union(STEERED) == VIEWS.keys()


@pytest.mark.parametrize("run", RUNS)
def test_every_key_in_every_view_of_a_recording(run: str, tmp_path: Path) -> None:
    """One recording covers the views that all have; the others cover their own."""
    recording, views = RUNS[run]
    replay(_pressing(views), recording(tmp_path), size=SIZE)


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A simulated run, frozen at the start, with hours to go."""
    config = RunConfig(
        *("keys", "bully", (1, 2, 3), TIMING, {}, Link(8_000, 3_000), 1, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )
    with served(config) as ready:
        yield ready


def _every_way(words: Sequence[str]) -> Test:
    """Perform each of these actions by its key, by its word, and from the palette if it is offered there."""

    async def perform_all(seen: Seen) -> None:
        screen, performed = seen.run, list[str]()
        perform = screen.action_do

        def record(word: str, rest: str = "") -> None:
            performed.append(word)
            if word not in LEAVES:
                perform(word, rest)

        async def from_palette(action: Action) -> None:
            """Perform it from the palette."""
            hits = [hit async for hit in ActionProvider(screen).search(action.word)]
            await invoke(max(hits, key=lambda hit: hit.score).command)

        screen.action_do = record  # type: ignore[method-assign]
        await seen.press("1")
        for number, word in enumerate(words):
            action = screen.context.actions[word]
            ways = [[key] for key in action.keys.split(",") if key]
            if word != "command":  # which opens the line on which it would be typed
                letters = [letter.replace("-", "minus") for letter in word] if SOAK else []
                ways.append(["colon", *letters, "enter"])
            if action in screen.actions():
                ways.append([])  # from the palette
            for keys in sampled(ways, len(ways), number % len(ways)):
                performed.clear()
                if not keys:
                    if action not in screen.actions():
                        continue  # a way before has done it, and there is nothing left to do
                    await from_palette(action)
                for key in keys:
                    await seen.pilot.press(key)
                    if key == "colon":
                        performed.clear()
                        if not SOAK:
                            seen.app.post_message(Paste(word))
                await seen.until(lambda: performed, f"{keys or 'the palette'} performs {word}")
                assert performed == [word], keys or "from the palette"
                await _closed(seen)
                await seen.press("1")

    return perform_all


WORDS = [action.word for action in ACTIONS]
IN_RECORDING = WORDS if SOAK else WORDS[::2]
IN_LIVE_RUN = WORDS if SOAK else WORDS[1::12]
IN_SIMULATED_RUN = WORDS if SOAK else [word for word in WORDS if word not in {*IN_RECORDING, *IN_LIVE_RUN}]
HALVES = ["one half", "the other"]


@pytest.mark.parametrize("words", [IN_RECORDING[::2], IN_RECORDING[1::2]], ids=HALVES)
def test_every_action_by_key_word_and_palette_in_a_recording(words: list[str]) -> None:
    replay(_every_way(words), size=SIZE)


@pytest.mark.parametrize("words", [IN_SIMULATED_RUN[::2], IN_SIMULATED_RUN[1::2]], ids=HALVES)
def test_every_action_by_key_word_and_palette_in_a_simulated_run(host: HostReady, words: list[str]) -> None:
    over(lambda: FeedSource.open(host.socket, "driver"), _every_way(words), SIZE)


@pytest.mark.live
def test_every_action_by_key_word_and_palette_in_a_live_run(runs: Path) -> None:
    recording = str(runs.parent / "run.jsonl")
    config = RunConfig("live", "bully", (1, 2, 3), TIMING, {}, Link(), 1, recording, (), 120_000_000)
    with served(config) as ready:
        over(lambda: FeedSource.open(ready.socket, "driver"), _every_way(IN_LIVE_RUN), SIZE)


def test_every_key_in_views_of_a_simulated_run(host: HostReady) -> None:
    """Nodes are killed there, too, links are changed, and events are chosen."""
    over(lambda: FeedSource.open(host.socket, "driver"), _pressing(STEERED), SIZE)
