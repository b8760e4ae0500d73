"""``lab`` without a command: show the home screen and run what is chosen, until the user leaves."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from lab.cli.terminal import EXIT_INTERRUPTED
from lab.output import print_line
from lab.places import recordings_folder, shipped_recordings
from lab.protocols import PROTOCOLS, TASKS
from lab.protocols.sources import summary_of
from lab.scenario.file import read_head, shipped, split_scenario
from lab.tui.terminal.guard import run_guarded
from lab.worlds.host.runs import list_runs

_SHOWN_RECORDINGS = 12
HomeEntry = tuple[str, str, list[str]]
"""(group, label, arguments of ``lab``)."""


def home_entries() -> list[HomeEntry]:
    """Return the entries that can be chosen now."""
    found: list[HomeEntry] = []
    for info in list_runs()[0]:
        found.append(("active", f"{info.run}, since {info.began}", ["attach", info.run]))
    found.append(
        ("start here", "tour: kill a coordinator, see when its successor was elected, export the run", ["tour"])
    )
    for name, protocol in sorted({**PROTOCOLS, **TASKS}.items()):
        summary = summary_of(protocol)
        found.append(("run", f"{name}, five nodes: {summary}", ["run", name]))
        found.append(("run", f"{name}, slow enough to follow every message (T = 1 s)", ["run", name, "--t", "1s"]))
        found.append(("run", f"{name}, eight nodes (0 to 7)", ["run", name, "--nodes", "0-7"]))
        summary = f"{name}, simulated, at a tenth of real time: freeze, step, choose the next event"
        found.append(("run", summary, ["run", name, "--sim", "--speed", "0.1"]))
    for path in shipped():
        found.append(("scenario", f"{path.stem}: {_title_in(path)}", ["run", path.stem]))
    for path in shipped_recordings():
        found.append(("replay", path.stem, ["replay", str(path)]))
    own = sorted(recordings_folder().glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in own[:_SHOWN_RECORDINGS]:
        found.append(("replay", f"{path.stem} (yours)", ["replay", str(path)]))
    return found


def _title_in(path: Path) -> str:
    head, _, _ = split_scenario(path.read_text("utf-8"))
    return str(read_head(head).values.get("title", ""))


def run_home() -> int:
    """Show the home screen, run the chosen entry, repeat; return the exit status."""
    while True:
        entries = home_entries()
        reading, writing = os.pipe()

        def interface(writing: int = writing, entries: list[HomeEntry] = entries) -> int:
            from lab.tui.apps.home_app import show_home  # noqa: PLC0415

            chosen, status = show_home([(group, label) for group, label, _ in entries])
            os.write(writing, b"" if chosen is None else str(chosen).encode())
            return status

        status = run_guarded(interface)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            chosen = pipe.read()
        if not chosen:
            return status
        words = entries[int(chosen)][2]
        print_line(f"lab {shlex.join(words)}")
        status = subprocess.run([sys.executable, "-P", "-m", "lab", *words], check=False).returncode
        if status not in (0, EXIT_INTERRUPTED):
            return status
