"""A recorded campaign in the interface: its findings in groups, and on top the replay of the smallest of one."""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import OptionList, Static

from lab.places import keys_file, settings_file
from lab.protocols import Algorithm
from lab.recording.reader import NotARecordingError
from lab.styles import DIM, ThemeStyles
from lab.text import UserError, sanitize
from lab.tui.apps.campaign_digest import (
    CampaignDigest,
    describe_group,
    describe_judged,
    describe_reached,
    describe_tried,
    read_campaign,
)
from lab.tui.apps.described_list import DescribedListScreen, list_bindings
from lab.tui.apps.runs_app import RunsApp
from lab.tui.source import FileSource
from lab.tui.user_keys import read_user_keys
from lab.tui.views.exercise_view import wrap
from lab.tui.widgets.dialogs import Entry
from lab.units import format_count
from lab.worlds.campaign.campaign_table import CannotRecordError, record_smallest, target_to_record
from lab.worlds.loading.targets import load_protocol

_PARTS = {
    "tried": "what was tried",
    "judged": "what was judged",
    "reached": "what was never reached",
}
_NO_FINDING = "Enter opens a finding; this row is only described"


class CampaignScreen(DescribedListScreen):
    """The findings of a campaign in groups, and what was tried, judged and never reached."""

    DEFAULT_CSS = """
    CampaignScreen FilterableList {
        height: 1fr; text-overflow: ellipsis;
        &:focus { background-tint: $foreground 0%; }
    }
    CampaignScreen #about { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = list_bindings("open the finding")
    HINT = "Enter opens a finding in the replay, letters filter, PgDn scrolls the text"
    ROOM_FOR_COLUMNS = 76

    @dataclass
    class FindingChosen(Message):
        """The user wants to see the smallest finding of the group with this number, from 1."""

        number: int

    def __init__(self, digest: CampaignDigest, protocol: type[Algorithm] | None, styles: ThemeStyles) -> None:
        super().__init__(styles)
        self._digest = digest
        self._protocol = protocol

    # the user

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        row = event.option_id or ""
        if row.isdecimal():
            self.post_message(self.FindingChosen(int(row)))
        else:
            self.message.show(_NO_FINDING)

    # drawing

    def _head(self) -> Text:
        digest, dot = self._digest, self._styles.glyphs.dot
        planned = f" of {digest.plan.runs:,}" if digest.plan.runs else ""
        total = f"{digest.runs:,}{planned} runs {dot} {sanitize(digest.path.name, 40)}"
        return Text.assemble(
            ("lab campaign", "bold"), f" {dot} ", (digest.title, self._styles.accent), f" {dot} {total}"
        )

    def _entries(self) -> Iterator[Entry]:
        digest = self._digest
        found = sum(len(group.runs) for group in digest.groups)
        counted = f": {found:,} in {format_count(len(digest.groups), 'group')}" if found else ""
        yield Entry(Text(f"FINDINGS{counted.upper()}", self._styles.accent), head=True)
        if not found:
            yield Entry(Text("  nothing was found", DIM))
        for number, group in enumerate(digest.groups, start=1):
            style = self._styles.warning if group.is_failure else ""
            broken = ", ".join(map(str, group.smallest.broken))
            excuse = f"excused: {sanitize(broken)}" if broken else "FAILURE"
            row = Text.assemble(f"  {len(group.runs):>5,}x ", (sanitize(group.smallest.assertion), style))
            row.append(f"  {excuse}  ", style or DIM)
            row.append(sanitize(group.shape))
            yield Entry(row, str(number))
        yield Entry(Text("THE CAMPAIGN", self._styles.accent), head=True)
        for row_id, title in _PARTS.items():
            yield Entry(Text(f"  {title}"), row_id)

    def _describe(self, row: str, width: int) -> Iterator[Text]:
        if row.isdecimal():
            return describe_group(self._digest, int(row), width, self._styles)
        if row == "tried":
            return describe_tried(self._digest, width, self._styles)
        if row == "judged":
            return describe_judged(self._digest, width, self._styles)
        if row == "reached":
            return describe_reached(self._digest, self._protocol, width, self._styles)
        return iter(wrap(Text("Nothing is selected: Up, Down or a click select a row.", DIM), width))


class CampaignApp(RunsApp):
    """The application over the file of a campaign; ``own`` is the user's protocol, to execute findings with.

    ``kept`` is the file of the user's layout settings. Recordings of findings are in a folder that ends with it.
    """

    def __init__(self, path: Path, own: str = "", kept: Path | None = None) -> None:
        super().__init__(kept)
        self._path = path
        self._own = own
        self._folder = tempfile.TemporaryDirectory(prefix="lab-campaign-")
        self._digest: CampaignDigest | None = None
        self._is_opening = False

    def compose(self) -> ComposeResult:
        yield Static(f"reading {sanitize(str(self._path))} …", id="reading", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._read())

    def on_unmount(self) -> None:
        self._folder.cleanup()

    async def _read(self) -> None:
        total = self.query_one("#reading", Static)
        name = sanitize(self._path.name)

        def progress(done: int) -> None:
            if done % 500 == 0:
                self.call_from_thread(total.update, f"reading {name}: {format_count(done, 'run')} …")

        try:
            digest = await asyncio.to_thread(read_campaign, self._path, progress)
        except (UserError, OSError) as error:
            self.failure = str(error)
            self.exit(return_code=1)
            return
        self._digest = digest
        protocol = None
        with contextlib.suppress(UserError):  # Enter says what is missing
            protocol = load_protocol(target_to_record(digest.plan, self._own))
        await self.push_screen(CampaignScreen(digest, protocol, self.theme_styles))

    @on(CampaignScreen.FindingChosen)
    def open_finding(self, message: CampaignScreen.FindingChosen) -> None:
        """Execute the smallest finding of a group again, and show its recording, unless that is going on."""
        if not self._is_opening:
            self._is_opening = True
            self._open_finding(message.number)

    @work
    async def _open_finding(self, number: int) -> None:
        digest = self._digest
        screen = self.screen
        assert digest is not None
        assert isinstance(screen, CampaignScreen)
        smallest = digest.groups[number - 1].smallest
        path = Path(self._folder.name, f"{digest.plan.base.protocol.name}-{smallest.assertion}-{number}.jsonl")
        screen.message.show("executing the finding again …")
        try:
            target = target_to_record(digest.plan, self._own)
            await asyncio.to_thread(record_smallest, digest.plan, smallest, target, path)
            source = FileSource(path)
        except (CannotRecordError, NotARecordingError, OSError) as error:
            screen.message.show(f"it cannot be opened: {error}", warn=True)
            return
        finally:
            self._is_opening = False
        await self._push_run(source, None, path.name, None)


def show_campaign(path: Path, own: str = "") -> int:
    """Show a campaign of ``lab check`` or ``lab explore``, and return the exit status."""
    return CampaignApp(path, own, settings_file()).show(read_user_keys(keys_file()))
