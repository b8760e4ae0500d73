"""``lab schema``: the JSON Schemas of the documents that ``--json`` prints."""

import sys
from typing import Annotated

import msgspec
from rich.table import Table
from typer import Argument

from lab.cli.documents import DOCUMENTS, schema_of
from lab.cli.program import app
from lab.cli.terminal import print_table
from lab.output import print_line, write_line
from lab.text import sanitize_json


def _complete_document(incomplete: str) -> list[tuple[str, str]]:
    return [(name, each.command) for name, each in DOCUMENTS.items() if name.startswith(incomplete)]


@app.command(epilog="Example: lab schema check > check.schema.json")
def schema(
    name: Annotated[
        str | None,
        Argument(
            metavar="[DOCUMENT]",
            help="The document. Default: list the documents.",
            autocompletion=_complete_document,
        ),
    ] = None,
) -> int:
    """Print the JSON Schema of a document that --json prints.

    Every document has "format": 1. A field never changes its meaning; new fields may come. lab guide json
    describes the fields.
    """
    if name is not None:
        write_line(sanitize_json(msgspec.json.encode(schema_of(name))), sys.stdout)
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("document", "printed by"):
        table.add_column(column, no_wrap=True)
    for each, document in DOCUMENTS.items():
        table.add_row(each, document.command)
    print_table(table)
    print_line()
    print_line("Example: lab schema check")
    return 0
