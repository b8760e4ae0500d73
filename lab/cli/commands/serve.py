"""``lab serve``: the laboratory for a class, over SSH."""

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.serve.limits import help_of

__all__ = ["Data", "invite", "serve"]

serve = typer.Typer()
app.add_typer(
    serve,
    name="serve",
    help="Serve the laboratory to a class, over SSH: each student connects with the ssh that is there, or with a "
    "browser (--web), and gets a cluster of their own. Nothing else is to be had: no shell, no files, no "
    "forwarding. It runs until Ctrl-C.",
    epilog="""Examples:\n
    lab serve --class class.keys   (lines of public keys, as in authorized_keys; the comment is the name)\n
    lab serve invite anna ben   (codes with which they register their own keys, or browsers)\n
    lab serve --web 8080 --listen 127.0.0.1   (before it: caddy reverse-proxy --from HOST --to 127.0.0.1:8080)\n
    lab serve status""",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Host key, enrolled keys, invitations, students' folders, log; without it, where lab keeps such.",
    ),
]


@serve.callback(invoke_without_command=True)
def serve_now(
    context: typer.Context,
    port: Annotated[str, typer.Option(help="Listen on this port; 0 picks a free one.")] = "2222",
    web: Annotated[
        str,
        typer.Option(
            metavar="PORT",
            help="Serve browsers, too, on this port, over plain HTTP: on a network that you do not trust, "
            "put a proxy with a certificate in front.",
        ),
    ] = "",
    listen: Annotated[str, typer.Option(metavar="ADDRESS", help="Listen on this address, not on all.")] = "",
    class_file: Annotated[
        Path | None,
        typer.Option("--class", metavar="FILE", help="The class: public keys, each with its student's name."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Let anybody in, as a guest.")] = False,
    exercises: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Exercises of your own, in the place of those that come with it."),
    ] = None,
    lecture: Annotated[
        bool, typer.Option("--lecture", help="Show lectures to all at once; without it, those who are on choose.")
    ] = False,
    data: Data = None,
    nodes: Annotated[str, typer.Option(help=help_of("nodes"))] = "9",
    sessions: Annotated[str, typer.Option(help=help_of("sessions"))] = "40",
    log_ins: Annotated[str, typer.Option("--log-ins", help=help_of("logins_per_minute"))] = "20",
    idle: Annotated[str, typer.Option(metavar="TIME", help=help_of("idle_s"))] = "60m",
    linger: Annotated[str, typer.Option(metavar="TIME", help=help_of("linger_s"))] = "5m",
    recording: Annotated[str, typer.Option(metavar="MIB", help=help_of("recording_mib"))] = "64",
) -> int:
    """Without a command: serve (the help is that of the group)."""
    if context.invoked_subcommand is not None:
        return 0
    from lab.cli.serving import limits_of, run_server  # noqa: PLC0415

    limits = limits_of(nodes, sessions, log_ins, idle, linger, recording)
    return run_server(port, web, listen, class_file, open_, data, exercises, limits, lecture)


@serve.command()
def invite(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…]", help="The students; without, print whose codes wait.")
    ] = None,
    days: Annotated[str, typer.Option(help="The codes hold for so many days.")] = "14",
    data: Data = None,
) -> int:
    """Make one-time codes: a student connects with one as user name, and the key of that connection is theirs.

    Where the server has --web, its page asks for the code, too, and then that browser is theirs.
    """
    from lab.cli.serving import print_invitations  # noqa: PLC0415

    return print_invitations(names or [], days, data)
