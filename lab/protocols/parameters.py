"""The parameters of a protocol, each with its default and its description from the source.

    class Parameters(Struct, frozen=True):
        hold_us: int = 0
        \"\"\"How long a node stays inside; 0: T.\"\"\"

Python discards such a string, so it is read from the source.
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

__all__ = ["Parameter", "describe_parameters", "parameters_summary"]


class Parameter(Struct, frozen=True):
    """``name`` as users write it. ``default`` of one whose ``field`` ends in ``_us`` is in microseconds."""

    name: str
    field: str
    default: Any
    description: str


def describe_parameters(protocol: type[Protocol]) -> tuple[Parameter, ...]:
    """Return the parameters of a protocol in the order of declaration."""
    descriptions = {ELECTION: "The election below the task: a built-in one, or FILE.py:CLASS."}
    for parameters in _parameter_classes(protocol):
        descriptions |= _field_descriptions(parameters)
    return tuple(
        Parameter(field.name.removesuffix("_us"), field.name, field.default, descriptions.get(field.name, ""))
        for field in msgspec.structs.fields(protocol.Parameters)
    )


def parameters_summary(protocol: type[Protocol]) -> str:
    """Return the docstrings of the parameter classes as one text, without repetitions."""
    descriptions = (" ".join((parameters.__doc__ or "").split()) for parameters in _parameter_classes(protocol))
    return " ".join(filter(None, dict.fromkeys(descriptions)))


def _parameter_classes(protocol: type[Protocol]) -> Iterator[type[Struct]]:
    """Yield the ``Parameters`` classes of all layers, bases first."""
    upper = () if protocol.upper_protocol is None else protocol.upper_protocol.__mro__
    for klass in reversed((*upper, *protocol.__mro__)):
        if klass is not Protocol and "Parameters" in vars(klass):
            yield vars(klass)["Parameters"]


def _field_descriptions(parameters: type[Struct]) -> dict[str, str]:
    """Return the string below each field; empty if there is no source, as for a class made at run time."""
    try:
        source = inspect.getsource(parameters)
    except (OSError, TypeError):
        return {}
    (klass,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(klass, ast.ClassDef)
    return {
        ast.unparse(field.target): " ".join(following.value.value.split())
        for field, following in zip(klass.body, klass.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(following, ast.Expr)
        if isinstance(following.value, ast.Constant) and isinstance(following.value.value, str)
    }
