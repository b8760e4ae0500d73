"""A campaign's finding, shrunk, and written as a recording and as a script that reproduces it."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol
from lab.properties import Violation
from lab.recording.records import End, Header, Record
from lab.recording.writer import Writer
from lab.script import read_script
from lab.units import format_us
from lab.worlds.campaign.campaign import Campaign
from lab.worlds.campaign.draw import draw
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.campaign.shrink import Shrinking
from lab.worlds.campaign.trial import header_for, run_trial
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

__all__ = ["Finding", "format_rerun", "shrink_finding", "write_finding"]


class Finding(Struct, frozen=True):
    """The schedule as drawn, the shrunk one, the violation that it shows, and the number of runs tried.

    ``records`` are those of the shrunk run, with the header first.
    """

    drawn: Schedule
    least: Schedule
    violation: Violation
    tried: int
    records: list[Record]


def shrink_finding(
    protocol: type[Protocol],
    campaign: Campaign,
    seed: int,
    progress: Callable[[int], None] = lambda tried: None,
) -> Finding:
    """Run the seed again, and shrink the first violation that matches the goal."""
    drawn = draw(campaign.plan, seed)
    trial = run_trial(protocol, campaign.base, drawn)
    violation = next(filter(campaign.goal.matches, trial.violations))
    shrinking = Shrinking(
        trial, violation, lambda schedule: run_trial(protocol, campaign.base, schedule, extend=False)
    )
    shrinking.run(progress)
    return Finding(drawn, shrinking.trial.schedule, shrinking.violation, shrinking.tried, shrinking.trial.records)


def write_finding(protocol: type[Protocol], base: Header, finding: Finding, path: Path, command: str) -> Path:
    """Write the recording to ``path`` and the script beside it; return the script's path. Raises OSError."""
    schedule = finding.least
    text = "\n".join([f"# {finding.violation}", f"# {command}", *map(str, schedule.faults)]) + "\n"
    writer = Writer(path, replace(header_for(base, schedule), scenario=text))
    watch_steps()
    simulation = Simulation(protocol, writer.header, writer)
    simulation.director.add_script(read_script(text))
    simulation.start()
    simulation.run_to(schedule.end_us)
    writer.append(End(simulation.now_us, "its time was up"))
    writer.close()
    script = path.with_suffix(".script")
    script.write_text(text, "utf-8")
    return script


def format_rerun(target: str, base: Header, schedule: Schedule, script: Path) -> str:
    """Return the command line that runs it again."""
    timing, link = base.timing, schedule.link
    words = [f"lab run {quote(target)} --sim --nodes {','.join(map(str, schedule.nodes))} --seed {schedule.seed}"]
    words.append(f"--tm {format_us(timing.tm_us)} --tp {format_us(timing.tp_us)}")
    words.append(f"--latency {format_us(link.latency_us)} --jitter {format_us(link.jitter_us)}")
    words += [f"--set {quote(setting)}" for setting in base.protocol.settings]
    return " ".join([*words, f"--script {quote(str(script))} --headless --for {format_us(schedule.end_us)}"])
