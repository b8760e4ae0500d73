"""``lab list``: list the active runs, or describe the protocols.

A protocol is described by its promises, assumptions, costs, parameters and commands.
"""

import ast
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import one_of
from lab.cli.program import app
from lab.cli.terminal import UsageError
from lab.output import print_line
from lab.properties.assertions import ASSERTIONS, ASSUMPTION_NUMBERS, ASSUMPTIONS
from lab.properties.registry import assumptions_of
from lab.protocols import PROTOCOLS, TASKS, Algorithm
from lab.protocols.cost import Formula
from lab.protocols.departures import Reading, Repair, recording_of
from lab.protocols.parameters import Parameter, describe_parameters, parameters_summary
from lab.protocols.sources import summary_of
from lab.protocols.texts import transcriptions_of
from lab.protocols.transcription import Transcription, rules_of
from lab.units import format_ranges, format_us
from lab.worlds.host.runs import RunInfo, list_runs
from lab.worlds.loading.targets import load_protocol

_LISTED = ("runs", "protocols")


@app.command("list")
def list_(
    what: Annotated[str, Argument(metavar="[runs|protocols]", help="What to list.")] = "runs",
    protocol: Annotated[
        str | None,
        Argument(metavar="[PROTOCOL]", help="Describe this protocol in detail: a name, or FILE.py:CLASS."),
    ] = None,
    text: Annotated[
        bool, Option("--text", help="Print the text that the protocol follows, with each line of code.")
    ] = False,
    json: Json = False,
) -> int:
    """List the active runs, or describe the protocols.

    lab list also removes the folders of runs whose host process has crashed; their recordings are kept.
    """
    if one_of("lab list", what, _LISTED) == "protocols":
        if not text:
            return _print_protocols(protocol, json)
        if protocol is None or json:
            raise UsageError("lab list protocols NAME --text takes the name of one protocol, and no --json")
        return _print_text(protocol)
    if protocol is not None:
        raise UsageError(f"lab list runs takes no name; leave out {protocol}")
    if text:
        raise UsageError("lab list runs takes no --text; write lab list protocols NAME --text")
    return _print_runs(json)


def _print_runs(as_json: bool) -> int:
    """Print the active runs and the protocols; as JSON, only the runs."""
    running, removed = list_runs()
    if as_json:
        print_json(RunsDocument(tuple(running), tuple(removed)))
        return 0
    for name in removed:
        print_line(f"removed the files of {name}, whose host has crashed")
    if not running:
        print_line("no active runs")
    for info in running:
        world = "" if info.world == "live" else f" {info.world},"
        nodes = f"{world} nodes {format_ranges(info.nodes)}"
        print_line(f"{info.run}  {info.protocol},{nodes}, since {info.began}, process {info.pid}")
        print_line(f'    lab attach {info.run}    lab ctl {info.run} "kill {info.nodes[-1]}"')
    print_line("protocols:")
    known = {**PROTOCOLS, **TASKS}
    longest = max(map(len, known))
    for name, protocol in sorted(known.items()):
        print_line(f"  {name.ljust(longest)}  {summary_of(protocol)}")
    print_line("details: lab list protocols")
    return 0


# protocols

_WIDEST = 100
_MARGIN = 13
_QUOTED = 12


def _print_protocols(target: str | None, as_json: bool) -> int:
    """Describe all protocols, or one in detail."""
    protocols = [load_protocol(name) for name in (sorted((*PROTOCOLS, *TASKS)) if target is None else [target])]
    if as_json:
        print_json(ProtocolsDocument(tuple(map(_summary, protocols))))
        return 0
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    for place, protocol in enumerate(protocols):
        if place:
            print_line()
        for line in _lines(protocol, width) if target is None else _detailed_lines(protocol, width):
            print_line(line)
    if target is None:
        print_line()
        print_line("Details of one: lab list protocols NAME")
    return 0


class PromiseSummary(Struct, frozen=True):
    """A promise and the assumptions that it needs; ``assumptions_if``: those of other readings that differ.

    ``not_if``: the readings that do not promise it.
    """

    id: str
    statement: str
    assumptions: tuple[int | str, ...]
    assumptions_if: dict[str, tuple[int | str, ...]]
    not_if: tuple[str, ...]


class ParameterSummary(Struct, frozen=True):
    """A parameter, with its default as ``--set`` has it."""

    name: str
    default: str
    description: str


class ProtocolSummary(Struct, frozen=True):
    """A protocol. ``readings`` and ``repairs`` are its departures from its text; commands are by their word."""

    name: str
    does: str
    promises: tuple[PromiseSummary, ...]
    costs: tuple[Formula, ...]
    readings: tuple[Reading, ...]
    repairs: tuple[Repair, ...]
    parameters: tuple[ParameterSummary, ...]
    parameters_do: str
    commands: dict[str, str]
    usages: dict[str, str]
    examples: dict[str, str]
    messages: tuple[str, ...]


class ProtocolsDocument(Document, frozen=True):
    """All protocols, or one."""

    protocols: tuple[ProtocolSummary, ...]


class RunsDocument(Document, frozen=True):
    """The active runs, and the folders of dead hosts that were removed."""

    runs: tuple[RunInfo, ...]
    removed: tuple[str, ...]


def _summary(protocol: type[Algorithm]) -> ProtocolSummary:
    (_, usual), *others = _assumptions(protocol).items()
    return ProtocolSummary(
        name=protocol.name,
        does=summary_of(protocol),
        promises=tuple(
            PromiseSummary(
                name,
                ASSERTIONS[name].statement,
                assumed,
                {reading: other[name] for reading, other in others if other.get(name, assumed) != assumed},
                tuple(reading for reading, other in others if name not in other),
            )
            for name, assumed in usual.items()
        ),
        costs=tuple(protocol.formulas()),
        readings=tuple(protocol.readings),
        repairs=tuple(protocol.repairs()),
        parameters=tuple(
            ParameterSummary(each.name, _default_of(each), each.description)
            for each in describe_parameters(protocol)
        ),
        parameters_do=parameters_summary(protocol),
        commands={name: own.does for name, own in protocol.commands.items()},
        usages={name: own.usage for name, own in protocol.commands.items()},
        examples={name: own.example for name, own in protocol.commands.items() if own.example},
        messages=tuple(sorted(protocol.payloads)),
    )


def _assumptions(protocol: type[Algorithm]) -> dict[str, dict[str, tuple[int | str, ...]]]:
    """Return the assumptions of each promise, by the reading of the text, as ``--set`` has it; first the usual."""
    chosen = {"": protocol.Parameters()} | {
        f"{reading.parameter}={value.name}": protocol.Parameters(**{reading.parameter: value.name})
        for reading in protocol.readings
        for value in reading.values[1:]
    }
    return {
        reading: {
            name: assumptions_of(ASSERTIONS[name], protocol.relied_on(parameters).get(name))
            for name in protocol.promises_with(parameters)
        }
        for reading, parameters in chosen.items()
    }


def _default_of(parameter: Parameter) -> str:
    if parameter.field.endswith("_us") and isinstance(parameter.default, int):
        return format_us(parameter.default)
    value: Any = parameter.default
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _lines(protocol: type[Algorithm], width: int) -> Iterator[str]:
    """Yield the lines of the summary of a protocol."""
    parameters, parameters_do = describe_parameters(protocol), parameters_summary(protocol)
    yield from _table(protocol.name, [("", summary_of(protocol))], width, indent="")
    yield from _table("promises", [(name, ASSERTIONS[name].statement) for name in protocol.promises], width)
    yield from _table("assumes", _assumed(protocol), width)
    yield from _table("costs", [(each.formula, each.case) for each in protocol.formulas()], width)
    yield from _table(
        "parameters", [(f"{each.name}={_default_of(each)}", each.description) for each in parameters], width
    )
    if parameters_do and not all(each.description for each in parameters):
        yield from _table("", [("", parameters_do)], width)
    commands = [
        (own.usage, f"{own.does}  ({own.example})" if own.example else own.does)
        for own in protocol.commands.values()
    ]
    yield from _table("commands", commands, width)


def _detailed_lines(protocol: type[Algorithm], width: int) -> Iterator[str]:
    """Yield the full description; last the theory, from the docstring of the protocol's module."""
    yield from _lines(protocol, width)
    yield from _table("derived", [(each.formula, each.source) for each in protocol.formulas()], width)
    yield from _table("readings", [row for each in protocol.readings for row in _reading_rows(each)], width)
    yield from _table("repairs", [row for each in protocol.repairs() for row in _repair_rows(each)], width)
    if protocol.payloads:
        yield from _table("messages", [("", ", ".join(sorted(protocol.payloads)))], width)
    yield ""
    module = sys.modules[(protocol.upper_protocol or protocol).__module__]
    for paragraph in re.split(r"\n(?=\n|\* )", inspect.getdoc(module) or ""):
        yield from _paragraph(paragraph, width)


def _reading_rows(reading: Reading) -> Iterator[tuple[str, str]]:
    yield reading.parameter, reading.question
    for value in reading.values:
        shown = f" ({recording_of(value.recording)})" if value.recording else ""
        yield f"  {value.name}", f"{value.means}. {value.found}{shown}"
    yield from (("", str(each)) for each in reading.rests_on)


def _repair_rows(repair: Repair) -> Iterator[tuple[str, str]]:
    shown = ", ".join(map(recording_of, repair.recordings))
    yield repair.name, f"{repair.kind}: {repair.does}"
    yield "  without", f"{repair.without}: {repair.fails or 'no assertion'} fails ({shown})"
    yield from (("", str(each)) for each in repair.rests_on)


def _assumed(protocol: type[Algorithm]) -> list[tuple[str, str]]:
    """Return, for each set of assumptions, the promises that hold under it; then those of other readings."""
    (_, usual), *others = _assumptions(protocol).items()
    found = _grouped(usual)
    for reading, assumed in others:
        changed = {name: each for name, each in assumed.items() if each != usual[name]}
        found += [("", f"{held} with {reading}: {text}") for held, text in _grouped(changed)]
        found += [("", f"{name} with {reading}: not promised") for name in usual if name not in assumed]
    return found


def _grouped(assumed: dict[str, tuple[int | str, ...]]) -> list[tuple[str, str]]:
    found = []
    for assumptions in dict.fromkeys(assumed.values()):
        held = ", ".join(name for name in assumed if assumed[name] == assumptions)
        text = "; ".join(f"{ASSUMPTIONS.get(each, each)} ({each})" for each in assumptions) or "nothing"
        found.append((held, "all nine assumptions" if assumptions == ASSUMPTION_NUMBERS else text))
    return found


# texts


def _print_text(target: str) -> int:
    """Print the code of a text: each line with the words that it carries out, or the reason for it."""
    protocol = load_protocol(target)
    transcriptions = list(transcriptions_of(protocol))
    if not transcriptions:
        known = ", ".join(sorted(name for name, each in PROTOCOLS.items() if any(transcriptions_of(each))))
        raise UsageError(f"the text of {protocol.name} is not there line by line; it is of {known}")
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    for transcription in transcriptions:
        for line in _text_lines(transcription, width):
            print_line(line)
    return 0


def _text_lines(transcription: Transcription, width: int) -> Iterator[str]:
    text, source = transcription.text, transcription.source()
    yield f"{text}, {text.title}"
    yield f"{transcription.protocol.__name__} in {inspect.getsourcefile(transcription.protocol)}"
    functions = (each for each in source.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    rules = {each.name: rules_of(each) for each in functions}
    for passage in transcription.passages:
        members = ", ".join(" ".join((name, *rules.get(name, ()))) for name in passage.members)
        yield from ("", *_indented(f"{passage.place}: {members}", "", width))
        for line in transcription.code_of(passage, source):
            yield from _indented(line.code, f"{line.number:>5}  ", width)
            for quoted in line.words:
                yield from _indented(f"“{quoted.words}”", " " * _QUOTED, width)
            yield from _indented(line.added, " " * _QUOTED, width)
        for words, reason in passage.idle.items():
            yield from _indented(f"“{words}”: {reason}", "    -  ", width)
    yield from ("", "not in the text")
    for member, reason in transcription.added.items():
        yield from _indented(f"{member}: {reason}", "    -  ", width)


def _indented(text: str, begin: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=begin, subsequent_indent=" " * len(begin))


def _paragraph(text: str, width: int) -> list[str]:
    """Wrap a paragraph; an indented one is a table, and kept as it is."""
    if text.startswith("\n"):
        return ["", *_paragraph(text[1:], width)]
    if text.startswith(" "):
        return text.splitlines()
    return textwrap.wrap(" ".join(text.split()), width, subsequent_indent="  " if text.startswith("* ") else "")


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
