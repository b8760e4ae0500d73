"""The options of ``lab check``, for campaigns in simulation and on programs."""

from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Argument, Option

from lab.cli.campaign_file import ResumeCampaign
from lab.cli.documents import Json
from lab.cli.options import (
    Clients,
    Faults,
    Junit,
    Model,
    OwnProperties,
    Parameters,
    Rate,
    RequestBound,
    Sandbox,
    Services,
    Workers,
    Workload,
)
from lab.cli.terminal import UsageError
from lab.worlds.campaign.schedule import STRONGEST, fault_kinds
from lab.worlds.campaign.systematic import SYSTEMATIC

DEFAULT_NODES, DEFAULT_FAULTS = "3-7", ",".join(STRONGEST)
SYSTEMATIC_NODES, _SYSTEMATIC_FAULTS = "3", "kill"
Systematic = Annotated[
    str | None,
    Option(
        metavar="NUMBER",
        help="Instead of drawing faults, try up to this many events at every point of a run: faults, and the "
        "returns from them. Kinds for --faults: kill, pause, partition; kill unless given.",
    ),
]
LEAST_SHRINKING_S = 60.0
"""A finding is shrunk for so long even if the time of the campaign is over."""


class CheckOptions(Struct, frozen=True):
    """The options of ``lab check``."""

    protocol: Annotated[
        str,
        Argument(metavar="PROTOCOL", help="A protocol by name (bully), or your own: FILE.py:CLASS."),
    ] = ""
    arguments: Annotated[
        list[str], Argument(metavar="[-- ARGUMENT…]", help="With --program: the arguments of the program.")
    ] = []
    program: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            help="Test this program as every node, in live runs: 50 of them, with a T of 1s, unless given. See "
            "lab guide programs.",
        ),
    ] = None
    lens: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE.py:CLASS",
            help="With --program: what reads the state of the nodes off their messages, and what they promise: "
            "election, bully, ring, invitation, raft, or a class of yours.",
        ),
    ] = None
    for_: Annotated[
        str | None, Option("--for", metavar="TIME", help="With --program: the time of each run.  \\[default: 10s]")
    ] = None
    repetitions: Annotated[
        str | None,
        Option(metavar="NUMBER", help="With --program: how often a finding is repeated.  \\[default: 5]"),
    ] = None
    runs: Annotated[
        str | None, Option(metavar="NUMBER", help=r"Number of runs; 0: until interrupted.  \[default: 1000]")
    ] = None
    seed: Annotated[str, Option(metavar="NUMBER", help="Seed of the first run; each run uses the next seed.")] = (
        "1"
    )
    nodes: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Number of nodes: 5, or a range, from which each run draws one: 3-7.  "
            r"\[default: 3-7; with --systematic 3; with --program 5]",
        ),
    ] = None
    faults: Faults = DEFAULT_FAULTS
    systematic: Systematic = None
    find: Annotated[
        str | None,
        Option(metavar="ASSERTION", help="Count as findings all violations of this assertion, and no others."),
    ] = None
    strict: Annotated[bool, Option("--strict", help="Count excused violations as findings.")] = False
    keep_going: Annotated[bool, Option("--keep-going", help="Continue after the first finding.")] = False
    minutes: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Stop after this many minutes. Without --runs, the number of runs is not limited. A finding is "
            "shrunk in the time that is left, or in one minute if that is more.",
        ),
    ] = None
    workers: Workers = None
    cluster: Annotated[
        str,
        Option(
            metavar="ADDRESS",
            help="Run on a dask.distributed cluster; the address of its scheduler: tcp://host:8786. Requires: pip "
            "install 'coordinator-lab\\[cluster]'",
        ),
    ] = ""
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Record the shrunk finding to this .jsonl file; an earlier recording there is replaced.",
        ),
    ] = None
    t: RequestBound = None
    set_: Parameters = []
    properties: OwnProperties = None
    sandbox: Sandbox = False
    workload: Workload = None
    model: Model = None
    clients: Clients = None
    rate: Rate = None
    service: Services = None
    blind: Annotated[
        bool,
        Option(
            "--blind", help="Draw each schedule from its seed alone; do not vary those that reached something new."
        ),
    ] = False
    corpus: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Begin with the schedules kept in this folder, and keep there those that reach something new.",
        ),
    ] = None
    record: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Record the campaign to this new .jsonl file, and shrink every finding. See: lab campaign.",
        ),
    ] = None
    resume: ResumeCampaign = None
    parts: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Divide the campaign into so many parts, each guided by its own runs only: lab campaign merge "
            r"puts together what is made on several machines.  \[default: 1]",
        ),
    ] = None
    part: Annotated[str | None, Option(metavar="NUMBER", help="Make only this part, from 1 to --parts.")] = None
    junit: Junit = None
    json: Json = False


PLANNING = (
    *("runs", "seed", "nodes", "faults", "systematic", "find", "strict", "t", "set_", "properties", "sandbox"),
    *("blind", "parts", "workload", "model", "clients", "rate", "service", "program", "lens", "for_"),
    "repetitions",
)
"""The options that say what is to be run, which a campaign that is resumed has."""


def wanted_faults(faults: str, systematic: int) -> tuple[str, ...]:
    """Return the kinds of faults of a campaign: drawn, or tried at every point. Raises UsageError."""
    if not systematic:
        return fault_kinds(faults)
    kinds = fault_kinds(_SYSTEMATIC_FAULTS if faults == DEFAULT_FAULTS else faults)
    if not set(kinds) <= set(SYSTEMATIC):
        raise UsageError(
            f"--faults {faults}: --systematic tries {', '.join(SYSTEMATIC)}; the other kinds have no "
            "point at which they strike"
        )
    return kinds
