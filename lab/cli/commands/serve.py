"""``lab serve``: serve the laboratory to a class over SSH."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.program import app
from lab.serve.limits import help_of

__all__ = ["Data", "invite", "serve"]

serve = typer.Typer()
app.add_typer(
    serve,
    name="serve",
    help="Serve the laboratory to a class, over SSH and in browsers.\n\nEach student connects with any ssh "
    "client, or with a browser (--web), and gets the exercises and a private cluster. Students get no shell, no "
    "access to files and no port forwarding. The server runs until Ctrl-C.",
    epilog="""Examples:\n
    lab serve --class class.keys   (public keys as in authorized_keys; the comment is the student's name)\n
    lab serve invite anna ben   (one-time codes to register a key or a browser)\n
    lab serve --web 8080 --listen 127.0.0.1   (behind: caddy reverse-proxy --from HOST --to 127.0.0.1:8080)\n
    lab serve status""",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder of the server: keys, invitations, student folders, log. Default: in lab's data folder.",
    ),
]


@serve.callback(invoke_without_command=True)
def serve_now(
    context: typer.Context,
    port: Annotated[str, typer.Option(metavar="PORT", help="Port for SSH; 0 picks a free one.")] = "2222",
    web: Annotated[
        str,
        typer.Option(
            metavar="PORT",
            help="Also serve browsers on this port, over plain HTTP. On an untrusted network, put a TLS proxy in "
            "front of it.",
        ),
    ] = "",
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen on this address only. Default: on all.")
    ] = "",
    class_file: Annotated[
        Path | None,
        typer.Option(
            "--class",
            metavar="FILE",
            help="Admit the students in this file: one public key per line, with the student's name as the "
            "comment.",
        ),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Admit everyone, as a guest: no key and no code is needed.")
    ] = False,
    exercises: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Use the exercises in this folder instead of the built-in ones."),
    ] = None,
    lecture: Annotated[
        bool,
        typer.Option("--lecture", help="Open lectures on every screen. Default: each student joins with Ctrl+L."),
    ] = False,
    data: Data = None,
    nodes: Annotated[str, typer.Option(metavar="NUMBER", help=help_of("nodes"))] = "9",
    sessions: Annotated[str, typer.Option(metavar="NUMBER", help=help_of("sessions"))] = "40",
    log_ins: Annotated[str, typer.Option("--log-ins", metavar="NUMBER", help=help_of("logins_per_minute"))] = "20",
    idle: Annotated[str, typer.Option(metavar="TIME", help=help_of("idle_s"))] = "60m",
    linger: Annotated[str, typer.Option(metavar="TIME", help=help_of("linger_s"))] = "5m",
    recording: Annotated[str, typer.Option(metavar="MIB", help=help_of("recording_mib"))] = "64",
) -> int:
    """Serve if there is no subcommand (the group has the help)."""
    if context.invoked_subcommand is not None:
        return 0
    from lab.cli.server_runner import limits_of, run_server  # noqa: PLC0415

    limits = limits_of(nodes, sessions, log_ins, idle, linger, recording)
    return run_server(port, web, listen, class_file, open_, data, exercises, limits, lecture)


@serve.command()
def invite(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME…]", help="The students' names. Without names, the unused codes are listed."),
    ] = None,
    days: Annotated[
        str, typer.Option(metavar="NUMBER", help="Number of days for which the codes are valid.")
    ] = "14",
    data: Data = None,
) -> int:
    """Create one-time codes for students.

    The first time, a student connects with the code as the user name: ssh -p 2222 CODE@HOST. This registers the
    student's public key, so later log-ins need no code. If the server runs with --web, its page also accepts the
    code, and registers the browser.
    """
    from lab.cli.server_runner import print_invitations  # noqa: PLC0415

    return print_invitations(names or [], days, data)
