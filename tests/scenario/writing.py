"""Scenario files for tests: a valid head, and a script."""

from pathlib import Path

from lab.scenario.file import Scenario, read_scenario

__all__ = ["HEAD", "written"]

HEAD = """\
title = "A test"
protocol = "bully"
nodes = "5"
t = "200ms"
for = "4s"
"""


def written(folder: Path, script: str, *settings: str, name: str = "tested") -> Scenario:
    """Write and read a scenario with this script; ``settings`` replace lines of ``HEAD``."""
    keys = [line.partition(" =")[0] for line in settings]
    kept = [line for line in HEAD.splitlines() if line.partition(" =")[0] not in keys]
    path = folder / f"{name}.scenario"
    path.write_text("\n".join([*kept, *settings, "---", script.strip(), ""]), "utf-8")
    return read_scenario(path)
