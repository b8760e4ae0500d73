"""Find the scenarios that come with the program: in the wheel, or next to the package in a checkout."""

from collections.abc import Sequence
from pathlib import Path

from lab.scenario.file import SUFFIX, ScenarioError
from lab.text import did_you_mean, sanitize

__all__ = ["find", "is_path", "names", "shipped", "suggestion"]


def shipped() -> list[Path]:
    """Return the files of the built-in scenarios, sorted by name."""
    package = Path(__file__).parents[1]
    for folder in (package / "scenarios", package.parent / "scenarios"):
        if folder.is_dir():
            return sorted(folder.glob(f"*{SUFFIX}"))
    return []


def names() -> list[str]:
    """Return the names of the built-in scenarios."""
    return [path.stem for path in shipped()]


def is_path(named: str) -> bool:
    """Return whether it is the path of a scenario file, not the name of a built-in scenario."""
    return named.endswith(SUFFIX)


def suggestion(named: str, others: Sequence[str] = ()) -> str:
    """Return ``; did you mean mine.scenario?`` for a file of that name or a similar name, or an empty text."""
    file = f"{named}{SUFFIX}"
    if Path(file).is_file():
        return f"; did you mean {sanitize(file)}?"
    return did_you_mean(named, [*others, *names()])


def find(named: str) -> Path:
    """Return the file of a scenario, given its name or path. Raises ScenarioError."""
    if is_path(named):
        near = "" if Path(named).exists() else did_you_mean(named.removesuffix(SUFFIX), names())
        if near:
            raise ScenarioError([f"there is no file {sanitize(named, 60)}{near}"])
        return Path(named)
    found = next((path for path in shipped() if path.stem == named), None)
    if found is None:
        known = f"; see lab scenario list, or name a file: FILE{SUFFIX}"
        raise ScenarioError([f"unknown scenario {sanitize(named, 60)}{suggestion(named) or known}"])
    return found
