"""The tour for newcomers: five steps in a running cluster.

Each step gives an instruction, and is complete when the records and the screen show that the user followed it.
"""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from rich.style import Style
from rich.text import Text

from lab.analysis.elections import DecisionLog, LeaderDecision
from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.styles import DIM, ThemeStyles
from lab.tui.actions import ActionTable
from lab.tui.context import ActionHandler, RunContext
from lab.tui.controllers.layout import LayoutController
from lab.tui.views.log_view import RecordDialog
from lab.tui.views.views import DIAGRAM, Views
from lab.tui.widgets.status_lines import Line


class ScreenState(Struct, frozen=True):
    """The state of the screen: the record at the cursor, the view, a record opened, a file exported."""

    record: int
    following: bool
    view: str = "log"
    opened: bool = False
    exported: bool = False


class TourLog:
    """A fold over the records for the tour. ``loss`` is the decision that began when a leader was killed."""

    def __init__(self, cluster: ClusterState) -> None:
        self._decisions = DecisionLog(cluster)
        self._set: dict[int, int] = {}
        self.loss: LeaderDecision | None = None

    @property
    def leads(self) -> int | None:
        """The present leader, once that is settled."""
        return None if self._decisions.leaders is None else self._decisions.leaders[-1]

    @property
    def leader(self) -> int | None:
        """The leader after the loss."""
        return self.loss.leaders[-1] if self.loss is not None and self.loss.leaders else None

    @property
    def found(self) -> tuple[int, int] | None:
        """The first and the last record in which the new leader was set."""
        if self.loss is None or self.loss.settled is None or self.leader is None:
            return None
        return self._set.get(self.leader, self.loss.settled), self.loss.settled

    def observe(self, record: Record | None) -> None:
        """Process the next record."""
        self._decisions.observe(record)
        cluster, decision = self._decisions.cluster, self._decisions.decision
        if self.loss is None and decision is not None:
            if any(cluster.nodes[node].process == "killed" for node in decision.before):
                self.loss = decision
        elif isinstance(record, Step) and record.updates.get("coordinator") == record.node:
            self._set.setdefault(record.node, cluster.record)


class _TourStep(Struct, frozen=True):
    title: str
    instruction: Callable[[TourLog], str]
    is_done: Callable[[TourLog, ScreenState], bool]


def _is_found(log: TourLog, place: ScreenState) -> bool:
    if place.following:
        return False
    return log.found is None or log.found[0] <= place.record <= log.found[1]


def _kill_instruction(log: TourLog) -> str:
    if log.leads is None:
        return "wait until a node leads: it is marked with a star"
    return f"node {log.leads} leads (the star). Press {log.leads} to select it, then {{kill}} to kill its process"


STEPS = (
    _TourStep("kill the coordinator", _kill_instruction, lambda log, _: log.loss is not None),
    _TourStep(
        "who leads now?",
        lambda log: (
            "nobody, until the others notice that it does not answer and hold an election; wait until one leads"
        ),
        lambda log, _: log.leader is not None,
    ),
    _TourStep(
        "find the moment at which it was elected",
        lambda log: (
            f"press {{previous-status}} to go back in time, one change of status at a time, until you see node "
            f"{log.leader or '…'} become the coordinator; {{next-status}} goes forward"
        ),
        _is_found,
    ),
    _TourStep(
        "look at what happened there",
        lambda log: "press {diagram} for the space-time diagram: a line per node, an arrow per message",
        lambda _, place: place.opened or place.view == DIAGRAM,
    ),
    _TourStep(
        "export it",
        lambda log: (
            "type :export and Enter, choose a format, and press Enter again; the file can be opened without lab"
        ),
        lambda _, place: place.exported,
    ),
)


class TourLine(Line):
    """The present step and its instruction; hidden while no tour is running."""

    DEFAULT_CSS = """
    TourLine { height: auto; max-height: 4; padding: 0 1; background: $boost; display: none; text-wrap: wrap; }
    """

    def show(self, place: int, log: TourLog | None, actions: ActionTable, styles: ThemeStyles) -> None:
        """Show a step with the keys of its actions, or hide the line if there is no log."""
        self.display = log is not None
        if log is None:
            return
        step = STEPS[place]
        self.put(
            Text.assemble(
                (f"tour {place + 1}/{len(STEPS)}  ", styles.accent),
                (f"{step.title}: ", Style(bold=True)),
                actions.with_keys(step.instruction(log)),
                ("  :skip skips this step, :tour ends the tour", DIM),
            ),
            wraps=True,
        )


class TourController:
    """The tour on a screen; ``update``, called at each frame, advances when a step is complete."""

    def __init__(self, context: RunContext, views: Views, layout: LayoutController, line: TourLine) -> None:
        self._context = context
        self._views = views
        self._layout = layout
        self._line = line
        self._log: TourLog | None = None
        self._record = 0
        self._place = 0
        self.actions: dict[str, ActionHandler] = {"tour": self._toggle, "skip": partial(self._advance, "skipped")}

    @property
    def is_on(self) -> bool:
        return self._log is not None

    def update(self) -> None:
        """Process new records, advance if the step is complete, and draw the line."""
        store = self._context.player.store
        if self._log is not None:
            last = len(store) - 1
            for record in store.records(self._record + 1, last + 1):
                self._log.observe(record)
            self._record = last
            if STEPS[self._place].is_done(self._log, self._screen_state()):
                self._advance(f"done: {STEPS[self._place].title}")
        self._line.show(self._place, self._log, self._context.actions, self._context.styles)

    def _toggle(self) -> None:
        """Start the tour, or end it if it is running."""
        if self._log is not None:
            self._end("the tour is over; :tour starts it again")
            return
        self._layout.show_all()
        self._context.player.to_end()
        player = self._context.player
        cluster = ClusterState.resume(player.cluster().snapshot(), player.store.header)
        self._log, self._record, self._place = TourLog(cluster), cluster.record, 0
        self._context.exported = ""
        self._context.notify("five steps; follow the instruction of each")

    def _screen_state(self) -> ScreenState:
        context, player = self._context, self._context.player
        opened = isinstance(context.app.screen, RecordDialog)
        return ScreenState(player.number, player.following, self._views.chosen, opened, bool(context.exported))

    def _advance(self, text: str) -> None:
        self._place += 1
        if self._place == len(STEPS):
            self._end(f"{self._context.exported or text}; that was the tour, {{help}} for all keys")
        else:
            self._context.exported = ""
            self._context.notify(text)

    def _end(self, text: str) -> None:
        self._log, self._place = None, 0
        self._context.notify(text)
