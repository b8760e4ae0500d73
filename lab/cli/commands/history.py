"""``lab history``: the history of groups in a run."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.program import app

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
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A recording of a protocol that forms groups, such as invitation."),
    ],
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Also draw the history to this file.")
    ] = None,
    dot: Annotated[
        Path | None, typer.Option(metavar="FILE.dot", help="Also write the history as a Graphviz graph.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else; times are in microseconds.")
    ] = False,
) -> int:
    """Show the history of groups in a recording.

    It shows the coordinator and the members of each group, the groups that it was formed from, and when it
    existed. Time runs downwards. Each node has a lane in the colour of its group. Where nodes join a group, a bar
    connects their lanes and shows the group's identifier: the node that formed it and a counter, so that no
    identifier is used twice. Lanes that join are a merge; lanes that separate are a split.

    On a narrow terminal, or with many nodes, the groups are printed as a list.
    """
    from lab.cli.history_report import HistoryRequest, run_history  # noqa: PLC0415

    return run_history(HistoryRequest.of(file, svg, dot, json))
