"""``lab list``, ``lab attach`` and ``lab ctl``: list, watch and control active runs."""

from typing import Annotated

import typer

from lab.cli.program import app
from lab.cli.usage_errors import UsageError

__all__ = ["attach", "ctl", "list_"]

_LISTED = ("runs", "protocols")


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(metavar="[runs|protocols]", help="What to list.")] = "runs",
    protocol: Annotated[
        str | None,
        typer.Argument(metavar="[PROTOCOL]", help="Describe this protocol in detail: a name, or FILE.py:CLASS."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """List the active runs, or describe the protocols.

    lab list also removes the folders of runs whose host has crashed; their recordings are kept.
    """
    from lab.cli.run_options import one_of  # noqa: PLC0415

    if one_of("lab list", what, _LISTED) == "protocols":
        from lab.cli.protocols import print_protocols  # noqa: PLC0415

        return print_protocols(protocol, json)
    if protocol is not None:
        raise UsageError(f"lab list runs takes no name; leave out {protocol}")
    from lab.cli.hosts import print_runs  # noqa: PLC0415

    return print_runs(json)


@app.command()
def attach(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="The name of a run, from lab list. May be omitted if only one is active."
        ),
    ] = None,
    viewer: Annotated[bool, typer.Option("--viewer", help="Watch only: give no commands.")] = False,
) -> int:
    """Open the interface on an active run.

    Any number of interfaces can be attached to the same run.
    """
    from lab.cli.hosts import attach as attach_to  # noqa: PLC0415

    return attach_to(run, viewer)


def _ctl_help() -> str:
    from rich.markup import escape  # noqa: PLC0415

    from lab.script import VERBS, bare_commands  # noqa: PLC0415

    verbs = (*VERBS.values(), *bare_commands().values())
    rows = [escape(f"  {verb.usage:36} {verb.help}") for verb in verbs]  # usage texts contain brackets
    return (
        "Give commands to an active run.\n\n"
        "\b\nCommands:\n" + "\n".join(rows) + "\n\n"
        "\b\nNODES   5 · 1 2 · 1,2 · all · coordinator · coordinators (every node that leads)\n"
        "LINKS   2->3 · 2<->3 · 5 (all links from and to 5) · all\n"
        "TIME    400ms · 2s          PERCENT  30%\n" + _triggers_help()
    )


def _triggers_help() -> str:
    from lab.script.parse_errors import EXPECTATIONS, TRIGGERS  # noqa: PLC0415
    from lab.script.predicates import COUNTS, STATES  # noqa: PLC0415

    return (
        "\n\b\nTriggers, written before a command; several are waited for one after the other:\n"
        + "\n".join(f"  {example}" for example in TRIGGERS.values())
        + "\n\n\b\nPredicates, combined with and, or, not and parentheses:\n"
        f"  4 normal · all normal · any leads   states: {' '.join(STATES)}\n"
        "  4 suspects 5 · 2->3 cut\n"
        "  all.coordinator == 4 · 4.status != Normal\n"
        f"  groups <= 2 · messages(Accept) > 3   counts: {' '.join(COUNTS)}\n\n"
        "\b\nExpectations, written instead of a command:\n"
        + "\n".join(f"  {example}" for example in EXPECTATIONS.values())
        + "\n\n\b\nFull reference: lab guide commands, lab guide predicates."
    )


@app.command(
    help=_ctl_help(),
    epilog='Example: lab ctl "partition 1 2 | 3 4 5"   (exit status 1 if a command has no effect)',
)
def ctl(
    words: Annotated[
        list[str], typer.Argument(metavar="[RUN] COMMAND…", help="One or more commands, each in quotes.")
    ],
) -> int:
    """Give commands to an active run (``_ctl_help`` is the help)."""
    from lab.cli.hosts import control  # noqa: PLC0415

    return control(words)
