"""What a run may set of a protocol: each parameter with its default, and what its author wrote below it.

    class Parameters(Struct, frozen=True):
        hold_us: int = 0
        \"\"\"How long a node stays inside; 0: T.\"\"\"

Python throws such a string away, so it is read out of the source.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lab.kernel import Protocol
from lab.protocols.stack import ELECTION

__all__ = ["Parameter", "parameters_told", "together_told"]


class Parameter(Struct, frozen=True):
    """``name`` as users write it. ``default`` of one whose ``field`` ends in ``_us`` is in microseconds."""

    name: str
    field: str
    default: Any
    says: str


def parameters_told(protocol: type[Protocol]) -> tuple[Parameter, ...]:
    """All that can be set, in the order in which it is declared."""
    said = {ELECTION: "The election below the task: one of the program's, or FILE.py:CLASS."}
    for parameters in _written(protocol):
        said |= _said_in(parameters)
    return tuple(
        Parameter(field.name.removesuffix("_us"), field.name, field.default, said.get(field.name, ""))
        for field in msgspec.structs.fields(protocol.Parameters)
    )


def together_told(protocol: type[Protocol]) -> str:
    """What is said of the parameters as a whole; once, where a class repeats what its base says."""
    said = (" ".join((parameters.__doc__ or "").split()) for parameters in _written(protocol))
    return " ".join(filter(None, dict.fromkeys(said)))


def _written(protocol: type[Protocol]) -> Iterator[type[Struct]]:
    """The classes in which authors wrote parameters down, of all layers, bases first."""
    upper = () if protocol.carries is None else protocol.carries.__mro__
    for klass in reversed((*upper, *protocol.__mro__)):
        if klass is not Protocol and "Parameters" in vars(klass):
            yield vars(klass)["Parameters"]


def _said_in(parameters: type[Struct]) -> dict[str, str]:
    """The string below each field; nothing where there is no source, as of a class made at run time."""
    try:
        source = inspect.getsource(parameters)
    except (OSError, TypeError):
        return {}
    (klass,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(klass, ast.ClassDef)
    return {
        ast.unparse(field.target): " ".join(below.value.value.split())
        for field, below in zip(klass.body, klass.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr)
        if isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }
