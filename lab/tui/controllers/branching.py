"""Act on the run as a whole: branch from it, open or compare a related recording, write it to a file, leave it.

The application opens and leaves runs, so it is asked by messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Input, Static

from lab.recording.lineage import LineageTree, lineage_of
from lab.recording.reader import NotARecordingError
from lab.scenario.file import SUFFIX
from lab.styles import DIM, ThemeStyles
from lab.text import UserError, sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.layout import LayoutController
from lab.tui.views.views import Views
from lab.tui.widgets.dialogs import FileDialog, ListDialog


@dataclass
class RunRequest(Message):
    """A request to the application, which answers the user through ``context``."""

    context: RunContext


@dataclass
class BranchRequested(RunRequest):
    """Branch from a record of the recording ``parent``, and show the branch."""

    parent: Path
    record: int


@dataclass
class RecordingChosen(RunRequest):
    """Show this recording."""

    recording: Path


@dataclass
class ExportRequested(RunRequest):
    """Export the recording; ``options`` is the format and the file, as far as they were typed."""

    recording: Path
    options: str
    heartbeats: bool


class LeaveRequested(RunRequest):
    """Go back to the screen below."""


class RunController:
    """Asks the application, and shows the dialogs about the file of the recording."""

    def __init__(self, context: RunContext, views: Views, layout: LayoutController) -> None:
        self._context = context
        self._views = views
        self._layout = layout
        self.actions: dict[str, ActionHandler] = {
            "branch": self._branch,
            "branches": self._show_tree,
            "compare": self._compare,
            "export": self._export,
            "write": self._write_scenario,
            "quit": lambda: context.post(LeaveRequested(context)),
        }

    def _branch(self) -> None:
        if recording := self._recording(", so it cannot be branched"):
            context, record = self._context, self._context.player.number
            context.player.go(record)  # the way back leads to this moment
            clock = context.source.clock if context.source.controls_time else None
            if clock is not None and not clock.frozen:
                context.execute("freeze")
            context.notify(f"branching from record {record} …")
            context.post(BranchRequested(context, recording, record))

    def _show_tree(self) -> None:
        context = self._context
        if recording := self._recording():
            dialog = TreeDialog(recording, context.styles)
            context.show_dialog(dialog, lambda path: context.post(RecordingChosen(context, path)))

    def _compare(self, file: str) -> None:
        """Show or hide the recording that is compared; without one, open the file or ask for it."""
        context, view = self._context, self._views.compare
        if file:
            self._open_other(Path(file))
        elif not view.is_empty:
            self._layout.show_view("compare")
        elif context.source.recording is None:
            text = "the file of this run's recording is unknown; :compare FILE opens another one"
            context.notify(text, warn=True)
        else:
            dialog = TreeDialog(context.source.recording, context.styles, "compare with another recording")
            if dialog.has_others:
                context.show_dialog(dialog, self._open_other)
            else:
                folder = sanitize(str(context.source.recording.parent), 60)
                context.notify(f"there is no other recording in {folder}; :compare FILE opens one", warn=True)

    def _open_other(self, path: Path) -> None:
        view = self._views.compare
        try:
            view.open(path.expanduser())
        except (NotARecordingError, RuntimeError, ValueError) as error:
            self._context.notify(str(error), warn=True)
            return
        if self._views.chosen != view.id:
            self._layout.show_view("compare")

    def _export(self, options: str) -> None:
        if recording := self._recording():
            self._context.post(ExportRequested(self._context, recording, options, self._views.rows.heartbeats))

    def _write_scenario(self) -> None:
        context = self._context
        if recording := self._recording():
            context.show_dialog(ScenarioDialog(recording, context.styles), context.notify)

    def _recording(self, effect: str = "") -> Path | None:
        """Return the file of the run's recording; say so if it is unknown."""
        recording = self._context.source.recording
        if recording is None:
            self._context.notify(f"the file of this run's recording is not known here{effect}", warn=True)
        return recording


class TreeDialog(ListDialog[Path]):
    """The recordings in the folder of ``recording``, as trees. The result is the chosen one.

    With a title for a choice among the others, ``recording`` cannot be chosen, and its parent is preselected.
    """

    DEFAULT_CSS = "TreeDialog > Vertical { width: 100; }"

    def __init__(self, recording: Path, styles: ThemeStyles, title_for_others: str = "") -> None:
        title = title_for_others or "recordings and their branches"
        super().__init__(title, "Enter opens · type to filter · Esc closes")
        self._recording = recording
        self._only_others = bool(title_for_others)
        self._styles = styles
        trees = lineage_of({recording, *recording.resolve().parent.glob("*.jsonl")})
        self._rows = list(_rows(trees, 0))

    def on_mount(self) -> None:
        results = [tree.path if self._can_be_chosen(tree) else None for tree, _ in self._rows]
        place = next((n for n, (tree, _) in enumerate(self._rows) if self._is_here(tree)), 0)
        if self._only_others:
            chosen = [n for n, result in enumerate(results) if result is not None]
            place = min(chosen, key=lambda n: (n > place, abs(n - place)), default=0)  # its parent is above it
        texts = (self._row_text(tree, depth) for tree, depth in self._rows)
        self.put(zip(texts, results, strict=True), place)

    @property
    def has_others(self) -> bool:
        """True if there is a recording besides this one that can be opened."""
        return any(tree.info is not None and not self._is_here(tree) for tree, _ in self._rows)

    def _can_be_chosen(self, tree: LineageTree) -> bool:
        return tree.info is not None and not (self._only_others and self._is_here(tree))

    def _is_here(self, tree: LineageTree) -> bool:
        return tree.path.resolve() == self._recording.resolve()

    def _row_text(self, tree: LineageTree, depth: int) -> Text:
        here = self._is_here(tree)
        text = Text("   " * depth)
        text.append(sanitize(tree.path.name, 60), "bold" if here else "")
        if tree.info is None:
            text.append("  no longer exists", self._styles.warning)
            return text
        parent = tree.info.header.parent
        if parent is not None:
            text.append(f"  from record {parent.record}, at {parent.at_us / 1e6:.3f} s", self._styles.accent)
        text.append(f"  {tree.info.header.world}; {sanitize(tree.info.ending, 40) or 'unfinished'}", DIM)
        return text


def _rows(trees: list[LineageTree], depth: int) -> Iterator[tuple[LineageTree, int]]:
    """Yield each tree with its depth, branches below their parent."""
    for tree in trees:
        yield tree, depth
        yield from _rows(tree.branches, depth + 1)


_ASKED = "lab scenario from RECORDING --shrink makes a shorter one"


class ScenarioDialog(FileDialog):
    """Asks for the file."""

    DEFAULT_CSS = """
    ScenarioDialog Static { height: auto; max-height: 6; margin-top: 1; }
    """
    refusals: ClassVar[tuple[type[Exception], ...]] = (NotARecordingError, UserError)

    def __init__(self, recording: Path, styles: ThemeStyles) -> None:
        super().__init__("write this run as a scenario to the file", "Enter writes it · Esc closes", styles)
        self._recording = recording

    def compose_box(self) -> ComposeResult:
        yield Input(f"{self._recording.stem}{SUFFIX}", select_on_focus=False)
        yield Static(_ASKED, id="answer", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        try:
            path = Path(event.value.strip()).expanduser()
            path = path if path.suffix or not path.name else path.with_suffix(SUFFIX)
            if path.name:
                self.begin(path)
            else:
                self.show_text("type the name of a file, or press Esc to close", warn=True)
        except (OSError, RuntimeError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            self.show_text(f"{event.value} cannot be written: {reason}; type another name", warn=True)

    def make(self, path: Path) -> str:
        from lab.scenario.from_recording import ScenarioSource, make_scenario  # noqa: PLC0415 - rarely needed, slow

        made = make_scenario(ScenarioSource(self._recording, folder=path.parent), False, self.on_progress)
        path.write_text(made.text, "utf-8")
        doubts = "".join(f"; but {doubt}" for doubt in made.doubts[:1])
        return f"written to {path.absolute()}; lab run {path} runs it{doubts}"
