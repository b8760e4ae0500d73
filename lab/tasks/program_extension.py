"""What programs bring to the interface: the fields that their lens declares, and what they say of themselves."""

from typing import TYPE_CHECKING, ClassVar

from lab.recording.snapshot import NodeState
from lab.tasks.extension import Extension, NodeText
from lab.text import sanitize

if TYPE_CHECKING:
    from lab.styles import ThemeStyles


class ProgramExtension(Extension):
    """Show ``facts`` after the fields of the lens."""

    analysis: ClassVar[str | type] = "lab.tasks.program_analysis:ProgramAnalysis"

    def describe_node(self, node: NodeState, now_us: int, styles: "ThemeStyles") -> NodeText | None:
        shown = super().describe_node(node, now_us, styles)
        facts = node.state.get("facts")
        text = ", ".join(map(str, facts)) if isinstance(facts, list) else ""
        if not text:
            return shown
        return NodeText([*([] if shown is None else shown.state), (f"{sanitize(text, 80)}  ", styles.accent)])
