"""The figures of a benchmark, and the table of them."""

import statistics
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

__all__ = ["Figure", "median", "p95", "p99", "short", "table"]


class Figure(Struct, frozen=True):
    """A measured value and its target. ``against``: the denominator of the ratio, or the conditions."""

    what: str
    value: float
    unit: str
    target: float
    better: Literal["less", "more"]
    against: str = ""

    @property
    def reached(self) -> bool:
        """Return whether the value is on the right side of its target."""
        return self.value <= self.target if self.better == "less" else self.value >= self.target

    @property
    def is_ratio(self) -> bool:
        """Return whether it is a ratio of two things measured in the same run."""
        return self.unit == "×"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    return _percentile(values, 0.95)


def p99(values: Sequence[float]) -> float:
    return _percentile(values, 0.99)


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def table(figures: Sequence[Figure]) -> str:
    """Format the figures, one line each."""
    rows = [("", "measured", "target", "", "")]
    for figure in figures:
        sign = "≤" if figure.better == "less" else "≥"
        rows.append(
            (
                figure.what,
                f"{short(figure.value)} {figure.unit}",
                f"{sign} {short(figure.target)} {figure.unit}",
                "reached" if figure.reached else "MISSED",
                figure.against,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def short(value: float) -> str:
    """Format a value with three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
