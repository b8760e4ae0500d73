"""``lab export``: write a recording as a picture, page, text, trace or table."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.completion import complete_format
from lab.cli.program import app

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
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A recording. Runs without --record are kept in lab's data folder."),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Output format. Default: from the suffix of --out. Without both, list the formats.",
            autocompletion=complete_format,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help=r"Output file; - is standard output.  \[default: the recording's name with the format's suffix]",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Start of the window: 2s, 350ms."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End of the window.")] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="1,2,3", help="Export only these nodes and the messages between them.")
    ] = None,
    heartbeats: Annotated[bool, typer.Option("--heartbeats", help="Include heartbeats.")] = False,
    time: Annotated[str, typer.Option(metavar="down|right", help="Pictures: direction of time.")] = "down",
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Text: use only ASCII characters.")] = False,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="csv, jsonl: messages, statuses, faults or events.")
    ] = "messages",
    view: Annotated[
        str, typer.Option(metavar="NAME", help="cast: the view to show: log, diagram, network, code …")
    ] = "log",
    size: Annotated[str, typer.Option(metavar="COLSxROWS", help="cast: size of the terminal.")] = "120x40",
    speed: Annotated[str, typer.Option(metavar="FACTOR", help="cast: playback speed.")] = "1",
    fps: Annotated[int, typer.Option(metavar="N", help="cast: frames per second.")] = 10,
    idle: Annotated[
        str, typer.Option(metavar="TIME", help="cast: shorten longer pauses between events to this time.")
    ] = "2s",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> int:
    """Export a recording as a diagram, trace or table.

    [bold]lab export FILE[/bold] lists the formats. Diagrams: svg, html, text, mermaid, dot. Traces for other
    tools: shiviz, perfetto, cast. Tables: csv, jsonl. In a table, a column whose name ends in _us is a time in
    microseconds since the start of the run, and a column whose name ends in record is a record number.

    In the diagram each node has a lane in the colour of its status, and a message is an arrow from sender to
    receiver. Heartbeats are left out. A long run has too many messages for one picture: select a window with
    --from and --until. The window begins with the nodes, faults and messages in flight as they are at --from.
    """
    from lab.cli.export_request import ExportRequest, run_export  # noqa: PLC0415
    from lab.cli.film_options import FilmOptions  # noqa: PLC0415

    film = FilmOptions(view, size, speed, fps, idle)
    return run_export(
        ExportRequest(file, to, out, since, until, nodes, heartbeats, time, ascii_only, table, film, force)
    )
