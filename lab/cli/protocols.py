"""``lab list protocols``: what each is, what it promises and takes for granted, costs, and lets users set."""

import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lab.analysis.assumptions import ASSUMPTIONS
from lab.cli.settings import protocol_named
from lab.properties import ASSERTIONS
from lab.protocols import PROTOCOLS, TASKS, Algorithm, commit_protocol
from lab.protocols.parameters import Parameter, parameters_told, together_told
from lab.text import sanitize
from lab.units import format_us

__all__ = ["print_protocols"]

_WIDEST = 100
_MARGIN = 12


class Promise(Struct, frozen=True):
    """An assertion that holds while these assumptions do."""

    id: str
    statement: str
    assumptions: tuple[int, ...]


class Formula(Struct, frozen=True):
    """What an election or a commit costs, in which case, and where that is from."""

    formula: str
    case: str
    source: str


class Setting(Struct, frozen=True):
    """A parameter: how it is set, to what by default, and what it does."""

    name: str
    default: str
    says: str


class Described(Struct, frozen=True):
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
    """Describe all protocols, or one in more detail."""
    classes = [protocol_named(name) for name in (sorted((*PROTOCOLS, *TASKS)) if target is None else [target])]
    described = [_described(each) for each in classes]
    if as_json:
        print(msgspec.json.encode({"protocols": described}).decode())
        return 0
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    for place, (klass, each) in enumerate(zip(classes, described, strict=True)):
        if place:
            print()
        for line in _lines(each, width) if target is None else _detailed_lines(klass, each, width):
            print(sanitize(line))
    if target is None:
        print("\nmore about one: lab list protocols NAME")
    return 0


def _described(protocol: type[Algorithm]) -> Described:
    every = tuple(ASSUMPTIONS)
    return Described(
        protocol.name,
        (protocol.__doc__ or "").partition("\n")[0],
        tuple(
            Promise(name, ASSERTIONS[name].statement, protocol.relies_on.get(name, every))
            for name in protocol.promises
        ),
        (*_of_a_commit(protocol), *(Formula(cost.formula, cost.case, cost.source) for cost in protocol.costs)),
        tuple(Setting(each.name, _shown(each), each.says) for each in parameters_told(protocol)),
        together_told(protocol),
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
            "messages of a commit, of n participants besides the coordinator",
            cost.messages.counted,
        ),
        Formula(str(cost.writes), "forced writes of all of them", cost.writes.counted),
    )


def _shown(parameter: Parameter) -> str:
    if parameter.field.endswith("_us") and isinstance(parameter.default, int):
        return format_us(parameter.default)
    value: Any = parameter.default
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _lines(protocol: Described, width: int) -> Iterator[str]:
    """The summary of one."""
    yield from _table(protocol.name, [("", protocol.does)], width, indent="")
    yield from _table("promises", [(each.id, each.statement) for each in protocol.promises], width)
    yield from _table("assumes", _assumed(protocol.promises), width)
    yield from _table("costs", [(cost.formula, cost.case) for cost in protocol.costs], width)
    yield from _table(
        "to set", [(f"{each.name}={each.default}", each.says) for each in protocol.parameters], width
    )
    if protocol.parameters_do and not all(each.says for each in protocol.parameters):
        yield from _table("", [("", protocol.parameters_do)], width)
    yield from _table("commands", list(_commands(protocol)), width)


def _detailed_lines(klass: type[Algorithm], protocol: Described, width: int) -> Iterator[str]:
    """All that there is to be said of one; last the theory, as the author wrote it at the top of the file."""
    yield from _lines(protocol, width)
    yield from _table("counted", [(cost.formula, cost.source) for cost in protocol.costs], width)
    if protocol.messages:
        yield from _table("messages", [("", ", ".join(protocol.messages))], width)
    yield ""
    module = sys.modules[(klass.carries or klass).__module__]
    for paragraph in re.split(r"\n(?=\n|\* )", inspect.getdoc(module) or ""):
        yield from _paragraph(paragraph, width)


def _commands(protocol: Described) -> Iterator[tuple[str, str]]:
    for name, does in protocol.commands.items():
        example = protocol.examples.get(name)
        yield protocol.usages[name], f"{does}  ({example})" if example else does


def _paragraph(text: str, width: int) -> list[str]:
    """In lines of that width; what is indented is a table, and stays as it is."""
    if text.startswith("\n"):
        return ["", *_paragraph(text[1:], width)]
    if text.startswith(" "):
        return text.splitlines()
    return textwrap.wrap(" ".join(text.split()), width, subsequent_indent="  " if text.startswith("* ") else "")


def _assumed(promises: tuple[Promise, ...]) -> list[tuple[str, str]]:
    """For each set of assumptions, the promises that hold while those do."""
    found = []
    for assumptions in dict.fromkeys(each.assumptions for each in promises):
        held = ", ".join(each.id for each in promises if each.assumptions == assumptions)
        said = "; ".join(f"{ASSUMPTIONS[number]} ({number})" for number in assumptions) or "nothing"
        found.append((held, "all nine assumptions" if assumptions == tuple(ASSUMPTIONS) else said))
    return found


def _table(title: str, rows: list[tuple[str, str]], width: int, indent: str = "  ") -> Iterator[str]:
    """The rows beside their title, or below a long one, all texts in one column; nothing where there are none."""
    keys = max((len(key) for key, _ in rows), default=0)
    if rows and len(indent + title) >= _MARGIN:
        yield indent + title
        title = ""
    for place, (key, text) in enumerate(rows):
        begin = f"{indent}{'' if place else title}".ljust(_MARGIN) + " " + (f"{key.ljust(keys)}  " if keys else "")
        yield from textwrap.wrap(text, width, initial_indent=begin, subsequent_indent=" " * len(begin)) or [
            begin.rstrip()
        ]
