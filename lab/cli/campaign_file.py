"""The file of a campaign: the options that record one, and go on with it, of all commands that make campaigns."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Option

from lab.cli.options import writable
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.output import print_error, print_remark
from lab.protocols.sources import source_of
from lab.text import UserError
from lab.units import format_count
from lab.worlds.campaign.campaign_recording import (
    COMMANDS,
    CampaignHeader,
    CampaignRecording,
    CampaignWriter,
    Plan,
    describe_differences,
)
from lab.worlds.loading.targets import load_protocol, names_file, split_sandbox, split_target

P = TypeVar("P", bound=Plan)

RecordCampaign = Annotated[
    Path | None,
    Option("--record", metavar="FILE", help="Record the campaign to this new .jsonl file. See: lab campaign."),
]
ResumeCampaign = Annotated[
    Path | None,
    Option(
        "--resume",
        metavar="FILE",
        help="Go on with the campaign in this file. For a protocol of your own, repeat the whole command, with "
        "this option.",
    ),
]


class CampaignFile(Struct, frozen=True):
    """The file to ``record`` a new campaign to, or that of the campaign to ``resume``; or neither."""

    record: Path | None
    resume: Path | None

    @property
    def is_wanted(self) -> bool:
        return self.record is not None or self.resume is not None

    def check(self) -> None:
        """Raise UsageError if the options exclude each other, or the file cannot be begun."""
        if self.record is None:
            return
        if self.resume is not None:
            raise UsageError("--resume goes on in the file that it names: leave out --record")
        if self.record.suffix != ".jsonl":
            raise UsageError(f"--record {self.record}: name a .jsonl file")
        writable("--record", self.record)
        if self.record.exists() and self.record.stat().st_size:
            raise UsageError(
                f"--record {self.record} exists; go on with it (--resume {self.record}), or name another file"
            )

    def header(self, kind: type[P]) -> CampaignHeader | None:
        """Return the header of the campaign to go on with, which must be of this kind; None if it is a new one."""
        if self.resume is None:
            return None
        with closing(CampaignRecording(self.resume)) as recording:
            header = recording.header
        made_by = COMMANDS[type(header.campaign)]
        if not isinstance(header.campaign, kind):
            raise UsageError(
                f"--resume {self.resume} is a campaign of lab {made_by}: lab {made_by} --resume {self.resume}"
            )
        return header

    def as_recorded(self, header: CampaignHeader, options: Struct, planning: Iterable[str]) -> Any:
        """Return the plan of a file, of built-in protocols: no code that a recording names is executed.

        Raises UsageError for an option among ``planning``, which the file has.
        """
        defaults = type(options)()
        plan = header.campaign
        for name in planning:
            if getattr(options, name) != getattr(defaults, name):
                raise UsageError(
                    f"--{_option(name)}: {self.resume} has its plan ({_describe_plan(plan)}): leave the option "
                    "out; or write the whole command again, with PROTOCOL"
                )
        targets = [split_sandbox(target)[0] for target in plan.targets]
        for target in targets:
            if is_own(target):
                raise UsageError(
                    f"{self.resume} is a campaign of {target}: no code that a recording names is executed, so "
                    f"write the command that began it again, with --resume {self.resume}"
                )
        bases = [
            replace(base, protocol=replace(base.protocol, source=source_of(load_protocol(target))[1]))
            for target, base in zip(targets, plan.bases, strict=True)
        ]
        installed = plan.with_protocols(plan.targets, bases)
        self.require_fit(header, CampaignHeader.of(installed, header.part))
        return plan

    def require_fit(self, there: CampaignHeader, here: CampaignHeader) -> None:
        """Raise UsageError if the runs to make are not those of the campaign in the file."""
        different = describe_differences(there, here)
        if there.part != here.part:
            different.append(f"the part is {there.part or 'every one'} there, and {here.part or 'every one'} here")
        if different:
            raise UsageError(
                f"--resume {self.resume} does not fit: {'; '.join(different)}; give the options that it was begun "
                "with, or begin another campaign with --record FILE"
            )

    @contextmanager
    def writing(self, plan: Plan, again: Sequence[str], part: int = 0) -> Iterator[CampaignWriter | None]:
        """Open the file, if there is one. Whatever ends the campaign, the file is kept, and can be resumed.

        ``again`` is the command line that goes on with it.
        """
        if not self.is_wanted:
            yield None
            return
        if self.resume is not None:
            writer = CampaignWriter.resume(self.resume)
            if writer.recording.torn:
                print_error(
                    f"{self.resume}: the last line was cut off, and is dropped; its run is made again (a program "
                    "that is killed leaves that behind)"
                )
        else:
            assert self.record is not None
            writer = CampaignWriter.begin(self.record, CampaignHeader.of(plan, part))
        with closing(writer):
            try:
                yield writer
            except (SystemExit, UserError):
                print_remark(describe_file(writer, again))
                raise


def append(writer: CampaignWriter, outcome: Any, work_us: Iterable[int] = ()) -> None:
    """Write the line of a run, or exit if that fails."""
    try:
        writer.append(outcome, work_us)
    except OSError as error:
        fail(f"{writer.recording.path} cannot be written: {error.strerror}", EXIT_NOT_AS_EXPECTED)


def describe_file(writer: CampaignWriter, again: Sequence[str]) -> str:
    """Return how many runs the file has, and the command that goes on with it, or shows it."""
    path = writer.recording.path
    made = f"campaign: {path} has {format_count(writer.count, 'run')}"
    if writer.is_complete:
        return f"{made}, all of them; see them with: lab campaign show {path}"
    return f"{made}; go on with: {shlex.join([*again, '--resume', str(path)])}"


def words_of(options: Struct, names: Iterable[str]) -> list[str]:
    """Return those of the options that are not as usual, as words of a command line."""
    defaults, words = type(options)(), list[str]()
    for name in names:
        value = getattr(options, name)
        if value != getattr(defaults, name):
            given = value if isinstance(value, list) else [value]
            option = f"--{_option(name)}"
            words += [option] if value is True else [word for each in given for word in (option, str(each))]
    return words


def is_own(target: str) -> bool:
    """Return whether a file of the user's is executed for the target."""
    return names_file(split_sandbox(target)[0]) or bool(split_target(target)[1])


def _option(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _describe_plan(plan: Plan) -> str:
    seed = getattr(plan, "seed", None)
    seeded = "" if seed is None else f"seed {seed}, "
    return f"{seeded}{format_count(plan.runs, 'run')}"
