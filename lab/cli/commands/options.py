"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Faults",
    "Headless",
    "Json",
    "OwnProtocol",
    "Parameters",
    "Picture",
    "Record",
    "RequestBound",
    "Target",
    "Targets",
    "Workers",
]

Target = Annotated[
    str, typer.Argument(metavar="PROTOCOL", help="A protocol by name (bully), or your own: FILE.py:CLASS.")
]

Targets = Annotated[
    list[str], typer.Argument(metavar="PROTOCOL", help="Protocols by name, or your own: FILE.py:CLASS.")
]

Faults = Annotated[
    str,
    typer.Option(
        metavar="KIND,KIND,…",
        help="Kinds of random faults: kill, pause, partition, delay, loss, duplicate, reorder, wipe; or all.",
    ),
]

RequestBound = Annotated[
    str | None,
    typer.Option(metavar="TIME", help=r"T, the bound for a request and its answer: 2·Tm + Tp.  \[default: 200ms]"),
]

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Set a parameter of the protocol; lab list protocols NAME lists them."
    ),
]

OwnProtocol = Annotated[
    str | None,
    typer.Option(metavar="FILE.py:CLASS", help="Use this class, if the protocol is your own."),
]

Record = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Record to this file. Default: a new file in lab's data folder."),
]

Picture = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Also write the charts to this file.")
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

Workers = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help=r"Number of worker processes.  \[default: one per processor]"),
]

Headless = Annotated[bool, typer.Option("--headless", help="Run without the interface; requires --for.")]
