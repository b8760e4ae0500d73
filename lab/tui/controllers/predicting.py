"""Predict mode: whenever the next leader is open, ask the user before showing how the run goes on."""

import asyncio
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from lab.analysis.elections import DecisionLog, LeaderDecision
from lab.recording.cluster_state import ClusterState
from lab.styles import ThemeStyles
from lab.text import sanitize
from lab.tui.context import ActionHandler, RunContext
from lab.tui.widgets.dialogs import Dialog, TypedNumber

NOBODY = "nobody"
_SKIPPED = ""
_LONGEST_GAP = 5000
"""A jump over more records than this is not searched for decisions."""
_CHUNK = 500
_AGAIN_S = 0.05


def grade_answer(decision: LeaderDecision, answer: str) -> tuple[bool, str]:
    """Return (whether the answer was right, the outcome and how each node learnt of it)."""
    right = answer in map(str, decision.leaders) if decision.leaders else answer == NOBODY
    if not decision.leaders:
        outcome = "nobody leads by the end of this run"
    else:
        who = " and ".join(map(str, decision.leaders))
        outcome = f"{who} {'leads' if len(decision.leaders) == 1 else 'lead, each its own'}"
    announcements: dict[tuple[int, str], list[str]] = {}
    for leader, node, source, kind in decision.notifications:
        if leader in decision.leaders:
            announcements.setdefault((source, kind), []).append(str(node))
    why = [
        f"{source} informed {' '.join(nodes)} ({sanitize(kind, 40)})"
        for (source, kind), nodes in announcements.items()
    ]
    verdict = "right" if right else f"not {answer}"
    return right, "; ".join([f"{verdict}: {outcome}", *why])


class PredictController:
    """The predict mode and its score. From the question until the outcome is known, the future is hidden."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._log: DecisionLog | None = None
        self._is_on = False
        self._asked = 0
        self._right = 0
        self.actions: dict[str, ActionHandler] = {"predict": self._toggle}

    @property
    def score(self) -> str:
        """The number of right answers, for the title; empty while the mode is off."""
        return f"predicted {self._right} of {self._asked}" if self._is_on else ""

    def _toggle(self) -> None:
        self._is_on, self._log = not self._is_on, None
        asks = "predict mode on: you are asked who leads next whenever it is undecided"
        self._context.notify(asks if self._is_on else "predict mode off")

    def check(self) -> None:
        """Look through the records up to the cursor. Stop at the first one that opens a decision, and ask."""
        player = self._context.player
        if not self._is_on or self._context.hides_future:
            return
        log = self._log
        if log is None or not 0 <= player.number - log.cluster.record <= _LONGEST_GAP:
            self._log = DecisionLog(ClusterState.resume(player.cluster().snapshot(), player.store.header))
            return
        before = log.decision
        for record in player.store.records(log.cluster.record + 1, player.number + 1):
            log.observe(record)
            if log.decision is not None and log.decision is not before:
                self._ask(log, log.decision)
                return

    def _ask(self, log: DecisionLog, decision: LeaderDecision) -> None:
        context, player = self._context, self._context.player
        went_on = "play" if player.playing else "end" if player.following else ""
        player.go(decision.began)
        context.hides_future = True

        def on_answer(answer: str) -> None:
            if answer == _SKIPPED:
                context.hides_future = False
                context.notify("skipped")
                if went_on:
                    player.move(went_on)
            else:
                if went_on == "end":
                    player.to_end()
                context.work(self._find_outcome(log, decision, answer))

        context.show_dialog(PredictDialog(context.nodes, decision, context.styles), on_answer)

    async def _find_outcome(self, log: DecisionLog, decision: LeaderDecision, answer: str) -> None:
        """Follow the run until the decision is settled, however long that takes, and show the outcome."""
        context, store = self._context, self._context.player.store
        while decision.settled is None and self._is_on:
            begun = log.cluster.record + 1
            for record in store.records(begun, min(begun + _CHUNK, len(store))):
                log.observe(record)
                if log.leaders is not None:
                    break
            if begun == len(store):
                if not context.source.is_live or context.source.ended:
                    break
                context.notify("nothing is decided yet; {end} returns to the present")
                await asyncio.sleep(_AGAIN_S)
            await asyncio.sleep(0)
        self._context.hides_future = False
        if not self._is_on:
            return
        right, outcome = grade_answer(decision, answer)
        self._asked += 1
        self._right += right
        if not context.player.following:
            context.player.go(log.cluster.record)
        context.notify(outcome, warn=not right)
        context.redraw()


class PredictDialog(Dialog[str]):
    """The question who will lead next. The result is a node's number or ``nobody``, or empty if it was skipped.

    It comes while keys are pressed, so nothing is preselected, and no key but Enter answers.
    """

    DEFAULT_CSS = """
    PredictDialog { align: center bottom; background: $background 0%; }
    PredictDialog > Vertical { width: 76; max-height: 50%; margin-bottom: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,P", "leave", "skip"),
        ("enter", "take", ""),
        ("left,up", "go(-1)", ""),
        ("right,down", "go(1)", ""),
        ("n", "select_nobody", ""),
    ]

    def __init__(self, nodes: tuple[int, ...], decision: LeaderDecision, styles: ThemeStyles) -> None:
        super().__init__("who will lead next?", "arrows, a digit, n for nobody select · Enter answers · Esc skips")
        self._ids = nodes
        self._options = [*map(str, nodes), NOBODY]
        self._before = decision.before
        self._styles = styles
        self._here: int | None = None
        self._typed = TypedNumber()

    def compose_box(self) -> ComposeResult:
        yield Static(self._content(), markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key.isdecimal():
            event.stop()
            node = self._typed.enter(event.key, self._ids)
            if node is not None:
                self._select(self._options.index(str(node)))

    def action_go(self, by: int) -> None:
        first = -1 if by < 0 else 0
        self._select(first if self._here is None else self._here + by)

    def action_select_nobody(self) -> None:
        self._select(-1)

    def action_take(self) -> None:
        """Answer with what is selected, if anything is."""
        if self._here is not None:
            self.action_answer(self._options[self._here])

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer)

    def action_leave(self) -> None:
        self.dismiss(_SKIPPED)

    def _select(self, place: int) -> None:
        self._here = place % len(self._options)
        self.query_one(Static).update(self._content())

    def _content(self) -> Text:
        before = " and ".join(map(str, self._before))
        text = Text(f"{before} led so far; " if before else "nobody led so far; ")
        text.append("look at the nodes and predict the outcome\n\n")
        for place, option in enumerate(self._options):
            style = self._styles.accent + Style(reverse=True) if place == self._here else self._styles.accent
            text.append(f" {option} ", style + Style(meta={"@click": f"screen.answer('{option}')"}))
        return text
