"""``lab branch`` and ``lab branches``: from options to the run that goes on, and the tree of recordings."""

import contextlib
import os
from pathlib import Path

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from lab.cli.errors import UsageError
from lab.cli.files import recording_path
from lab.cli.reading import opened
from lab.cli.settings import World, check_command, check_headless, positive, seed_of
from lab.cli.terminal import need_terminal
from lab.places import recordings_folder
from lab.recording.lineage import Twig, family_of
from lab.recording.reader import FileRecords
from lab.recording.timeline import Timeline
from lab.script import At
from lab.text import sanitize
from lab.units import listed, parse_us
from lab.worlds.config import RunConfig, branch_config, new_run_name
from lab.worlds.targets import TargetError, absolute_target, recorded_protocol

__all__ = ["print_tree", "wanted_branch"]

_WIDEST = 1_000


def wanted_branch(
    file: Path,
    at: str,
    commands: list[str],
    for_: str | None,
    record: Path | None,
    seed: str | None,
    headless: bool,
    target: str | None,
) -> RunConfig:
    """The run that goes on from that place. Every mistake is a UsageError."""
    check_headless(headless, for_)
    with contextlib.closing(opened(file)) as lines:
        header, place = lines.header, _place(lines, file, at)
        at_us = Timeline(lines).at(place).at_us
    if not headless:
        need_terminal("lab branch … --headless --for 6s")
    try:
        protocol = recorded_protocol(header.protocol, target)
    except TargetError as error:
        raise UsageError(f"{file} cannot be re-executed: {error}") from None
    world, parameters = World(simulated=True, headless=headless), header.protocol.parameters
    for line in commands:
        trigger = check_command(line, protocol, header.nodes, world, parameters).trigger
        if isinstance(trigger, At) and trigger.us < at_us:
            raise UsageError(
                f"--do {line!r}: the branch begins at {at_us / 1e6:g}s; write a later time, or: after 1s"
            )
    end_us = None if for_ is None else at_us + positive("for", for_)
    if record is not None and record.resolve() == file.resolve():
        raise UsageError(f"--record {record} is what is branched; name another file")
    run = new_run_name(header.protocol.name)
    return branch_config(
        header,
        file,
        place,
        run,
        str(recording_path(record, run, file)),
        "" if target is None else absolute_target(target),
        seed=None if seed is None else seed_of(seed),
        commands=tuple(commands),
        end_us=end_us,
    )


def _place(lines: FileRecords, file: Path, at: str) -> int:
    """The record that is meant: by its number, or the last that is not later than a time."""
    if at.strip().isdecimal():
        if int(at) >= len(lines):
            torn = ", and a torn line" if lines.torn else ""
            raise UsageError(f"--at {at}: {file} has the records 0 to {len(lines) - 1}{torn}")
        return int(at)
    try:
        at_us = parse_us(at)
    except ValueError:
        raise UsageError(
            f"--at {at}: write a record's number (312), or a time with its unit, us, ms, s or m (2.5s)"
        ) from None
    timeline = Timeline(lines)
    if at_us > (end_us := timeline.at(len(lines)).at_us):
        raise UsageError(f"--at {at}: {file} has nothing so late; it ends at {end_us // 1000 / 1000:.3f} s")
    return timeline.record_at(at_us)


def print_tree(file: Path | None) -> int:
    """Print the recordings around ``file``, or those that lab keeps, each below what it is a branch of."""
    folder = recordings_folder()
    if file is not None:
        opened(file).close()
        folder = file.resolve().parent
    trees = family_of({*folder.glob("*.jsonl"), *([] if file is None else [folder / file.name])})
    console = Console(highlight=False, width=None if os.isatty(1) else _WIDEST)
    if not trees:
        print(f"there are no recordings in {folder}")
        return 0
    top = Tree(Text(sanitize(f"{folder}/")))
    for tree in trees:
        _grow(top, tree, folder.resolve(), file)
    console.print(top)
    return 0


def _grow(tree: Tree, twig: Twig, folder: Path, marked: Path | None) -> None:
    """Add the recording, and its branches below it, with what can be said of each in a line."""
    here = marked is not None and twig.path.resolve() == marked.resolve()
    elsewhere = twig.path.resolve().parent != folder
    told = Text(sanitize(str(twig.path) if elsewhere else twig.path.name), "bold" if here else "")
    if twig.kin is None:
        told.append("  is not there any more", "red")
    else:
        header = twig.kin.header
        if header.parent is not None:
            told.append(f"  from record {header.parent.record}, at {header.parent.at_us / 1e6:.3f} s", "cyan")
        told.append(
            sanitize(
                f"  {header.run}, {header.world}, nodes {listed(header.nodes)}; {twig.kin.ending or 'cut off'}"
            ),
            "dim",
        )
    if here:
        told.append("  <- this one", "bold")
    below = tree.add(told)
    for branch in twig.branches:
        _grow(below, branch, folder, marked)
