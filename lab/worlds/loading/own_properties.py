"""The properties and assumptions that a file of the user's declares."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from lab.foreign_file import LARGEST_TEXT, read_foreign
from lab.properties.assertions import BUILT_IN, BUILT_IN_ASSUMPTIONS
from lab.properties.declarations import Assertion, Assumption, Declared
from lab.text import did_you_mean
from lab.worlds.loading.determinism import inputs_besides_states
from lab.worlds.loading.user_module import TargetError, load_module, located


def load_properties(file: str, usage: str = "--properties FILE.py") -> tuple[Declared, ...]:
    """Return what the file declares; ``usage`` is how the user names it.

    Raises TargetError, also if it declares no property.
    """
    path = python_file(file, usage)
    declared = declared_in(load_module(path), file)
    if not any(isinstance(each, Assertion) for each in declared):
        raise TargetError(
            f"{file} declares no property: write a function with @invariant; see lab guide properties"
        )
    first = min(inputs_besides_states(read_foreign(located(path), LARGEST_TEXT)), default=None)
    if first is not None:
        raise TargetError(f"{file}:{first.line}: {first.text}")
    return declared


def python_file(file: str, usage: str) -> Path:
    """Return the path of a Python file that exists. Raises TargetError."""
    path = Path(file)
    if not os.path.isfile(located(path)):  # false for a name that no file can have, too
        raise TargetError(f"there is no file {file}; name one of your Python files: {usage}")
    if path.suffix != ".py":
        raise TargetError(f"{file} is not a Python file; name one: {usage}")
    return path


def declared_in(module: ModuleType, file: str) -> tuple[Declared, ...]:
    """Return what the module declares, or imports from other files of the user's. Raises TargetError."""
    found = {each.id: each for each in vars(module).values() if isinstance(each, Declared) and each.place}
    built_in = {each.id: "assertion" for each in BUILT_IN} | dict.fromkeys(_ASSUMED, "assumption")
    for each in found.values():
        if each.id in built_in:
            line, kind = each.place.rpartition(":")[2], built_in[each.id]
            raise TargetError(f"{file}:{line}: {each.id} is the name of a built-in {kind}: choose another")
    return tuple(found.values())


_ASSUMED = tuple(each.id for each in BUILT_IN_ASSUMPTIONS)


def combine(own: Iterable[Declared], more: Iterable[Declared]) -> tuple[Declared, ...]:
    """Return what two files declare; of the same name, that of the second."""
    return tuple({each.id: each for each in (*own, *more)}.values())


def require_other_names(own: Iterable[Declared], more: Iterable[Declared]) -> None:
    """Raise TargetError if a second file declares what the protocol's own file does: one would be judged alone."""
    places = {each.id: each.place for each in own}
    for each in more:
        if (place := places.get(each.id, each.place)) != each.place:
            raise TargetError(f"{each.place}: {each.id} is declared in {place}, too: choose another name")


def check_assumptions(declared: Iterable[Declared], promises: Mapping[str, tuple[int | str, ...]]) -> None:
    """Raise TargetError if a property, or a promise of the protocol, relies on an unknown assumption."""
    each_of = list(declared)
    known = [*_ASSUMED, *(each.id for each in each_of if isinstance(each, Assumption))]
    relying = [(each.id, each.relies_on or (), each.place) for each in each_of if isinstance(each, Assertion)]
    relying += [(f"the promise {name}", needed, "") for name, needed in promises.items()]
    for name, needed, place in relying:
        for assumption in needed:
            if isinstance(assumption, str) and assumption not in known:
                where = f"{place}: " if place else ""
                meant = did_you_mean(assumption, known)
                text = f"{name} relies on {assumption!r}, and no function with @assumption has that name{meant}"
                raise TargetError(where + text)
