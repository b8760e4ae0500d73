"""The run of a scenario in virtual time, with captions, marks, and an expectation that is not met."""

from pathlib import Path

from lab.kernel import Timing
from lab.recording.records import Link
from lab.worlds.loading.config import RunConfig
from lab.worlds.simulated.execution import run_to_end

__all__ = ["SCENARIO", "scripted_config", "scripted_file"]

SCENARIO = """\
title = "What becomes of lines"
shows = "Every way in which a line of a script can end."
source = "these tests"
protocol = "bully"
nodes = "5"
for = "4s"
---
# the coordinator first
when all normal:            kill 5   # it leads
then say "5 is gone"
mark "here"
restart 4
then expect 5 leads within 300ms
say "never said"
on send SetCoordinator 4->1: say "4 takes over"
on send NewState 1->2: kill 1
every 1s: mark "a second"
expect always live == 5
expect 4 leads
expect no violation
expect violation A5
"""

END_US = 4_000_000


def scripted_config(recording: Path, script: str = SCENARIO, end_us: int | None = END_US) -> RunConfig:
    """Return the configuration of the simulated run."""
    head, rule, lines = script.partition("---\n")
    timing, link = Timing(130_000, 40_000), Link(8_000, 3_000)
    return RunConfig(
        *("scripted", "bully", (1, 2, 3, 4, 5), timing, {}, link, 1, str(recording)),
        end_us=end_us,
        world="simulated",
        speed=None,
        script=lines if rule else head,
        first_line=(head + rule).count("\n") + 1 if rule else 1,
        remark="What becomes of lines",
        scenario=script,
    )


def scripted_file(path: Path, script: str = SCENARIO) -> Path:
    """Write its recording."""
    run_to_end(scripted_config(path, script), END_US, lambda now_us: "", lambda done: None)
    return path
