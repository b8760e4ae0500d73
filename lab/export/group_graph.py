"""The history of groups as a Graphviz graph: an arrow from each group to the groups formed from it."""

from collections.abc import Sequence
from typing import TextIO

from lab.analysis.group_history import GroupHistory, GroupLog
from lab.export.excerpt import Excerpt, ExportError
from lab.palette import Palette
from lab.recording.records import Header
from lab.text import sanitize
from lab.units import format_ranges


def write_dot(excerpt: Excerpt, out: TextIO) -> None:
    """Write the groups that existed in the window and had one of the nodes. Raises ExportError without any."""
    log = GroupLog()
    for number, record in enumerate(excerpt.store.records(0, excerpt.last + 1)):
        log.observe(record)
        excerpt.progress(f"{number:,} of {excerpt.last + 1:,} records read")
    groups = [group for group in log.groups if _is_in(group, excerpt)]
    if not groups:
        raise ExportError(
            f"this run of {sanitize(excerpt.header.protocol.name, 40)} has no groups; record a protocol that "
            "forms groups: lab run invitation --record run.jsonl"
        )
    out.write(_graph(excerpt.header, groups))


def _is_in(group: GroupHistory, excerpt: Excerpt) -> bool:
    over = group.ended is not None and group.ended.record < excerpt.first
    return not over and any(stay.node in excerpt.nodes for stay in group.memberships)


def format_graph(header: Header, log: GroupLog) -> str:
    """Return the text of a DOT file, with everything escaped that Graphviz would interpret."""
    return _graph(header, log.groups)


def _graph(header: Header, groups: Sequence[GroupHistory]) -> str:
    palette = Palette(dark=True)  # bright colours, as the text is black
    shown = {group.number for group in groups}
    lines = [
        "digraph groups {",
        f"  label={_quoted(f'{sanitize(header.protocol.name, 60)}: the history of groups')};",
        '  labelloc=t; fontname="Helvetica";',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    ]
    for group in groups:
        fill = palette.group(group.hue)
        lines.append(f"  g{group.number} [label={_quoted(_group_label(group))}, fillcolor={_quoted(fill)}];")
    for group in groups:
        lines += [f"  g{of} -> g{group.number};" for of in group.of if of in shown]
    return "\n".join([*lines, "}", ""])


def _group_label(group: GroupHistory) -> str:
    led = "never complete"
    if group.defined:
        followers = format_ranges(sorted({*group.members} - {group.coordinator}))
        led = f"{group.coordinator} leads {followers or 'nobody'}"
    ended = "" if group.ended is None else f" to {group.ended.at_us / 1e6:.3f} s"
    return f"{group.name}\n{led}\n{group.formed.at_us / 1e6:.3f} s{ended}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
