"""``lab export``: a recording as a picture, a page, a text, a trace or a table."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.completion import complete_format

__all__ = ["export"]


@app.command(
    epilog="""Examples:\n
    lab export run.jsonl\n
    lab export run.jsonl --to html\n
    lab export run.jsonl --out crash.svg --from 2s --until 3.5s --nodes 3,4,5\n
    lab export run.jsonl --to mermaid --from 2s --until 2.2s --out -\n
    lab export run.jsonl --to text --out - | less\n
    lab export run.jsonl --to csv --table statuses\n
    lab export run.jsonl --to cast --view diagram --speed 0.5""",
)
def export(
    file: Annotated[Path, typer.Argument(help="A recording; lab keeps those of runs without --record too.")],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Which format; without it, what --out ends in. Without both: which there are.",
            autocompletion=complete_format,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help=r"Where to; - is standard output.  \[default: its name and .svg or so, here]",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Only from then on: 2s, 350ms."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only until then.")] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="1,2,3", help="Only these nodes, and the messages between them.")
    ] = None,
    heartbeats: Annotated[bool, typer.Option("--heartbeats", help="With the messages that keep coming.")] = False,
    time: Annotated[str, typer.Option(metavar="down|right", help="In pictures: which way time runs.")] = "down",
    ascii_only: Annotated[bool, typer.Option("--ascii", help="As text: without signs beyond ASCII.")] = False,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="In csv and jsonl: messages, statuses, faults or events.")
    ] = "messages",
    view: Annotated[str, typer.Option(metavar="NAME", help="In a cast: log, diagram, network, code …")] = "log",
    size: Annotated[str, typer.Option(metavar="WxH", help="In a cast: how many columns and rows.")] = "120x40",
    speed: Annotated[str, typer.Option(metavar="FACTOR", help="In a cast: how fast the run is played.")] = "1",
    fps: Annotated[int, typer.Option(metavar="N", help="In a cast: how many frames a second.")] = 10,
    idle: Annotated[str, typer.Option(metavar="TIME", help="In a cast: the longest that nothing happens.")] = "2s",
    force: Annotated[bool, typer.Option("--force", help="Over a file that is there already.")] = False,
) -> int:
    """Export a recording: as a picture or a page of its space-time diagram, for other tools, as a table.

    [bold]lab export FILE[/bold] lists the formats. To be looked at: svg, html, text, mermaid, dot. For other
    tools: shiviz, perfetto, cast. For your own: csv, jsonl, in which a column that ends in _us is a time in
    microseconds since the run began, and one that ends in record is the number of a record.

    In the diagram each node has a lane in the colour of its Status, and a message is an arrow from where it was
    sent to where it arrived. Heartbeats are left out. A long run has too many messages for a picture:
    choose a window of it with --from and --until. At its beginning everything stands as it did then.
    """
    from lab.cli.exporting import ExportRequest, run_export  # noqa: PLC0415
    from lab.cli.filming import FilmOptions  # noqa: PLC0415

    film = FilmOptions(view, size, speed, fps, idle)
    return run_export(
        ExportRequest(file, to, out, since, until, nodes, heartbeats, time, ascii_only, table, film, force)
    )
