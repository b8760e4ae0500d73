"""What each action of the table does on the screen of a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.properties import Violation
from lab.tui.choosing import ChooseDialog
from lab.tui.classroom.deeds import exercise_deeds
from lab.tui.clusterkeys import cluster_command
from lab.tui.dialogs import HelpDialog, PartitionDialog
from lab.tui.frame.arranging import arranging_deeds
from lab.tui.moving.bookmarking import bookmarking_deeds
from lab.tui.moving.branching import Branched, Left, TreeWanted
from lab.tui.moving.predicting import predicting_deeds
from lab.tui.moving.seeking import seeking_deeds
from lab.tui.offers import steers, takes_commands
from lab.tui.run.verdicts import next_violation, witness_said
from lab.tui.run.worldtime import time_command
from lab.tui.saving.writing import ScenarioWanted
from lab.tui.search.finding import finding_deeds
from lab.tui.terminal.themes import DARK, LIGHT
from lab.tui.tour import tour_deeds
from lab.tui.views.beside.view import beside_deeds
from lab.tui.views.diagram import diagram_deeds
from lab.tui.views.views import VIEWS

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Deed", "deeds_of", "see_witness"]

Deed = Callable[[str], object]
"""Takes what was typed after its word on the command line, or nothing."""


def deeds_of(screen: "RunScreen") -> dict[str, Deed]:
    """All of them, by the words of their actions."""
    deeds = {
        **_of_cluster(screen),
        **_of_time(screen),
        **seeking_deeds(screen),
        **bookmarking_deeds(screen),
        **_of_views(screen),
        **arranging_deeds(screen),
        **predicting_deeds(screen),
        **tour_deeds(screen),
        **exercise_deeds(screen),
        **beside_deeds(screen),
        **_of_runs(screen),
        **diagram_deeds(screen),
        "export": lambda rest: _export(screen, rest),
    }
    return {**deeds, **finding_deeds(screen, deeds)}


def _of_cluster(screen: "RunScreen") -> dict[str, Deed]:
    """Each gives a command, or begins one on the command line."""

    def give(word: str) -> None:
        command, is_complete = cluster_command(word, screen.pane)
        if is_complete:
            screen.give(command)
        else:
            screen.open_line(command)

    def give_chosen(command: str | None) -> None:
        if command:
            screen.give(command)

    def partition(_: str) -> None:
        dialog = PartitionDialog(screen.source.lines.header.nodes, screen.selected, screen.theme_styles)
        screen.app.push_screen(dialog, give_chosen)

    words = ("kill", "restart", "pause", "delay", "lose", "heal", "wipe")
    return {"partition": partition, **{word: _without(give, word) for word in words}}


def _of_time(screen: "RunScreen") -> dict[str, Deed]:
    """The keys are the world's at the end of a simulated run, and the cursor's elsewhere."""
    player, source = screen.player, screen.source

    def move(word: str) -> None:
        clock = source.clock if steers(source) else None
        if word in ("slower", "faster") and player.following and clock is None:
            screen.say(
                "this run goes as fast as its clock; what is past can be played slower or faster", warn=True
            )
            return
        if command := time_command(word, clock, player):
            screen.give(command)
        else:
            said = player.move(word)
            note = source.bookmarks.at(player.number) if word.endswith("-mark") else None
            if note is not None and not said.startswith("no "):
                said = f"record {note.record}: {note.note}"
            if said:
                screen.say(said, warn=said.startswith("no "))

    def choose(_: str) -> None:
        player.to_end()
        screen.app.push_screen(
            ChooseDialog(source, lambda: player.cluster().nodes, screen.draw, screen.theme_styles),
            lambda _: screen.say("time stands still; space lets it go on"),
        )

    jumps = (f"{way}-{kind}" for kind in ("fault", "election", "status", "mark") for way in ("previous", "next"))
    words = ("play", "back", "step", "slower", "faster", "rewind", "forward", "start", "end", *jumps)
    return {"choose": choose, **{word: _without(move, word) for word in words}}


def _of_views(screen: "RunScreen") -> dict[str, Deed]:
    """They change only what is seen."""

    def heartbeats(_: str) -> None:
        rows = screen.views.rows
        rows.heartbeats = not rows.heartbeats
        screen.arrangement.layout.heartbeats = rows.heartbeats
        screen.say(f"heartbeats {'shown' if rows.heartbeats else 'hidden'}")

    def witness(_: str) -> None:
        see_witness(screen, next_violation(screen.source.judge.violations, screen.player.number, screen.witness))

    def deselect(_: str) -> None:
        if screen.seeker.stop():
            screen.say("stopped")
            return
        screen.selected = None
        screen.mark(None)
        screen.views.diagram.deselect()

    def theme(name: str) -> None:
        if name and name not in screen.app.available_themes:
            screen.say(f"no theme {name!r}; there are {', '.join(sorted(screen.app.available_themes))}", warn=True)
        else:
            screen.app.theme = name or (LIGHT if screen.app.current_theme.dark else DARK)

    return {
        **{kind.word: _without(screen.turn_to, kind.word) for kind in VIEWS},
        "command": lambda _: screen.open_line(""),
        "open": lambda _: screen.views.open_cursor(),
        "heartbeats": heartbeats,
        "witness": witness,
        "deselect": deselect,
        "theme": theme,
        "themes": lambda _: screen.app.search_themes(),
        "help": lambda _: screen.app.push_screen(HelpDialog(takes_commands(screen.source), screen.theme_styles)),
    }


def _of_runs(screen: "RunScreen") -> dict[str, Deed]:
    """They are for the application to do."""
    source, say = screen.source, screen.say
    return {
        "write": lambda _: screen.post_message(ScenarioWanted(source, say)),
        "branch": lambda _: screen.post_message(Branched(source, screen.player.number, say)),
        "branches": lambda _: screen.post_message(TreeWanted(source, say)),
        "quit": lambda _: screen.post_message(Left(say)),
    }


def see_witness(screen: "RunScreen", found: Violation | None, of: str = "") -> None:
    """Go to a violation, and mark its witness; or say that there is none, or none ``of`` some assertion."""
    if found is None:
        screen.say(f"no violation{of and f' of {of}'} so far")
        return
    screen.player.go(found.record)
    screen.mark(found)
    screen.say(witness_said(found), warn=True)


def _export(screen: "RunScreen", rest: str) -> None:
    """What pictures are drawn with takes a while to load: not before the first screen."""
    from lab.tui.saving.exporting import exporting_deeds  # noqa: PLC0415

    exporting_deeds(screen)["export"](rest)


def _without(deed: Callable[[str], object], word: str) -> Deed:
    """The deed of that word, after which nothing is typed."""
    return lambda _: deed(word)
