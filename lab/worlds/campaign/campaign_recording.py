"""A campaign is a recording, too: a file that only grows, from which the campaign goes on after any interruption.

JSON Lines. The header says what is to be made: the plan, and the digests of the program and of the protocols'
sources. There are four kinds of plans, and the lines have the outcomes of one kind:

    check      a run under a schedule: what it reached, violated and was judged by, and, shrunk, what was found
    compare    one seed: what was measured of each protocol
    scale      one protocol in a cluster of one size: the cost of its elections
    explore    one set-up: the size of its state space, the verdicts, and the shortest path to each violation

A line is written when its run is over. It depends on the header and the number of its run alone, but for the time
that it took. So it does not matter where a run is made: worker processes, a cluster, and files of several machines
that are merged by hand are three transports of the same lines.

To go on, nothing is executed again. The lines have all that guided drawing learns from, and it learns at the same
places as if they had just been made. Of a run that is not over, nothing is kept.
"""

import hashlib
import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab import __version__
from lab.foreign_file import open_foreign
from lab.recording.reader import UNREADABLE
from lab.recording.writer import open_exclusive
from lab.text import UserError
from lab.worlds.campaign.campaign import Campaign, RunOutcome
from lab.worlds.campaign.cluster import Identity, identity
from lab.worlds.campaign.comparison import ProtocolComparison, RunMeasurement, measured_of
from lab.worlds.campaign.exploration import ExplorationCampaign, SetUpOutcome
from lab.worlds.campaign.scalability import ClusterMeasurement, ScaleCampaign
from lab.worlds.loading.targets import names_file, split_sandbox, user_files

FORMAT = 1
MOST_PARTS = 1_000
Plan = Campaign | ProtocolComparison | ScaleCampaign | ExplorationCampaign
"""What is to be made. Its runs are numbered from 1; of the kinds, a run is what the theory above says."""
P = TypeVar("P", bound=Plan)
COMMANDS: dict[type[Plan], str] = {
    Campaign: "check",
    ProtocolComparison: "compare",
    ScaleCampaign: "scale",
    ExplorationCampaign: "explore",
}
"""The command that makes campaigns of each kind."""
_LARGEST = 1 << 37
"""The most bytes of a campaign: 128 GB, some fifty million runs."""
_LONGEST_LINE = 1 << 26
_DIGITS = 12
_BEGIN = b'{"record":"campaign"'


class NotACampaignError(UserError):
    """The file is not the recording of a campaign, or cannot be read; the text is for the user."""


class CampaignHeader(Struct, frozen=True, omit_defaults=True, tag="campaign", tag_field="record"):
    """The first line: all that the lines of the runs depend on. ``began`` is UTC, ISO 8601.

    ``source`` is the digest of the protocols' sources, and of the user's files that go with them. ``part``: only
    this part of the campaign is to be made in this file; 0: all.
    """

    format: int
    program: str
    began: str
    identity: Identity
    source: str
    campaign: Plan
    part: int = 0

    @classmethod
    def of(cls, campaign: Plan, part: int = 0) -> "CampaignHeader":
        """Return the header of a campaign that begins now."""
        began = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(FORMAT, __version__, began, identity(), source_digest(campaign), campaign, part)

    @property
    def parts(self) -> tuple[int, ...]:
        """The parts to be made in this file."""
        return (self.part,) if self.part else tuple(range(1, self.campaign.parts + 1))


Outcome = TypeVar("Outcome")


class RecordedRun(Struct, Generic[Outcome], frozen=True, omit_defaults=True, tag="run", tag_field="record"):
    """The line of a run; runs are numbered from 1.

    ``took_us``: the time in microseconds since the line before it was written; where several are made at a time,
    less than its work. ``work_us``: how long each of its measurements took, if that is reported.
    """

    run: int
    took_us: int
    outcome: Outcome
    work_us: tuple[int, ...] = ()


_OUTCOMES: dict[type[Plan], Any] = {
    Campaign: RunOutcome,
    ProtocolComparison: tuple[RunMeasurement, ...],
    ScaleCampaign: ClusterMeasurement,
    ExplorationCampaign: SetUpOutcome,
}
"""The type of the outcomes of each kind."""


class _Number(Struct):
    run: int
    took_us: int


_encode = msgspec.json.Encoder(order="deterministic").encode


def _encode_plan(plan: Any) -> bytes:
    """Encode a plan, or a header with one: it may have nodes by their numbers, which sorted keys exclude."""
    return msgspec.json.encode(msgspec.to_builtins(plan, str_keys=True, order="deterministic"))


_header_of = msgspec.json.Decoder(CampaignHeader).decode
_number_of = msgspec.json.Decoder(_Number).decode


def source_digest(plan: Plan) -> str:
    """Return the digest of the protocols' sources, and of the user's files that they need."""
    digest = hashlib.sha256()
    for target, base in zip(plan.targets, plan.bases, strict=True):
        digest.update(base.protocol.source.encode())
        if names_file(split_sandbox(target)[0]):
            for path, text in user_files(target).items():
                digest.update(Path(path).name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:_DIGITS]


# what fits


def describe_differences(there: CampaignHeader, here: CampaignHeader) -> list[str]:
    """Return why runs of the two are not runs of one campaign: *the seed is 1 there, and 2 here*."""
    kinds = [COMMANDS[type(each.campaign)] for each in (there, here)]
    if kinds[0] != kinds[1]:
        return [f"it is a campaign of lab {kinds[0]} there, and of lab {kinds[1]} here"]
    facts = zip(_facts(there).items(), _facts(here).values(), strict=True)
    found = [f"{name} is {one} there, and {other} here" for (name, one), other in facts if one != other]
    if not found and _plan_of(there) != _plan_of(here):
        found.append("the plan of its schedules is another one")
    return found


def _facts(header: CampaignHeader) -> dict[str, str]:
    infos = [base.protocol for base in header.campaign.bases]
    return {
        "the protocol": ", ".join(info.title for info in infos),
        "the digest of its source": header.source,
        "its parameters": " ".join(setting for info in infos for setting in info.settings) or "as usual",
        **header.campaign.facts(),
        "the digest of the package lab": header.identity.package,
        "Python": header.identity.python,
    }


def _plan_of(header: CampaignHeader) -> bytes:
    """Return all that a line depends on but the digests. Where the user's files are does not matter."""
    plan = header.campaign
    bases = [replace(base, protocol=replace(base.protocol, file="", source="")) for base in plan.bases]
    return _encode_plan(plan.with_protocols([""] * len(bases), bases))


# reading


def read_campaign_header(path: Path) -> CampaignHeader | None:
    """Return the first line of a campaign's file; None of any other file. Raises OSError."""
    with open_foreign(path, _LARGEST) as file:
        line = file.readline(_LONGEST_LINE) if file.read(len(_BEGIN)) == _BEGIN else b""
    try:
        return _header_of(_BEGIN + line)
    except UNREADABLE:
        return None


class CampaignRecording:
    """A campaign read from its file. ``torn``: the number of bytes of a last line that was cut off.

    ``size`` is the number of bytes of the whole lines, ``took_us`` the time that the runs took in microseconds.
    Raises NotACampaignError and OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.torn = 0
        self.took_us = 0
        self._file = open_foreign(path, _LARGEST)
        self._numbers, self._offsets = array("Q"), array("Q")
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._numbers)

    def close(self) -> None:
        self._file.close()

    def runs(self) -> Iterator[RecordedRun[Any]]:
        """Yield the runs in the order of their numbers."""
        return map(self._run_at, self._offsets)

    def outcomes(self) -> dict[int, Iterator[Any]]:
        """Return the outcomes of the runs of each part; read them part by part."""
        return {each: (run.outcome for run in self.runs_of(each)) for each in self.header.parts}

    def runs_of(self, part: int) -> Iterator[RecordedRun[Any]]:
        """Yield the runs of a part, in the order of their numbers."""
        return map(self._run_at, self._offsets[self._slice(part)])

    def made(self, part: int) -> range:
        """Return the numbers of the runs of a part that are in the file: its first ones."""
        place = self._slice(part)
        first = self.header.campaign.runs_of(part).start
        return range(first, first + place.stop - place.start)

    def missing(self) -> Iterator[int]:
        """Yield the numbers of the runs that are to be made in this file, and are not in it; perhaps endlessly."""
        campaign = self.header.campaign
        if not campaign.runs:
            return count(len(self) + 1)
        parts = ((campaign.runs_of(part), self.made(part)) for part in self.header.parts)
        return chain.from_iterable(range(made.stop, runs.stop) for runs, made in parts)

    def _slice(self, part: int) -> slice:
        """Return the places of the runs of a part in the arrays."""
        campaign = self.header.campaign
        if not campaign.runs:
            return slice(0, len(self))
        runs = campaign.runs_of(part)
        first = bisect_left(self._numbers, runs.start)
        return slice(first, bisect_left(self._numbers, runs.stop, first))

    def _run_at(self, offset: int) -> RecordedRun[Any]:
        self._file.seek(offset)
        line = self._file.readline(_LONGEST_LINE)
        plan = self.header.campaign
        try:
            run = self._decoder.decode(line)
            if isinstance(plan, ProtocolComparison):
                return replace(run, outcome=measured_of(plan, run.outcome))
            return run
        except UNREADABLE as error:
            raise NotACampaignError(f"{self.path}: the line at byte {offset} is no run: {error}") from None

    def _read(self) -> None:
        line = self._file.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise NotACampaignError(f"{self.path}: not a campaign: its first line is not whole")
        try:
            self.header = _header_of(line)
        except UNREADABLE as error:
            raise NotACampaignError(
                f"{self.path}: not a campaign ({error}); lab check PROTOCOL --record FILE makes one, and so do "
                "lab compare, scale and explore"
            ) from None
        if self.header.format > FORMAT:
            raise NotACampaignError(
                f"{self.path} has format {self.header.format}, and this version reads up to {FORMAT}; "
                f"it was made by lab {self.header.program}"
            )
        campaign = self.header.campaign
        self._decoder: msgspec.json.Decoder[RecordedRun[Any]] = msgspec.json.Decoder(
            RecordedRun[_OUTCOMES[type(campaign)]]  # type: ignore[misc]
        )
        if not (
            0 < campaign.parts <= MOST_PARTS and 0 <= self.header.part <= campaign.parts and campaign.runs >= 0
        ):
            raise NotACampaignError(f"{self.path} was edited: it has no such part, or number of runs")
        self._index(len(line))

    def _index(self, offset: int) -> None:
        number = 1
        while line := self._file.readline(_LONGEST_LINE):
            number += 1
            if not line.endswith(b"\n"):
                if len(line) == _LONGEST_LINE:
                    raise NotACampaignError(f"{self.path}: line {number} is too long")
                self.torn = len(line)
                break
            try:
                run = _number_of(line)
            except UNREADABLE as error:
                raise NotACampaignError(f"{self.path}: line {number} is no run: {error}") from None
            self._numbers.append(run.run)
            self._offsets.append(offset)
            self.took_us += run.took_us
            offset += len(line)
        self.size = offset
        if any(one >= other for one, other in zip(self._numbers, self._numbers[1:], strict=False)):
            places = sorted(range(len(self)), key=self._numbers.__getitem__)
            self._numbers = array("Q", (self._numbers[place] for place in places))
            self._offsets = array("Q", (self._offsets[place] for place in places))
        self._check()

    def _check(self) -> None:
        """Raise NotACampaignError unless the file has the first runs of each part, each once."""
        campaign = self.header.campaign
        expected: Iterable[int] = range(1, len(self) + 1)
        if campaign.runs:
            expected = chain.from_iterable(self.made(part) for part in range(1, campaign.parts + 1))
        for number, wanted in zip(self._numbers, expected, strict=False):
            if number != wanted:
                raise NotACampaignError(f"{self.path} was edited: run {wanted} is missing before run {number}")
        if campaign.runs and len(self) and self._numbers[-1] > campaign.runs:
            raise NotACampaignError(f"{self.path} was edited: it has a run {self._numbers[-1]}")


# writing


class CampaignWriter:
    """Appends the lines of runs to the file of a campaign: each is there once ``append`` returns.

    The file is locked meanwhile. ``recording`` is what was in it before.
    """

    def __init__(self, path: Path, file: int) -> None:
        """Use ``begin`` or ``resume``."""
        self._file = file
        self.recording = CampaignRecording(path)
        os.ftruncate(file, self.recording.size)
        os.lseek(file, 0, os.SEEK_END)
        self._numbers = self.recording.missing()
        self._since_s = time.monotonic()
        self._next = next(self._numbers, None)
        self.count = len(self.recording)

    @classmethod
    def begin(cls, path: Path, header: CampaignHeader) -> "CampaignWriter":
        """Begin a new file. Raises OSError, FileExistsError if the file has contents."""
        file = open_exclusive(path)
        try:
            if os.fstat(file).st_size:
                raise FileExistsError(path)
            _write(file, _encode_plan(header) + b"\n")
            return cls(path, file)
        except BaseException:
            os.close(file)
            raise

    @classmethod
    def resume(cls, path: Path) -> "CampaignWriter":
        """Go on with a file. A last line that was cut off is removed. Raises NotACampaignError and OSError."""
        os.stat(path)  # it must exist
        file = open_exclusive(path)
        try:
            return cls(path, file)
        except BaseException:
            os.close(file)
            raise

    @property
    def is_complete(self) -> bool:
        """True if no run is missing."""
        return self._next is None

    def append(self, outcome: Any, work_us: Iterable[int] = ()) -> None:
        """Write the line of the next run that is missing. Raises OSError."""
        now_s = time.monotonic()
        took_us, self._since_s = round((now_s - self._since_s) * 1e6), now_s
        assert self._next is not None
        _write(self._file, _encode(RecordedRun(self._next, took_us, outcome, tuple(work_us))) + b"\n")
        self._next = next(self._numbers, None)
        self.count += 1

    def close(self) -> None:
        """Sync the file to disk, and close it."""
        try:
            os.fsync(self._file)
        finally:
            self.recording.close()
            os.close(self._file)


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


# merging


class MergeError(UserError):
    """Files that are not of one campaign; the text is for the user."""


def merge_campaigns(files: list[CampaignRecording], path: Path) -> None:
    """Write one file with the runs of all. Raises MergeError, OSError.

    A run that is in several files must be the same in each.
    """
    first = files[0].header
    for other in files[1:]:
        different = describe_differences(first, other.header)
        if different:
            raise MergeError(
                f"{files[0].path} and {other.path} are not of one campaign: {'; '.join(different)} "
                f"(there: {files[0].path})"
            )
    parts = sorted({part for each in files for part in each.header.parts})
    part = parts[0] if len(parts) == 1 and first.campaign.parts > 1 else 0
    header = replace(first, began=min(each.header.began for each in files), part=part)
    file = open_exclusive(path)
    try:
        os.ftruncate(file, 0)
        _write(file, _encode_plan(header) + b"\n")
        for each in header.parts:
            _merge_part(files, each, file)
        os.fsync(file)
    finally:
        os.close(file)


def _merge_part(files: list[CampaignRecording], part: int, file: int) -> None:
    longest, *others = sorted(files, key=lambda each: -len(each.made(part)))
    known = [(other, other.runs_of(part)) for other in others]
    for run in longest.runs_of(part):
        for other, runs in known:
            same = next(runs, None)
            if same is not None and same.outcome != run.outcome:
                raise MergeError(
                    f"run {run.run} is not the same in {longest.path} and {other.path}: the protocol is not "
                    "deterministic, or a file was edited"
                )
        _write(file, _encode(run) + b"\n")
