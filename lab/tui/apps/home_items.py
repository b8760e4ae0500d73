"""The items of the home screen, and the rows of its list: pure, without a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from lab.exercises.attempts import ExerciseProgress
from lab.exercises.exercise import Exercise
from lab.protocols import Algorithm
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.widgets.dialogs import DialogEntry

SECTIONS = ("continue", "new here?", "start", "learn", "look: recordings", "look: scenarios", "running")
"""In their order; the first item of the first section is preselected, and so never a run that is going on."""
_WIDEST_TITLE = 28
_LONGEST = 120
_INDENT, _GAP = "  ", "  "
_LEAST_NOTE = 12
"""With less room, a note is left out rather than cut."""


class Variant(Struct, frozen=True):
    """A way to run an item: its name, and the arguments of ``lab``."""

    name: str
    arguments: tuple[str, ...]


class ExerciseState(Struct, frozen=True):
    """An exercise, and the student's progress in it."""

    exercise: Exercise
    progress: ExerciseProgress


class ScenarioFile(Struct, frozen=True):
    """The file of a scenario."""

    path: Path


class RecordingFile(Struct, frozen=True):
    """The file of a recording."""

    path: Path


Subject = type[Algorithm] | ScenarioFile | RecordingFile | ExerciseState | str
"""The subject of a preview; a string is the description itself."""


class HomeItem(Struct, frozen=True):
    """An item of a section; the first of its ``variants`` is the default.

    Its row has the ``label``, or without one the title, and the note of the default variant; each has a short form
    for a narrow list. A folded one is listed only in an unfolded section, or if it matches the filter.
    """

    section: str
    title: str
    variants: tuple[Variant, ...]
    subject: Subject
    note: str = ""
    is_folded: bool = False
    short_note: str = ""
    label: str = ""
    short_label: str = ""

    @property
    def key(self) -> str:
        """The identity of the item among all."""
        return f"{self.section}/{self.title}"

    @property
    def is_running(self) -> bool:
        """True of a run that is going on, perhaps somebody else's."""
        return self.section == SECTIONS[-1]


class HomeChoice(Struct, frozen=True):
    """The arguments of ``lab`` that the user chose, and the list as it was: where to come back to."""

    arguments: tuple[str, ...] = ()
    key: str = ""
    typed: str | None = None
    unfolded: tuple[str, ...] = ()


def rows_of(
    items: Sequence[HomeItem],
    chosen: Mapping[str, int],
    unfolded: frozenset[str],
    styles: ThemeStyles,
    room: int = _LONGEST,
) -> Iterator[DialogEntry]:
    """Yield the rows, each with the key of its item; ``chosen`` are the places of variants other than the first.

    The last row of a section with folded items has the name of the section as its id. ``room`` is the width of a
    row.
    """
    for section, of_section in groupby(items, lambda item: item.section):
        listed = list(of_section)
        yield DialogEntry(Text(section.upper(), styles.accent), head=True)
        unfolded_titles = (
            len(item.title) for item in listed if not item.label and (not item.is_folded or section in unfolded)
        )
        width = min(_WIDEST_TITLE, max(unfolded_titles, default=0))
        for item in listed:
            yield DialogEntry(
                row_of(item, chosen.get(item.key, 0), width, room),
                item.key,
                is_folded=item.is_folded and section not in unfolded,
                also=f"{item.title} {item.note}",
                # the name of an algorithm is typed to start it, not to find a run of it
                name="" if isinstance(item.subject, RecordingFile) or item.is_running else item.title,
                by_hand=item.is_running,
            )
        count = sum(item.is_folded for item in listed)
        if count and section not in unfolded:
            yield DialogEntry(Text(f"  {count} more …", DIM), section, unfolds=True)


def row_of(item: HomeItem, variant: int, width: int, room: int = _LONGEST) -> Text:
    """Return the row of an item: its label, padded to ``width``, and its variant or its note."""
    room -= len(_INDENT)
    label = sanitize(item.label or item.title, _LONGEST)
    if cell_len(label) > room and item.short_label:
        label = sanitize(item.short_label, _LONGEST)
    note, short = item.note, item.short_note
    if len(item.variants) > 1 and (variant or not note):
        note = short = item.variants[variant].name
    width = max(width, cell_len(label))
    left = room - width - len(_GAP)
    note = sanitize(note if cell_len(note) <= left else short or note, _LONGEST)
    if cell_len(note) > left and left < _LEAST_NOTE:
        note = ""
    return Text.assemble(_INDENT, set_cell_size(label, width), _GAP if note else "", (note, DIM))
