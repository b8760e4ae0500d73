"""Predict mode: where it is open who will lead next, the user is asked before the run is seen going on."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from lab.analysis.leader_decisions import Decision, DecisionLog
from lab.recording.cluster_state import ClusterState
from lab.text import sanitize
from lab.tui.dialog import Dialog
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["NOBODY", "PredictDialog", "Predicting", "outcome_said", "predicting_deeds"]

NOBODY = "nobody"
_FAR = 5000
"""What is more records on than this was jumped to, and nothing is asked of what is between."""
_PIECE = 500
_AGAIN_S = 0.05


def outcome_said(decision: Decision, said: str) -> tuple[bool, str]:
    """(whether that was right, what came of the decision and who told whom)."""
    right = said in map(str, decision.leaders) if decision.leaders else said == NOBODY
    if not decision.leaders:
        outcome = "nobody leads, as far as this run goes"
    else:
        who = " and ".join(map(str, decision.leaders))
        outcome = f"{who} {'leads' if len(decision.leaders) == 1 else 'lead, each its own'}"
    told: dict[tuple[int, str], list[str]] = {}
    for leader, node, source, kind in decision.told:
        if leader in decision.leaders:
            told.setdefault((source, kind), []).append(str(node))
    why = [f"{source} told {' '.join(nodes)} ({sanitize(kind, 40)})" for (source, kind), nodes in told.items()]
    verdict = "right" if right else f"not {said}"
    return right, "; ".join([f"{verdict}: {outcome}", *why])


class Predicting:
    """``score`` is what the title says of it, empty while the mode is off.

    ``is_asking``: from the question to the answer, while what is after the cursor may not be seen.
    """

    def __init__(self, screen: "RunScreen") -> None:
        self._screen = screen
        self._log: DecisionLog | None = None
        self._is_on = False
        self._asked = 0
        self._right = 0
        self.is_asking = False

    @property
    def score(self) -> str:
        """How many answers were right."""
        return f"predicted {self._right} of {self._asked}" if self._is_on else ""

    def turn(self) -> None:
        """On, or off."""
        self._is_on, self._log = not self._is_on, None
        asks = "you are asked who will lead next, whenever that is open"
        self._screen.say(asks if self._is_on else "no more questions")

    def theme_styles(self) -> None:
        """At the records up to the cursor: with the first that opens a decision, stop there and ask."""
        player = self._screen.player
        if not self._is_on or self.is_asking:
            return
        log = self._log
        if log is None or not 0 <= player.number - log.cluster.record <= _FAR:
            self._log = DecisionLog(ClusterState.resume(player.cluster().snapshot()))
            return
        before = log.decision
        for record in player.lines.records(log.cluster.record + 1, player.number + 1):
            log.observe(record)
            if log.decision is not None and log.decision is not before:
                self._ask(log, log.decision)
                return

    def _ask(self, log: DecisionLog, decision: Decision) -> None:
        player, screen = self._screen.player, self._screen
        went_on = "play" if player.playing else "end" if player.following else ""
        player.go(decision.began)
        self.is_asking = True

        def answered(said: str | None) -> None:
            if said is None:
                self.is_asking = False
                screen.say("skipped")
                if went_on:
                    player.move(went_on)
            else:
                if went_on == "end":
                    player.to_end()
                screen.run_worker(self._find(log, decision, said))

        screen.app.push_screen(
            PredictDialog(screen.source.lines.header.nodes, decision, screen.theme_styles), answered
        )

    async def _find(self, log: DecisionLog, decision: Decision, said: str) -> None:
        """Go on to the outcome, however long that takes, and say what it was."""
        screen, lines = self._screen, self._screen.player.lines
        while decision.settled is None and self._is_on:
            begun = log.cluster.record + 1
            for record in lines.records(begun, min(begun + _PIECE, len(lines))):
                log.observe(record)
                if log.leaders is not None:
                    break
            if begun == len(lines):
                if not screen.source.is_live or screen.source.ended:
                    break
                screen.say("nothing is decided yet; End goes to where the run is")
                await asyncio.sleep(_AGAIN_S)
            await asyncio.sleep(0)
        self.is_asking = False
        if not self._is_on:
            return
        right, outcome = outcome_said(decision, said)
        self._asked += 1
        self._right += right
        if not screen.player.following:
            screen.player.go(log.cluster.record)
        screen.say(outcome, warn=not right)
        screen.draw()


class PredictDialog(Dialog[str | None]):
    """Who will lead next? The result is a node's number, or ``nobody``; None where the question was skipped."""

    DEFAULT_CSS = """
    PredictDialog { align: center bottom; background: $background 0%; }
    PredictDialog > Vertical { width: 76; max-height: 50%; margin-bottom: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,P", "leave", "skip"),
        ("enter,space", "take", ""),
        ("left,up", "go(-1)", ""),
        ("right,down", "go(1)", ""),
        ("n", f"answer('{NOBODY}')", ""),
    ]

    def __init__(self, nodes: tuple[int, ...], decision: Decision, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self._choices = [*map(str, nodes), NOBODY]
        self._before = decision.before
        self._look = theme_styles
        self._here = 0

    def compose(self) -> ComposeResult:
        """The question, and what can be answered."""
        with Vertical() as box:
            box.border_title = "who will lead next?"
            box.border_subtitle = "Esc skips"
            yield Static(self._content(), markup=False)

    def on_key(self, event: events.Key) -> None:
        """A digit is the node of that number."""
        if event.key in self._choices:
            event.stop()
            self.dismiss(event.key)

    def action_go(self, by: int) -> None:
        """To another answer."""
        self._here = (self._here + by) % len(self._choices)
        self.query_one(Static).update(self._content())

    def action_take(self) -> None:
        """The answer where the arrows are."""
        self.action_answer(self._choices[self._here])

    def action_answer(self, said: str) -> None:
        """That one."""
        self.dismiss(said)

    def _content(self) -> Text:
        before = " and ".join(map(str, self._before))
        text = Text(f"{before} led so far; " if before else "nobody led so far; ")
        text.append("look at the nodes, and say what comes of it\n\n")
        for place, choice in enumerate(self._choices):
            style = self._look.accent + Style(reverse=True) if place == self._here else self._look.accent
            text.append(f" {choice} ", style + Style(meta={"@click": f"screen.answer('{choice}')"}))
        text.append("\n\na digit or a click answers, n is for nobody; arrows choose, Enter takes", DIM)
        return text


def predicting_deeds(screen: "RunScreen") -> dict[str, Callable[[str], object]]:
    """The mode, on and off."""
    return {"predict": lambda _: screen.predicting.turn()}
