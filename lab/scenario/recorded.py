"""From the keyboard to a script: the scenario of what happened in a recording."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from lab.recording.reader import open_recording
from lab.scenario.file import SUFFIX, Scenario, ScenarioError, World, scenario_in
from lab.scenario.head import LONGEST_US, MOST_NODES
from lab.scenario.notes import notes_on
from lab.scenario.outcome import outcome_of
from lab.scenario.running import run_simulated
from lab.scenario.searching import Found, Search
from lab.scenario.shrinking import shrunk
from lab.scenario.story import Story, story_of
from lab.scenario.writing import Source, scenario_text
from lab.script import CommandError
from lab.script.printing import said
from lab.units import format_us
from lab.worlds.targets import recorded_protocol

__all__ = ["Made", "UnfitError", "make_scenario", "scenario_of"]


class UnfitError(Exception):
    """No scenario can be made from this recording; the text is for the user."""


class Made(Struct, frozen=True):
    """A scenario as a text. ``is_same``: whether it comes to what the recording came to, run again in simulation.

    ``doubts`` say what it does not do as it should, ``notes`` what of the recording is not in it, each in a line
    for the user.
    """

    text: str
    is_same: bool
    doubts: tuple[str, ...]
    notes: tuple[str, ...] = ()


def scenario_of(recording: Path, shrink: bool = False, tell: Callable[[str], None] = lambda said: None) -> str:
    """The text of a scenario in which the same happens. See ``make_scenario``."""
    return make_scenario(Source(recording), shrink, tell).text


def make_scenario(source: Source, shrink: bool, tell: Callable[[str], None]) -> Made:
    """The scenario; ``tell`` is called with how far the work has come.

    NotARecordingError, UnfitError; TargetError where the protocol is not the program's, and is not named.
    """
    with contextlib.closing(open_recording(source.recording)) as lines:
        protocol = recorded_protocol(lines.header.protocol, source.target or None)
        try:
            story = story_of(lines)
        except CommandError as error:
            raise UnfitError(f"{source.recording} has a command that cannot be read: {error}") from None
    _check_size(source.recording, story)
    outcome = outcome_of(story.cluster, story.judge, story.faults, lines.header.world == "live")
    search = Search(story, protocol, outcome, lambda tried: tell(f"{tried} runs tried"))
    found = search.find()
    if story.steered and not found.is_same:
        raise UnfitError(
            f"in {source.recording} somebody chose what came next ({story.steered[0]}), which a script cannot, "
            f"and without that it comes to something else; go on from it: lab branch FILE --at RECORD"
        )
    least = shrunk(search, found) if shrink and found.is_same else found
    notes = tuple(notes_on(story, found, least is None))
    found = least or found
    worlds = _worlds(story, search, found)
    text = scenario_text(story, search.outcome, found, source, worlds, notes)
    return Made(text, found.is_same, tuple(_doubts(_read(text, source), found, worlds)), notes)


def _check_size(recording: Path, story: Story) -> None:
    """UnfitError for what a scenario has no room for."""
    nodes, took_us = len(story.header.nodes), story.cluster.at_us
    if nodes > MOST_NODES:
        raise UnfitError(f"{recording} is of {nodes} nodes, a scenario of {MOST_NODES} at most; record fewer")
    if took_us > LONGEST_US:
        raise UnfitError(
            f"{recording} goes on for {format_us(took_us)}, a scenario for {format_us(LONGEST_US)} at most; "
            f"record a shorter run"
        )


def _read(text: str, source: Source) -> Scenario:
    """As it will be read. UnfitError where there is something in the recording that no scenario may have."""
    try:
        return scenario_in(text, source.folder / f"recorded{SUFFIX}")
    except ScenarioError as error:
        mistake = error.mistakes[0]
        raise UnfitError(f"the scenario of {source.recording} would be refused: {mistake}") from None


def _worlds(story: Story, search: Search, found: Found) -> tuple[World, ...]:
    """Both where it comes to the same with other seeds and delays too; else where it does."""
    if found.is_good and search.is_steady(found):
        return ("simulated", "live")
    return ("simulated",) if found.is_same else (story.header.world,)


def _doubts(scenario: Scenario, found: Found, worlds: tuple[World, ...]) -> list[str]:
    if not found.is_same:
        missed = "; ".join(said(each) for each in found.missed) or "it did not end"
        return [f"run again in simulation, it comes to something else: {missed}"]
    report = run_simulated(scenario)
    doubts = [f"line {each.line}: {each.expected}: {each.was}" for each in report.findings]
    if "live" not in worlds:
        doubts.append("with other seeds or delays it comes to something else, so it is for simulation alone")
    return doubts
