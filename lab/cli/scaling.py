"""``lab scale``: one cluster measured after the other, of one protocol or of several."""

import re
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.files import picture_file
from lab.cli.progress import progress_line
from lab.cli.scale_cases import MOST_MESSAGES, Row, Scale
from lab.cli.scale_report import draw, show
from lab.cli.settings import election_named, seed_of, timing_of
from lab.kernel import Timing
from lab.protocols import Election
from lab.text import sanitize
from lab.worlds.scaling import NeverSettledError, Trial

__all__ = ["ScaleRequest", "run_scale"]

_FEWEST, _MOST = 2, 2_000
_SIZES_OF_ONE = "3,10,30,100,300,1000"
_SIZES_OF_SEVERAL = "3,10,30,100"


class ScaleRequest(Struct, frozen=True):
    """What is to be measured, and where it is to be shown."""

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
        """From the options of the command; UsageError."""
        found = tuple(map(election_named, protocols))
        for place, each in enumerate(found):
            if each in found[:place]:
                raise UsageError(f"{each.name} is named twice; name each protocol once: lab scale bully ring")
        sizes = _sizes(nodes or (_SIZES_OF_ONE if len(found) == 1 else _SIZES_OF_SEVERAL))
        return cls(found, sizes, timing_of(t, None, None), seed_of(seed), picture_file(output), json)


def run_scale(request: ScaleRequest) -> int:
    """Measure and show; what was measured before Ctrl-C is shown too."""
    scales = [Scale.of(protocol) for protocol in request.protocols]
    status = _measure(request, scales)
    if request.json:
        told = [_as_json(request, scale) for scale in scales]
        print(msgspec.json.encode(told[0] if len(told) == 1 else {"protocols": told}).decode())
    measured = [scale for scale in scales if scale.measured]
    if measured and not request.json:
        show(measured, request.timing)
    if measured and request.output is not None:
        draw(measured, request.timing, request.output)
        if not request.json:
            print(f"\ndrawn: {request.output}")
    return status


def _measure(request: ScaleRequest, scales: list[Scale]) -> int:
    """All protocols in one cluster after the other; one whose nodes do not agree is left out from then on."""
    status = 0
    going = list(scales)
    try:
        for nodes in request.nodes:
            for scale in list(going):
                try:
                    _measure_one(request, scale, nodes)
                except NeverSettledError as error:
                    print(f"lab: {scale.name}: {sanitize(str(error))}", file=sys.stderr)
                    status = EXIT_NOT_AS_EXPECTED
                    going.remove(scale)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return status


def _measure_one(request: ScaleRequest, scale: Scale, nodes: int) -> None:
    """All cases, in one cluster: to bring that up takes as long as to measure it."""
    began_s = time.monotonic()
    with progress_line() as tell:
        trial = Trial(
            scale.protocol,
            nodes,
            request.timing,
            request.seed,
            lambda messages: tell(f"{scale.name}, {nodes:,} nodes: {messages:,} messages"),
        )
        for place, case in enumerate(scale.cases):
            measured = None
            if place == 0 or case.messages(nodes) <= MOST_MESSAGES:
                measured = trial.measure(case.noticed)
            ended_s = time.monotonic()
            case.rows.append(Row(nodes, measured, ended_s - began_s))
            began_s = ended_s


def _sizes(text: str) -> tuple[int, ...]:
    if re.fullmatch(r"\d{1,9}(,\d{1,9})*", text.replace(" ", "")) is None:
        raise UsageError(f"--nodes {text}: write numbers with commas between them, such as --nodes 3,10,30")
    sizes = sorted({int(each) for each in text.split(",")})
    for size in sizes:
        if not _FEWEST <= size <= _MOST:
            raise UsageError(
                f"--nodes {text}: a cluster of {size} cannot be measured; write numbers from {_FEWEST} to {_MOST}"
            )
    return tuple(sizes)


def _as_json(request: ScaleRequest, scale: Scale) -> dict[str, Any]:
    costs = scale.protocol.costs
    return {
        "protocol": scale.name,
        "t_us": request.timing.t_us,
        "seed": request.seed,
        "formulas": [
            {"case": cost.case, "formula": cost.formula, "source": cost.source, "noticed": cost.noticed}
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
