"""Options that several commands share, so that they mean the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Headless", "OwnProtocol", "Parameters", "Record", "RequestBound", "Target"]

Target = Annotated[str, typer.Argument(help="A protocol: bully, or FILE.py:CLASS for your own.")]

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

Headless = Annotated[bool, typer.Option("--headless", help="Without the interface; needs --for.")]
