"""A recorded campaign in the interface: its findings, what is said of the campaign, and the replay on top."""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.widgets import Static

from lab.cli import home
from lab.places import recordings_folder
from lab.tui.apps.campaign_app import CampaignApp, CampaignScreen
from lab.tui.screen import RunScreen
from lab.tui.widgets.dialogs import FilterableList
from tests.cli.invocation import Lab
from tests.profile import sampled
from tests.tui.recorded import SHIPPED
from tests.waiting import WAIT_S

ONE_WORKER = ("--workers", "1")
CHECK = (
    *("check", "bully", "--runs", "12", "--nodes", "2-3", "--faults", "kill,pause", "--strict", "--keep-going"),
    *("--out", "first.jsonl", *ONE_WORKER),
)
EXPLORE = ("explore", "bully", "--nodes", "2", "--kills", "0-1", "--timeouts", "any", "--states", "2000")
QUIET = ("check", "bully", "--runs", "4", "--nodes", "2", "--faults", "kill", *ONE_WORKER)
OWN = "from lab.protocols import Bully\n\n\nclass Mine(Bully):\n    name = 'mine'\n"


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with campaigns: one of check with findings, one of explore, one that found nothing."""
    lab = Lab(tmp_path_factory.mktemp("campaigns"), tmp_path_factory.mktemp("h"))
    assert lab(*CHECK, "--record", "night.jsonl").status == 1
    assert lab(*EXPLORE, "--record", "explored.jsonl").status == 1
    assert lab(*QUIET, "--record", "quiet.jsonl").status == 0
    (lab.folder / "mine.py").write_text(OWN)
    own = ("check", "mine.py:Mine", *CHECK[2:])
    assert lab(*own, "--record", "own.jsonl").status == 1
    return lab.folder


class CampaignPilot:
    """The application under a pilot."""

    def __init__(self, app: CampaignApp, pilot: object) -> None:
        self.app = app
        self.pilot = pilot

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until the condition holds. Raises AssertionError that names ``what``."""
        ends_s = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < ends_s, f"not within {WAIT_S:g} s: {what}"
            await asyncio.sleep(0.01)

    @property
    def rows(self) -> list[str]:
        """The rows of the list, with their heads."""
        return [str(option.prompt) for option in self.app.screen.query_one(FilterableList).options]

    @property
    def description(self) -> str:
        """The description of the row at the cursor, in one line."""
        return " ".join(str(self.app.screen.query_one("#about Static", Static).render()).split())

    async def select(self, row: str) -> None:
        """Move the cursor to the row with this id."""
        assert self.app.screen.query_one(FilterableList).move_to(row)
        await asyncio.sleep(0)

    async def press(self, key: str) -> None:
        await self.pilot.press(key)  # type: ignore[attr-defined]

    @property
    def message(self) -> str:
        screen = self.app.screen
        assert isinstance(screen, CampaignScreen)
        return screen.message.plain


def show(
    path: Path, test: Callable[[CampaignPilot], Awaitable[None]], own: str = "", size: tuple[int, int] = (120, 40)
) -> None:
    """Open the campaign, and test it once it is read."""

    async def run() -> None:
        app = CampaignApp(path, own)
        async with app.run_test(size=size) as pilot:
            shown = CampaignPilot(app, pilot)
            await shown.until(lambda: isinstance(app.screen, CampaignScreen), "the campaign is read")
            await shown.until(lambda: shown.app.screen.query(FilterableList) and shown.rows, "it has rows")
            await test(shown)

    asyncio.run(run())


@pytest.mark.parametrize("size", sampled([(80, 24), (120, 40)], 2))
def test_enter_opens_the_smallest_finding(campaigns: Path, size: tuple[int, int]) -> None:
    """In the replay, as it would be recorded; q goes back to the list, and q again leaves."""

    async def test(shown: CampaignPilot) -> None:
        assert any("A1.1" in row and "pause n" in row and "excused: 9" in row for row in shown.rows)
        await shown.until(lambda: "smallest, 2 nodes, seed " in shown.description, "the finding is described")
        assert "lab campaign show " in shown.description
        await shown.press("enter")
        await shown.until(lambda: isinstance(shown.app.screen, RunScreen), "the replay is shown")
        screen = shown.app.screen
        assert isinstance(screen, RunScreen)
        header = screen.context.source.store.header
        assert (header.protocol.name, header.nodes) == ("bully", (1, 2))
        assert "pause 2" in header.scenario
        await shown.press("q")
        await shown.until(lambda: isinstance(shown.app.screen, CampaignScreen), "the list is shown again")
        await shown.press("q")
        await shown.until(lambda: not shown.app.is_running, "the application has ended")
        assert shown.app.return_code == 0

    show(campaigns / "night.jsonl", test, size=size)


def test_what_was_tried_judged_and_never_reached(campaigns: Path) -> None:
    """Each in the words of the report; Enter there opens nothing, and says so."""

    async def test(shown: CampaignPilot) -> None:
        for row, texts in (
            ("tried", ("12 of 12, from seed 1 on", "kill, pause", "any violation")),
            ("judged", ("A1.1", "judged in 12 of 12 runs", "excused")),
            ("reached", ("situations", "messages never delivered:", "8 (messages arrive within Tm)")),
        ):
            await shown.select(row)
            await shown.until(lambda: all(text in shown.description for text in texts), row)  # noqa: B023 - at once
        await shown.press("enter")
        await shown.until(lambda: shown.message.startswith("Enter opens a finding"), "it says what Enter does")

    show(campaigns / "night.jsonl", test)


def test_an_exploration(campaigns: Path) -> None:
    """Its set-ups are described; Enter performs the shortest path again."""

    async def test(shown: CampaignPilot) -> None:
        await shown.select("tried")
        await shown.until(lambda: "2 nodes, 1 kill, any" in shown.description, "the set-ups are listed")
        await shown.select("1")
        await shown.press("enter")
        await shown.until(lambda: isinstance(shown.app.screen, RunScreen), "the replay is shown")
        screen = shown.app.screen
        assert isinstance(screen, RunScreen)
        assert screen.context.source.store.header.run == "bully explored, timeouts any"

    show(campaigns / "explored.jsonl", test)


def test_nothing_was_found(campaigns: Path) -> None:
    async def test(shown: CampaignPilot) -> None:
        assert "  nothing was found" in shown.rows
        await shown.until(lambda: "4 of 4, from seed 1 on" in shown.description, "the first row is what was tried")

    show(campaigns / "quiet.jsonl", test)


def test_a_protocol_of_ones_own(campaigns: Path) -> None:
    """No code that a file names is executed: it has to be named."""

    async def refused(shown: CampaignPilot) -> None:
        await shown.press("enter")
        await shown.until(lambda: "name yours: --protocol" in shown.message, "it says what is missing")
        await shown.select("reached")
        await shown.until(lambda: "not known, as no code" in shown.description, "what it could reach is not known")

    async def opened(shown: CampaignPilot) -> None:
        await shown.press("enter")
        await shown.until(lambda: isinstance(shown.app.screen, RunScreen), "the replay is shown")

    show(campaigns / "own.jsonl", refused)
    show(campaigns / "own.jsonl", opened, f"{campaigns / 'mine.py'}:Mine")


def test_it_is_listed_on_the_home_screen(
    campaigns: Path, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among the recordings, of this folder and of the user's; it is no run to continue."""
    monkeypatch.setenv("XDG_DATA_HOME", str(runs.parent / "data"))
    monkeypatch.chdir(tmp_path)
    shutil.copy(campaigns / "night.jsonl", tmp_path)
    shutil.copy(SHIPPED, tmp_path / "run.jsonl")
    shutil.copy(campaigns / "explored.jsonl", recordings_folder())
    items = home.home_items()
    listed = {item.title: item for item in items if item.note.startswith("campaign, ")}
    assert set(listed) == {"night", "explored"}
    assert {item.section for item in listed.values()} == {"look: recordings"}
    assert listed["night"].variants[0].arguments == ("campaign", "show", str(tmp_path / "night.jsonl"))
    assert "A campaign of lab check: bully, 12 runs." in str(listed["night"].subject)
    assert not [item for item in items if item.section == "continue"]
