"""Branches for tests: grow one from a recording, run it, and check it."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from lab.analysis.elections import agreed_coordinator
from lab.protocols import Algorithm, Bully
from lab.recording.reader import open_recording
from lab.recording.records import End, Record
from lab.recording.writer import Writer
from lab.replay.divergence import find_divergence
from lab.script.parse import parse
from lab.worlds.loading.config import RunConfig
from lab.worlds.simulated.branch import BranchedSimulation, open_branch
from tests.harness import T_US
from tests.recording.samples import execute_again

__all__ = ["Grown", "grow"]

SEED = 11


class Grown:
    """A started branch of ``parent`` after record ``at``; ``header`` and ``records`` are those so far."""

    def __init__(
        self,
        parent: Path,
        at: int,
        path: Path,
        commands: Iterable[str] = (),
        seed: int = SEED,
        protocol: type[Algorithm] = Bully,
    ) -> None:
        self.parent = parent
        self.path = path
        header = open_recording(parent).header
        config = RunConfig(
            "test",
            header.protocol.name,
            header.nodes,
            header.timing,
            {},
            header.link,
            seed,
            str(path),
            world="simulated",
            parent=str(parent),
            at=at,
        )
        self.writer: Writer
        self.run: BranchedSimulation
        self.writer, self.run = open_branch(config, protocol)
        origin = self.writer.header.parent
        assert origin is not None
        self.at = origin.record
        self.began_us = self.run.now_us
        for line in commands:
            self.run.director.add(parse(line))
        self.run.start()

    @property
    def new(self) -> list[Record]:
        """The records after the parent's."""
        self.writer.flush()
        with contextlib.closing(open_recording(self.path)) as lines:
            return [record for record in lines.records(self.at + 1) if record is not None]

    def do(self, line: str) -> None:
        """Execute a command now."""
        self.run.control.execute(parse(line))

    def heal_all(self) -> int | None:
        """End all faults, restart and resume all nodes, and run until they agree; return the coordinator."""
        for line in ("heal", "resume all", "restart all"):
            self.do(line)
        self.run.run_to(self.run.now_us + 40 * T_US)
        return agreed_coordinator(self.writer.cluster.nodes)

    def _same_as_parent(self) -> int:
        """Return how many records are those of the parent, whatever its format."""
        with (
            contextlib.closing(open_recording(self.parent)) as one,
            contextlib.closing(open_recording(self.path)) as two,
        ):
            return find_divergence(one, two).same

    def checked(self) -> bytes:
        """Complete the recording and check that it begins with the parent's bytes and re-executes; return it."""
        self.writer.append(End(self.run.now_us, "the test ended"))
        self.writer.close()
        written, copied = self.path.read_bytes(), self.parent.read_bytes().splitlines(keepends=True)
        lines = written.splitlines(keepends=True)
        with contextlib.closing(open_recording(self.parent)) as parent:
            is_format_1 = parent.header.format == 1
            keyframes = sum(number <= self.at for number in parent.keyframes)
        if is_format_1:
            assert self._same_as_parent() >= self.at - keyframes
        else:
            assert lines[1 : self.at + 1] == copied[1 : self.at + 1]
        report = execute_again(self.path)
        assert report.differences == [], f"branch at {self.at}"
        return written


def grow(parent: Path, at: int, *commands: str, seed: int = SEED) -> Grown:
    """Start a branch in the parent's folder."""
    return Grown(parent, at, parent.with_name(f"{parent.stem}-{at}.jsonl"), commands, seed)
