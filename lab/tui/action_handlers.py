"""The handlers of the actions, on the screen of a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.properties.verdicts import Violation
from lab.tui.availability import controls_time, takes_commands
from lab.tui.classroom.exercise_actions import exercise_actions
from lab.tui.cluster_keys import cluster_command
from lab.tui.controllers.bookmarking import bookmark_actions
from lab.tui.controllers.branching import Branched, Left, TreeWanted
from lab.tui.controllers.layout import layout_actions
from lab.tui.controllers.next_event import NextEventDialog
from lab.tui.controllers.predicting import prediction_actions
from lab.tui.controllers.search import search_actions
from lab.tui.controllers.seeking import seek_actions
from lab.tui.controllers.tour import tour_actions
from lab.tui.controllers.writing import ScenarioRequested
from lab.tui.player import time_command
from lab.tui.terminal.terminal_app import DARK, LIGHT
from lab.tui.verdicts import format_witness, next_violation
from lab.tui.views.compare_view import compare_actions
from lab.tui.views.diagram_view import diagram_actions
from lab.tui.views.views import VIEWS
from lab.tui.widgets.help import HelpDialog, PartitionDialog

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

ActionHandler = Callable[[str], object]
"""It is called with the text typed after its word on the command line, or with an empty text."""


def action_handlers(screen: "RunScreen") -> dict[str, ActionHandler]:
    """Return the handler of every action, by its word."""
    handlers = {
        **_of_cluster(screen),
        **_of_time(screen),
        **seek_actions(screen),
        **bookmark_actions(screen),
        **_of_views(screen),
        **layout_actions(screen),
        **prediction_actions(screen),
        **tour_actions(screen),
        **exercise_actions(screen),
        **compare_actions(screen),
        **_of_runs(screen),
        **diagram_actions(screen),
        "export": lambda rest: _export(screen, rest),
    }
    return {**handlers, **search_actions(screen, handlers)}


def _of_cluster(screen: "RunScreen") -> dict[str, ActionHandler]:
    """Return the handlers that change the cluster: they execute a command, or open the command line with one."""

    def execute(word: str) -> None:
        command, is_complete = cluster_command(word, screen.pane)
        if is_complete:
            screen.execute(command)
        else:
            screen.open_line(command)

    def execute_chosen(command: str | None) -> None:
        if command:
            screen.execute(command)

    def partition(_: str) -> None:
        dialog = PartitionDialog(screen.source.store.header.nodes, screen.selected, screen.theme_styles)
        screen.app.push_screen(dialog, execute_chosen)

    words = ("kill", "restart", "pause", "delay", "lose", "heal", "wipe")
    return {"partition": partition, **{word: _without_argument(execute, word) for word in words}}


def _of_time(screen: "RunScreen") -> dict[str, ActionHandler]:
    """Return the handlers that move in time: the world's time at the end of a simulated run, else the cursor's."""
    player, source = screen.player, screen.source

    def move(word: str) -> None:
        clock = source.clock if controls_time(source) else None
        if word in ("slower", "faster") and player.following and clock is None:
            screen.show_message(
                "a live run follows the real clock; only playback of the past can be slower or faster", warn=True
            )
            return
        if command := time_command(word, clock, player):
            screen.execute(command)
        else:
            text = player.move(word)
            note = source.bookmarks.at(player.number) if word.endswith("-mark") else None
            if note is not None and not text.startswith("no "):
                text = f"record {note.record}: {note.note}"
            if text:
                screen.show_message(text, warn=text.startswith("no "))

    def choose_event(_: str) -> None:
        player.to_end()
        screen.app.push_screen(
            NextEventDialog(source, lambda: player.cluster().nodes, screen.draw, screen.theme_styles),
            lambda _: screen.show_message("time is frozen; space resumes it"),
        )

    jumps = (f"{way}-{kind}" for kind in ("fault", "election", "status", "mark") for way in ("previous", "next"))
    words = ("play", "back", "step", "slower", "faster", "rewind", "forward", "start", "end", *jumps)
    return {"choose": choose_event, **{word: _without_argument(move, word) for word in words}}


def _of_views(screen: "RunScreen") -> dict[str, ActionHandler]:
    """Return the handlers that change only what is shown."""

    def heartbeats(_: str) -> None:
        rows = screen.views.rows
        rows.heartbeats = not rows.heartbeats
        screen.layout_controller.layout.heartbeats = rows.heartbeats
        screen.show_message(f"heartbeats {'shown' if rows.heartbeats else 'hidden'}")

    def witness(_: str) -> None:
        show_witness(screen, next_violation(screen.source.judge.violations, screen.player.number, screen.witness))

    def deselect(_: str) -> None:
        if screen.seeker.stop():
            screen.show_message("stopped")
            return
        screen.selected = None
        screen.mark(None)
        screen.views.diagram.deselect()

    def theme(name: str) -> None:
        if name and name not in screen.app.available_themes:
            screen.show_message(
                f"unknown theme {name!r}; the themes are {', '.join(sorted(screen.app.available_themes))}",
                warn=True,
            )
        else:
            screen.app.theme = name or (LIGHT if screen.app.current_theme.dark else DARK)

    return {
        **{kind.word: _without_argument(screen.show_view, kind.word) for kind in VIEWS},
        "command": lambda _: screen.open_line(""),
        "open": lambda _: screen.views.activate(),
        "heartbeats": heartbeats,
        "witness": witness,
        "deselect": deselect,
        "theme": theme,
        "themes": lambda _: screen.app.search_themes(),
        "help": lambda _: screen.app.push_screen(HelpDialog(takes_commands(screen.source), screen.theme_styles)),
    }


def _of_runs(screen: "RunScreen") -> dict[str, ActionHandler]:
    """Return the handlers that the application executes: they post a message to it."""
    source, show_message = screen.source, screen.show_message
    return {
        "write": lambda _: screen.post_message(ScenarioRequested(source, show_message)),
        "branch": lambda _: screen.post_message(Branched(source, screen.player.number, show_message)),
        "branches": lambda _: screen.post_message(TreeWanted(source, show_message)),
        "quit": lambda _: screen.post_message(Left(show_message)),
    }


def show_witness(screen: "RunScreen", found: Violation | None, of: str = "") -> None:
    """Go to a violation and mark its witness, or report that there is none (``of`` an assertion, if given)."""
    if found is None:
        screen.show_message(f"no violation{of and f' of {of}'} so far")
        return
    screen.player.go(found.record)
    screen.mark(found)
    screen.show_message(format_witness(found), warn=True)


def _export(screen: "RunScreen", rest: str) -> None:
    from lab.tui.controllers.exporting import export_actions  # noqa: PLC0415 - drawing libraries load slowly

    export_actions(screen)["export"](rest)


def _without_argument(handle: Callable[[str], object], word: str) -> ActionHandler:
    """Return a handler that calls ``handle(word)`` and ignores its argument."""
    return lambda _: handle(word)
