"""``lab convert``: rewrite a recording of an earlier version in the present format."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import Recording, command, is_same_file, writable
from lab.cli.progress import Progress
from lab.cli.terminal import UsageError, interrupt_on_signals
from lab.output import print_line
from lab.recording.conversion import convert_recording
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import FORMAT
from lab.text import sanitize
from lab.units import format_count


class ConvertOptions(Struct, frozen=True):
    """The options of ``lab convert``."""

    file: Recording
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to this file. Default: NAME-2.jsonl in the same folder.",
        ),
    ] = None
    force: Annotated[
        bool, Option("--force", help="Overwrite the file of --out, if it exists; it may be the recording itself.")
    ] = False
    json: Json = False


class ConvertDocument(Document, frozen=True):
    """A recording that was rewritten: both formats and sizes; ``torn``: a truncated last line was left out."""

    file: str
    written: str
    records: int
    torn: bool
    format_before: int
    format_after: int
    bytes_before: int
    bytes_after: int


@command(
    epilog=f"""Examples:\n
    lab convert run.jsonl   (writes run-{FORMAT}.jsonl)\n
    lab convert run.jsonl --out run.jsonl --force"""
)
def convert(options: ConvertOptions) -> int:
    """Rewrite a recording of an earlier version in the present format.

    Every recording of an earlier version can be opened as it is; the present format takes less space, above all
    with many nodes or many open transactions. The converted recording has the same records with the same
    numbers, so its branches and bookmarks remain right, and lab diff finds no difference. An attempt at an
    exercise is not converted: its digests would have to be computed anew.
    """
    interrupt_on_signals()
    path = options.file
    out = options.out or path.with_name(f"{path.stem}-{FORMAT}{path.suffix}")
    if out.exists() and not options.force:
        what = "is the recording itself" if is_same_file(out, path) else "exists"
        raise UsageError(f"{out} {what}; name another file with --out, or add --force to overwrite it")
    with closing(open_recording(path)) as store:
        target = writable("--out", out)
        try:
            with Progress(f"converting {path.name}", "record", len(store)) as progress:
                convert_recording(store, target, progress)
        except NotARecordingError as error:
            raise UsageError(f"{path} cannot be converted: {sanitize(str(error), 300)}") from None
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror}; name another file") from None
        ending = ", without its last line, which was cut off" if store.torn else ""
        before, after = store.offsets[-1], target.stat().st_size
        if options.json:
            formats = store.header.format, FORMAT
            print_json(ConvertDocument(str(path), str(out), len(store), bool(store.torn), *formats, before, after))
            return 0
        print_line(
            f"wrote {out}: format {FORMAT}, {format_count(len(store), 'record')}{ending}, {after:,} bytes "
            f"(in format {store.header.format}: {before:,})"
        )
    return 0
