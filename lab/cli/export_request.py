"""``lab export``: export a recording to a file, or list the formats."""

import sys
from contextlib import closing
from pathlib import Path
from typing import get_args

from msgspec import Struct, ValidationError, convert
from rich.table import Table as Grid

from lab.cli.film_options import FilmOptions
from lab.cli.output_files import writable
from lab.cli.progress import progress_line
from lab.cli.recording_report import open_or_exit, report_damage
from lab.cli.terminal import print_table
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.export.excerpt import Excerpt, ExportError, ExportOptions, TableName, parse_nodes, read_excerpt
from lab.export.files import default_path, format_for_file, write_file
from lab.export.formats import Format
from lab.glyphs import draws_unicode
from lab.text import did_you_mean
from lab.tui.saving.export_formats import ALL_FORMATS, format_named
from lab.units import parse_us

__all__ = ["ExportRequest", "run_export"]

_STANDARD_OUTPUT = Path("-")


class ExportRequest(Struct, frozen=True):
    """The options of the command, as given."""

    file: Path
    to: str | None
    out: Path | None
    since: str | None
    until: str | None
    nodes: str | None
    heartbeats: bool
    time: str
    ascii: bool
    table: str
    film: FilmOptions
    force: bool

    def format(self) -> Format:
        """Return the format given with ``--to``, or implied by the file's suffix. Raises UsageError."""
        names = [each.name for each in ALL_FORMATS]
        if self.to is not None:
            found = format_named(self.to)
            if found is None:
                raise UsageError(
                    f"--to {self.to}: expected one of {', '.join(names)}{did_you_mean(self.to, names)}"
                )
            return found
        found = format_for_file(str(self.out), ALL_FORMATS)
        if found is None:
            known = " or ".join(names)
            raise UsageError(f"--out {self.out} does not imply a format; add --to {known}")
        return found

    def options(self) -> ExportOptions:
        """Return what to export. Raises UsageError."""
        if self.time not in ("down", "right"):
            raise UsageError(f"--time {self.time}: expected down or right")
        try:
            table = convert(self.table, TableName)
        except ValidationError:
            raise UsageError(f"--table {self.table}: expected one of {', '.join(get_args(TableName))}") from None
        return ExportOptions(
            _time("--from", self.since),
            _time("--until", self.until),
            _nodes(self.nodes),
            self.heartbeats,
            "right" if self.time == "right" else "down",
            self.ascii or (self.out == _STANDARD_OUTPUT and not draws_unicode()),
            table,
            self.film.film(),
        )

    def path(self, chosen: Format) -> Path | None:
        """Return the file to write; None for standard output. Raises UsageError."""
        if self.out == _STANDARD_OUTPUT:
            return None
        path = default_path(self.file, chosen, Path()) if self.out is None else self.out
        if path.resolve() == self.file.resolve():
            raise UsageError(f"--out {path} is the recording itself; name another file")
        if path.is_file() and not self.force:
            raise UsageError(f"{path} exists already; name another with --out, or overwrite it with --force")
        writable("--out", path)
        return path


def run_export(request: ExportRequest) -> int:
    """Export, or list the formats, and return the exit status."""
    with closing(open_or_exit(request.file)) as store:
        if request.to is None and request.out in (None, _STANDARD_OUTPUT):
            _list_formats(request)
            return 0
        chosen, options = request.format(), request.options()
        path = request.path(chosen)
        try:
            with progress_line() as progress:
                _write(chosen, read_excerpt(store, options, progress), path)
        except ExportError as error:
            raise UsageError(f"{request.file}: {error}") from None
        damaged = report_damage(request.file, store)
        if store.torn:
            print(f"lab: {request.file}: the last line is truncated, and was skipped", file=sys.stderr)
    return EXIT_NOT_AS_EXPECTED if damaged else 0


def _write(chosen: Format, excerpt: Excerpt, path: Path | None) -> None:
    if path is None:
        chosen.write(excerpt, sys.stdout)
        return
    size = write_file(chosen, excerpt, path)
    print(f"{path}: {size:,} bytes")


def _list_formats(request: ExportRequest) -> None:
    table = Grid.grid(padding=(0, 2))
    for each in ALL_FORMATS:
        table.add_row(each.name, each.suffix, each.help)
    print_table(table)
    print(f"\nExample: lab export {request.file} --to {ALL_FORMATS[0].name}")


def _time(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else parse_us(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _nodes(text: str | None) -> tuple[int, ...]:
    try:
        return () if text is None else parse_nodes(text)
    except ValueError as error:
        raise UsageError(f"--nodes {error}") from None
