"""``lab run NAME``: a scenario, in the interface, or headless with its report."""

import contextlib
import re
from pathlib import Path

from msgspec.structs import replace

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.files import recording_path
from lab.cli.running import run_headless, run_with_interface
from lab.cli.scenario_report import report_lines
from lab.cli.scenarios import read_named
from lab.cli.settings import positive, seed_of, world_of
from lab.protocols import PROTOCOLS, TASKS
from lab.recording.reader import NotARecordingError, open_recording
from lab.scenario.file import SUFFIX, Scenario, World
from lab.scenario.library import is_path, meant, names
from lab.scenario.report import report_of
from lab.scenario.running import config_of
from lab.worlds.targets import TargetError, load_protocol

__all__ = ["run_scenario", "scenario_named"]


def scenario_named(target: str) -> Scenario | None:
    """The scenario that is meant; None where that is a protocol. UsageError for a name of neither."""
    if target in (*PROTOCOLS, *TASKS):
        return None
    if is_path(target) or target in names():
        return read_named(target)
    try:
        load_protocol(target)
    except TargetError as error:
        raise UsageError(f"{error}{_or_a_scenario(target, str(error))}") from None
    return None


def _or_a_scenario(target: str, said: str) -> str:
    """What is to be added to what was ``said`` of a target that names no protocol."""
    if re.fullmatch(r"[\w-]+", target) and "did you mean" not in said:
        return meant(target, [*PROTOCOLS, *TASKS]) or ", or a scenario: lab scenario list"
    is_any = said.endswith("FILE.py:CLASS") and ":" not in target
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
    """Run it, and report; ``given`` are options for what the scenario says itself. The exit status."""
    if given:
        raise UsageError(
            f"{given[0]} is for a protocol; what {scenario.name} does is in {scenario.path}: change a copy of that"
        )
    world: World = "simulated" if sim or not (live or "live" in scenario.worlds) else "live"
    if world not in scenario.worlds:
        raise UsageError(
            f"--{'sim' if sim else 'live'}: {scenario.name} is {scenario.worlds[0]} alone; leave it out"
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
    return run_with_interface(config) or _told(scenario, Path(config.recording))


def _told(scenario: Scenario, recording: Path) -> int:
    """What came of it, if it was watched to its end; the exit status."""
    try:
        lines = open_recording(recording)
    except NotARecordingError:
        return 0
    with contextlib.closing(lines):
        report = report_of(scenario, lines)
    if report.ended_us < scenario.ends_us:
        return 0
    for line in report_lines(report):
        print(line)
    return 0 if report.passed else EXIT_NOT_AS_EXPECTED
