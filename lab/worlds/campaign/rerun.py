"""The command line that makes the run of a finding again, from its script: simulated, or live with a program."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from lab.protocols import LENSES
from lab.recording.records import Header
from lab.units import format_us
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.loading.roles import wanted_in
from lab.worlds.loading.targets import split_sandbox, split_target

_PROGRAM = "program="


def format_rerun(target: str, base: Header, schedule: Schedule, script: Path) -> str:
    """Return the command line that simulates the run again."""
    named, sandboxed = split_sandbox(target)
    words = [f"lab run {quote(named)} --sim", *_conditions(base, schedule)]
    words += (f"--set {quote(setting)}" for setting in base.protocol.settings)
    words += ["--sandbox"] * sandboxed
    return " ".join([*words, *_outside(base, schedule), _script(schedule, script)])


def format_live_rerun(target: str, base: Header, schedule: Schedule, script: Path) -> str:
    """Return the command line that makes a live run of the program under this schedule once more."""
    words = [f"lab run --program {quote(base.protocol.parameters['program'])}"]
    lens, properties = split_target(target)
    if lens != next(iter(LENSES)):
        words.append(f"--lens {quote(lens.removeprefix('program-') if lens in LENSES else lens)}")
    if properties:
        words.append(f"--properties {quote(properties)}")
    words += _conditions(base, schedule)
    settings = (each for each in base.protocol.settings if not each.startswith(_PROGRAM))
    words += (f"--set {quote(setting)}" for setting in settings)
    return " ".join([*words, *_outside(base, schedule), _script(schedule, script)])


def _conditions(base: Header, schedule: Schedule) -> Iterator[str]:
    """Yield the options for the nodes, the timing and the links."""
    timing, link = base.timing, schedule.link
    yield f"--nodes {','.join(map(str, schedule.nodes))} --seed {schedule.seed}"
    yield f"--tm {format_us(timing.tm_us)} --tp {format_us(timing.tp_us)}"
    yield f"--latency {format_us(link.latency_us)} --jitter {format_us(link.jitter_us)}"


def _outside(base: Header, schedule: Schedule) -> Iterator[str]:
    """Yield the options for the clients and services."""
    wanted = wanted_in(base.roles, schedule.clients or len(schedule.nodes))
    if wanted.services:
        yield f"--service {','.join(wanted.services)}"
    if wanted.workload is not None:
        yield f"--workload {wanted.workload} --clients {wanted.clients} --rate {wanted.rate}"


def _script(schedule: Schedule, script: Path) -> str:
    return f"--script {quote(str(script))} --headless --for {format_us(schedule.end_us)}"
