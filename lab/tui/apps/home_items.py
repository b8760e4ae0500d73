"""The items of the home screen, and the rows of its list: pure, without a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from rich.cells import set_cell_size
from rich.text import Text

from lab.exercises.attempts import ExerciseProgress
from lab.exercises.exercise import Exercise
from lab.protocols import Algorithm
from lab.styles import DIM, ThemeStyles
from lab.text import sanitize
from lab.tui.widgets.dialogs import Entry

SECTIONS = ("continue", "new here?", "start", "learn", "look: recordings", "look: scenarios", "running")
"""In their order; the first item of the first section is preselected, and so never a run that is going on."""
_WIDEST_TITLE = 28
_LONGEST = 120


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

    A folded one is listed only in an unfolded section, or if it matches the filter.
    """

    section: str
    title: str
    variants: tuple[Variant, ...]
    subject: Subject
    note: str = ""
    is_folded: bool = False

    @property
    def key(self) -> str:
        """The identity of the item among all."""
        return f"{self.section}/{self.title}"


def rows_of(
    items: Sequence[HomeItem], chosen: Mapping[str, int], unfolded: frozenset[str], styles: ThemeStyles
) -> Iterator[Entry]:
    """Yield the rows, each with the key of its item; ``chosen`` are the places of variants other than the first.

    The last row of a section with folded items has the name of the section as its id.
    """
    for section, of_section in groupby(items, lambda item: item.section):
        listed = list(of_section)
        yield Entry(Text(section.upper(), styles.accent), head=True)
        unfolded_titles = (len(item.title) for item in listed if not item.is_folded or section in unfolded)
        width = min(_WIDEST_TITLE, max(unfolded_titles, default=0))
        for item in listed:
            is_folded = item.is_folded and section not in unfolded
            yield Entry(row_of(item, chosen.get(item.key, 0), width), item.key, is_folded=is_folded)
        count = sum(item.is_folded for item in listed)
        if count and section not in unfolded:
            yield Entry(Text(f"  {count} more …", DIM), section)


def row_of(item: HomeItem, variant: int, width: int) -> Text:
    """Return the row of an item: its title, padded to ``width``, and its variant or its note."""
    title = sanitize(item.title, _LONGEST)
    note = item.variants[variant].name if len(item.variants) > 1 else item.note
    return Text.assemble(
        f"  {set_cell_size(title, max(width, len(title)))}", (f"  {sanitize(note, _LONGEST)}", DIM)
    )
