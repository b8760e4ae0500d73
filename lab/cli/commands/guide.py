"""``lab guide``: pages to read, which come with the program."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.errors import UsageError

__all__ = ["guide"]

_FOLDER = Path(__file__).parents[2] / "guide"
_WIDEST = 100


@app.command(epilog="Examples: lab guide scenarios, lab guide your-own-protocol")
def guide(
    topic: Annotated[str | None, typer.Argument(help="Which page; without it, the pages there are.")] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="As it is written, in Markdown, on a terminal too.")
    ] = False,
) -> int:
    """Read a page of the guide: classes, exercises, scenarios, or your-own-protocol."""
    pages = {path.stem: path for path in sorted(_FOLDER.glob("*.md"))}
    if topic is None:
        for name, path in pages.items():
            title = path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
            print(f"lab guide {name:20} {title}")
        return 0
    if topic not in pages:
        raise UsageError(f"there is no page {topic!r}; there is: {', '.join(pages)}")
    text = pages[topic].read_text("utf-8")
    if plain or not os.isatty(1):
        print(text, end="")
        return 0
    from rich.console import Console  # noqa: PLC0415
    from rich.markdown import Markdown  # noqa: PLC0415

    console = Console()
    console.print(Markdown(text), width=min(console.width, _WIDEST))
    return 0
