"""Options that several commands share, so that they mean the same everywhere."""

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

Target = Annotated[str, typer.Argument(help="A protocol: bully, or FILE.py:CLASS for your own.")]

Targets = Annotated[list[str], typer.Argument(metavar="PROTOCOL", help="By name, or FILE.py:CLASS for your own.")]

Faults = Annotated[
    str,
    typer.Option(help="With commas: kill, pause, partition, delay, loss, duplicate, reorder, wipe; or all."),
]

RequestBound = Annotated[
    str | None, typer.Option(help=r"T, the bound of a request with its answer: 2·Tm + Tp.  \[default: 200ms]")
]

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the protocol; lab list protocols NAME says which."
    ),
]

OwnProtocol = Annotated[
    str | None,
    typer.Option(metavar="FILE.py:CLASS", help="Where the protocol is, if it is one of your own."),
]

Record = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where to record; without it, where lab keeps recordings.")
]

Picture = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Draw the charts into this file too.")
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end, and nothing else.")]

Workers = Annotated[str | None, typer.Option(help=r"How many processes.  \[default: one a processor]")]

Headless = Annotated[bool, typer.Option("--headless", help="Without the interface; needs --for.")]
