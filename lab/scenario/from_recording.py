"""Turn a recording into a scenario that reproduces it."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from lab.recording.reader import open_recording
from lab.scenario.command_history import CommandHistory, read_history
from lab.scenario.file import SUFFIX, Scenario, ScenarioError, World, scenario_in
from lab.scenario.head import LONGEST_US, MOST_NODES
from lab.scenario.run_scenario import run_simulated
from lab.scenario.script_search import ScriptSearch, TriedDraft, shrink_script
from lab.scenario.script_trial import expected_outcome
from lab.scenario.writing import ScenarioSource, notes_on, scenario_text
from lab.script.scope import CommandError
from lab.text import UserError
from lab.units import format_us
from lab.worlds.loading.targets import recorded_protocol


class UnsuitableRecordingError(UserError):
    """No scenario can be made from this recording; the message is for the user."""


class GeneratedScenario(Struct, frozen=True):
    """The text of a scenario. ``is_same``: whether it has the outcome of the recording when run in simulation.

    ``doubts``: what is wrong with the scenario, ``notes``: what of the recording is missing in it; a line each.
    """

    text: str
    is_same: bool
    doubts: tuple[str, ...]
    notes: tuple[str, ...] = ()


def make_scenario(source: ScenarioSource, shrink: bool, on_progress: Callable[[str], None]) -> GeneratedScenario:
    """Return a scenario that reproduces the recording; ``on_progress`` is called with a progress message.

    Raises NotARecordingError, UnsuitableRecordingError, and TargetError if the protocol is not built in and not
    named.
    """
    with contextlib.closing(open_recording(source.recording)) as lines:
        protocol = recorded_protocol(lines.header.protocol, source.target or None)
        try:
            history = read_history(lines)
        except CommandError as error:
            raise UnsuitableRecordingError(f"{source.recording} has an invalid command: {error}") from None
    _check_size(source.recording, history)
    outcome = expected_outcome(history.cluster, history.judge, history.faults, lines.header.world == "live")
    search = ScriptSearch(history, protocol, outcome, lambda tried: on_progress(f"{tried} runs tried"))
    found = search.find()
    if history.steered and not found.is_same:
        raise UnsuitableRecordingError(
            f"in {source.recording} the user chose the next event ({history.steered[0]}), which a script cannot, "
            f"and without that the outcome is different; branch from it instead: lab branch FILE --at RECORD"
        )
    least = shrink_script(search, found) if shrink and found.is_same else found
    notes = tuple(notes_on(history, found, least is None))
    found = least or found
    worlds = _worlds(history, search, found)
    text = scenario_text(history, search.outcome, found, source, worlds, notes)
    return GeneratedScenario(text, found.is_same, tuple(_doubts(_read(text, source), found, worlds)), notes)


def _check_size(recording: Path, history: CommandHistory) -> None:
    """Raise UnsuitableRecordingError for a recording beyond the limits of a scenario."""
    nodes, took_us = len(history.header.nodes), history.cluster.at_us
    if nodes > MOST_NODES:
        raise UnsuitableRecordingError(
            f"{recording} has {nodes} nodes, a scenario at most {MOST_NODES}; record fewer"
        )
    if took_us > LONGEST_US:
        raise UnsuitableRecordingError(
            f"{recording} lasts {format_us(took_us)}, a scenario at most {format_us(LONGEST_US)}; "
            f"record a shorter run"
        )


def _read(text: str, source: ScenarioSource) -> Scenario:
    """Parse the generated text. Raises UnsuitableRecordingError if it is no valid scenario."""
    try:
        return scenario_in(text, source.folder / f"recorded{SUFFIX}")
    except ScenarioError as error:
        mistake = error.mistakes[0]
        raise UnsuitableRecordingError(f"the scenario of {source.recording} would be invalid: {mistake}") from None


def _worlds(history: CommandHistory, search: ScriptSearch, found: TriedDraft) -> tuple[World, ...]:
    """Return both worlds if the outcome is the same with other seeds and delays; else the one where it is."""
    if found.is_good and search.is_steady(found):
        return ("simulated", "live")
    return ("simulated",) if found.is_same else (history.header.world,)


def _doubts(scenario: Scenario, found: TriedDraft, worlds: tuple[World, ...]) -> list[str]:
    if not found.is_same:
        missed = "; ".join(map(str, found.missed)) or "it did not end"
        return [f"in simulation its outcome is different: {missed}"]
    report = run_simulated(scenario)
    doubts = [f"line {each.line}: {each.expected}: {each.was}" for each in report.findings]
    if "live" not in worlds:
        doubts.append("with other seeds or delays its outcome is different, so it is for simulation only")
    return doubts
