"""The history of groups as a graph in the language of Graphviz: an arrow from each group to what became of it."""

from collections.abc import Sequence
from typing import TextIO

from lab.analysis.group_history import GroupLife, GroupLog
from lab.export.excerpt import Excerpt, ExportError
from lab.palette import Palette
from lab.recording.records import Header
from lab.text import sanitize
from lab.units import listed

__all__ = ["graph_of", "write_dot"]


def write_dot(excerpt: Excerpt, out: TextIO) -> None:
    """The groups that there were in the window, and in which one of the nodes was; ExportError: there are none."""
    log = GroupLog()
    for number, record in enumerate(excerpt.lines.records(0, excerpt.last + 1)):
        log.observe(record)
        excerpt.tell(f"{number:,} of {excerpt.last + 1:,} records read")
    groups = [group for group in log.groups if _is_in(group, excerpt)]
    if not groups:
        raise ExportError(
            f"no node is in a group in this run of {sanitize(excerpt.header.protocol.name, 40)}; a protocol that "
            "forms groups is needed: lab run invitation --record run.jsonl"
        )
    out.write(_graph(excerpt.header, groups))


def _is_in(group: GroupLife, excerpt: Excerpt) -> bool:
    over = group.ended is not None and group.ended.record < excerpt.first
    return not over and any(stay.node in excerpt.nodes for stay in group.stays)


def graph_of(header: Header, log: GroupLog) -> str:
    """The text of a DOT file, without anything in it that Graphviz would take for something else."""
    return _graph(header, log.groups)


def _graph(header: Header, groups: Sequence[GroupLife]) -> str:
    palette = Palette(dark=True)  # bright, for what is written on it is black
    shown = {group.number for group in groups}
    lines = [
        "digraph groups {",
        f"  label={_quoted(f'{sanitize(header.protocol.name, 60)}: the history of groups')};",
        '  labelloc=t; fontname="Helvetica";',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    ]
    for group in groups:
        fill = palette.group(group.hue)
        lines.append(f"  g{group.number} [label={_quoted(_told(group))}, fillcolor={_quoted(fill)}];")
    for group in groups:
        lines += [f"  g{of} -> g{group.number};" for of in group.of if of in shown]
    return "\n".join([*lines, "}", ""])


def _told(group: GroupLife) -> str:
    led = "never complete"
    if group.defined:
        led = f"{group.coordinator} leads {listed(sorted({*group.members} - {group.coordinator})) or 'nobody'}"
    ended = "" if group.ended is None else f" to {group.ended.at_us / 1e6:.3f} s"
    return f"{group.name}\n{led}\n{group.formed.at_us / 1e6:.3f} s{ended}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
