"""``lab scenario``: list, print, check and create scenarios."""

import os
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from rich.table import Table
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import OwnProtocol, command, command_group, complete_scenario, writable
from lab.cli.progress import Progress
from lab.cli.scenario_check import ScenarioCheckOptions, check_scenarios
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_facts,
    print_paragraphs,
    print_table,
)
from lab.output import print_error, print_line, print_text
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.records import ProtocolInfo
from lab.scenario.file import (
    LONGEST_TITLE,
    SUFFIX,
    Scenario,
    ScenarioSummary,
    World,
    find,
    read_head,
    read_scenario,
    read_summaries,
    split_scenario,
)
from lab.scenario.from_recording import ScenarioSource, make_scenario
from lab.text import sanitize
from lab.units import format_ranges, format_us
from lab.worlds.loading.user_module import TargetError

group = command_group(
    "scenario",
    "List, print, check and create scenarios.\n\nA scenario is a scripted run that checks its outcome. "
    "[bold]lab run NAME[/bold] runs one; [bold]lab guide scenarios[/bold] explains how to write one.",
)

_LONGEST_WORD = 40

Named = Annotated[
    str,
    Argument(
        metavar="NAME|FILE",
        help="A scenario by name, or your own: FILE.scenario.",
        autocompletion=complete_scenario,
    ),
]


class ScenarioListDocument(Document, frozen=True):
    """The built-in scenarios."""

    scenarios: tuple[ScenarioSummary, ...]


@group.command("list")
def list_(
    word: Annotated[
        str, Argument(metavar="WORD", help="List only scenarios with this text in their name, title or protocol.")
    ] = "",
    json: Json = False,
) -> int:
    """List the built-in scenarios, grouped by protocol."""
    found = [
        each
        for each in read_summaries()
        if word.lower() in " ".join((each.name, each.title, each.protocol)).lower()
    ]
    if not found:
        text = sanitize(word, _LONGEST_WORD)
        raise UsageError(f"no scenario matches {text!r}; all scenarios: lab scenario list")
    order = [*PROTOCOLS, *TASKS]
    found.sort(
        key=lambda each: (
            order.index(each.protocol) if each.protocol in order else len(order),
            each.protocol,
            each.name,
        )
    )
    if json:
        print_json(ScenarioListDocument(tuple(found)))
        return 0
    table = Table(box=None, pad_edge=False, expand=os.isatty(1))
    table.add_column("name", no_wrap=True)  # never shortened, as users type it
    table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("runs in", no_wrap=True)
    for protocol, rows in groupby(found, key=attrgetter("protocol")):
        table.add_row(sanitize(protocol), style="bold")
        for each in rows:
            worlds = "both worlds" if each.worlds[1:] else each.worlds[0]
            table.add_row(f"  {sanitize(each.name)}", sanitize(each.title), worlds)
    print_table(table)
    return 0


class ScenarioLine(Struct, frozen=True):
    """A line of a script, and its number in the file."""

    line: int
    text: str


class ScenarioShowDocument(Document, frozen=True):
    """A scenario: its description, settings and script; ``settings`` are the parameters set, as ``name=value``."""

    name: str
    file: str
    title: str
    shows: str
    source: str
    protocol: str
    settings: tuple[str, ...]
    nodes: tuple[int, ...]
    t_us: int
    tm_us: int
    tp_us: int
    seed: int
    worlds: tuple[World, ...]
    ends_us: int
    script: tuple[ScenarioLine, ...]


@group.command()
def show(name: Named, json: Json = False) -> int:
    """Print a scenario: its description, settings and script."""
    scenario = read_scenario(find(name))
    if json:
        print_json(_describe(scenario))
        return 0
    print_line(scenario.title)
    print_line()
    print_paragraphs(scenario.shows)
    timing = scenario.timing
    info = ProtocolInfo("", scenario.parameters, "", "")
    print_facts(
        [
            ("source", scenario.source),
            ("protocol", _protocol_written(scenario)),
            ("set", ", ".join(setting.replace("=", " = ", 1) for setting in info.settings)),
            ("nodes", format_ranges(scenario.nodes)),
            ("T", f"{format_us(timing.t_us)} (Tm {format_us(timing.tm_us)}, Tp {format_us(timing.tp_us)})"),
            ("worlds", ", ".join(scenario.worlds)),
            ("duration", format_us(scenario.ends_us)),
            ("file", scenario.path),
        ]
    )
    print_line()
    for each in _script_of(scenario):
        print_line(f"{each.line:4}  {each.text}".rstrip())
    return 0


def _script_of(scenario: Scenario) -> tuple[ScenarioLine, ...]:
    lines = scenario.script.removesuffix("\n").split("\n")
    return tuple(ScenarioLine(number, line) for number, line in enumerate(lines, scenario.first_line))


def _describe(scenario: Scenario) -> ScenarioShowDocument:
    timing = scenario.timing
    return ScenarioShowDocument(
        name=scenario.name,
        file=scenario.path,
        title=scenario.title,
        shows=scenario.shows,
        source=scenario.source,
        protocol=_protocol_written(scenario),
        settings=tuple(ProtocolInfo("", scenario.parameters, "", "").settings),
        nodes=scenario.nodes,
        t_us=timing.t_us,
        tm_us=timing.tm_us,
        tp_us=timing.tp_us,
        seed=scenario.seed,
        worlds=scenario.worlds,
        ends_us=scenario.ends_us,
        script=_script_of(scenario),
    )


def _protocol_written(scenario: Scenario) -> str:
    """Return the protocol as the scenario's file has it, without resolving the path."""
    head, _, _ = split_scenario(scenario.text)
    return str(read_head(head).values["protocol"])


@command(
    group,
    epilog="""Examples:\n
    lab scenario check\n
    lab scenario check coordinator-dies --live --runs 10\n
    lab scenario check my.scenario folder --sim --junit report.xml""",
)
def check(options: ScenarioCheckOptions) -> int:
    """Run scenarios and report failures.

    Each scenario runs in simulation, on real processes, or both, as it declares. It fails if an expectation is not
    met; if a line of its script is never reached, is refused or has no effect; if a fault touches no message and
    no node; if a node raises an error; or if an assertion that no line expects to be violated fails with all its
    assumptions intact.

    Exit status: 0 all passed, 1 one failed, 2 usage error or a mistake in a file, 130 Ctrl-C.
    """
    return check_scenarios(options)


class ScenarioFromDocument(Document, frozen=True):
    """A scenario made from a recording: its ``text``, and the file it was written to, if it was.

    ``reproduces``: run in simulation, it has the outcome of the recording. ``notes`` say what of the recording is
    missing in it, ``doubts`` what is wrong with it.
    """

    recording: str
    file: str | None
    reproduces: bool
    text: str
    notes: tuple[str, ...]
    doubts: tuple[str, ...]


@group.command(
    "from",
    epilog="""Examples:\n
    lab scenario from run.jsonl -o my.scenario\n
    lab scenario from run.jsonl --shrink --title "A pause makes two coordinators" -o pause.scenario""",
)
def from_(
    recording: Annotated[Path, Argument(metavar="RECORDING", help="Any recording, live or simulated.")],
    output: Annotated[
        Path | None,
        Option("--out", "-o", metavar="FILE", help="Write to this new FILE.scenario. Default: print it."),
    ] = None,
    shrink: Annotated[
        bool, Option("--shrink", help="Keep only the commands and nodes that the outcome needs.")
    ] = False,
    title: Annotated[str, Option(metavar="TEXT", help="Title. Default: generated from the events.")] = "",
    protocol: OwnProtocol = None,
    json: Json = False,
) -> int:
    """Create a scenario from a recording.

    The scenario gives the commands of the recording, and expects the same outcome. Each command is triggered by
    the event that preceded it, such as all nodes being Normal again. Simulated runs test whether this reproduces
    the outcome; where it does not, the command is given at a fixed time. Commands without effect are left out, and
    so are commands that control time. Differences from the recording are reported.

    Exit status: 0 the scenario reproduces the outcome, 1 it does not, 2 usage error, 130 Ctrl-C.
    """
    if len(title) > LONGEST_TITLE or "\n" in title or title.isspace():
        raise UsageError(f"--title has {len(title)} characters; write one line of at most {LONGEST_TITLE}")
    file = None if output is None else _new(output)
    source = ScenarioSource(recording, protocol or "", Path.cwd() if file is None else file.parent, title)
    try:
        with Progress(f"trying scripts for {recording.name}") as progress:
            made = make_scenario(source, shrink, progress.report)
    except TargetError as error:
        raise UsageError(f"{recording} cannot be re-executed: {error}") from None
    if file is not None:
        file.write_text(made.text, "utf-8")
    if json:
        written = None if output is None else str(output)
        print_json(ScenarioFromDocument(str(recording), written, made.is_same, made.text, made.notes, made.doubts))
        return 0 if made.is_same else EXIT_NOT_AS_EXPECTED
    if file is None:
        print_text(made.text)
    else:
        print_line(f"{output}: run it with: lab run {output}")
    for message in (*made.notes, *made.doubts):
        print_error(message)
    return 0 if made.is_same else EXIT_NOT_AS_EXPECTED


def _new(output: Path) -> Path:
    """Return the file to write. Raises UsageError if its suffix is wrong, or if it exists."""
    if output.suffix != SUFFIX:
        raise UsageError(f"--out {output}: name a file that ends in {SUFFIX}: -o {output.stem}{SUFFIX}")
    file = writable("--out", output)
    if file.exists():
        raise UsageError(f"--out {output} exists; name another file")
    return file
