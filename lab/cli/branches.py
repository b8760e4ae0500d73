"""``lab branch`` and ``lab branches``: configure a branch of a recording, print the tree of recordings."""

import contextlib
import os
from pathlib import Path

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from lab.cli.output_files import recording_path
from lab.cli.recording_report import open_or_exit
from lab.cli.run_options import RunMode, check_command, check_headless, positive, seed_of
from lab.cli.terminal import require_terminal
from lab.cli.usage_errors import UsageError
from lab.places import recordings_folder
from lab.recording.lineage import LineageTree, lineage_of
from lab.recording.reader import FileRecords
from lab.recording.timeline import Timeline
from lab.script import At
from lab.text import sanitize
from lab.units import format_ranges, parse_us
from lab.worlds.config import RunConfig, branch_config, new_run_name
from lab.worlds.targets import TargetError, absolute_target, recorded_protocol

__all__ = ["branch_run", "print_tree"]

_WIDEST = 1_000


def branch_run(
    file: Path,
    at: str,
    commands: list[str],
    for_: str | None,
    record: Path | None,
    seed: str | None,
    headless: bool,
    target: str | None,
) -> RunConfig:
    """Return the configuration of the branch. Raises UsageError."""
    check_headless(headless, for_)
    with contextlib.closing(open_or_exit(file)) as store:
        header, place = store.header, _place(store, file, at)
        at_us = Timeline(store).at(place).at_us
    if not headless:
        require_terminal("lab branch … --headless --for 6s")
    try:
        protocol = recorded_protocol(header.protocol, target)
    except TargetError as error:
        raise UsageError(f"{file} cannot be re-executed: {error}") from None
    world, parameters = RunMode(simulated=True, headless=headless), header.protocol.parameters
    for line in commands:
        trigger = check_command(line, protocol, header.nodes, world, parameters).trigger
        if isinstance(trigger, At) and trigger.us < at_us:
            raise UsageError(
                f"--do {line!r}: the branch begins at {at_us / 1e6:g}s; write a later time, or: after 1s"
            )
    end_us = None if for_ is None else at_us + positive("for", for_)
    if record is not None and record.resolve() == file.resolve():
        raise UsageError(f"--record {record} is the recording to branch from; name another file")
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


def _place(store: FileRecords, file: Path, at: str) -> int:
    """Return the number of the record given with ``--at``: by number, or the last one up to a time."""
    if at.strip().isdecimal():
        if int(at) >= len(store):
            torn = ", and a truncated line" if store.torn else ""
            raise UsageError(f"--at {at}: {file} has the records 0 to {len(store) - 1}{torn}")
        return int(at)
    try:
        at_us = parse_us(at)
    except ValueError:
        raise UsageError(
            f"--at {at}: write a record number (312), or a time with a unit, us, ms, s or m (2.5s)"
        ) from None
    timeline = Timeline(store)
    if at_us > (end_us := timeline.at(len(store)).at_us):
        raise UsageError(f"--at {at}: {file} ends at {end_us // 1000 / 1000:.3f} s")
    return timeline.record_at(at_us)


def print_tree(file: Path | None) -> int:
    """Print the tree of the recordings next to ``file``, or of those that lab keeps. Return the exit status."""
    folder = recordings_folder()
    if file is not None:
        open_or_exit(file).close()
        folder = file.resolve().parent
    trees = lineage_of({*folder.glob("*.jsonl"), *([] if file is None else [folder / file.name])})
    console = Console(highlight=False, width=None if os.isatty(1) else _WIDEST)
    if not trees:
        print(f"there are no recordings in {folder}")
        return 0
    top = Tree(Text(sanitize(f"{folder}/")))
    for tree in trees:
        _add_branch(top, tree, folder.resolve(), file)
    console.print(top)
    return 0


def _add_branch(parent: Tree, tree: LineageTree, folder: Path, marked: Path | None) -> None:
    """Add the recording to the tree, described in one line, and its branches below it."""
    here = marked is not None and tree.path.resolve() == marked.resolve()
    elsewhere = tree.path.resolve().parent != folder
    label = Text(sanitize(str(tree.path) if elsewhere else tree.path.name), "bold" if here else "")
    if tree.info is None:
        label.append("  no longer exists", "red")
    else:
        header = tree.info.header
        if header.parent is not None:
            label.append(f"  from record {header.parent.record}, at {header.parent.at_us / 1e6:.3f} s", "cyan")
        label.append(
            sanitize(
                f"  {header.run}, {header.world}, nodes {format_ranges(header.nodes)}; "
                f"{tree.info.ending or 'truncated'}"
            ),
            "dim",
        )
    if here:
        label.append("  <- this one", "bold")
    subtree = parent.add(label)
    for branch in tree.branches:
        _add_branch(subtree, branch, folder, marked)
