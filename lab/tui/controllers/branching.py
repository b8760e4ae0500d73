"""Branches in the interface: messages to the application, the branched run, and the tree of recordings."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList

from lab.places import new_recording_path
from lab.recording.lineage import LineageTree, lineage_of
from lab.text import sanitize
from lab.tui.source import FeedSource, Source
from lab.tui.terminal.styles import DIM, ThemeStyles
from lab.tui.widgets.dialogs import Dialog, Entry, FilterableList, frame
from lab.worlds.host.launch import HostProcess
from lab.worlds.loading.config import branch_config, new_run_name

_TREE_KEYS = "Enter opens, letters filter, Esc closes"


class Branched(Message):
    """Request to branch from a record of the source. ``show_message`` tells the user what went wrong."""

    def __init__(self, source: Source, record: int, show_message: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.source = source
        self.record = record
        self.show_message = show_message


class TreeWanted(Message):
    """Request to show the recordings related to the source's, and to open the chosen one."""

    def __init__(self, source: Source, show_message: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.source = source
        self.show_message = show_message


class Left(Message):
    """Request to leave the screen. ``show_message`` tells the user why leaving takes a moment."""

    def __init__(self, show_message: Callable[[str], object]) -> None:
        super().__init__()
        self.show_message = show_message


class BranchedRun:
    """A simulated host that continues from a record of ``parent`` until it is ended."""

    def __init__(self, source: Source, parent: Path, record: int) -> None:
        header = source.store.header
        run = new_run_name(header.protocol.name)
        self.recording = new_recording_path(run, parent)
        self._host = HostProcess(branch_config(header, parent, record, run, str(self.recording)))

    async def opened(self) -> FeedSource:
        """Return its feed as soon as it is available. Raises HostFailedError or OSError."""
        ready = await asyncio.to_thread(self._host.ready)
        return await FeedSource.open(ready.socket, "driver")

    def end(self) -> None:
        """End the run and complete its recording."""
        self._host.end()
        self._host.close()


class TreeDialog(Dialog[LineageTree | None]):
    """The recordings in the folder of ``recording``, as trees. The result is the chosen one."""

    DEFAULT_CSS = """
    TreeDialog > Vertical { width: 100; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,T", "leave", "close"),
    ]

    def __init__(self, recording: Path, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._recording = recording
        self._theme_styles = theme_styles
        trees = lineage_of({recording, *recording.resolve().parent.glob("*.jsonl")})
        self._rows = list(_rows(trees, 0))

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "recordings and their branches"
            frame(box, subtitle=_TREE_KEYS)
            yield FilterableList(
                (
                    Entry(self._row_text(tree, depth), None if tree.info is None else str(place))
                    for place, (tree, depth) in enumerate(self._rows)
                ),
                "qT",
            )

    def on_mount(self) -> None:
        """Highlight the recording that the dialog was opened for."""
        here = self._recording.resolve()
        place = next((n for n, (tree, _) in enumerate(self._rows) if tree.path.resolve() == here), 0)
        self.query_one(OptionList).highlighted = place

    def on_filterable_list_filter_changed(self, event: FilterableList.FilterChanged) -> None:
        """Show the text that filters the list."""
        sought = f"filter: {event.typed}, Esc removes it"
        frame(self.query_one(Vertical), subtitle=_TREE_KEYS if event.typed is None else sought)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._rows[int(event.option_id or 0)][0])

    def _row_text(self, tree: LineageTree, depth: int) -> Text:
        here = tree.path.resolve() == self._recording.resolve()
        text = Text("   " * depth)
        text.append(sanitize(tree.path.name, 60), "bold" if here else "")
        if tree.info is None:
            text.append("  no longer exists", self._theme_styles.warning)
            return text
        parent = tree.info.header.parent
        if parent is not None:
            text.append(f"  from record {parent.record}, at {parent.at_us / 1e6:.3f} s", self._theme_styles.accent)
        text.append(f"  {tree.info.header.world}; {sanitize(tree.info.ending, 40) or 'unfinished'}", DIM)
        return text


def _rows(trees: list[LineageTree], depth: int) -> Iterator[tuple[LineageTree, int]]:
    """Yield each tree with its depth, branches below their parent."""
    for tree in trees:
        yield tree, depth
        yield from _rows(tree.branches, depth + 1)
