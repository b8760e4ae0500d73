"""``lab scenario list`` and ``show``; and how a scenario's mistakes are told."""

import sys
from pathlib import Path

import msgspec
from rich.table import Table

from lab.cli.errors import EXIT_USAGE, UsageError
from lab.cli.terminal import print_table, print_wrapped
from lab.scenario.file import Scenario, ScenarioError, read_scenario
from lab.scenario.library import find, shipped
from lab.text import sanitize
from lab.units import format_us, listed

__all__ = ["find_named", "print_list", "print_scenario", "read_all", "read_named"]


def read_named(name: str) -> Scenario:
    """The scenario that is meant; what is wrong with it is said, and ends the command."""
    return read_all([find_named(name)])[0]


def find_named(name: str) -> Path:
    """Its file. UsageError."""
    try:
        return find(name)
    except ScenarioError as error:
        raise UsageError(str(error)) from None


def read_all(paths: list[Path]) -> list[Scenario]:
    """These scenarios; what is wrong with any of them is said, a line each, and ends the command."""
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


def print_list(as_json: bool) -> int:
    """The scenarios that come with the program: name, title, protocol, worlds."""
    scenarios = read_all(shipped())
    if as_json:
        rows = [
            {"name": each.name, "title": each.title, "protocol": each.protocol, "worlds": each.worlds}
            for each in scenarios
        ]
        print(msgspec.json.encode({"scenarios": rows}).decode())
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("name", "title", "protocol", "worlds"):
        table.add_column(column, no_wrap=column != "title")
    for each in scenarios:
        table.add_row(each.name, sanitize(each.title), sanitize(each.protocol), " ".join(each.worlds))
    print_table(table)
    return 0


def print_scenario(name: str) -> int:
    """What it shows, in which setting, and its script."""
    scenario = read_named(name)
    print(f"{sanitize(scenario.title)}\n")
    for paragraph in scenario.shows.split("\n\n"):
        if paragraph:
            print_wrapped(sanitize(" ".join(paragraph.split())))
            print()
    timing = scenario.timing
    facts = [
        ("source", scenario.source),
        ("protocol", scenario.protocol),
        ("parameters", ", ".join(f"{name} {value}" for name, value in scenario.parameters.items())),
        ("nodes", listed(scenario.nodes)),
        ("T", f"{format_us(timing.t_us)} (Tm {format_us(timing.tm_us)}, Tp {format_us(timing.tp_us)})"),
        ("worlds", ", ".join(scenario.worlds)),
        ("goes on for", format_us(scenario.ends_us)),
        ("file", scenario.path),
    ]
    for what, said in facts:
        if said:
            print(f"{what:12} {sanitize(said)}")
    print()
    for number, line in enumerate(scenario.script.splitlines(), scenario.first_line):
        print(f"{number:4}  {sanitize(line)}".rstrip())
    return 0
