"""A recording cut at any byte, or with a flipped bit: every command reads it, or refuses it in one line.

And ``lab verify`` notices every flipped bit in the recording of an exercise: the digests show it.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from lab.export.formats import FORMATS
from lab.protocols import PROTOCOLS
from lab.recording import writer
from lab.recording.records import ExerciseAttempt
from lab.text import sanitize
from tests.cli.invocation import Called, Lab
from tests.harness import Rig
from tests.profile import SOAK, amount

FLIPS = amount(quick=8, soak=10_000)
CUTS = amount(quick=4, soak=10**9)
BATCH = 500
VERIFY = ("verify", "run.jsonl")
READERS = (
    ("show", "run.jsonl", "--watch", "all.status"),
    ("history", "run.jsonl"),
    *(("export", "run.jsonl", "--to", form.name, "--out", "-") for form in FORMATS if form.is_text),
    *(
        ("export", "run.jsonl", "--to", form.name, "--out", f"run{form.suffix}", "--force")
        for form in FORMATS
        if not form.is_text and not form.is_diagram_film
    ),
    (
        *("export", "run.jsonl", "--to", "gif", "--out", "run.gif", "--force"),
        *("--size", "480x270", "--fps", "1", "--speed", "1000"),
    ),
    ("diff", "run.jsonl", "whole.jsonl"),
    ("scenario", "from", "run.jsonl"),
    ("branches", "run.jsonl"),
    ("replay", "run.jsonl"),
)
"""All that is done with a recording, in turn. Without a terminal, ``replay`` opens it, and ends there."""


@cache
def recorded() -> bytes:
    """Return the recording of an attempt at an exercise, with every kind of record and many keyframes."""
    rig = Rig([1, 2, 3], protocol=PROTOCOLS["invitation"], jitter_us=3_000, seed=5)
    rig.header = replace(rig.header, exercise=ExerciseAttempt("first-election", "anna", 1))
    rig.do(
        "at 300ms kill 3", "at 400ms pause 1", "at 600ms lose all 9%", "at 650ms resume 1", "at 700ms restart 3"
    )
    with TemporaryDirectory() as folder, patch.object(writer, "KEYFRAME_EVERY", 40):
        return rig.started().run(900_000).write(Path(folder) / "run.jsonl").read_bytes()


def outcomes(
    lab: Lab, data: bytes, commands: Sequence[tuple[str, ...]], name: str
) -> Iterator[tuple[str, Called]]:
    """Yield what these commands do with these bytes; ``name`` is for the message of a failure."""
    (lab.folder / "run.jsonl").write_bytes(data)
    for words in commands:
        try:
            done = lab.within(*words)
        except BaseException as error:
            raise AssertionError(f"{name}: lab {' '.join(words)}: {type(error).__name__}: {error}") from error
        assert done.status in (0, 1, 2), f"{name}: {words}"
        assert "Traceback" not in done.err, f"{name}: {words}"
        assert all(line.startswith("lab: ") for line in done.err.splitlines()), f"{name}: {words}: {done.err}"
        for text in (done.out, done.err):
            assert sanitize(text) == text.replace("\n", " ").replace("\t", " "), f"{name}: {words}"
        yield words[0], done


@pytest.fixture
def reader(lab: Lab) -> Lab:
    (lab.folder / "whole.jsonl").write_bytes(recorded())
    return lab


def test_the_whole_recording_is_read(reader: Lab) -> None:
    """Or the tests below would show nothing."""
    for command, done in outcomes(reader, recorded(), (VERIFY, *READERS), "whole"):
        assert done.status == (2 if command == "replay" else 0), done
    assert b'"digest":"' in recorded().rpartition(b'{"record":"keyframe"')[2]


@pytest.mark.parametrize("part", range(amount(quick=1, soak=40)))
def test_cut_at_every_byte(reader: Lab, part: int) -> None:
    """The whole lines are read; in the quick profile, at some bytes and around the ends of some lines."""
    data = recorded()
    ends = range(part, len(data), 40) if SOAK else sorted(_few_cuts(data))
    counts: Counter[tuple[str, int]] = Counter()
    for end in ends:
        commands = (VERIFY, READERS[end // 40 % len(READERS)])
        for command, done in outcomes(reader, data[:end], commands, f"cut at byte {end}"):
            counts[command, done.status] += 1
            if command == "verify" and done.status < 2:
                assert ": as recorded; " in done.out, done.out
    print(f"{len(ends):,} cuts of {len(data):,} bytes: {dict(sorted(counts.items()))}")


def _few_cuts(data: bytes) -> set[int]:
    chance = Random("cuts")
    newlines = [place for place, byte in enumerate(data) if byte == ord("\n")]
    near = {newline + shift for newline in chance.sample(newlines, 3) for shift in (0, 1, 2)}
    return near | {0, 1, len(data) - 1} | {chance.randrange(len(data)) for _ in range(CUTS)}


@pytest.mark.parametrize("first", range(0, FLIPS, BATCH))
def test_flipped_bits(reader: Lab, first: int) -> None:
    """Each is noticed by ``lab verify``, but for those in the last line."""
    counts: Counter[tuple[str, int]] = Counter()
    last = min(first + BATCH, FLIPS)
    for number in range(first, last):
        chance = Random(f"flip {number}")
        data = bytearray(recorded())
        place = chance.randrange(chance.choice((0, data.index(b"\n"))), len(data))
        data[place] ^= 1 << chance.randrange(8)
        commands = (VERIFY, READERS[number % len(READERS)])
        for command, done in outcomes(reader, bytes(data), commands, f"flip {number}, byte {place}"):
            counts[command, done.status] += 1
            if command == "verify" and ": as recorded; " in done.out:
                assert _is_harmless(bytes(data), place), f"flip {number}, byte {place}: {done.out}"
    print(f"{last - first:,} flipped bits: {dict(sorted(counts.items()))}")


def _is_harmless(data: bytes, place: int) -> bool:
    """Return whether the flip is in the last line: the reason of the end, which no digest follows."""
    whole = recorded().splitlines(keepends=True)
    number = bisect_right(list(accumulate(map(len, whole))), place)
    return number == len(whole) - 1
