"""Run ``lab scale``: measure one cluster after the other, of one protocol or of several."""

import re
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.cli.output_files import picture_file
from lab.cli.progress import progress_line
from lab.cli.run_options import find_election, seed_of, timing_of
from lab.cli.scale_cases import MOST_MESSAGES, ScaleRow, ScaleStudy
from lab.cli.scale_report import draw, show
from lab.cli.usage_errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError
from lab.kernel import Timing
from lab.protocols import Election
from lab.text import sanitize
from lab.worlds.scalability import NoAgreementError, ScalabilityTrial

__all__ = ["ScaleRequest", "run_scale"]

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
