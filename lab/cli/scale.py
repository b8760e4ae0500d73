"""``lab scale``: measure how the cost of an election grows with the cluster."""

import re
import time
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from typer import Option

from lab.cli.options import Json, Picture, RequestBound, Targets, check_picture, command, find_election
from lab.cli.scale_report import MOST_MESSAGES, ScaleRow, ScaleStudy, draw, show
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_error,
    print_json,
    progress_line,
)
from lab.kernel import Timing
from lab.worlds.campaign.scalability import NoAgreementError, ScalabilityTrial
from lab.worlds.loading.settings import seed_of, timing_of

_FEWEST, _MOST = 2, 2_000
_SIZES_OF_ONE = "3,10,30,100,300,1000"
_SIZES_OF_SEVERAL = "3,10,30,100"


class ScaleOptions(Struct, frozen=True):
    """The options of ``lab scale``."""

    protocols: Targets
    nodes: Annotated[
        str | None,
        Option(
            metavar="N,N,…",
            help="Cluster sizes, up to 2,000 nodes. "
            r"\[default: 3,10,30,100,300,1000; for several protocols 3,10,30,100]",
        ),
    ] = None
    t: RequestBound = None
    seed: Annotated[
        str, Option(metavar="NUMBER", help="Seed that determines when, between two heartbeats, the crash happens.")
    ] = "1"
    output: Picture = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab scale bully\n
    lab scale bully bully-tanenbaum ring invitation\n
    lab scale bully --nodes 5,50,500 -o bully.svg\n
    lab scale my_election.py:MyElection --nodes 3,10,30 --json"""
)
def scale(options: ScaleOptions) -> int:
    """Measure the cost of an election as the cluster grows.

    The clusters are simulated, and the results are compared with the formulas from the literature. In each cluster
    the coordinator crashes, and the messages of the election are counted, without heartbeats. First, each node
    detects the crash by its own timeout. If the protocol has formulas for a best and a worst case, these are
    measured, too: the nodes detect the crash one after the other, or all at once. Several protocols are measured
    in clusters of the same sizes, and shown side by side.

    Bully with 1,000 nodes takes about half a minute. A best or worst case is skipped if its formula exceeds 10,000
    messages. Ctrl-C stops and shows the results so far.
    """
    protocols = list(map(find_election, options.protocols))
    for place, each in enumerate(protocols):
        if each in protocols[:place]:
            raise UsageError(f"{each.name} is named twice; name each protocol once: lab scale bully ring")
    sizes = _sizes(options.nodes or (_SIZES_OF_ONE if len(protocols) == 1 else _SIZES_OF_SEVERAL))
    timing, seed = timing_of(options.t), seed_of(options.seed)
    check_picture(options.output)
    scales = list(map(ScaleStudy.of, protocols))
    status = _measure(scales, sizes, timing, seed)
    if options.json:
        results = [_as_json(each, timing, seed) for each in scales]
        print_json(results[0] if len(results) == 1 else {"protocols": results})
    measured = [each for each in scales if each.measured]
    if measured and not options.json:
        show(measured, timing)
    if measured and options.output is not None:
        draw(measured, timing, options.output)
        if not options.json:
            print(f"\ndrawn: {options.output}")
    return status


def _measure(scales: list[ScaleStudy], sizes: tuple[int, ...], timing: Timing, seed: int) -> int:
    """Measure all protocols, cluster by cluster; drop a protocol whose nodes do not agree."""
    status = 0
    going = list(scales)
    try:
        for nodes in sizes:
            for scale in list(going):
                try:
                    _measure_cluster(scale, nodes, timing, seed)
                except NoAgreementError as error:
                    print_error(f"{scale.name}: {error}")
                    status = EXIT_NOT_AS_EXPECTED
                    going.remove(scale)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return status


def _measure_cluster(scale: ScaleStudy, nodes: int, timing: Timing, seed: int) -> None:
    """Measure all cases in the same cluster, as starting it takes as long as a measurement."""
    began_s = time.monotonic()
    with progress_line() as progress:
        trial = ScalabilityTrial(
            scale.protocol,
            nodes,
            timing,
            seed,
            lambda messages: progress(f"{scale.name}, {nodes:,} nodes: {messages:,} messages"),
        )
        for place, case in enumerate(scale.cases):
            measured = None
            if place == 0 or case.messages(nodes) <= MOST_MESSAGES:
                measured = trial.measure(case.detection)
            ended_s = time.monotonic()
            case.rows.append(ScaleRow(nodes, measured, ended_s - began_s))
            began_s = ended_s


def _sizes(text: str) -> tuple[int, ...]:
    if re.fullmatch(r"\d{1,9}(,\d{1,9})*", text.replace(" ", "")) is None:
        raise UsageError(f"--nodes {text}: write numbers separated by commas: --nodes 3,10,30")
    sizes = sorted({int(each) for each in text.split(",")})
    for size in sizes:
        if not _FEWEST <= size <= _MOST:
            raise UsageError(f"--nodes {text}: {size} is out of range; write numbers from {_FEWEST} to {_MOST}")
    return tuple(sizes)


def _as_json(scale: ScaleStudy, timing: Timing, seed: int) -> dict[str, Any]:
    costs = scale.protocol.costs
    return {
        "protocol": scale.name,
        "t_us": timing.t_us,
        "seed": seed,
        "formulas": [
            {"case": cost.case, "formula": cost.formula, "source": cost.source, "noticed": cost.detection}
            for cost in costs
        ],
        "elections": [
            msgspec.to_builtins(row.measured)
            | {
                "case": case.name,
                "formula": case.messages(row.nodes),
                "formulas": [cost.messages(row.nodes) for cost in costs],
                "seconds": round(row.seconds, 3),
            }
            for case in scale.cases
            for row in case.rows
            if row.measured is not None
        ],
    }
