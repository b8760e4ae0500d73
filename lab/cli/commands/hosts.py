"""``lab list``, ``lab attach`` and ``lab ctl``: runs that are going on, and what can be run."""

from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.errors import UsageError

__all__ = ["attach", "ctl", "list_"]

_LISTED = ("runs", "protocols")


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(metavar="[runs|protocols]", help="Which of them.")] = "runs",
    protocol: Annotated[
        str | None, typer.Argument(metavar="[PROTOCOL]", help="This one, in more detail; or FILE.py:CLASS.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> int:
    """List the runs that are going on, and clean up after hosts that died; or describe the protocols."""
    from lab.cli.settings import one_of  # noqa: PLC0415

    if one_of("lab list", what, _LISTED) == "protocols":
        from lab.cli.protocols import print_protocols  # noqa: PLC0415

        return print_protocols(protocol, json)
    if protocol is not None:
        raise UsageError(f"lab list runs {protocol}: nothing more is said of a run; leave out {protocol}")
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
    from rich.markup import escape  # noqa: PLC0415

    from lab.script import VERBS, own_commands  # noqa: PLC0415

    verbs = (*VERBS.values(), *own_commands().values())
    rows = [escape(f"  {verb.usage:36} {verb.help}") for verb in verbs]  # some brackets are no markup
    return (
        "Give commands to a run that is going on.\n\n"
        "\b\nCommands:\n" + "\n".join(rows) + "\n\n"
        "\b\nNODES   5 · 1 2 · 1,2 · all · coordinator · coordinators (all that lead)\n"
        "LINKS   2->3 · 2<->3 · 5 (all from and to 5) · all\n"
        "TIME    400ms · 2s          PERCENT  30%\n" + _triggers_help()
    )


def _triggers_help() -> str:
    from lab.script.explaining import EXPECTATIONS, TRIGGERS  # noqa: PLC0415
    from lab.script.predicates import COUNTS, STATES  # noqa: PLC0415

    return (
        "\n\b\nBefore a command, optionally, what it waits for; several, and they come one after the other:\n"
        + "\n".join(f"  {example}" for example in TRIGGERS.values())
        + "\n\n\b\nPredicates, with and, or, not and parentheses:\n"
        f"  4 normal · all normal · any leads   {' '.join(STATES)}\n"
        "  4 suspects 5 · 2->3 cut\n"
        "  all.coordinator == 4 · 4.status != Normal\n"
        f"  groups <= 2 · messages(Accept) > 3   {' '.join(COUNTS)}\n\n"
        "\b\nInstead of a command, what is expected:\n"
        + "\n".join(f"  {example}" for example in EXPECTATIONS.values())
        + "\n\n\b\nlab guide scenarios tells the whole of it."
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
