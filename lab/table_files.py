"""Tables: rows of cells, each column with one type, and files of them: CSV, JSON Lines, Parquet.

A cell has the type of its column or is None, in every row and every format; so no reader has to guess. A list or
an object is JSON text. In CSV, None is an empty cell, and a text that a spreadsheet would take for a formula gets
an apostrophe before it.
"""

import csv
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TextIO

import msgspec
from msgspec import Struct

from lab.text import UserError, sanitize_json

if TYPE_CHECKING:
    import pyarrow as pa

ColumnType = Literal["integer", "number", "text", "boolean", "json"]
"""The types; ``json`` is text that holds a JSON value."""
Cell = int | float | str | bool | None
Row = tuple[Cell, ...]

SUFFIXES = (".csv", ".jsonl", ".parquet")
"""The suffixes of files of tables."""

_PARQUET_ROWS = 50_000
_FORMULAS = ("=", "+", "-", "@")
EXTRA = "pip install 'coordinator-lab[data]'"


class MissingExtraError(UserError):
    """Parquet was asked for, and pyarrow is not installed."""


class Column(Struct, frozen=True):
    """A column and its meaning. One that ends in ``_us`` is a time or a duration, in microseconds."""

    name: str
    type: ColumnType
    description: str


class Table(Struct, frozen=True):
    """A table; ``rows`` may be read once."""

    columns: tuple[Column, ...]
    rows: Iterable[Row]

    def as_columns(self) -> dict[str, list[Cell]]:
        """Return the cells by column."""
        rows = list(self.rows)
        return {column.name: [row[place] for row in rows] for place, column in enumerate(self.columns)}


def json_cell(value: object) -> str:
    """Return the cell of a column of type ``json``; characters that a terminal would obey are escaped."""
    return sanitize_json(msgspec.json.encode(value, order="deterministic"))


def write_csv(table: Table, out: TextIO) -> None:
    """Write a header line and the rows."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows([_csv_cell(cell) for cell in row] for row in table.rows)


def write_jsonl(table: Table, out: TextIO) -> None:
    """Write an object per row."""
    names = tuple(column.name for column in table.columns)
    encode = msgspec.json.Encoder().encode
    for row in table.rows:
        out.write(encode(dict(zip(names, row, strict=True))).decode() + "\n")


def write_parquet(table: Table, out: IO[bytes]) -> None:
    """Write an Apache Parquet file, a group of rows at a time. Raises MissingExtraError."""
    require_parquet()
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - an extra, and slow to load

    with ParquetWriter(out, _arrow_schema(table.columns)) as writer:
        for batch in _arrow_batches(table):
            writer.write_batch(batch)


def arrow_table(table: Table) -> "pa.Table":
    """Return the table for Apache Arrow. Raises ImportError without the extra."""
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to load

    return pa.Table.from_batches(_arrow_batches(table), schema=_arrow_schema(table.columns))


def _arrow_schema(columns: tuple[Column, ...]) -> "pa.Schema":
    import pyarrow as pa  # noqa: PLC0415

    types: dict[ColumnType, pa.DataType] = {
        "integer": pa.int64(),
        "number": pa.float64(),
        "text": pa.string(),
        "boolean": pa.bool_(),
        "json": pa.string(),
    }
    return pa.schema(
        [pa.field(each.name, types[each.type], metadata={"description": each.description}) for each in columns]
    )


def _arrow_batches(table: Table) -> "Iterator[pa.RecordBatch]":
    """Yield the rows, a group at a time."""
    import pyarrow as pa  # noqa: PLC0415

    schema, rows = _arrow_schema(table.columns), iter(table.rows)
    while batch := list(islice(rows, _PARQUET_ROWS)):
        columns = zip(*batch, strict=True)
        arrays = [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)]
        yield pa.record_batch(arrays, schema=schema)


def require_parquet() -> None:
    """Raise MissingExtraError if no Parquet file can be written here."""
    if find_spec("pyarrow") is None:
        raise MissingExtraError(f"Parquet requires the extra: {EXTRA}; or write CSV or JSON Lines")


def write_table(path: Path, table: Table) -> None:
    """Write a file in the format of its suffix, one of ``SUFFIXES``. Raises MissingExtraError, OSError."""
    with path.open("wb") as binary:
        out = TextIOWrapper(binary, encoding="utf-8", newline="", errors="backslashreplace")
        write_as(path.suffix[1:], table, out)
        out.flush()


def write_as(form: str, table: Table, out: TextIO) -> None:
    """Write the table as ``csv``, ``jsonl`` or ``parquet``; the last to the binary file below ``out``.

    Raises MissingExtraError for Parquet without the extra.
    """
    if form == "parquet":
        write_parquet(table, out.buffer)
    else:
        (write_csv if form == "csv" else write_jsonl)(table, out)


def _csv_cell(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell
