"""A protocol's own command in the log, in its record and in the help."""

from pathlib import Path

from rich.console import Console

from lab.glyphs import glyphs_for
from lab.protocols import TASKS
from lab.styles import ThemeStyles
from lab.tui.actions import ActionTable
from lab.tui.source import FileSource
from lab.tui.views.log_view import MessageLog
from lab.tui.widgets.help import HelpDialog
from tests.harness import Rig
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay
from tests.worlds.protocols import Board


def test_the_log_and_the_record_show_the_command(tmp_path: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("end")
        await seen.until(lambda: " 2      · command: pin hello" in seen.text, "the row of the step")
        assert "tell 2 pin hello · 2 told" in seen.text
        seen.of("MessageLog", MessageLog).focus()
        await seen.press("enter", "enter")
        await seen.until(lambda: seen.top is not seen.run, "the last record")
        assert '"command": "pin"' in seen.text

    rig = Rig((1, 2), protocol=Board).started()
    rig.run_until_agreed()
    rig.do("cut 1<->2", "tell 2 pin hello")
    replay(test, rig.write(tmp_path / "told.jsonl", end=False))


def test_the_help_has_the_commands_of_the_built_in_protocols() -> None:
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        console.print(HelpDialog(ActionTable(FileSource(SHIPPED)), True, ThemeStyles(glyphs_for())).content())
    help_text = capture.get()
    for task in TASKS.values():
        for own in task.commands.values():
            assert own.usage in help_text, own.name
            assert own.does in help_text, own.name
