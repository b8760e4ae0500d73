"""Recordings to export: the shipped ones, and random runs with faults of all kinds, as files."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from hypothesis import strategies as st

from lab.export.excerpt import Excerpt, ExportOptions, read_excerpt
from lab.protocols import Algorithm, Bully, InvitationElection, TwoPhaseCommit
from lab.recording.reader import FileRecords, NotARecordingError, open_recording
from lab.script.parse import parse
from lab.script.scope import CommandError
from tests.harness import T_US, Rig
from tests.profile import amount

__all__ = ["NODES", "SHIPPED", "excerpt_in", "exported", "runs", "windows"]

SHIPPED = sorted((Path(__file__).parents[2] / "recordings").rglob("*.jsonl"))[:: amount(quick=10, soak=1)]
"""Every tenth, but all in the profile ``soak``."""
NODES = (1, 2, 3, 4)
Write = Callable[[Excerpt, TextIO], None]
_LONGEST_US = 40 * T_US
_PROTOCOLS: tuple[type[Algorithm], ...] = (Bully, InvitationElection, TwoPhaseCommit)
_STRIKES = (
    "kill {a}",
    "restart {a}",
    "pause {a}",
    "resume {a}",
    "wipe {a}",
    "inject {a}->{b} AreYouUp",
    "hold {a}->{b}",
    "release",
    "lose {a}->{b} 100%",
    "lose all 30%",
    "delay {a}->{b} 80ms",
    "duplicate all 50%",
    "reorder all 60%",
    "partition {a} | {b}",
    "tell 2 transfer 10 checking savings",
    "heal",
    'say "=1+1 {{{a}: {b}}}"',
    'mark "-{a}"',
)
_times = st.integers(0, _LONGEST_US // 1000).map(lambda ms: ms * 1000)
_pairs = st.permutations(NODES).map(lambda nodes: nodes[:2])
_lines = st.tuples(_times, st.sampled_from(_STRIKES), _pairs)


@st.composite
def runs(draw: st.DrawFn) -> Rig:
    """Draw a run of four nodes with jitter and up to twelve faults."""
    rig = Rig(NODES, protocol=draw(st.sampled_from(_PROTOCOLS)), jitter_us=30_000, seed=draw(st.integers(1, 99)))
    rig.started()
    for at_us, text, (a, b) in draw(st.lists(_lines, max_size=12)):
        try:
            rig.director.add(parse(f"at {at_us // 1000}ms {text.format(a=a, b=b)}"))
        except CommandError as error:
            raise AssertionError(f"{text}: {error}") from None
    return rig.run(_LONGEST_US)


@st.composite
def windows(draw: st.DrawFn) -> ExportOptions:
    """Draw export options: the whole run or a window; all nodes or some; with or without heartbeats."""
    from_us, until_us = draw(st.one_of(st.just((None, None)), st.tuples(_times, _times)))
    if from_us is not None and until_us is not None:
        from_us, until_us = min(from_us, until_us), max(from_us, until_us) + 1000
    nodes = draw(st.one_of(st.just(()), st.sets(st.sampled_from(NODES), min_size=1).map(tuple)))
    return ExportOptions(from_us, until_us, nodes, draw(st.booleans()))


def excerpt_in(path: Path, options: ExportOptions | None = None) -> Excerpt:
    """Return an excerpt of the recording in a file."""
    try:
        lines: FileRecords = open_recording(path)
    except NotARecordingError as error:
        raise AssertionError(error) from None
    return read_excerpt(lines, options or ExportOptions())


def exported(write: Write, path: Path, options: ExportOptions | None = None) -> str:
    """Return the export of the recording as text."""
    out = io.StringIO()
    write(excerpt_in(path, options), out)
    return out.getvalue()
