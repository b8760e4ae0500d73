"""``lab run``: a host, and the interface or a report in front of it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import msgspec

from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.journal import (
    Cluster,
    Commanded,
    ElectionLog,
    NotARecordingError,
    RecordedLines,
    Summary,
    open_recording,
    summarize,
)
from lab.text import sanitize
from lab.units import format_us
from lab.worlds.config import RunConfig
from lab.worlds.live.launch import HostFailedError, HostProcess, HostRefusedError

__all__ = ["run_headless", "run_with_interface", "summary_of"]


def run_with_interface(config: RunConfig) -> int:
    """Run with the interface; says at the end where the recording is."""
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("the interface needs a terminal; without one: lab run … --headless --for 6s")
    from lab.tui.guard import run_guarded  # noqa: PLC0415 - only where it is used

    host = HostProcess(config)

    def interface() -> int:
        from lab.tui.main import show_run  # noqa: PLC0415

        return show_run(host.ready, config.run)

    failure = ""
    try:
        status = run_guarded(interface)
    finally:
        failure = host.end()
    if failure and not status:
        print(f"lab: {sanitize(failure)}", file=sys.stderr)
        status = EXIT_NOT_AS_EXPECTED
    if Path(config.recording).exists():
        print(f"recorded: {config.recording}\nreplay:   lab replay {config.recording}")
    return status


def run_headless(config: RunConfig, as_json: bool) -> int:
    """Run without the interface, and report. Ctrl-C ends the run early, with a complete recording."""
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    host = HostProcess(config)
    try:
        host.ready()
        _wait(host, config.for_us, show=not as_json and sys.stderr.isatty())
    except KeyboardInterrupt:
        interrupted = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        host.end()
    except HostRefusedError as error:
        fail(str(error))
    except HostFailedError as error:
        kept = f" (recording: {config.recording})" if Path(config.recording).exists() else ""
        said, *details = str(error).splitlines()
        for line in details:
            print(sanitize(line), file=sys.stderr)
        fail(f"{said.rstrip(':')}{kept}", EXIT_NOT_AS_EXPECTED)
    try:
        lines = open_recording(Path(config.recording))
    except NotARecordingError as error:
        if interrupted:  # before it began
            return EXIT_INTERRUPTED
        fail(str(error), EXIT_NOT_AS_EXPECTED)
    summary, unmet = summary_of(lines, config.commands)
    if as_json:
        print(msgspec.json.encode(summary).decode())
    else:
        _report(summary)
    for line in unmet:
        print(f"lab: {sanitize(line)}", file=sys.stderr)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_NOT_AS_EXPECTED if unmet else 0


def summary_of(lines: RecordedLines, commands: tuple[str, ...] = ()) -> tuple[Summary, list[str]]:
    """(what the run came to, which of ``commands`` could not be carried out or never became due)."""
    cluster, elections = Cluster.of(lines.header), ElectionLog()
    unmet: list[str] = []
    left = [" ".join(line.split()) for line in commands]
    for record in lines.records():
        cluster.apply(record)
        elections.observe(record, cluster)
        if isinstance(record, Commanded):
            if record.text in left:
                left.remove(record.text)
            if record.refused:
                unmet.append(f"{record.text}: {record.outcome}")
    unmet += [f"its time never came: {line}" for line in left]
    return summarize(lines.header, cluster, elections, str(lines.path)), unmet


def _wait(host: HostProcess, for_us: int | None, show: bool) -> None:
    if not show or for_us is None:
        host.wait()
        return
    began = time.monotonic()
    try:
        while host.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                host.process.wait(0.1)
            past_s = time.monotonic() - began
            bar = "█" * int(min(1.0, past_s * 1e6 / for_us) * 30)
            print(f"\r{bar:░<30} {past_s:.1f} of {format_us(for_us)} ", end="", file=sys.stderr)
    finally:
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    host.wait()


def _report(summary: Summary) -> None:
    print(f"{summary.protocol}, {summary.world}, {format_us(round(summary.duration_us, -3))}")
    for node, view in summary.nodes.items():
        led = "" if view.coordinator is None else f" under {view.coordinator}"
        print(f"  node {node}  {view.process:8} {view.status}{led}")
    for election in summary.elections:
        lost = (
            ""
            if election.lost_at_us is None
            else f", {_seconds(election.settled_at_us - election.lost_at_us)} after"
        )
        lost += "" if election.lost_at_us is None else f" the loss at {_seconds(election.lost_at_us)}"
        print(f"  {_seconds(election.settled_at_us)}  all under {election.coordinator}{lost}")
    for fault in summary.faults:
        inert = "" if fault.touched else "  (inert: it touched nothing)"
        print(f"  fault: {fault.command}, {fault.messages} messages{inert}")
    print(f"  {sum(summary.messages.values())} messages; recorded in {summary.recording}")


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f} s"
