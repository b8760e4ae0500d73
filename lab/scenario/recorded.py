"""From the keyboard to a script: the scenario of what happened in a recording."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from lab.journal import open_recording
from lab.scenario.file import SUFFIX, World, scenario_in
from lab.scenario.outcome import outcome_of
from lab.scenario.running import run_simulated
from lab.scenario.searching import Found, Search
from lab.scenario.shrinking import shrunk
from lab.scenario.story import Story, story_of
from lab.scenario.writing import Source, scenario_text
from lab.script import CommandError
from lab.script.printing import said
from lab.worlds.targets import recorded_protocol

__all__ = ["Made", "UnfitError", "make_scenario", "scenario_of"]


class UnfitError(Exception):
    """No scenario can be made from this recording; the text is for the user."""


class Made(Struct, frozen=True):
    """A scenario as a text. ``is_same``: whether it comes to what the recording came to, run again in simulation.

    ``doubts`` say what it does not do as it should, each in a line for the user.
    """

    text: str
    is_same: bool
    doubts: tuple[str, ...]


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
            story = story_of(lines.header, lines.records())
        except CommandError as error:
            raise UnfitError(f"{source.recording} has a command that cannot be read: {error}") from None
    outcome = outcome_of(story.cluster, story.judge, story.faults, lines.header.world == "live")
    search = Search(story, protocol, outcome, lambda tried: tell(f"{tried} runs tried"))
    found = search.find()
    if story.steered and not found.is_same:
        raise UnfitError(
            f"in {source.recording} somebody chose what came next ({story.steered[0]}), which a script cannot, "
            f"and without that it comes to something else; go on from it: lab branch FILE --at RECORD"
        )
    if shrink and found.is_same:
        found = shrunk(search, found)
    worlds = _worlds(story, search, found)
    text = scenario_text(story, search.outcome, found, source, worlds)
    return Made(text, found.is_same, tuple(_doubts(text, source.folder, found, worlds)))


def _worlds(story: Story, search: Search, found: Found) -> tuple[World, ...]:
    """Both where it comes to the same with other seeds and delays too; else where it does."""
    if found.is_good and search.is_steady(found):
        return ("simulated", "live")
    return ("simulated",) if found.is_same else (story.header.world,)


def _doubts(text: str, folder: Path, found: Found, worlds: tuple[World, ...]) -> list[str]:
    if not found.is_same:
        missed = "; ".join(said(each) for each in found.missed) or "it did not end"
        return [f"run again in simulation, it comes to something else: {missed}"]
    report = run_simulated(scenario_in(text, folder / f"recorded{SUFFIX}"))
    doubts = [f"line {each.line}: {each.expected}: {each.was}" for each in report.findings]
    if "live" not in worlds:
        doubts.append("with other seeds or delays it comes to something else, so it is for simulation alone")
    return doubts
