"""``lab scale``: measure how the cost of an election grows with the cluster."""

import re
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from lab.cli.options import Json, Picture, RequestBound, Targets, find_election, picture_file, seed_of, timing_of
from lab.cli.program import app
from lab.cli.scale_report import MOST_MESSAGES, ScaleRow, ScaleStudy, draw, show
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, progress_line
from lab.kernel import Timing
from lab.protocols import Election
from lab.text import sanitize
from lab.worlds.campaign.scalability import NoAgreementError, ScalabilityTrial


@app.command(
    epilog="""Examples:\n
    lab scale bully\n
    lab scale bully bully-tanenbaum ring invitation\n
    lab scale bully --nodes 5,50,500 -o bully.svg\n
    lab scale my_election.py:MyElection --nodes 3,10,30 --json""",
)
def scale(
    protocols: Targets,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Cluster sizes, up to 2,000 nodes. "
            r"\[default: 3,10,30,100,300,1000; for several protocols 3,10,30,100]",
        ),
    ] = None,
    t: RequestBound = None,
    seed: Annotated[
        str, typer.Option(metavar="NUMBER", help="Seed of the moment of the crash, between two heartbeats.")
    ] = "1",
    output: Picture = None,
    json: Json = False,
) -> int:
    """Measure the cost of an election as the cluster grows.

    The clusters are simulated, and the results are compared with the formulas from the literature. In each cluster
    the coordinator crashes, and the messages of the election are counted, without heartbeats. In the first case,
    each node detects the crash by itself. If the protocol has formulas for other cases, the nodes then detect it
    one after the other, or all at once, to measure the best and the worst case. Several protocols are measured in
    clusters of the same sizes, and shown side by side.

    Bully with 1,000 nodes takes about half a minute. Later cases whose formula exceeds 10,000 messages are
    skipped. Ctrl-C stops and shows the results so far.
    """
    return run_scale(ScaleRequest.of(protocols, nodes, t, seed, output, json))


_FEWEST, _MOST = 2, 2_000
_SIZES_OF_ONE = "3,10,30,100,300,1000"
_SIZES_OF_SEVERAL = "3,10,30,100"


class ScaleRequest(Struct, frozen=True):
    """The arguments of ``lab scale``."""

    protocols: tuple[type[Election], ...]
    nodes: tuple[int, ...]
    timing: Timing
    seed: int
    output: Path | None
    json: bool

    @classmethod
    def of(
        cls, protocols: list[str], nodes: str | None, t: str | None, seed: str, output: Path | None, json: bool
    ) -> "ScaleRequest":
        """Build the request from the command's options. Raises UsageError."""
        found = tuple(map(find_election, protocols))
        for place, each in enumerate(found):
            if each in found[:place]:
                raise UsageError(f"{each.name} is named twice; name each protocol once: lab scale bully ring")
        sizes = _sizes(nodes or (_SIZES_OF_ONE if len(found) == 1 else _SIZES_OF_SEVERAL))
        return cls(found, sizes, timing_of(t, None, None), seed_of(seed), picture_file(output), json)


def run_scale(request: ScaleRequest) -> int:
    """Measure and show the result; after Ctrl-C, the result so far."""
    scales = [ScaleStudy.of(protocol) for protocol in request.protocols]
    status = _measure(request, scales)
    if request.json:
        results = [_as_json(request, scale) for scale in scales]
        print(msgspec.json.encode(results[0] if len(results) == 1 else {"protocols": results}).decode())
    measured = [scale for scale in scales if scale.measured]
    if measured and not request.json:
        show(measured, request.timing)
    if measured and request.output is not None:
        draw(measured, request.timing, request.output)
        if not request.json:
            print(f"\ndrawn: {request.output}")
    return status


def _measure(request: ScaleRequest, scales: list[ScaleStudy]) -> int:
    """Measure all protocols, cluster by cluster; drop a protocol whose nodes do not agree."""
    status = 0
    going = list(scales)
    try:
        for nodes in request.nodes:
            for scale in list(going):
                try:
                    _measure_cluster(request, scale, nodes)
                except NoAgreementError as error:
                    print(f"lab: {scale.name}: {sanitize(str(error))}", file=sys.stderr)
                    status = EXIT_NOT_AS_EXPECTED
                    going.remove(scale)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return status


def _measure_cluster(request: ScaleRequest, scale: ScaleStudy, nodes: int) -> None:
    """Measure all cases in the same cluster, as starting it takes as long as a measurement."""
    began_s = time.monotonic()
    with progress_line() as progress:
        trial = ScalabilityTrial(
            scale.protocol,
            nodes,
            request.timing,
            request.seed,
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


def _as_json(request: ScaleRequest, scale: ScaleStudy) -> dict[str, Any]:
    costs = scale.protocol.costs
    return {
        "protocol": scale.name,
        "t_us": request.timing.t_us,
        "seed": request.seed,
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
