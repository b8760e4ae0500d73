"""The generated parts of the guide's reference pages: Markdown from the tables that the program itself uses.

A page marks such a part with ``<!-- generated: NAME -->`` and ``<!-- end -->``; ``pytest tests/guide --rewrite``
fills it.
"""

import ast
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

import lab
import lab.kernel
import lab.protocols
from lab.cli.program import COMMANDS, load_command
from lab.exercises.draws import DrawnValues
from lab.exercises.exercise import KINDS, describe_topic
from lab.exercises.exercise import RULES as TAUGHT_RULES
from lab.exercises.exercise_reader import all_exercises
from lab.kernel import Protocol
from lab.properties.assertions import (
    ASSERTIONS,
    ASSUMPTION_NUMBERS,
    ASSUMPTIONS,
    BUILT_IN,
    BUILT_IN_ASSUMPTIONS,
)
from lab.properties.declarations import Agreement, Eventually, LeadsTo
from lab.properties.registry import assumptions_of
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.records import Record
from lab.script.verbs import VERBS
from lab.script.vocabulary import described_counts, described_states
from lab.tui.actions import actions_as_markdown
from lab.worlds.mutation.mutation_rules import RULES

__all__ = ["command_names", "fill"]

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def fill(page: str) -> str:
    """Return the page with its generated parts as the program's tables have them now."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{BLOCKS[match[2]]()}\n{match[4]}"

    return _BLOCK.sub(block, page)


def _table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *((cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verbs() -> str:
    rows = ["| command | what it does | for example |", "|---|---|---|"]
    for verb in VERBS.values():
        usage, example = (text.replace("|", "\\|") for text in (verb.usage, verb.example))
        rows.append(f"| `{usage}` | {verb.help} | `{example}` |")
    return "\n".join(rows)


def _assertions() -> str:
    def kind(name: str) -> str:
        if isinstance(ASSERTIONS[name], Agreement):
            return "invariant of pairs"
        is_liveness = isinstance(ASSERTIONS[name], Eventually | LeadsTo)
        return "liveness" if is_liveness else "safety"

    return _table(
        ("id", "in short", "kind", "statement", "relies on"),
        ((f"`{each.id}`", each.short, kind(each.id), each.statement, _relies(each.id)) for each in BUILT_IN),
    )


def _relies(name: str) -> str:
    protocols = [each for each in {**PROTOCOLS, **TASKS}.values() if name in each.promises]
    given = (protocol.relies_on.get(name) for protocol in protocols)
    found = {each for numbers in given for each in assumptions_of(ASSERTIONS[name], numbers)}
    if name == "raises":
        return "nothing"
    if found == {*ASSUMPTION_NUMBERS}:
        return "all nine assumptions"
    numbers = [str(each) if isinstance(each, int) else f"`{each}`" for each in sorted(found, key=str)]
    if not numbers:
        return "nothing"
    return f"assumption {numbers[0]}" if len(numbers) == 1 else f"assumptions {', '.join(numbers)}"


def _promises() -> str:
    return _table(
        ("protocol", "what it is", "assertions"),
        (
            (f"`{name}`", _first_line(each.__doc__), ", ".join(each.promises))
            for name, each in sorted({**PROTOCOLS, **TASKS}.items())
        ),
    )


def _assumptions() -> str:
    """Return the table of the built-in ones, whatever other protocols are loaded."""
    numbered = ((str(number), ASSUMPTIONS[number]) for number in ASSUMPTION_NUMBERS)
    named = ((f"`{each.id}`", each.statement) for each in BUILT_IN_ASSUMPTIONS)
    return _table(("no.", "assumption"), itertools.chain(numbered, named))


def _states() -> str:
    rows = [(f"`4 {name}`", text) for name, text in _all_states()]
    rows.append(("`2->3 cut`", "a cut or a partition is in force on this link"))
    return _table(("predicate", "true when"), iter(rows))


def _all_states() -> Iterator[tuple[str, str]]:
    yield from described_states().items()
    yield "suspects 5", "a request of 4 to 5 timed out, and 4 has heard nothing from 5 since"


def _counts() -> str:
    return _table(("count", "how many"), ((f"`{name}`", text) for name, text in described_counts().items()))


def _departures(name: str) -> str:
    protocol = TASKS[name] if name in TASKS else PROTOCOLS[name]
    readings = [(each.parameter, each.question, value) for each in protocol.readings for value in each.values]
    parts = []
    if readings:
        rows = (
            (f"`{parameter}={value.name}`", f"{question} {value.means}", _shown(value.found, value.recording))
            for parameter, question, value in readings
        )
        parts.append(_table(("reading", "the question, and this answer", "what follows"), rows))
    repairs = (
        (
            f"`{each.name}`",
            each.kind,
            each.does,
            _shown(f"{each.fails or 'no assertion'}: {each.without}", *each.recordings),
        )
        for each in protocol.repairs()
    )
    if protocol.repairs():
        parts.append(_table(("repair", "kind", "what it does", "what fails without it"), repairs))
    words = [str(each) for reading in protocol.readings for each in reading.rests_on]
    words += [str(each) for repair in protocol.repairs() for each in repair.rests_on]
    parts.append("The words:\n\n" + "\n".join(f"- {each}" for each in dict.fromkeys(words)))
    return "\n\n".join(parts) + "\n"


def _shown(text: str, *recordings: str) -> str:
    names = ", ".join(f"`{each}`" for each in recordings if each)
    return f"{text} ({names})" if names else text


def _matrix() -> str:
    tables = (path.read_text("utf-8").strip() for path in sorted(TRANSCRIPTS.glob("matrix_*.txt")))
    return "\n\n".join(f"```text\n{table}\n```" for table in tables) + "\n"


def command_names() -> list[str]:
    """Return the names of all commands, as typed after ``lab``."""
    return [path.removeprefix("lab ") for path, _, _ in _all_commands()]


def _command_line() -> str:
    return "\n\n".join(_command(*each) for each in _all_commands())


def _all_commands() -> Iterator[tuple[str, Callable[..., Any], str]]:
    for name in COMMANDS:
        yield from _commands(load_command(name), f"lab {name}")


def _commands(command: TyperCommand | TyperGroup, path: str) -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield the full name, function and help of a command; and then of those in it, if it is a group."""
    assert command.callback is not None
    function = inspect.unwrap(command.callback, stop=lambda each: hasattr(each, "__signature__"))
    if isinstance(command, TyperGroup):
        yield path, function, command.help or ""
        for name, each in command.commands.items():
            assert isinstance(each, TyperCommand)
            yield from _commands(each, f"{path} {name}")
    elif not command.hidden:
        yield path, function, command.help or ""


def _command(path: str, callback: Callable[..., Any], text: str) -> str:
    rows = [
        row
        for name, parameter in inspect.signature(callback, eval_str=True).parameters.items()
        if (row := _parameter(name, parameter)) is not None
    ]
    parts = [f"## {path}", _first_line(text)]
    if rows:
        parts.append(_table(("argument or option", "meaning"), iter(rows)))
    return "\n\n".join(parts)


def _parameter(name: str, parameter: inspect.Parameter) -> tuple[str, str] | None:
    if typing.get_origin(parameter.annotation) is not typing.Annotated:
        return None  # the context
    kind, *infos = typing.get_args(parameter.annotation)
    info = next((each for each in infos if isinstance(each, OptionInfo | ArgumentInfo)), None)
    if info is None or info.hidden:
        return None
    if isinstance(info, ArgumentInfo):
        label = info.metavar or name.upper().rstrip("_")
    else:
        names = (info.default, *(info.param_decls or ()))  # in Annotated, Typer's first argument is a name
        label = next((str(each) for each in names if str(each).startswith("--")), "")
        label = label or f"--{name.rstrip('_').replace('_', '-')}"
        label += "" if kind is bool else f" {info.metavar or 'TEXT'}"
    return f"`{label}`", _plain(info.help or "")


def _records() -> str:
    parts: list[str] = []
    seen: list[Any] = []
    todo: list[Any] = list(typing.get_args(Record))
    while todo:
        kind = todo.pop(0)
        if kind in seen:
            continue
        seen.append(kind)
        todo += [each for field in msgspec.structs.fields(kind) for each in _structs(field.type)]
        parts.append(_struct(kind))
    return "\n\n".join(parts)


def _struct(kind: Any) -> str:
    config = kind.__struct_config__
    tag = f'`{{"{config.tag_field}": "{config.tag}", …}}`' if config.tag else ""
    rows = (
        (
            f"`{field.encode_name}`",
            f"`{_type(field.type)}`",
            "required" if field.required else f"`{_default(field)}`",
        )
        for field in msgspec.structs.fields(kind)
    )
    head = f"{'## Record' if config.tag_field == 'record' else '### Value'} {kind.__name__}"
    parts = [head, tag, _plain(inspect.getdoc(kind) or ""), _table(("field", "type", "default"), rows)]
    return "\n\n".join(part for part in parts if part)


def _type(kind: Any) -> str:
    if isinstance(kind, type) and not typing.get_args(kind):
        return kind.__name__
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(kind))


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return msgspec.json.encode(value).decode()


def _structs(kind: Any) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [struct for argument in typing.get_args(kind) for struct in _structs(argument)]


def _exports(module: Any) -> str:
    def rows() -> Iterator[tuple[str, str]]:
        for name in (each for each in module.__all__ if not each.startswith("__")):
            value = getattr(module, name)
            described = inspect.isclass(value) or inspect.isfunction(value)
            yield (
                f"`{name}`",
                _first_line(inspect.getdoc(value) if described else _constant_docstring(module, name)),
            )

    return _table(("name", "what it is"), rows())


def _constant_docstring(package: Any, name: str) -> str:
    """Return the string below the definition of this constant, in a module of the package."""
    for path in sorted(Path(package.__file__).parent.glob("*.py")):
        for one, after in itertools.pairwise(ast.parse(path.read_text("utf-8")).body):
            match one, after:
                case (
                    ast.Assign(targets=[ast.Name(id=defined)]) | ast.AnnAssign(target=ast.Name(id=defined)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ) if defined == name:
                    return text
    raise LookupError(f"{package.__name__}.{name} has no docstring")


def _protocol_methods() -> str:
    def rows() -> Iterator[tuple[str, str]]:
        for name, value in vars(Protocol).items():
            if name.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
                continue
            text = _first_line(inspect.getdoc(value))
            if isinstance(value, property):
                yield f"`{name}`", text
            else:
                names = [each for each in inspect.signature(value).parameters if each != "self"]
                yield f"`{name}({', '.join(names)})`", text

    return _table(("member", "what it does"), rows())


def _first_line(text: str | None) -> str:
    return _plain((text or "").strip().partition("\n\n")[0])


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("``", "`").replace(r"\[", "[").replace("\b", "")).strip()


def _mutation_rules() -> str:
    return _table(("rule", "what is changed"), ((f"`{rule.id}`", rule.text) for rule in RULES))


def _node(language: str, suffix: str, name: str = "elect") -> str:
    """Return the example of a program that is a node, in this language."""
    source = Path(lab.__file__).with_name("guide") / "build" / "nodes" / f"{name}.{suffix}"
    return f"```{language}\n{source.read_text('utf-8')}```"


def _labs() -> str:
    """Return the exercises in stages, with their stages."""
    return _table(
        ("lab", "stages"),
        (
            (f"`{each.name}`", "; ".join(f"{task.title} ({task.points})" for task in each.tasks))
            for each in all_exercises()
            if each.is_in_stages
        ),
    )


def _kinds() -> str:
    """Return the kinds of exercises, with those of each kind, and what they teach."""
    found = all_exercises()
    return _table(
        ("kind", "what a student does", "exercises", "topics"),
        (
            (
                kind,
                does,
                ", ".join(f"`{each.name}`" for each in found if each.kind == kind),
                ", ".join(sorted({topic for each in found if each.kind == kind for topic in each.teaches})),
            )
            for kind, does in KINDS.items()
        ),
    )


def _topics() -> str:
    """Return what is taught, with its exercises: assertions, assumptions, and rules by their letter."""
    numbered = [name for name in ASSERTIONS if re.fullmatch(r"A\d+(\.\d)?|K1", name)]
    topics = [*numbered, *(f"assumption {number}" for number in ASSUMPTION_NUMBERS)]
    rows = [(topic, describe_topic(topic).removeprefix(topic).strip(" ()"), {topic}) for topic in topics]
    found = all_exercises()
    taught = {topic for each in found for topic in each.teaches}
    for letter, title in _RULE_GROUPS.items():
        rules = [rule for rule in TAUGHT_RULES if rule[0] == letter and rule in taught]
        rows.append((", ".join(rules), title, {*rules}))
    return _table(
        ("topic", "what it is", "exercises"),
        (
            (topic, words, ", ".join(f"`{each.name}`" for each in found if not of_row.isdisjoint(each.teaches)))
            for topic, words, of_row in rows
        ),
    )


_RULE_GROUPS = {
    "M": "the model: ids, state, storage, bounds",
    "B": "the bully",
    "T": "Tanenbaum's bully",
    "R": "the ring",
    "I": "invitation",
    "F": "the field",
    "C": "two-phase commit",
    "P": "three-phase commit",
    "K": "the token",
}


def _draws() -> str:
    """Return the exercises that draw, with the names of what is drawn and the number of different draws."""

    def count(values: DrawnValues) -> int:
        least, _, most = values.partition("-") if isinstance(values, str) else ("1", "", str(len(values)))
        return int(most) - int(least) + 1

    rows = (
        (
            f"`{each.name}`",
            "; ".join(f"{names.replace(' ', ', ')}: {count(values):,}" for names, values in each.draws.items()),
        )
        for each in all_exercises()
        if each.draws
    )
    return _table(("exercise", "what is drawn, and from how many values"), rows)


def _example(name: str) -> str:
    """Return an example in Python from the guide's folder of the builder."""
    source = Path(lab.__file__).with_name("guide") / "build" / name
    return f"```python\n{source.read_text('utf-8')}```"


BLOCKS: dict[str, Callable[[], str]] = {
    "draws": _draws,
    "topics": _topics,
    "labs": _labs,
    "kinds": _kinds,
    "node-python": lambda: _node("python", "py"),
    "node-javascript": lambda: _node("js", "js"),
    "node-go": lambda: _node("go", "go"),
    "register": lambda: _example("register.py"),
    "replicated": lambda: _example("replicated.py"),
    "node-counter": lambda: _node("python", "py", "counter"),
    "assertions": _assertions,
    "promises": _promises,
    "assumptions": _assumptions,
    "keys": actions_as_markdown,
    "commands": _verbs,
    "states": _states,
    "counts": _counts,
    "command-line": _command_line,
    "records": _records,
    "mutation-rules": _mutation_rules,
    "departures-bully": lambda: _departures("bully"),
    "departures-bully-tanenbaum": lambda: _departures("bully-tanenbaum"),
    "departures-3pc": lambda: _departures("3pc"),
    "departures-ring": lambda: _departures("ring"),
    "departures-invitation": lambda: _departures("invitation"),
    "matrix": _matrix,
    "lab": lambda: _exports(lab),
    "kernel": lambda: _exports(lab.kernel),
    "protocol-methods": _protocol_methods,
    "protocols": lambda: _exports(lab.protocols),
}
