"""``lab scale``: one cluster measured after the other, in a table and charts."""

import os
import re
import shutil
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.cli.chart import Axis, Chart, Series, decades, whole_numbers
from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.files import writable
from lab.cli.plots import plot
from lab.cli.progress import progress_line
from lab.cli.settings import protocol_named, seed_of, timing_of
from lab.cli.svg import picture
from lab.kernel import Timing
from lab.protocols import Algorithm, Cost
from lab.text import sanitize
from lab.units import format_us
from lab.worlds.scaling import Measurement, NeverSettledError, measure

__all__ = ["ScaleRequest", "run_scale"]

_FEWEST, _MOST = 2, 2_000
_WIDEST = 120
_CURVE_POINTS = 200
_REMARK = (
    "Heartbeats are not counted. Messages take no time here, and nodes none to handle them: the virtual time is "
    "what the timeouts add up to."
)


class ScaleRequest(Struct, frozen=True):
    """What is to be measured, and where it is to be shown."""

    protocol: type[Algorithm]
    nodes: tuple[int, ...]
    timing: Timing
    seed: int
    output: Path | None
    json: bool

    @classmethod
    def of(
        cls, protocol: str, nodes: str, t: str | None, seed: str, output: Path | None, json: bool
    ) -> "ScaleRequest":
        """From the options of the command; UsageError."""
        found = protocol_named(protocol)
        return cls(found, _sizes(nodes), timing_of(t, None, None), seed_of(seed), _picture_file(output), json)


class Row(Struct, frozen=True):
    """One measurement, and how long it took to make."""

    measured: Measurement
    seconds: float


def run_scale(request: ScaleRequest) -> int:
    """Measure and show; what was measured before Ctrl-C is shown too."""
    rows: list[Row] = []
    status = 0
    try:
        for nodes in request.nodes:
            rows.append(_measured(request, nodes))
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except NeverSettledError as error:
        print(f"lab: {sanitize(str(error))}", file=sys.stderr)
        status = EXIT_NOT_AS_EXPECTED
    if request.json:
        print(msgspec.json.encode(_as_json(request, rows)).decode())
    elif rows:
        _show(request, rows)
    if rows and request.output is not None:
        charts = list(zip(_charts(request, rows), (440, 280), strict=True))
        request.output.write_text(picture(charts), "utf-8")
        if not request.json:
            print(f"\ndrawn: {request.output}")
    return status


def _measured(request: ScaleRequest, nodes: int) -> Row:
    began_s = time.monotonic()
    with progress_line() as tell:
        measured = measure(
            request.protocol,
            nodes,
            request.timing,
            request.seed,
            lambda messages: tell(f"{nodes:,} nodes: {messages:,} messages"),
        )
    return Row(measured, time.monotonic() - began_s)


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


def _picture_file(path: Path | None) -> Path | None:
    if path is not None:
        if path.suffix != ".svg":
            raise UsageError(f"--output {path}: only SVG can be drawn; name a file that ends in .svg")
        writable("--output", path)
    return path


def _as_json(request: ScaleRequest, rows: list[Row]) -> dict[str, Any]:
    costs = request.protocol.costs
    return {
        "protocol": request.protocol.name,
        "t_us": request.timing.t_us,
        "seed": request.seed,
        "formulas": [{"case": cost.case, "formula": cost.formula, "source": cost.source} for cost in costs],
        "elections": [
            msgspec.to_builtins(row.measured)
            | {"formulas": [cost.messages(row.measured.nodes) for cost in costs], "seconds": round(row.seconds, 3)}
            for row in rows
        ],
    }


def _show(request: ScaleRequest, rows: list[Row]) -> None:
    name, costs = request.protocol.name, request.protocol.costs
    columns, lines = shutil.get_terminal_size((100, 30))
    width = min(columns, _WIDEST)
    print(f"{name}: what an election takes, from the crash of the coordinator to all Normal\n")
    print(_table(rows, costs, request.timing))
    print("\n" + textwrap.fill(_REMARK, width) + "\n")
    for cost in costs:
        source = cost.source.replace(" − ", "\xa0−\xa0")  # no line ends within a difference
        said = f"{cost.formula:>14}  {cost.case}: {source}"
        print(textwrap.fill(said, width, subsequent_indent=" " * 16))
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    messages, virtual = _charts(request, rows)
    for chart, height in ((messages, min(lines - 2, 26)), (virtual, min(lines - 2, 16))):
        print("\n" + plot(chart, width, height, colours))


def _table(rows: list[Row], costs: tuple[Cost, ...], timing: Timing) -> str:
    titles = ["nodes", "messages"]
    for cost in costs:
        titles += [cost.formula, "ratio"] if cost is costs[0] else [cost.formula]
    lines = [[*titles, "virtual", "in T", "real"]]
    for row in rows:
        measured = row.measured
        cells = [f"{measured.nodes:,}", f"{measured.messages:,}"]
        for cost in costs:
            expected = cost.messages(measured.nodes)
            cells.append(f"{expected:,}")
            if cost is costs[0]:
                cells.append(f"{measured.messages / expected:.3f}")
        in_t = measured.virtual_us / timing.t_us
        lines.append([*cells, format_us(round(measured.virtual_us, -3)), f"{in_t:.2f}", f"{row.seconds:.1f} s"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )


def _charts(request: ScaleRequest, rows: list[Row]) -> tuple[Chart, Chart]:
    """Messages with the formulas' curves, and the virtual time, over the number of nodes."""
    elections = [row.measured for row in rows]
    sizes = tuple(election.nodes for election in elections)
    first, last = sizes[0], sizes[-1]
    between = [first * (last / first) ** (step / _CURVE_POINTS) for step in range(_CURVE_POINTS + 1)]
    curves = tuple(
        Series(f"{cost.formula}, {cost.case}", tuple((n, cost.messages(n)) for n in between), curve=True)
        for cost in request.protocol.costs
    )
    counted = Series("measured", tuple((each.nodes, each.messages) for each in elections))
    counts = [y for series in (*curves, counted) for _, y in series.points]
    in_t = tuple((each.nodes, each.virtual_us / request.timing.t_us) for each in elections)
    nodes = Axis("nodes", sizes, logarithmic=True)
    return (
        Chart(
            f"{request.protocol.name}: messages of an election",
            nodes,
            Axis("messages", decades(min(counts), max(counts)), logarithmic=True),
            (counted, *curves),
        ),
        Chart(
            f"{request.protocol.name}: virtual time of an election, in T = {format_us(request.timing.t_us)}",
            nodes,
            Axis("virtual time, T", whole_numbers(max(y for _, y in in_t)), logarithmic=False),
            (Series("measured", in_t),),
        ),
    )
