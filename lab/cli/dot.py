"""The history of groups as a graph in the language of Graphviz: an arrow from each group to what became of it."""

from lab.journal import GroupLife, GroupLog, Header
from lab.text import sanitize
from lab.tui.look import Look, glyphs_for
from lab.units import listed

__all__ = ["graph_of"]


def graph_of(header: Header, log: GroupLog) -> str:
    """The text of a DOT file, without anything in it that Graphviz would take for something else."""
    look = Look(glyphs_for())
    lines = [
        "digraph groups {",
        f"  label={_quoted(f'{sanitize(header.protocol.name, 60)}: the history of groups')};",
        '  labelloc=t; fontname="Helvetica";',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica"];',
    ]
    for group in log.groups:
        ground = look.group(group.hue).color
        fill = "#ffffff" if ground is None else ground.get_truecolor().hex
        lines.append(f"  g{group.number} [label={_quoted(_told(group))}, fillcolor={_quoted(fill)}];")
    for group in log.groups:
        lines += [f"  g{of} -> g{group.number};" for of in group.of]
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
