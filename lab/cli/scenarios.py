"""``lab scenario list`` and ``lab scenario show``; reading scenarios and printing their mistakes."""

import os
import sys
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec
from rich.table import Table

from lab.cli.terminal import print_table, print_wrapped
from lab.cli.usage_errors import EXIT_USAGE, UsageError
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.records import ProtocolInfo
from lab.scenario.file import Scenario, ScenarioError, read_scenario
from lab.scenario.head import read_head, split_scenario
from lab.scenario.library import find, shipped
from lab.text import sanitize
from lab.units import format_ranges, format_us

__all__ = ["find_named", "print_list", "print_scenario", "read_all", "read_named"]

_LONGEST_WORD = 40


def read_named(name: str) -> Scenario:
    """Return the scenario with that name; print its mistakes and exit if there are any."""
    return read_all([find_named(name)])[0]


def find_named(name: str) -> Path:
    """Return the file of a scenario. Raises UsageError."""
    try:
        return find(name)
    except ScenarioError as error:
        raise UsageError(str(error)) from None


def read_all(paths: list[Path]) -> list[Scenario]:
    """Return these scenarios; print the mistakes of all, one per line, and exit if there are any."""
    found, mistakes = list[Scenario](), list[str]()
    for path in paths:
        try:
            found.append(read_scenario(path))
        except ScenarioError as error:
            mistakes += error.mistakes
    for mistake in mistakes:
        print(f"lab: {mistake}", file=sys.stderr)
    if mistakes:
        raise SystemExit(EXIT_USAGE)
    return found


def print_list(word: str, as_json: bool) -> int:
    """Print the built-in scenarios, grouped by protocol, bully's first.

    With a ``word``, only those with it in their name, title or protocol.
    """
    found = [(_protocol_written(each), each) for each in read_all(shipped())]
    found = [
        (protocol, each)
        for protocol, each in found
        if word.lower() in " ".join((each.name, each.title, protocol)).lower()
    ]
    if not found:
        text = sanitize(word, _LONGEST_WORD)
        raise UsageError(f"no scenario matches {text!r}; all scenarios: lab scenario list")
    order = [*PROTOCOLS, *TASKS]
    found.sort(key=lambda row: (order.index(row[0]) if row[0] in order else len(order), row[0], row[1].name))
    if as_json:
        rows = [
            {"name": each.name, "title": each.title, "protocol": protocol, "worlds": each.worlds}
            for protocol, each in found
        ]
        print(msgspec.json.encode({"scenarios": rows}).decode())
        return 0
    table = Table(box=None, pad_edge=False, expand=os.isatty(1))
    table.add_column("name", no_wrap=True)  # never shortened, as users type it
    table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("runs in", no_wrap=True)
    for protocol, group in groupby(found, key=itemgetter(0)):
        table.add_row(sanitize(protocol), style="bold")
        for _, each in group:
            worlds = "both worlds" if each.worlds[1:] else each.worlds[0]
            table.add_row(f"  {sanitize(each.name)}", sanitize(each.title), worlds)
    print_table(table)
    return 0


def _protocol_written(scenario: Scenario) -> str:
    """Return the protocol as the scenario's file has it, without resolving the path."""
    head, _, _ = split_scenario(scenario.text)
    return str(read_head(head).values["protocol"])


def print_scenario(name: str) -> int:
    """Print a scenario: its description, settings and script."""
    scenario = read_named(name)
    print(f"{sanitize(scenario.title)}\n")
    for paragraph in scenario.shows.split("\n\n"):
        if paragraph:
            print_wrapped(sanitize(" ".join(paragraph.split())))
            print()
    timing = scenario.timing
    info = ProtocolInfo("", scenario.parameters, "", "")
    facts = [
        ("source", scenario.source),
        ("protocol", _protocol_written(scenario)),
        ("set", ", ".join(setting.replace("=", " = ", 1) for setting in info.settings)),
        ("nodes", format_ranges(scenario.nodes)),
        ("T", f"{format_us(timing.t_us)} (Tm {format_us(timing.tm_us)}, Tp {format_us(timing.tp_us)})"),
        ("worlds", ", ".join(scenario.worlds)),
        ("duration", format_us(scenario.ends_us)),
        ("file", scenario.path),
    ]
    for what, text in facts:
        if text:
            print(f"{what:12} {sanitize(text)}")
    print()
    for number, line in enumerate(scenario.script.removesuffix("\n").split("\n"), scenario.first_line):
        print(f"{number:4}  {sanitize(line)}".rstrip())
    return 0
