"""``lab history``: the groups of a run, and what each was formed from."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app

__all__ = ["history"]


@app.command(
    epilog="""Examples:\n
    lab run invitation --sim --headless --for 12s --record run.jsonl --do 'at 3s partition 1 2 | 3 4 5' \
--do 'at 8s heal'\n
    lab history run.jsonl\n
    lab history run.jsonl --svg run.svg --dot run.dot\n
    dot -Tpdf run.dot -o run.pdf""",
)
def history(
    file: Annotated[Path, typer.Argument(help="A recording of a protocol that forms groups, as invitation does.")],
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the history into this file too.")
    ] = None,
    dot: Annotated[
        Path | None, typer.Option(metavar="FILE.dot", help="Write it as a graph for Graphviz into this file too.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, times in microseconds, and nothing else.")
    ] = False,
) -> int:
    """Show the history of groups: who led, who was in, what each was formed from, and when.

    Time runs down, and each node has a lane in the colour of its group. Where nodes take a group, its identifier
    is in their lanes with a bar between them: the node that formed it and a counter, so that none is used twice.
    Lanes that come together are a merge, lanes that part are a split.

    A narrow terminal, or a run of many nodes, has the groups as a list.
    """
    from lab.cli.history import HistoryRequest, run_history  # noqa: PLC0415

    return run_history(HistoryRequest.of(file, svg, dot, json))
