"""``lab run NAME``: run a scenario, in the interface or headless with a report."""

import contextlib
import re
from pathlib import Path

from msgspec.structs import replace

from lab.cli.output_files import recording_path
from lab.cli.run_options import positive, seed_of, world_of
from lab.cli.runner import run_headless, run_with_interface
from lab.cli.scenario_report import format_report
from lab.cli.scenarios import read_named
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.reader import NotARecordingError, open_recording
from lab.scenario.file import SUFFIX, Scenario, World
from lab.scenario.library import is_path, names, suggestion
from lab.scenario.report import report_of
from lab.scenario.run_scenario import config_of
from lab.worlds.targets import TargetError, load_protocol

__all__ = ["find_scenario", "run_scenario"]


def find_scenario(target: str) -> Scenario | None:
    """Return the scenario with that name; None for a protocol. Raises UsageError if it names neither."""
    if target in (*PROTOCOLS, *TASKS):
        return None
    if is_path(target) or target in names():
        return read_named(target)
    try:
        load_protocol(target)
    except TargetError as error:
        raise UsageError(f"{error}{_scenario_hint(target, str(error))}") from None
    return None


def _scenario_hint(target: str, error: str) -> str:
    """Return what to add to ``error``, which says that the target names no protocol."""
    if re.fullmatch(r"[\w-]+", target) and "did you mean" not in error:
        return suggestion(target, [*PROTOCOLS, *TASKS]) or ", or a scenario: lab scenario list"
    is_any = error.endswith("FILE.py:CLASS") and ":" not in target
    return f", or a scenario: FILE{SUFFIX}" if is_any else ""


def run_scenario(
    scenario: Scenario,
    given: list[str],
    sim: bool,
    live: bool,
    speed: str | None,
    seed: str | None,
    record: Path | None,
    for_: str | None,
    headless: bool,
    json: bool,
) -> int:
    """Run the scenario, report, and return the exit status.

    ``given`` are options that only apply to protocols. Raises UsageError.
    """
    if given:
        raise UsageError(
            f"{given[0]} applies to protocols; to change {scenario.name}, edit a copy of {scenario.path}"
        )
    world: World = "simulated" if sim or not (live or "live" in scenario.worlds) else "live"
    if world not in scenario.worlds:
        raise UsageError(
            f"--{'sim' if sim else 'live'}: {scenario.name} supports only {scenario.worlds[0]} runs; leave it out"
        )
    pace = world_of(world == "simulated", speed, headless)
    scenario = replace(
        scenario,
        seed=scenario.seed if seed is None else seed_of(seed),
        ends_us=scenario.ends_us if for_ is None else positive("for", for_),
    )
    config = config_of(scenario, world, Path())
    config = replace(config, recording=str(recording_path(record, config.run)), speed=pace.speed)
    if headless:
        return run_headless(config, json, scenario)
    return run_with_interface(config) or _print_outcome(scenario, Path(config.recording))


def _print_outcome(scenario: Scenario, recording: Path) -> int:
    """Print the report if the run was watched to its end; return the exit status."""
    try:
        store = open_recording(recording)
    except NotARecordingError:
        return 0
    with contextlib.closing(store):
        report = report_of(scenario, store)
    if report.ended_us < scenario.ends_us:
        return 0
    for line in format_report(report):
        print(line)
    return 0 if report.passed else EXIT_NOT_AS_EXPECTED
