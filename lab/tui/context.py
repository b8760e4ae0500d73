"""The run on a screen, as all controllers share it: what is selected in it, and how to answer the user."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from textual.app import App
from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker

from lab.properties.verdicts import Violation
from lab.script.scope import CommandError
from lab.styles import ThemeStyles
from lab.tui.actions import Action, ActionTable
from lab.tui.player import Cursor, Picked, Player
from lab.tui.source import Source, is_waiting
from lab.worlds.feed_protocol import Reply
from lab.worlds.run import WATCHED

R = TypeVar("R")
ActionHandler = Callable[..., object]
"""It is called with what was typed after its word on the command line, if its action takes an argument."""


def show_dialog(app: App[Any], dialog: Screen[R], use: Callable[[R], object] | None) -> None:
    """Show a dialog; ``use`` is called with its result, unless it is left without one."""

    def on_closed(result: R | None) -> None:
        if result is not None and use is not None:
            use(result)

    app.push_screen(dialog, on_closed)


class RunContext:
    """A run on a screen.

    ``selected`` is a node, ``picked`` what is selected in the views; ``witness`` is the violation whose nodes and
    records are marked. ``hides_future``: nothing after the cursor in time may be shown. ``exported`` is the
    message about the file exported last.

    ``offered`` are the actions that are available now.

    ``screen`` shows a ``Notice`` in its message line, and draws itself again on ``Changed``.
    """

    @dataclass
    class Notice(Message, bubble=False):
        """A text for the message line."""

        text: str
        warn: bool

    class Changed(Message, bubble=False):
        """A request to draw the screen again."""

    def __init__(
        self, screen: Screen[None], source: Source, styles: ThemeStyles, keys: Mapping[str, str] | None = None
    ) -> None:
        self.screen = screen
        self.source = source
        self.actions = ActionTable(source, keys)
        self.player = Player(source.store, source.marks, source.is_live, source.bookmarks)
        self.styles = styles
        self.selected: int | None = None
        self.picked: Picked | None = None
        self.witness: Violation | None = None
        self.offered: list[Action] = []
        self.hides_future = False
        self.exported = ""
        self._failures_shown = 0

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.source.store.header.nodes

    def key(self, word: str) -> str:
        """Return the key of an action as the user reads it, or what to type after a colon if it has none."""
        return self.actions.key(word)

    @property
    def focus(self) -> str:
        """The id of the widget that has the focus; empty if there is none."""
        focused = self.screen.focused
        return (focused and focused.id) or ""

    @property
    def selected_process(self) -> str | None:
        """The state of the selected node's process at the cursor; None if no node is selected."""
        return None if self.selected is None else self.player.cluster().nodes[self.selected].process

    def cursor(self) -> Cursor:
        """Return the cursor in time for the views."""
        player = self.player
        return Cursor(
            player.cluster(), player.now_us, self.selected, player.following, self.hides_future, player.jumps
        )

    def catch_up(self) -> None:
        """Move the cursor to the newest record, if it follows the run."""
        self.player.tick(0, self.source.now_us())

    def pop_failures(self, since: int | None = None) -> Sequence[str]:
        """Return the reports of commands that waited and failed: those not shown yet, or all from a count on."""
        failures = self.source.failures
        new = failures[self._failures_shown if since is None else since :]
        self._failures_shown = len(failures)
        return new

    # to the user

    def notify(self, text: str, warn: bool = False) -> None:
        """Show a text in the message line. The word of an action in braces stands for its key."""
        self.post(self.Notice(self.actions.with_keys(text), warn))

    def redraw(self) -> None:
        """Draw the screen again, before the next frame is due."""
        self.post(self.Changed())

    def show_dialog(self, dialog: Screen[R], use: Callable[[R], object] | None = None) -> None:
        """Show a dialog; ``use`` is called with its result, unless it is left without one."""
        show_dialog(self.app, dialog, use)

    # to the run and the application

    def execute(self, command: str, note: Callable[[Reply], str] | None = None) -> None:
        """Send a command to the run, and show the reply and what ``note`` adds to it."""
        self.work(self._execute(command, note))

    def post(self, message: Message) -> None:
        """Post a message to the screen, and from there to the application."""
        self.screen.post_message(message)

    def work(self, task: Coroutine[Any, Any, None]) -> Worker[None]:
        """Run a coroutine for as long as the screen exists; a CommandError ends it, and is shown."""
        return self.screen.run_worker(self._shown_if_it_fails(task))

    async def _shown_if_it_fails(self, task: Coroutine[Any, Any, None]) -> None:
        try:
            await task
        except CommandError as error:
            self.notify(str(error), warn=True)

    @property
    def app(self) -> App[Any]:
        return self.screen.app

    async def _execute(self, command: str, note: Callable[[Reply], str] | None) -> None:
        source, attempt = self.source, self.source.attempt
        if attempt is not None:
            attempt.begin_command()
        was_in_past, clock, failed = self.player.is_in_past, source.clock, len(source.failures)
        reply = await source.command(command)
        # the task states may have been reported already, at a frame while the reply was awaited
        changes = "" if attempt is None else attempt.news(again=True)
        text = reply.text if is_waiting(reply) else f"{command}: {reply.text}"
        added = "" if note is None else note(reply)
        is_done = reply.ok and reply.changed
        changes_run = is_done and not is_waiting(reply) and command.partition(" ")[0] not in WATCHED
        when = ""
        if changes_run and was_in_past:
            self.player.to_end()
            when = " now, in the present"
        # shown already, perhaps: the reply must not replace them
        why = "" if source.clock is None else source.clock.stopped_since(clock)
        failures = self.pop_failures(failed)
        more = "".join(f"; {each}" for each in (changes, why, *failures) if each)
        self.notify(f"{text}{when}{added}{more}", warn=not is_done or why != "" or bool(failures))
        self.redraw()
