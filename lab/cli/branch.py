"""``lab branch``, ``lab branches`` and ``lab diff``: continue recordings differently, and compare them."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct
from rich.text import Text
from rich.tree import Tree
from typer import Argument, Option

from lab.analysis.delivery import LogPage
from lab.cli.documents import Document, Json, print_json
from lab.cli.options import (
    CommandChecker,
    HeadlessJson,
    OwnProtocol,
    Record,
    check_headless,
    command,
    is_same_file,
    recording_path,
)
from lab.cli.program import app
from lab.cli.progress import Progress
from lab.cli.recording_report import RecordingSummary, format_log_line, report_damage, summarize_recording
from lab.cli.run import run_headless, run_with_interface
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    console,
    interrupt_on_signals,
    require_terminal,
)
from lab.output import print_line
from lab.places import recordings_folder
from lab.recording.lineage import LineageTree, lineage_of
from lab.recording.log_lines import count_lines
from lab.recording.reader import FileRecords, RecordStore, open_recording
from lab.recording.records import End, decode_fields, differing_fields
from lab.recording.timeline import Timeline
from lab.replay.divergence import Divergence, find_divergence, header_differences, lines_that_differ
from lab.script.statements import At
from lab.text import sanitize
from lab.units import format_ranges, parse_us
from lab.worlds.loading.config import RunConfig, branch_config, new_run_name
from lab.worlds.loading.settings import positive, seed_of
from lab.worlds.loading.targets import absolute_target, recorded_protocols
from lab.worlds.loading.user_module import TargetError


class BranchOptions(Struct, frozen=True):
    """The options of ``lab branch``."""

    file: Annotated[Path, Argument(metavar="FILE", help="Any recording: live, simulated, or a branch.")]
    at: Annotated[
        str,
        Option(
            metavar="RECORD|TIME",
            help="Branch after this record, or at this time: 312, 2.5s. The interface shows record numbers; the "
            "line number of a record in the file is one higher.",
        ),
    ]
    do: Annotated[
        list[str],
        Option(
            metavar="COMMAND",
            help='Give a command, usually with a trigger, as in lab run. "at 3s heal": at that time of the run; '
            '"after 500ms kill 5": after the branch begins. Repeatable.',
        ),
    ] = []
    for_: Annotated[
        str | None,
        Option("--for", metavar="TIME", help="End this long after the branch begins, in virtual time: 6s, 2m."),
    ] = None
    record: Record = None
    seed: Annotated[
        str | None,
        Option(
            metavar="NUMBER", help="Seed of message loss and jitter in the branch. Default: that of the recording."
        ),
    ] = None
    headless: Annotated[bool, Option("--headless", help="Run without the interface; requires --for.")] = False
    protocol: OwnProtocol = None
    json: HeadlessJson = False


@command(
    epilog="""Examples:\n
    lab branch run.jsonl --at 2.5s\n
    lab branch run.jsonl --at 312 --headless --for 5s --do "after 1s resume 5" --record resumed.jsonl"""
)
def branch(options: BranchOptions) -> int:
    """Continue a recording from any record, with new commands.

    The branch is simulated, and begins in exactly the state of the recording after that record. To restore this
    state, the recording is re-executed; this fails if the nodes do not repeat the recorded steps. The new
    recording begins with the same records. lab diff shows where two recordings diverge; lab branches shows the
    tree of branches.
    """
    if options.json and not options.headless:
        raise UsageError("--json requires --headless")
    if options.headless:
        interrupt_on_signals()  # before there is a recording
    config = _branch_config(options)
    return run_headless(config, options.json) if options.headless else run_with_interface(config)


def _branch_config(options: BranchOptions) -> RunConfig:
    check_headless(options.headless, options.for_)
    with closing(open_recording(options.file)) as store:
        header, place = store.header, _place(store, options.file, options.at)
        at_us = Timeline(store).at(place).at_us
    if not options.headless:
        require_terminal("lab branch … --headless --for 6s")
    try:
        protocol = recorded_protocols(header, options.protocol)
    except TargetError as error:
        raise UsageError(f"{options.file} cannot be re-executed: {error}") from None
    checker = CommandChecker(protocol, header.nodes, header.protocol.parameters, headless=options.headless)
    for line in options.do:
        trigger = checker.check(line).trigger
        if isinstance(trigger, At) and trigger.us < at_us:
            raise UsageError(
                f"--do {line!r}: the branch begins at {at_us / 1e6:g}s; write a later time, or: after 1s"
            )
    end_us = None if options.for_ is None else at_us + positive("for", options.for_)
    if options.record is not None and is_same_file(options.record, options.file):
        raise UsageError(f"--record {options.record} is the recording to branch from; name another file")
    run = new_run_name(header.protocol.name)
    return branch_config(
        header,
        options.file,
        place,
        run,
        str(recording_path(options.record, run, options.file)),
        "" if options.protocol is None else absolute_target(options.protocol),
        seed=None if options.seed is None else seed_of(options.seed),
        commands=tuple(options.do),
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


class BranchedRecording(Struct, frozen=True):
    """A recording and its branches. The other fields are None if the file no longer exists.

    ``from_record`` and ``from_us``: where it branched from its parent, None for a run of its own. ``ending``: why
    the run ended; empty if it goes on, or was cut off.
    """

    file: str
    run: str | None
    protocol: str | None
    world: str | None
    nodes: tuple[int, ...] | None
    from_record: int | None
    from_us: int | None
    ending: str | None
    branches: tuple["BranchedRecording", ...]


class BranchesDocument(Document, frozen=True):
    """The recordings in a folder, each with its branches."""

    folder: str
    recordings: tuple[BranchedRecording, ...]


def _summarize_tree(tree: LineageTree) -> BranchedRecording:
    branches = tuple(map(_summarize_tree, tree.branches))
    if tree.info is None:
        return BranchedRecording(str(tree.path), None, None, None, None, None, None, None, branches)
    header, parent = tree.info.header, tree.info.header.parent
    return BranchedRecording(
        str(tree.path),
        header.run,
        header.title,
        header.world,
        header.nodes,
        None if parent is None else parent.record,
        None if parent is None else parent.at_us,
        tree.info.ending,
        branches,
    )


@app.command()
def branches(
    file: Annotated[
        Path | None, Argument(metavar="[FILE]", help="A recording. Default: the recordings in lab's data folder.")
    ] = None,
    json: Json = False,
) -> int:
    """Show recordings and their branches as a tree.

    The tree contains the recordings in the folder of FILE, each below the recording that it branched from.
    """
    folder = recordings_folder()
    if file is not None:
        open_recording(file).close()
        folder = file.resolve().parent
    trees = lineage_of({*folder.glob("*.jsonl"), *([] if file is None else [folder / file.name])})
    if json:
        print_json(BranchesDocument(str(folder), tuple(map(_summarize_tree, trees))))
        return 0
    if not trees:
        print_line(f"there are no recordings in {folder}")
        return 0
    top = Tree(Text(sanitize(f"{folder}/")))
    for tree in trees:
        _add_branch(top, tree, folder.resolve(), file)
    console().print(top)
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


# differences

_CONTEXT = 5
_FARTHEST = 1_000
_LONGEST = 300


@app.command(epilog="Example: lab diff run.jsonl branch.jsonl")
def diff(
    one: Annotated[Path, Argument(metavar="A", help="A recording.")],
    other: Annotated[Path, Argument(metavar="B", help="Another recording.")],
    json: Json = False,
) -> int:
    """Find the first difference between two recordings.

    It prints the log lines before and after the difference. The name of the run, its start date and its parent are
    not compared. lab replay A --compare B shows both recordings at the same moment.

    Exit status: 0 no difference, 1 they differ, 2 one is not a recording.
    """
    with closing(open_recording(one)) as a, closing(open_recording(other)) as b:
        differences = header_differences(a.header, b.header)
        with Progress("comparing", "record", min(len(a), len(b))) as progress:
            divergence = find_divergence(a, b, progress)
        fields = _differing_fields(a, b, divergence)
        if json:
            print_json(
                DiffDocument(
                    summarize_recording(one, a),
                    summarize_recording(other, b),
                    tuple(DifferingField(*each) for each in differences),
                    divergence.same,
                    divergence.diverges,
                    _summarize_side(a, divergence.one),
                    _summarize_side(b, divergence.other),
                    tuple(DifferingField(*each) for each in fields),
                )
            )
        else:
            _print_difference((one, a), (other, b), differences, divergence, fields)
        damaged = report_damage(one, a) | report_damage(other, b)
    return EXIT_NOT_AS_EXPECTED if differences or divergence.diverges or damaged else 0


class DifferingField(Struct, frozen=True):
    """A field that differs, and its value in A and in B, as JSON."""

    field: str
    a: str
    b: str


class NextRecord(Struct, frozen=True):
    """The first record that differs: its number, its time if it has one, and its line of the file."""

    record: int
    at_us: int | None
    text: str


class DiffDocument(Document, frozen=True):
    """The first difference between two recordings; ``a_next`` or ``b_next`` is None if that one ends there.

    ``header`` are the fields of the headers that differ, ``fields`` those of the first records that differ.
    """

    a: RecordingSummary
    b: RecordingSummary
    header: tuple[DifferingField, ...]
    same: int
    diverges: bool
    a_next: NextRecord | None
    b_next: NextRecord | None
    fields: tuple[DifferingField, ...]


def _summarize_side(store: RecordStore, number: int | None) -> NextRecord | None:
    if number is None:
        return None
    at_us: int | None = getattr(store.record(number), "at_us", None)
    return NextRecord(number, at_us, store.raw(number).decode("utf-8", "replace"))


_Side = tuple[Path, FileRecords]
_Fields = list[tuple[str, str, str]]


def _print_difference(
    one: _Side, other: _Side, differences: _Fields, divergence: Divergence, fields: _Fields
) -> None:
    for name, here, there in differences:
        print_line(f"header, {name}: A {here} · B {there}")
    none_left = "" if divergence.diverges else ", and there are no others"
    print_line(f"{divergence.same} records are equal{none_left}")
    if not divergence.diverges:
        return
    _print_rows(one[1], *_before(one[1], divergence.one))
    _print_side("A", *one, divergence.one)
    _print_side("B", *other, divergence.other)
    if fields:
        print_line("differing fields:")
    for name, left, right in fields:
        print_line(f"    {name}: A {left} · B {right}")


def _before(store: RecordStore, number: int | None) -> tuple[int, int]:
    """Return the range of the records that hold the last log lines before that record."""
    end = start = len(store) if number is None else number
    count = 0
    while start > 1 and count < _CONTEXT and end - start < _FARTHEST:
        start -= 1
        record = store.record(start)
        count += 0 if record is None else count_lines(record)
    return start, end


def _print_side(name: str, path: Path, store: RecordStore, number: int | None) -> None:
    if number is None:
        print_line(f"{name}  {path} ends here")
        return
    record = store.record(number)
    if isinstance(record, End):
        print_line(f"{name}  {path} ends here, at {record.at_us / 1e6:.6f}: {record.why}")
        return
    print_line(f"{name}  {path}, record {number} (line {number + 1}):")
    print_line(f"    {sanitize(store.raw(number).decode('utf-8', 'replace'), _LONGEST)}")
    if number in store.damage:
        print_line(f"    unreadable: {store.damage[number]}")
    end, count = number, 0
    while end < len(store) and count < _CONTEXT and end - number < _FARTHEST:
        following = store.record(end)
        count += 0 if following is None else count_lines(following)
        end += 1
    _print_rows(store, number, end)


def _print_rows(store: RecordStore, start: int, end: int) -> None:
    """Print the log lines of these records; the delivery of their messages is as known at ``end``."""
    page = LogPage(start, end)
    for record in store.records(start, end):
        page.feed(record)
    for line in page.lines:
        print_line(f"    {format_log_line(line, page, end)}")


def _differing_fields(a: RecordStore, b: RecordStore, divergence: Divergence) -> _Fields:
    """Return the fields in which the first records that differ do so, if both are of one kind."""
    if divergence.one is None or divergence.other is None:
        return []
    try:
        one, other = map(decode_fields, lines_that_differ(a, divergence.one, b, divergence.other))
    except (msgspec.DecodeError, RecursionError):
        return []  # an unreadable line has no fields
    return list(differing_fields(one, other)) if one["record"] == other["record"] else []
