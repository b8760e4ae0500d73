"""The scenarios that come with the program: in the wheel, or beside the package in a checkout."""

from collections.abc import Sequence
from pathlib import Path

from lab.scenario.file import SUFFIX, ScenarioError
from lab.text import did_you_mean, sanitize

__all__ = ["find", "is_path", "meant", "names", "shipped"]


def shipped() -> list[Path]:
    """Their files, in the order of their names."""
    package = Path(__file__).parents[1]
    for folder in (package / "scenarios", package.parent / "scenarios"):
        if folder.is_dir():
            return sorted(folder.glob(f"*{SUFFIX}"))
    return []


def names() -> list[str]:
    """Their names."""
    return [path.stem for path in shipped()]


def is_path(named: str) -> bool:
    """Whether it names a scenario's file, and not one that comes with the program."""
    return named.endswith(SUFFIX)


def meant(named: str, others: Sequence[str] = ()) -> str:
    """``; did you mean mine.scenario?``: a file that is called so, or a name like it, of the ``others`` too."""
    file = f"{named}{SUFFIX}"
    if Path(file).is_file():
        return f"; did you mean {sanitize(file)}?"
    return did_you_mean(named, [*others, *names()])


def find(named: str) -> Path:
    """The file of the scenario that is meant by a name, or by a path. ScenarioError."""
    if is_path(named):
        near = "" if Path(named).exists() else did_you_mean(named.removesuffix(SUFFIX), names())
        if near:
            raise ScenarioError([f"there is no file {sanitize(named, 60)}{near}"])
        return Path(named)
    found = next((path for path in shipped() if path.stem == named), None)
    if found is None:
        known = f"; lab scenario list says which there are, or name a file: FILE{SUFFIX}"
        raise ScenarioError([f"there is no scenario {sanitize(named, 60)}{meant(named) or known}"])
    return found
