"""Find, read and check scenario files.

A file consists of a head in TOML, a line ``---``, and a script in the command language. All mistakes that can be
found without running it are reported together, each with its place in the file.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lab.foreign_file import read_foreign_text
from lab.kernel import Timing
from lab.properties.assertions import RAISES
from lab.protocols import LENSES, Algorithm
from lab.recording.records import Link, Role, names_in
from lab.script.commands import WorldCommand
from lab.script.parse import numbered_lines, read_script
from lab.script.scope import CommandError, NodeNames, Scope
from lab.script.statements import After, At, Every, ExpectViolation, Statement
from lab.text import UserError, did_you_mean, sanitize
from lab.units import format_us
from lab.worlds.loading.members import MemberTarget, members_in, protocols_of
from lab.worlds.loading.programs import lens_target, program_command
from lab.worlds.loading.roles import Wanted, named_services, roles_of
from lab.worlds.loading.settings import SettingError, Settings, parameters_of
from lab.worlds.loading.targets import (
    absolute_target,
    load_properties,
    load_protocol,
    names_file,
    sandboxed_target,
    split_target,
)
from lab.worlds.loading.user_module import TargetError
from lab.worlds.run import WATCHED

V = TypeVar("V")

MOST_NODES = 64
LONGEST_US = 600_000_000
LONGEST_TITLE = 100
"""In characters."""


class Key(Struct, frozen=True):
    """The types of a key's value, with an example."""

    types: tuple[type, ...]
    example: str
    needed: bool = False


_RULE = re.compile(r"^---[^\S\n]*$", re.MULTILINE)
_PARTS = re.compile(
    r'"{3}(?:[^"\\]++|\\.?|"{1,2}+(?!"))*+(?:"{3,5}|\Z)'  # a multi-line string
    r"|'{3}(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'  # a single-line string
    r"|'[^'\n]*+'?"
    r"|#[^\n]*"
    rf"|(?P<rule>{_RULE.pattern})",
    re.MULTILINE | re.DOTALL,
)
"""The tokens that matter for the end of the head. Possessive quantifiers avoid backtracking on any text."""
_TOML = 'the head is TOML, one key and value per line, with texts in quotes: nodes = "5"'
_TEXT = (str,)
_NUMBER = (str, int)

KEYS: dict[str, Key] = {
    "title": Key(_TEXT, 'title = "A pause makes two coordinators"', needed=True),
    "shows": Key(_TEXT, 'shows = """What to look at."""'),
    "source": Key(_TEXT, 'source = "Garcia-Molina 1982, section 4"'),
    "protocol": Key(_TEXT, 'protocol = "bully"', needed=True),
    "program": Key(_TEXT, 'program = "./my_node --verbose"'),
    "lens": Key(_TEXT, 'lens = "raft"'),
    "nodes": Key(_NUMBER, 'nodes = "5"'),
    "t": Key(_TEXT, 't = "200ms"'),
    "tm": Key(_TEXT, 'tm = "80ms"'),
    "tp": Key(_TEXT, 'tp = "40ms"'),
    "properties": Key(_TEXT, 'properties = "my_properties.py"'),
    "latency": Key(_TEXT, 'latency = "20ms"'),
    "jitter": Key(_TEXT, 'jitter = "10ms"'),
    "seed": Key(_NUMBER, "seed = 7"),
    "role": Key((dict,), 'role = { "4,5" = "ring" }'),
    "workload": Key(_TEXT, 'workload = "lin-kv"'),
    "model": Key(_TEXT, 'model = "read committed"'),
    "clients": Key(_NUMBER, "clients = 3"),
    "rate": Key(_NUMBER, "rate = 5"),
    "service": Key(_TEXT, 'service = "lin-kv,seq-kv"'),
    "set": Key((dict,), 'set = { check_every = "400ms" }'),
    "worlds": Key((list,), 'worlds = ["simulated", "live"]'),
    "for": Key(_TEXT, 'for = "8s"', needed=True),
}


class FileMistake(Struct, frozen=True):
    """A mistake in a file: line and column from 1, 0 if it has no place."""

    line: int
    column: int
    text: str


class Head(Struct, frozen=True):
    """The keys with values of the right types, and the mistakes in the others."""

    values: dict[str, Any]
    mistakes: tuple[FileMistake, ...]
    text: str

    def mistake(self, key: str, text: str) -> FileMistake:
        """Return a mistake at the place of this key, or of this parameter in ``set``."""
        line, column = _place_of(key, self.text) or _place_of("set", self.text) or (1, 0)
        return FileMistake(line, column, text)


def split_scenario(text: str) -> tuple[str, str, int]:
    """Return (the head, the script, the number of the script's first line).

    They are separated by the first line ``---`` outside the head's strings; by the first of all if a string is not
    closed. Without such a line, all is script.
    """
    rule = next((part for part in _PARTS.finditer(text) if part["rule"]), None) or _RULE.search(text)
    if rule is None:
        return "", text, 1
    head = text[: rule.start()]
    return head, text[rule.end() :].removeprefix("\n"), head.count("\n") + 2


def quoted(value: str) -> str:
    """Format a TOML string: JSON's format, with DEL escaped and unpaired surrogates replaced."""
    whole = value.encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def as_key(name: str, value: str) -> str:
    """Format a setting as in a head: ``nodes = "5"``; see ``lab.worlds.loading.settings.Written``."""
    outer, _, parameter = name.partition(" ")
    if outer == "set" and not parameter:
        parameter, _, value = value.partition("=")
        return f"set = {{ {parameter} = {value} }}"
    if outer == "role" and value:
        nodes, _, target = value.partition("=")
        return f'role = {{ "{nodes}" = "{target}" }}'
    return f'{parameter or outer} = "{value}"' if value else parameter or outer


def first_key(message: str) -> str:
    """Return the key that a message begins with, in the format of ``as_key``."""
    return message.removeprefix("set = { ").partition(" ")[0].rstrip(":")


def read_head(text: str) -> Head:
    """Parse the text before the line ``---``."""
    try:
        found = tomllib.loads(text)
        json.dumps(found, default=str)  # raises ValueError for numbers with too many digits, in hex too
    except tomllib.TOMLDecodeError as error:
        return Head({}, (_unreadable(str(error), text),), text)
    except ValueError:
        return Head(
            {}, (FileMistake(0, 0, "a number in the head has too many digits; a seed has at most 18"),), text
        )
    except RecursionError:
        return Head({}, (FileMistake(0, 0, "the head is nested too deeply; a plain list is enough"),), text)
    values = {key: value for key, value in found.items() if key in KEYS and _fits(value, KEYS[key])}
    head = Head(values, (), text)
    mistakes = [head.mistake(key, _describe_key_error(key, found[key])) for key in found if key not in values]
    mistakes += [
        FileMistake(1, 0, f"the head has no {name}: {key.example}")
        for name, key in KEYS.items()
        if key.needed and name not in found and not (name == "protocol" and "program" in found)
    ]
    return Head(values, tuple(mistakes), text)


def _fits(value: Any, key: Key) -> bool:
    return isinstance(value, key.types) and not isinstance(value, bool)


def _describe_key_error(key: str, value: Any) -> str:
    if key in KEYS:
        got = sanitize(json.dumps(value, ensure_ascii=False, default=str), 30)
        return f"{key} = {got} has the wrong type; for example: {KEYS[key].example}"
    near = did_you_mean(key, list(KEYS)) or f"; the keys are {', '.join(KEYS)}"
    return f"unknown key {sanitize(key, 30)}{near}"


def _unreadable(message: str, text: str) -> FileMistake:
    # tomllib gives the place only in the message.
    match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    line, column = (int(match[1]), int(match[2])) if match else (text.count("\n") + 1, 0)
    what = message[: match.start()] if match else message.removesuffix(" (at end of document)")
    return FileMistake(line, column, f"{what}; {_TOML}")


def _place_of(key: str, text: str) -> tuple[int, int] | None:
    """Return the line and column of a key outside of multi-line strings."""
    looked_for = re.compile(rf"(?:^|[{{,])\s*\[?\"?({re.escape(key)})\"?\s*[\]=.]")
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        match = None if inside else looked_for.search(line)
        if match is not None:
            return number, match.start(1) + 1
        inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return None


# the file


World = Literal["simulated", "live"]

SUFFIX = ".scenario"
_WORLDS: tuple[World, ...] = ("simulated", "live")
_LARGEST = 1 << 16


class ScenarioError(UserError):
    """A file with mistakes; ``mistakes`` are messages for the user, each with file, line and column."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__(*mistakes)


class Scenario(Struct, frozen=True):
    """A scenario. ``name`` is the stem of its file, ``protocol`` a target that any process can load.

    ``link`` None: the default of ``lab run``. ``wanted``: its clients and services, ``members``: the nodes with
    another protocol. ``first_line`` is the number of the first line of ``script`` in the file, ``text`` the whole
    file.
    """

    name: str
    path: str
    title: str
    shows: str
    source: str
    protocol: str
    nodes: tuple[int, ...]
    timing: Timing
    link: Link | None
    seed: int
    parameters: dict[str, Any]
    worlds: tuple[World, ...]
    ends_us: int
    script: str
    first_line: int
    text: str
    wanted: Wanted = Wanted()
    members: tuple[MemberTarget, ...] = ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the nodes outside the cluster. Raises TargetError if its protocol cannot be loaded."""
        if self.wanted == Wanted():
            return ()
        protocol = load_protocol(self.protocol)
        folder = Path(self.path).parent
        return roles_of(self.wanted, protocol, self.nodes, self.timing, self.ends_us, as_key, folder)

    @property
    def lines(self) -> list[Statement]:
        """The statements of the script, each with its line number in the file."""
        names = NodeNames.among(self.nodes, names_in(self.roles))
        return read_script(self.script, first=self.first_line, names=names)


def read_scenario(path: Path, sandbox: bool = False) -> Scenario:
    """Read the scenario in this file. Raises ScenarioError.

    A protocol file that it names is executed; with ``sandbox``, by confined processes only.
    """
    try:
        text = read_foreign_text(path)
    except OSError as error:
        raise ScenarioError([f"{path}: {error.strerror}; name a scenario file, NAME{SUFFIX}"]) from None
    return scenario_in(text, path, sandbox)


class ScenarioSummary(Struct, frozen=True):
    """A scenario in a list; ``protocol`` is as its file has it, ``worlds`` are those in which it can run."""

    name: str
    title: str
    protocol: str
    worlds: tuple[World, ...]


def read_summaries() -> list[ScenarioSummary]:
    """Read the heads of the built-in scenarios, sorted by name. Their scripts take ten times as long to parse."""
    found = []
    for path in shipped():
        head, _, _ = split_scenario(read_foreign_text(path))
        values = read_head(head).values
        worlds = _worlds(values.get("worlds", list(_WORLDS)))
        found.append(ScenarioSummary(path.stem, values["title"].strip(), values["protocol"], worlds))
    return found


def scenario_in(text: str, path: Path, sandbox: bool = False) -> Scenario:
    """Parse the text of a scenario; ``path`` is where it is, or would be. Raises ScenarioError."""
    reading = _ScenarioReader(text, path, sandbox)
    scenario = reading.scenario()
    if scenario is None:
        mistakes = sorted(reading.mistakes, key=lambda mistake: (mistake.line, mistake.column))
        raise ScenarioError([_format_mistake(path, mistake) for mistake in mistakes])
    return scenario


def _format_mistake(path: Path, mistake: FileMistake) -> str:
    place = ":".join(str(number) for number in (path, mistake.line, mistake.column) if number)
    return sanitize(f"{place}: {mistake.text}")


class _HeadSettings(Settings, frozen=True, kw_only=True):
    """The settings in the head of a scenario."""

    @staticmethod
    def written(name: str, value: str) -> str:
        return as_key(name, value)


class _ScenarioReader:
    """A parser that continues after a mistake as far as possible, to collect all mistakes."""

    def __init__(self, text: str, path: Path, sandbox: bool) -> None:
        self.mistakes: list[FileMistake] = []
        self._sandbox = sandbox
        self._text = text
        self._path = path
        self._head = Head({}, (), "")

    def scenario(self) -> Scenario | None:
        """Return the scenario; None if there are mistakes."""
        if len(self._text) > _LARGEST:
            self._wrong(FileMistake(0, 0, f"a scenario can have at most {_LARGEST >> 10} kB"))
            return None
        head_text, script, first = split_scenario(self._text)
        self._head = head = read_head(head_text if first > 1 else self._text)
        self.mistakes += head.mistakes
        if first == 1:
            last = self._text.removesuffix("\n").count("\n") + 1
            self._wrong(FileMistake(last, 0, "there is no line --- between the head and the script"))
            return None
        values = self._with_program(head.values)
        settings = _settings_in(values)
        protocol = self._protocol(settings.target) if "protocol" in values else None
        found = Scenario(
            self._path.stem,
            str(self._path),
            self._try(lambda: _title(values.get("title", "?"))) or "",
            values.get("shows", "").strip(),
            values.get("source", "").strip(),
            "" if protocol is None else protocol[0],
            self._try(lambda: _nodes(settings)) or (),
            self._try(settings.timing) or Timing(1, 0),
            self._try(settings.link),
            self._try(lambda: settings.seed_or(1)) or 0,
            {} if protocol is None else self._parameters(protocol[1], settings.set_),
            self._try(lambda: _worlds(values.get("worlds", list(_WORLDS)))) or (),
            self._try(lambda: _ends_us(settings)) or 0,
            script,
            first,
            self._text,
            self._try(lambda: _wanted(values, self._sandbox)) or Wanted(),
        )
        if protocol is not None and "role" in values:
            found = replace(found, members=self._members(values["role"], protocol[1], found))
        self._check_script(found, None if protocol is None else protocol[1])
        return None if self.mistakes else found

    # the head

    def _try(self, read: Callable[[], V]) -> V | None:
        try:
            return read()
        except SettingError as error:
            self._wrong(self._head.mistake(first_key(str(error)), str(error)))
        return None

    def _with_program(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values with the lens as protocol and the program as its parameter, if there is a program.

        Its file, and that of its lens, are relative to the folder of the scenario. It runs live only.
        """
        if "program" not in values:
            if "lens" in values:
                self._wrong(self._head.mistake("lens", 'lens requires a program: program = "./my_node"'))
            return values
        if "protocol" in values:
            self._wrong(self._head.mistake("protocol", "protocol: leave it out; a program has a lens instead"))
        if self._sandbox:
            text = "program: a program cannot be confined to a sandbox; run it without, if you trust it"
            self._wrong(self._head.mistake("program", text))
            return {**values, "protocol": next(iter(LENSES))}
        if "simulated" in values.get("worlds", ()):
            self._wrong(self._head.mistake("worlds", 'worlds: programs run only live: worlds = ["live"]'))
        folder = self._path.parent
        command = self._try(lambda: program_command(values["program"], (), as_key, folder))
        lens = values.get("lens")
        try:
            target = lens_target(None if lens is None else absolute_target(lens, folder), as_key)
        except (TargetError, SettingError) as error:
            self._wrong(self._head.mistake("lens", str(error)))
            target = next(iter(LENSES))
        parameters = {**values.get("set", {}), "program": command or ""}
        return {**values, "protocol": target, "set": parameters, "worlds": ["live"]}

    def _protocol(self, named: str) -> tuple[str, type[Algorithm]] | None:
        """Return the absolute target of the protocol and its class; None if it cannot be loaded."""
        target = absolute_target(named, self._path.parent)
        key, (named, properties) = "properties", split_target(target)
        try:
            if self._sandbox and properties:
                raise TargetError(f"{properties}: properties are executed by the judge, and not in a sandbox")
            if self._sandbox and names_file(named):
                target = sandboxed_target(target)
            if properties:
                load_properties(properties, as_key(key, "FILE.py"))
            key = "protocol"
            found = load_protocol(target)
            if found.is_program and "program" not in self._head.values:
                raise TargetError(f"{found.name} shows what programs do: leave it out, and write program and lens")
            return target, found
        except TargetError as error:
            self._wrong(self._head.mistake(key, str(error)))
            return None

    def _parameters(self, protocol: type[Algorithm], texts: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in texts:
            found |= self._try(partial(parameters_of, protocol, [each], as_key)) or {}
        return found

    def _members(
        self, texts: dict[str, Any], protocol: type[Algorithm], found: Scenario
    ) -> tuple[MemberTarget, ...]:
        """Return the nodes with another protocol. Their programs run live only."""
        pairs = [f"{nodes}={target}" for nodes, target in texts.items()]
        try:
            members = members_in(pairs, protocol, found.nodes, found.parameters, as_key, self._path.parent)
        except SettingError as error:
            self._wrong(self._head.mistake("role", str(error)))
            return ()
        if "simulated" in found.worlds and any(each.is_program for each in protocols_of(members)):
            self._wrong(self._head.mistake("role", 'role: programs run only live: worlds = ["live"]'))
        return members

    # the script

    def _check_script(self, found: Scenario, protocol: type[Algorithm] | None) -> None:
        can_run = protocol is not None and found.nodes and found.ends_us
        outside = names_in(self._try(lambda: found.roles) or ()) if can_run else {}
        scope = (
            None
            if protocol is None
            else Scope(protocol, found.nodes, found.parameters, outside, protocols_of(found.members))
        )
        numbered = list(numbered_lines(found.script, found.first_line))
        if not numbered:
            self._wrong(
                FileMistake(
                    found.first_line, 0, "the script is empty; for example: when all normal: kill coordinator"
                )
            )
        for number, text in numbered:
            try:
                (line,) = read_script(text, protocol, number, None if scope is None else scope.names)
                _check_use(line, found.worlds)
                if "for" in self._head.values:
                    _check_times(line, found.ends_us)
                if scope is not None and protocol is not None and found.nodes:
                    line.check(scope)
                    check_promise(line, protocol, found.wanted.workload)
            except CommandError as error:
                self._wrong(_located(number, str(error), text))

    def _wrong(self, mistake: FileMistake) -> None:
        self.mistakes.append(mistake)


def _settings_in(values: dict[str, Any]) -> _HeadSettings:
    """Return the values of the head as texts; without a protocol, an empty one."""
    texts = {
        name: str(values[name])
        for name in ("nodes", "t", "tm", "tp", "latency", "jitter", "seed")
        if name in values
    }
    return _HeadSettings(
        protocol=values.get("protocol", ""),
        properties=Path(values["properties"]) if "properties" in values else None,
        for_=values.get("for", "1s"),
        set_=[f"{name}={_as_text(value)}" for name, value in values.get("set", {}).items()],
        **texts,
    )


def _as_text(value: Any) -> str:
    """Format a value as ``--set`` expects it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wanted(values: dict[str, Any], is_confined: bool) -> Wanted:
    """Return the clients and services. Raises SettingError."""
    given = {name: None if (value := values.get(name)) is None else str(value) for name in ("clients", "rate")}
    services = named_services(values.get("service"))
    workload, model = values.get("workload"), values.get("model")
    return Wanted.of(workload, given["clients"], given["rate"], services, is_confined, as_key, model)


def _title(text: str) -> str:
    if not text.strip() or len(text) > LONGEST_TITLE or "\n" in text:
        raise SettingError(f"title: write one line of at most {LONGEST_TITLE} characters")
    return text.strip()


def _nodes(settings: Settings) -> tuple[int, ...]:
    nodes = settings.node_ids()
    if not 1 <= len(nodes) <= MOST_NODES:
        got = as_key("nodes", settings.nodes or "")
        raise SettingError(f"{got} is {len(nodes)} nodes; a scenario has 1 to {MOST_NODES}")
    return tuple(nodes)


def _worlds(named: list[Any]) -> tuple[World, ...]:
    for each in named:
        if each not in _WORLDS:
            near = did_you_mean(str(each), _WORLDS)
            raise SettingError(f'worlds: unknown world {str(each)!r}; write "simulated", "live" or both{near}')
    if not named:
        raise SettingError('worlds: name at least one: worlds = ["simulated"]')
    return tuple(world for world in _WORLDS if world in named)


def _ends_us(settings: Settings) -> int:
    us = settings.end_us() or 0
    if us > LONGEST_US:
        raise SettingError(
            f"{as_key('for', settings.for_ or '')}: a scenario runs for at most {format_us(LONGEST_US)}"
        )
    return us


def _check_use(line: Statement, worlds: tuple[World, ...]) -> None:
    """Raise CommandError if the line has no use in a scenario."""
    command = line.command
    if isinstance(command, WorldCommand) and command.verb == "step":
        raise CommandError("step is for interactive use; a scenario can use deliver, fire and choose")
    if isinstance(command, WorldCommand) and command.verb not in WATCHED and "live" in worlds:
        raise CommandError(
            f'{command.verb} works only in simulation, and this scenario has live runs too: worlds = ["simulated"]'
        )


def _check_times(line: Statement, ends_us: int) -> None:
    """Raise CommandError if it waits for a time after the end; ``ends_us`` is 0 if the end is unknown."""
    for trigger in line.triggers:
        if isinstance(trigger, At | After | Every) and 0 < ends_us < trigger.us:
            raise CommandError(f"{trigger} is after the end of the run, {as_key('for', format_us(ends_us))}")


def check_promise(line: Statement, protocol: type[Algorithm], workload: str | None = None) -> None:
    """Raise CommandError if the line expects a verdict on what is not judged: no promise, nor the workload."""
    command = line.command
    judged = (*protocol.promises, RAISES.id, *([] if workload is None else [workload]))
    if isinstance(command, ExpectViolation) and command.assertion and command.assertion not in judged:
        raise CommandError(
            f"{protocol.name} does not promise {command.assertion}, so there is no verdict on it; "
            f"it promises {', '.join(protocol.promises)}"
        )


def _located(number: int, message: str, text: str) -> FileMistake:
    """Return the mistake with the column that the message begins with, or that of the word that it names."""
    match = re.match(r"column (\d+): ", message)
    column = int(match[1]) if match else _column_of(message, text)
    return FileMistake(number, column, message[match.end() :] if match else message)


def _column_of(message: str, text: str) -> int:
    """Return the column of the word that a message is about; the start of the line if it is unclear.

    Candidates are the last word of the message's first clause, then its first two; one must occur once in the
    line.
    """
    words = re.findall(r"#?[\w.]+%?", re.split(r"[;:,](?:\s|$)", message)[0])
    shown = re.sub(r'"[^"]*"', lambda quoted: " " * len(quoted[0]), text)
    for word in (*words[-1:], *words[:2]):
        places = [each.start() for each in re.finditer(rf"(?<![\w#]){re.escape(word)}(?!\w)", shown)]
        if len(places) == 1:
            return places[0] + 1
    return len(text) - len(text.lstrip()) + 1


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
    if os.path.isfile(file):
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
