"""Texts for the message line: the opening hint, and the reply to a command."""

from collections.abc import Callable

from lab.analysis.field_map import has_field
from lab.text import sanitize
from lab.tui.player import Player
from lab.tui.source import Source
from lab.tui.views.log_rows import LogRows


def opening_hint(source: Source) -> str:
    """Return the remark of a recording or scenario, or else which keys to press first."""
    remark = source.store.header.remark
    if source.attempt is not None and source.can_command:
        return "Up and Down select a task, A answers it, H gives a hint; a digit selects a node, ? for all keys"
    script = "; s shows the script" if source.store.header.scenario else ""
    if remark and (script or not source.is_live):
        return f"{sanitize(remark, 250)} (? for all keys{script})"
    if source.is_live and source.store.header.world == "simulated":
        return "space freezes and resumes time, . executes the next event, c chooses which; ? for all keys"
    field = "; m shows the map of the field" if has_field(source.store.header) else ""
    return f"press a node's number to select it, ? for all keys{field}"


async def execute_command(
    command: str, source: Source, player: Player, rows: LogRows, draw: Callable[[], object]
) -> tuple[str, bool]:
    """Execute a command and return (the message, whether it succeeded and changed something).

    ``draw`` is called once the records of the reply have arrived. The message notes when a ``step`` produced only
    hidden log lines.
    """
    attempt = source.attempt
    since = 0 if attempt is None else attempt.count
    before = rows.counts(player.cluster())
    reply = await source.command(command)
    # the task states may have been reported already, at a frame while the reply was awaited: hence ``since``
    changes = "" if attempt is None else attempt.news(since)
    draw()
    is_hidden = command == "step" and rows.is_hidden_step(before, player.cluster(), reply.text)
    note = "; a heartbeat, hidden (f shows them)" if is_hidden else ""
    text = reply.text if reply.text.startswith("waits: ") else f"{command}: {reply.text}"
    return f"{text}{note}{changes and f'; {changes}'}", reply.ok and reply.changed
