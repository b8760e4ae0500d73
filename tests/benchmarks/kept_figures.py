"""The ratios of each version, kept in a file, and what became worse since.

Only ratios are kept: times and rates are those of a machine.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.benchmarks.figures import Figure, short

__all__ = ["KeptFigures", "compare", "keep", "read_kept"]


class KeptFigures(Struct, frozen=True):
    """The ratios of a version by what they measure."""

    version: str
    ratios: dict[str, float]


def read_kept(path: Path) -> list[KeptFigures]:
    """Return the kept figures, the oldest version first; none if there is no file."""
    return msgspec.json.decode(path.read_bytes(), type=list[KeptFigures]) if path.exists() else []


def keep(path: Path, new: KeptFigures) -> None:
    """Keep the figures; what a version had before and was not measured now stays."""
    kept = read_kept(path)
    before = next((each.ratios for each in kept if each.version == new.version), {})
    others = [each for each in kept if each.version != new.version]
    both = KeptFigures(new.version, before | {what: round(value, 3) for what, value in new.ratios.items()})
    path.write_bytes(msgspec.json.format(msgspec.json.encode([*others, both]), indent=1) + b"\n")


def compare(figures: Sequence[Figure], kept: Sequence[KeptFigures], share: float) -> list[str]:
    """Return a line for each ratio that is worse by more than ``share`` than when it was kept last."""
    lines = []
    for figure in figures:
        last = next((each for each in reversed(kept) if figure.what in each.ratios), None)
        if last is None or not figure.is_ratio:
            continue
        before = last.ratios[figure.what]
        slower = figure.value / before if figure.better == "less" else before / figure.value
        if slower > 1 + share:
            was = f"{short(before)} in {last.version}"
            lines.append(f"worse by {slower - 1:.0%}: {figure.what}: {short(figure.value)} ×, {was}")
    return lines
