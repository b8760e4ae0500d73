"""What the answering line says: a hint to begin with, and what came of a command."""

from collections.abc import Callable

from lab.analysis.field_map import has_field
from lab.text import sanitize
from lab.tui.run.player import Player
from lab.tui.run.source import Source
from lab.tui.views.log.rows import LogRows

__all__ = ["answer_to", "first_hint"]


def first_hint(source: Source) -> str:
    """What a recording is there to show, or else what to press first."""
    remark = source.lines.header.remark
    if source.attempt is not None and source.can_command:
        return "Up and Down select a task, A answers it, H gives a hint; a digit selects a node, ? has all keys"
    script = "; s shows the script" if source.lines.header.scenario else ""
    if remark and (script or not source.is_live):
        return f"{sanitize(remark, 250)} (? for all keys{script})"
    if source.is_live and source.lines.header.world == "simulated":
        return "space freezes time and lets it go on, . lets one event happen, c chooses which; ? for all keys"
    field = "; m shows the map of the field" if has_field(source.lines.header) else ""
    return f"press a node's number to select it, ? for all keys{field}"


async def answer_to(
    command: str, source: Source, player: Player, rows: LogRows, draw: Callable[[], object]
) -> tuple[str, bool]:
    """Give a command, ``draw`` what came with the reply: (what is to be said, whether it did as it was told).

    A step of which the log shows nothing is said to be what it is.
    """
    attempt = source.attempt
    since = 0 if attempt is None else attempt.count
    before = rows.counts(player.cluster())
    reply = await source.command(command)
    told = "" if attempt is None else attempt.news(since)  # what came of it in the exercise, told already or not
    draw()
    unseen = command == "step" and rows.hid(before, player.cluster(), reply.text)
    hidden = "; a heartbeat, hidden (f shows them)" if unseen else ""
    said = reply.text if reply.text.startswith("waits: ") else f"{command}: {reply.text}"
    return f"{said}{hidden}{told and f'; {told}'}", reply.ok and reply.changed
