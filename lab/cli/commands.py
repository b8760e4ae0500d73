"""The commands and their options, with help that teaches."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.errors import UsageError


@app.command(
    epilog="""Examples:\n
    lab run bully --nodes 0-7\n
    lab run bully --headless --for 6s --do "at 2s kill 5" --do "at 4s restart 5"\n
    lab run bully --t 1s --do "when all normal kill coordinator" --record first.jsonl\n
    lab run bully --sim --do freeze   (then . lets one event happen, and c chooses which)\n
    lab run bully --sim --speed 0.1 --do "on send EnterElection freeze"\n
    lab run bully --sim --headless --for 10m --do "at 1m kill coordinator" --nodes 100 --seed 7\n
    lab run my_election.py:MyElection   (how to write one: lab guide your-own-protocol)""",
)
def run(
    protocol: Annotated[str, typer.Argument(help="Which: bully, or your own: my_election.py:MyElection.")],
    nodes: Annotated[
        str, typer.Option(help="How many (5), from-to (0-7), or which (1,3,5). The id is the priority.")
    ] = "5",
    t: Annotated[
        str | None, typer.Option(help=r"T, the bound of a request with its answer: 2·Tm + Tp.  \[default: 200ms]")
    ] = None,
    tm: Annotated[str | None, typer.Option(help="Tm, the bound of a message's journey; with --tp.")] = None,
    tp: Annotated[str | None, typer.Option(help="Tp, the bound of a node's handling of it; with --tm.")] = None,
    latency: Annotated[
        str | None,
        typer.Option(help=r"How long every message takes, but for the jitter.  \[default: 0s; with --sim Tm/4]"),
    ] = None,
    jitter: Annotated[
        str | None, typer.Option(help=r"By how much that varies, either way.  \[default: 0s; with --sim Tm/8]")
    ] = None,
    sim: Annotated[
        bool,
        typer.Option(
            "--sim",
            help="In virtual time: freeze it, step it, choose what happens next; a seed brings the same again.",
        ),
    ] = False,
    speed: Annotated[
        str | None,
        typer.Option(metavar="FACTOR", help="With --sim, virtual over real time at the start: 0.1, 10, max."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the protocol; bully: check_every, coordinator_timeout.",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='A command, mostly with a trigger: "at 2s kill 5", "when all normal partition 1 2 | 3 4 5", '
            '"on send EnterElection 4->1 kill 4". May be given several times. All commands: lab ctl --help',
        ),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More commands, a line each; # begins a remark.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to record; without it, where lab keeps recordings.")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="For losses and jitter; drawn if not given, and recorded."),
    ] = None,
    headless: Annotated[bool, typer.Option("--headless", help="Without the interface; needs --for.")] = False,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End the run after this long: 6s, 2m.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="With --headless: print one JSON object at the end, and nothing else.")
    ] = False,
) -> int:
    """Run a protocol, on real processes or simulated, with the interface in front or headless."""
    from lab.cli.running import run_headless, run_with_interface  # noqa: PLC0415
    from lab.cli.settings import run_config, world_of  # noqa: PLC0415

    if headless and for_ is None:
        raise UsageError("--headless needs an end: add --for 6s")
    if json and not headless:
        raise UsageError("--json goes with --headless")
    world = world_of(sim, speed, headless)
    config = run_config(
        *(protocol, nodes, t, tm, tp, latency, jitter, set_ or [], do or [], script, seed, record, for_, world)
    )
    return run_headless(config, json) if headless else run_with_interface(config)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recording; lab keeps those of runs without --record too.")],
) -> int:
    """Open a recording in the interface: play, step forward and back, jump from fault to fault."""
    from lab.cli.reading import opened  # noqa: PLC0415

    opened(file).close()
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(f"the interface needs a terminal; without one: lab show {file}")
    from lab.tui.guard import run_guarded  # noqa: PLC0415

    def interface() -> int:
        from lab.tui.main import show_recording  # noqa: PLC0415

        return show_recording(file)

    return run_guarded(interface)


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(help="Recordings.")],
    protocol: Annotated[
        str | None,
        typer.Option(metavar="FILE.py:CLASS", help="Where the protocol is, if it is one of your own."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Violations outside the promise, too, make the exit status 1.")
    ] = False,
) -> int:
    """Re-execute and judge recordings: recorded inputs, fed to fresh nodes, must give the recorded steps, and \
whatever the protocol promises must hold in every consistent state.

    A violation while an assumption is broken that the protocol relies on is outside its promise; one with all \
of them intact is a failure. The first violation of each assertion is told with how it came about.

    Exit status: 0 all hold, 1 one differs (it was edited, or the protocol has changed since) or fails, \
2 no recording.
    """
    from lab.cli.reading import verify as verify_files  # noqa: PLC0415

    return verify_files(files, protocol, strict)


@app.command(epilog="Example: lab show run.jsonl --node 4 --kind EnterElection --kind SetCoordinator")
def show(
    file: Annotated[Path, typer.Argument(help="A recording.")],
    node: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Only what this node sends, gets or does.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only messages whose kind begins so.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="Only: message, status, process, command, note, failure, end."),
    ] = None,
    heartbeats: Annotated[bool, typer.Option("--heartbeats", help="With the messages that keep coming.")] = False,
) -> int:
    """Print a recording as text: messages with their fates, changes of status, faults and commands."""
    from lab.cli.reading import show as show_file  # noqa: PLC0415

    known = ("message", "status", "process", "command", "note", "failure", "end")
    for word in only or ():
        if word not in known:
            raise UsageError(f"--only {word}: expected one of {', '.join(known)}")
    return show_file(file, node or [], kind or [], only or [], heartbeats)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> int:
    """List the runs that are going on and the protocols; clean up after hosts that died."""
    from lab.cli.hosts import print_runs  # noqa: PLC0415

    return print_runs(json)


@app.command()
def attach(
    run: Annotated[str | None, typer.Argument(help="Which run, as lab list names it; may be left out.")] = None,
    viewer: Annotated[bool, typer.Option("--viewer", help="Only watch.")] = False,
) -> int:
    """Open the interface over a run that is going on, beside whoever watches it already."""
    from lab.cli.hosts import attach as attach_to  # noqa: PLC0415

    return attach_to(run, viewer)


def _ctl_help() -> str:
    from lab.script import VERBS  # noqa: PLC0415

    rows = [f"  {verb.usage:32} {verb.help}" for verb in VERBS.values()]
    return (
        "Give commands to a run that is going on.\n\n"
        "\b\nCommands:\n" + "\n".join(rows) + "\n\n"
        "\b\nNODES   5 · 1 2 · 1,2 · all · coordinator\n"
        "LINKS   2->3 · 2<->3 · 5 (all from and to 5) · all\n"
        "TIME    400ms · 2s          PERCENT  30%\n"
        "before a command, optionally, when:\n"
        "        at 2s · after 2s · when all normal · on send KIND [A->B] · on deliver KIND [A->B]"
    )


@app.command(
    help=_ctl_help(),
    epilog='Example: lab ctl "partition 1 2 | 3 4 5"   (exit status 1 where a command changed nothing)',
)
def ctl(
    words: Annotated[list[str], typer.Argument(metavar="[RUN] COMMAND…", help="Each command in quotes.")],
) -> int:
    """Give commands to a run that is going on (the help is ``_ctl_help``)."""
    from lab.cli.hosts import control  # noqa: PLC0415

    return control(words)
