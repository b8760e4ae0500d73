"""``lab consistency``: check a history of client operations."""

from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Argument, Option

from lab.analysis.client_history import ClientHistory, check_clients
from lab.cli.documents import Document, Json, print_json
from lab.cli.history_report import HistoryCounts, count_line, result_lines
from lab.cli.options import Model, command, one_of, whole_number, writable
from lab.cli.progress import Progress
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError
from lab.durable import write_durably
from lab.foreign_file import LARGEST_DATA, read_foreign_text
from lab.histories.history_files import (
    edn_lines,
    has_keys_lost_in_json,
    jsonl_lines,
    read_edn_history,
    read_jsonl_history,
)
from lab.histories.linearizability import MAX_STATES
from lab.histories.operations import History, HistoryError
from lab.histories.results import CheckResult
from lab.histories.transaction_result import TransactionResult
from lab.histories.workloads import DEFAULT_MODEL, WORKLOADS
from lab.output import print_line
from lab.recording.reader import NotARecordingError, RecordStore, open_recording
from lab.worlds.loading.roles import model_for

_SUFFIXES = {".edn": edn_lines, ".jsonl": jsonl_lines}


def _complete_workload(incomplete: str) -> list[tuple[str, str]]:
    return [(name, each.does) for name, each in WORKLOADS.items() if name.startswith(incomplete)]


class ConsistencyOptions(Struct, frozen=True):
    """The options of ``lab consistency``."""

    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A history: EDN as Jepsen and Maelstrom write it, or JSON Lines; or the recording of a run with "
            "clients.",
        ),
    ]
    workload: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help=f"What the clients did: {', '.join(WORKLOADS)}. A recording has it.",
            autocompletion=_complete_workload,
        ),
    ] = None
    model: Model = None
    states: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help=f"Bound the search for a linearization of a key; beyond it, nothing is decided.  "
            f"\\[default: {MAX_STATES}]",
        ),
    ] = None
    accept_torn: Annotated[
        bool,
        Option("--accept-torn", help="Leave out a last line that was cut off: its writer was interrupted."),
    ] = False
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Also write the history as EDN, for Elle and Knossos, or as JSON Lines: FILE.edn, FILE.jsonl.",
        ),
    ] = None
    json: Json = False


class ConsistencyFinding(Struct, frozen=True):
    """Something that is wrong, in words; ``operations`` are the indexes of the invocations that show it."""

    kind: str
    text: str
    operations: tuple[int, ...]


class ConsistencyDocument(Document, frozen=True):
    """The verdict on a history: *holds*, *fails*, *undecided* or *not judged*, and what it rests on.

    ``statistics`` depend on the workload; those that end in ``_us`` are microseconds. ``ruled_out`` are the
    consistency models of transactions that do not allow this history, the weakest first.
    """

    file: str
    workload: str
    checker: str
    verdict: str
    evidence: str
    operations: HistoryCounts
    findings: tuple[ConsistencyFinding, ...]
    statistics: dict[str, int]
    ruled_out: tuple[str, ...] = ()


@command(
    epilog="""Examples:\n
    lab consistency run.jsonl --out history.edn   (a recording, made with lab run --workload)\n
    lab consistency history.edn --workload lin-kv\n
    lab consistency history.edn --workload txn-list-append --model "snapshot isolation"\n
    lab consistency history.jsonl --workload register --out history.edn"""
)
def consistency(options: ConsistencyOptions) -> int:
    """Check a history of client operations: linearizability, anomalies of transactions.

    Linearizability is checked by the search of Wing and Gong, with the memory of Lowe, for each key by itself. If
    no order of the operations fits, the longest one that does is drawn, with the operation that does not fit.
    Transactions are checked for the anomalies of Adya, as Elle does: cycles of dependencies, in words, each
    with the weakest consistency model that it rules out. A history with nothing to judge is not judged.

    Exit status: 0 the history holds; 1 it fails, is undecided, or nothing was judged; 2 usage error, or FILE is no
    history.
    """
    name, history, clients = _read(options)
    workload = WORKLOADS[name]
    model = None if options.model is None else model_for(name, options.model)
    states = MAX_STATES if options.states is None else whole_number("--states", options.states, 1)
    out = None if options.out is None else _checked(options.out)
    with Progress(f"checking {options.file.name}"):
        try:
            result = None if clients is None else check_clients(clients, model, states)
            result = result or workload.check(history, model or DEFAULT_MODEL, states)
        except HistoryError as error:
            raise UsageError(f"{options.file}: {error}; is its workload {name}?") from None
    if out is not None and out.suffix == ".jsonl" and has_keys_lost_in_json(history):
        raise UsageError(
            f"--out {out}: keys that are no texts would be lost in JSON; name a file that ends in .edn"
        )
    if out is not None:
        write_durably(out, "".join(f"{line}\n" for line in _SUFFIXES[out.suffix](history)).encode())
    if options.json:
        print_json(_document(options, name, history, result))
    else:
        _print(options, name, history, result)
    return 0 if result.word == "holds" else EXIT_NOT_AS_EXPECTED


def _checked(out: Path) -> Path:
    if out.suffix not in _SUFFIXES:
        raise UsageError(f"--out {out}: name a file that ends in {' or '.join(_SUFFIXES)}")
    return writable("--out", out)


def _read(options: ConsistencyOptions) -> tuple[str, History, ClientHistory | None]:
    """Return the workload and the history in the file, which may be a recording, and then the clients'."""
    with suppress(NotARecordingError), closing(open_recording(options.file)) as store:
        return _recorded(options, store)
    if options.workload is None:
        raise UsageError(f"--workload is required for a history: {', '.join(WORKLOADS)}")
    name = one_of("--workload", options.workload, tuple(WORKLOADS))
    return name, _read_history(options.file, options.accept_torn), None


def _recorded(options: ConsistencyOptions, store: RecordStore) -> tuple[str, History, ClientHistory]:
    clients = ClientHistory(store.header)
    if not clients.workload:
        raise UsageError(
            f"{options.file}: this run has no clients; lab run --workload has, lab verify judges others"
        )
    if options.workload not in (None, clients.workload):
        raise UsageError(f"--workload {options.workload}: the clients of this run did {clients.workload}")
    for record in store.records():
        clients.observe(record)
    return one_of("--workload", clients.workload, tuple(WORKLOADS)), clients.history, clients


def _read_history(path: Path, accept_torn: bool) -> History:
    """Return the history in the file; its suffix says its form, or else its first characters do."""
    try:
        text = read_foreign_text(path, LARGEST_DATA)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a history, such as history.edn") from None
    is_json = path.suffix == ".jsonl" or (path.suffix != ".edn" and text.lstrip().startswith('{"'))
    read = read_jsonl_history if is_json else read_edn_history
    try:
        return read(text, accept_torn)
    except HistoryError as error:
        hint = "; --accept-torn leaves it out" if "interrupted?" in str(error) else ""
        raise UsageError(f"{path}: {error}{hint}") from None


def _document(
    options: ConsistencyOptions, workload: str, history: History, result: CheckResult
) -> ConsistencyDocument:
    return ConsistencyDocument(
        str(options.file),
        workload,
        result.checker,
        result.word,
        result.evidence,
        HistoryCounts.of(history),
        tuple(
            ConsistencyFinding(each.kind, each.text, tuple(operation.index for operation in each.operations))
            for each in result.findings
        ),
        result.statistics,
        result.ruled_out if isinstance(result, TransactionResult) else (),
    )


def _print(options: ConsistencyOptions, workload: str, history: History, result: CheckResult) -> None:
    print_line(f"{options.file}: {count_line(workload, history)}")
    for line in result_lines(result):
        print_line(f"  {line}" if line else "")
