"""``lab list protocols``: describe protocols, their promises, assumptions, costs, parameters and commands."""

import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from lab.analysis.assumptions import ASSUMPTIONS
from lab.cli.run_options import find_protocol
from lab.properties import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Algorithm, commit_protocol
from lab.protocols.parameters import Parameter, describe_parameters, parameters_summary
from lab.text import sanitize
from lab.units import format_us

__all__ = ["print_protocols"]

_WIDEST = 100
_MARGIN = 13


class Promise(Struct, frozen=True):
    """An assertion, and the assumptions under which it holds."""

    id: str
    statement: str
    assumptions: tuple[int, ...]


class Formula(Struct, frozen=True):
    """The cost of an election or a commit, the case it is for, and its source."""

    formula: str
    case: str
    source: str


class Setting(Struct, frozen=True):
    """A parameter: its name, default value and description."""

    name: str
    default: str
    description: str = field(name="says")


class ProtocolDescription(Struct, frozen=True):
    """A protocol as it describes itself."""

    name: str
    does: str
    promises: tuple[Promise, ...]
    costs: tuple[Formula, ...]
    parameters: tuple[Setting, ...]
    parameters_do: str
    commands: dict[str, str]
    usages: dict[str, str]
    examples: dict[str, str]
    messages: tuple[str, ...]


def print_protocols(target: str | None, as_json: bool) -> int:
    """Describe all protocols, or one in detail."""
    classes = [find_protocol(name) for name in (sorted((*PROTOCOLS, *TASKS)) if target is None else [target])]
    describe_state = [_described(each) for each in classes]
    if as_json:
        print(msgspec.json.encode({"protocols": describe_state}).decode())
        return 0
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    for place, (klass, each) in enumerate(zip(classes, describe_state, strict=True)):
        if place:
            print()
        for line in _lines(each, width) if target is None else _detailed_lines(klass, each, width):
            print(sanitize(line))
    if target is None:
        print("\nDetails of one: lab list protocols NAME")
    return 0


def _described(protocol: type[Algorithm]) -> ProtocolDescription:
    every = tuple(ASSUMPTIONS)
    return ProtocolDescription(
        protocol.name,
        (protocol.__doc__ or "").partition("\n")[0],
        tuple(
            Promise(name, ASSERTIONS[name].statement, protocol.relies_on.get(name, every))
            for name in protocol.promises
        ),
        (*_of_a_commit(protocol), *(Formula(cost.formula, cost.case, cost.source) for cost in protocol.costs)),
        tuple(Setting(each.name, _shown(each), each.description) for each in describe_parameters(protocol)),
        parameters_summary(protocol),
        {name: own.does for name, own in protocol.commands.items()},
        {name: own.usage for name, own in protocol.commands.items()},
        {name: own.example for name, own in protocol.commands.items() if own.example},
        tuple(sorted(protocol.payloads)),
    )


def _of_a_commit(protocol: type[Algorithm]) -> tuple[Formula, ...]:
    commit = commit_protocol(protocol)
    if commit is None or commit.cost is None:
        return ()
    cost = commit.cost
    return (
        Formula(
            str(cost.messages),
            "messages of a commit, with n participants besides the coordinator",
            cost.messages.counted,
        ),
        Formula(str(cost.writes), "forced writes of all nodes", cost.writes.counted),
    )


def _shown(parameter: Parameter) -> str:
    if parameter.field.endswith("_us") and isinstance(parameter.default, int):
        return format_us(parameter.default)
    value: Any = parameter.default
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _lines(protocol: ProtocolDescription, width: int) -> Iterator[str]:
    """Yield the lines of the summary of a protocol."""
    yield from _table(protocol.name, [("", protocol.does)], width, indent="")
    yield from _table("promises", [(each.id, each.statement) for each in protocol.promises], width)
    yield from _table("assumes", _assumed(protocol.promises), width)
    yield from _table("costs", [(cost.formula, cost.case) for cost in protocol.costs], width)
    yield from _table(
        "parameters", [(f"{each.name}={each.default}", each.description) for each in protocol.parameters], width
    )
    if protocol.parameters_do and not all(each.description for each in protocol.parameters):
        yield from _table("", [("", protocol.parameters_do)], width)
    yield from _table("commands", list(_commands(protocol)), width)


def _detailed_lines(klass: type[Algorithm], protocol: ProtocolDescription, width: int) -> Iterator[str]:
    """Yield the full description; last the theory, from the docstring of the protocol's module."""
    yield from _lines(protocol, width)
    yield from _table("derived", [(cost.formula, cost.source) for cost in protocol.costs], width)
    if protocol.messages:
        yield from _table("messages", [("", ", ".join(protocol.messages))], width)
    yield ""
    module = sys.modules[(klass.upper_protocol or klass).__module__]
    for paragraph in re.split(r"\n(?=\n|\* )", inspect.getdoc(module) or ""):
        yield from _paragraph(paragraph, width)


def _commands(protocol: ProtocolDescription) -> Iterator[tuple[str, str]]:
    for name, does in protocol.commands.items():
        example = protocol.examples.get(name)
        yield protocol.usages[name], f"{does}  ({example})" if example else does


def _paragraph(text: str, width: int) -> list[str]:
    """Wrap a paragraph; an indented one is a table, and kept as it is."""
    if text.startswith("\n"):
        return ["", *_paragraph(text[1:], width)]
    if text.startswith(" "):
        return text.splitlines()
    return textwrap.wrap(" ".join(text.split()), width, subsequent_indent="  " if text.startswith("* ") else "")


def _assumed(promises: tuple[Promise, ...]) -> list[tuple[str, str]]:
    """Return, for each set of assumptions, the promises that hold under it."""
    found = []
    for assumptions in dict.fromkeys(each.assumptions for each in promises):
        held = ", ".join(each.id for each in promises if each.assumptions == assumptions)
        text = "; ".join(f"{ASSUMPTIONS[number]} ({number})" for number in assumptions) or "nothing"
        found.append((held, "all nine assumptions" if assumptions == tuple(ASSUMPTIONS) else text))
    return found


def _table(title: str, rows: list[tuple[str, str]], width: int, indent: str = "  ") -> Iterator[str]:
    """Yield the rows next to their title, or below a long one, with the texts aligned."""
    keys = max((len(key) for key, _ in rows), default=0)
    if rows and len(indent + title) >= _MARGIN:
        yield indent + title
        title = ""
    for place, (key, text) in enumerate(rows):
        begin = f"{indent}{'' if place else title}".ljust(_MARGIN) + " " + (f"{key.ljust(keys)}  " if keys else "")
        yield from textwrap.wrap(text, width, initial_indent=begin, subsequent_indent=" " * len(begin)) or [
            begin.rstrip()
        ]
