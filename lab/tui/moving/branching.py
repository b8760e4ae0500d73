"""Branches in the interface: what screens ask the application for, the run that goes on, the tree of all."""

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
from lab.recording.lineage import Twig, family_of
from lab.text import sanitize
from lab.tui.dialog import Dialog, frame
from lab.tui.run.source import FeedSource, Source
from lab.tui.siftedlist import Entry, SiftedList
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.worlds.config import branch_config, new_run_name
from lab.worlds.host.launch import HostProcess

__all__ = ["Branched", "BranchedRun", "Left", "TreeDialog", "TreeWanted"]

_TREE_KEYS = "Enter opens one, letters seek, Esc closes"


class Branched(Message):
    """Go on from this record of the source; ``say`` tells the user what is wrong, if anything."""

    def __init__(self, source: Source, record: int, say: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.source = source
        self.record = record
        self.say = say


class TreeWanted(Message):
    """Show the recordings around the source's, and open the one that is chosen."""

    def __init__(self, source: Source, say: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.source = source
        self.say = say


class Left(Message):
    """Leave the screen; ``say`` tells why that waits."""

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__()
        self.say = say


class BranchedRun:
    """A simulated host that goes on from a record of ``parent``, for as long as this is not closed."""

    def __init__(self, source: Source, parent: Path, record: int) -> None:
        header = source.lines.header
        run = new_run_name(header.protocol.name)
        self.recording = new_recording_path(run, parent)
        self._host = HostProcess(branch_config(header, parent, record, run, str(self.recording)))

    async def opened(self) -> FeedSource:
        """Its feed, once it is there. HostFailedError, OSError."""
        ready = await asyncio.to_thread(self._host.ready)
        return await FeedSource.open(ready.socket, "driver")

    def end(self) -> None:
        """End it, with a complete recording."""
        self._host.end()
        self._host.close()


class TreeDialog(Dialog[Twig | None]):
    """The recordings in the folder of ``recording``; the result is the one that was chosen."""

    DEFAULT_CSS = """
    TreeDialog > Vertical { width: 100; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,T", "leave", "close"),
    ]

    def __init__(self, recording: Path, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._recording = recording
        self._look = theme_styles
        trees = family_of({recording, *recording.resolve().parent.glob("*.jsonl")})
        self._rows = list(_rows(trees, 0))

    def compose(self) -> ComposeResult:
        """The tree, a recording a row."""
        with Vertical() as box:
            box.border_title = "recordings and their branches"
            frame(box, subtitle=_TREE_KEYS)
            yield SiftedList(
                (
                    Entry(self._said(twig, depth), None if twig.kin is None else str(place))
                    for place, (twig, depth) in enumerate(self._rows)
                ),
                "qT",
            )

    def on_mount(self) -> None:
        """Begin at the recording that this was asked for."""
        here = self._recording.resolve()
        place = next((n for n, (twig, _) in enumerate(self._rows) if twig.path.resolve() == here), 0)
        self.query_one(OptionList).highlighted = place

    def on_sifted_list_sifted(self, event: SiftedList.Sifted) -> None:
        """Say what is sought."""
        sought = f"seek: {event.typed}, Esc ends that"
        frame(self.query_one(Vertical), subtitle=_TREE_KEYS if event.typed is None else sought)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen."""
        self.dismiss(self._rows[int(event.option_id or 0)][0])

    def _said(self, twig: Twig, depth: int) -> Text:
        here = twig.path.resolve() == self._recording.resolve()
        text = Text("   " * depth)
        text.append(sanitize(twig.path.name, 60), "bold" if here else "")
        if twig.kin is None:
            text.append("  is not there any more", self._look.warning)
            return text
        parent = twig.kin.header.parent
        if parent is not None:
            text.append(f"  from record {parent.record}, at {parent.at_us / 1e6:.3f} s", self._look.accent)
        text.append(f"  {twig.kin.header.world}; {sanitize(twig.kin.ending, 40) or 'no end'}", DIM)
        return text


def _rows(twigs: list[Twig], depth: int) -> Iterator[tuple[Twig, int]]:
    """Each with its depth, branches below what they are branches of."""
    for twig in twigs:
        yield twig, depth
        yield from _rows(twig.branches, depth + 1)
