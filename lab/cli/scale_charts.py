"""The charts of ``lab scale``: messages with the curves of the formulas, and virtual time, by cluster size."""

from collections.abc import Iterable

from lab.cli.chart import Axis, Chart, Series, decades, whole_numbers
from lab.cli.scale_cases import ScaleStudy
from lab.kernel import Timing
from lab.protocols import Cost
from lab.units import format_us
from lab.worlds.scalability import Measurement

__all__ = ["charts"]

_CURVE_POINTS = 200


def charts(scales: list[ScaleStudy], timing: Timing) -> tuple[Chart, Chart]:
    """Return the charts of the messages in all cases, and of the virtual time in the first case.

    In the other cases the time is an artefact of how the detection is controlled.
    """
    sizes = tuple(sorted({each.nodes for scale in scales for each in scale.measured}))
    name = f"{scales[0].name}: " if len(scales) == 1 else ""
    counted = [
        each
        for each in (_series_of_one(scales[0], sizes) if name else _series_of_several(scales, sizes))
        if each.points
    ]
    in_t = [_times(scale, timing, place) for place, scale in enumerate(scales)]
    nodes = Axis("nodes", sizes, logarithmic=True)
    counts = [y for series in counted for _, y in series.points] or [1]
    longest = max((y for series in in_t for _, y in series.points), default=1)
    return (
        Chart(
            f"{name}messages of an election",
            nodes,
            Axis("messages", decades(max(1, min(counts)), max(counts)), logarithmic=True),
            tuple(counted),
        ),
        Chart(
            f"{name}virtual time of an election, in T = {format_us(timing.t_us)}",
            nodes,
            Axis("virtual time, T", whole_numbers(longest), logarithmic=False),
            tuple(in_t),
        ),
    )


def _series_of_one(scale: ScaleStudy, sizes: tuple[int, ...]) -> list[Series]:
    """Return the series of one protocol: a colour for each case, points and curve, and for each extra formula."""
    alone = [cost for cost in scale.protocol.costs if cost not in [case.cost for case in scale.cases]]
    counted, curves = [], []
    for hue, case in enumerate(scale.cases):
        counted.append(_points(f"measured: {case.name}" if case.name else "measured", case.measured, hue))
        if case.cost is not None:
            curves.append(_curve(case.cost, case.name, sizes, hue))
    curves += [_curve(cost, cost.case, sizes, hue) for hue, cost in enumerate(alone, len(scale.cases))]
    return [*counted, *curves]


def _series_of_several(scales: list[ScaleStudy], sizes: tuple[int, ...]) -> list[Series]:
    """Return the series of several protocols: a colour for each protocol, points and curves."""
    counted = [_points(scale.name, scale.measured, hue) for hue, scale in enumerate(scales)]
    curves = [
        _curve(case.cost, scale.name, sizes, hue)
        for hue, scale in enumerate(scales)
        for case in scale.cases
        if case.cost is not None
    ]
    return [*counted, *curves]


def _points(label: str, measured: list[Measurement], hue: int) -> Series:
    return Series(label, _drawable((each.nodes, each.messages) for each in measured), hue=hue)


def _curve(cost: Cost, label: str, sizes: tuple[int, ...], hue: int) -> Series:
    first, last = sizes[0], sizes[-1]
    between = [first * (last / first) ** (step / _CURVE_POINTS) for step in range(_CURVE_POINTS + 1)]
    points = _drawable((n, cost.messages(n)) for n in between)
    return Series(f"{cost.formula}, {label}", points, curve=True, hue=hue)


def _drawable(points: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    # the axis is logarithmic, and two nodes may need no messages
    return tuple((nodes, messages) for nodes, messages in points if messages > 0)


def _times(scale: ScaleStudy, timing: Timing, hue: int) -> Series:
    measured = scale.cases[0].measured
    return Series(scale.name, tuple((each.nodes, each.virtual_us / timing.t_us) for each in measured), hue=hue)
