"""A recording of a million records: opening it, the last state, jumps, and memory.

It has realistic traffic: a live run of bully with elections, repeated with later times and numbers. ``python -m
tests.benchmarks.recordings FILE`` measures in a fresh process, and prints the results.
"""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import psutil
from msgspec.structs import replace

from lab.kernel import Message, Received, Started, Step
from lab.recording.reader import open_recording
from lab.recording.records import Fault, Header, Keyframe, Process, Record, Routed
from lab.recording.timeline import Timeline
from lab.recording.writer import Writer
from tests.benchmarks.figures import Figure, median, p95
from tests.worlds.live import QUICK, LiveRun

__all__ = ["measure"]


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Make it, and measure it in a fresh process."""
    path = folder / "million.jsonl"
    count = make(folder, path, 4_000 if quick else 1_000_000)
    command = [sys.executable, "-m", "tests.benchmarks.recordings", str(path)]
    found = [msgspec.json.decode(subprocess.check_output(command)) for _ in range(1 if quick else 3)]
    size = f"{count:,} records, {path.stat().st_size / 1e6:.0f} MB; bare read of the file {_bare_s(path):.2f} s"
    path.unlink()

    own = f"{median([each['own_mb'] for each in found]):.0f} its own, the rest pages of the file"

    def middle(name: str) -> float:
        return median([each[name] for each in found])

    return [
        Figure("recording: open, index, last state", middle("open_s"), "s", 1.5, "less", size),
        Figure("recording: jump to any record, median", middle("jump_ms"), "ms", 50, "less", "200 random jumps"),
        Figure("recording: jump to any record, p95", middle("jump_p95_ms"), "ms", 50, "less"),
        Figure("recording: seek to any time, median", middle("seek_ms"), "ms", 20, "less", "200 random times"),
        Figure("recording: seek to any time, p95", middle("seek_p95_ms"), "ms", 40, "less"),
        Figure(
            "recording: memory",
            middle("rss_mb"),
            "MB",
            300,
            "less",
            own,
        ),
    ]


def make(folder: Path, path: Path, count: int) -> int:
    """Make a recording of at least this many records; return their number."""
    place = folder / "traffic"
    place.mkdir()
    commands = ("at 600ms kill 5", "at 1200ms restart 5", "at 1500ms pause 4", "at 1900ms resume 4")
    with LiveRun(place, timing=QUICK, commands=commands, end_us=2_500_000) as run:
        run.ended()
        records = run.tail.read().records
    header, *traffic = records
    assert isinstance(header, Header)
    once = [record for record in traffic[:-1] if not isinstance(record, Keyframe)]
    serials = 1 + max(m.serial for r in once if isinstance(r, Step) for m in r.sent)
    faults = 1 + max((r.id for r in once if isinstance(r, Fault)), default=0)
    lives = 1 + max(r.incarnation for r in once if isinstance(r, Process))
    writer = Writer(path, header)
    gc.disable()
    turn = 0
    while writer.count < count:
        for record in once:
            writer.append(_later(record, turn * 2_600_000, turn * serials, turn * faults, turn * lives))
        writer.flush()
        turn += 1
    gc.enable()
    writer.close()
    return writer.count


def _later(record: Record, us: int, serials: int, faults: int, lives: int) -> Record:
    """Return the record in a later repetition."""
    at_us = getattr(record, "at_us", 0) + us
    if isinstance(record, Step):
        cause = record.input
        if isinstance(cause, Received):
            cause = Received(cause.source, cause.serial + serials)
        elif isinstance(cause, Started):
            cause = Started(cause.stored, cause.incarnation + lives, cause.serial + serials)
        sent = tuple(_later_message(message, serials) for message in record.sent)
        return replace(record, at_us=at_us, incarnation=record.incarnation + lives, input=cause, sent=sent)
    if isinstance(record, Routed):
        by = tuple(number + faults for number in record.by)
        return replace(record, at_us=at_us, serial=record.serial + serials, by=by)
    if isinstance(record, Process):
        return replace(record, at_us=at_us, incarnation=record.incarnation + lives)
    if isinstance(record, Fault):
        return replace(record, at_us=at_us, id=record.id + faults)
    return replace(record, at_us=at_us)


def _later_message(message: Message, serials: int) -> Message:
    reply_to = message.reply_to + serials if message.reply_to else 0
    return replace(message, serial=message.serial + serials, reply_to=reply_to)


def _bare_s(path: Path) -> float:
    began = time.perf_counter()
    path.read_bytes().count(b"\n")
    return time.perf_counter() - began


def _measure_recording(path: Path) -> dict[str, Any]:
    began = time.perf_counter()
    lines = open_recording(path)
    timeline = Timeline(lines)
    timeline.at(len(lines) - 1)
    open_s = time.perf_counter() - began
    chance = Random("jumps")
    jumps = []
    for _ in range(200):
        began = time.perf_counter()
        timeline.at(chance.randrange(len(lines)))
        jumps.append((time.perf_counter() - began) * 1000)
    end_us = timeline.at(len(lines) - 1).at_us
    seeks = []
    for _ in range(200):
        began = time.perf_counter()
        timeline.at(timeline.record_at(chance.randrange(end_us)))
        seeks.append((time.perf_counter() - began) * 1000)
    memory = psutil.Process(os.getpid()).memory_info()
    own = memory.rss - getattr(memory, "shared", 0)
    return {
        "open_s": open_s,
        "jump_ms": median(jumps),
        "jump_p95_ms": p95(jumps),
        "seek_ms": median(seeks),
        "seek_p95_ms": p95(seeks),
        "rss_mb": memory.rss / 1e6,
        "own_mb": own / 1e6,
    }


if __name__ == "__main__":
    print(msgspec.json.encode(_measure_recording(Path(sys.argv[1]))).decode())
