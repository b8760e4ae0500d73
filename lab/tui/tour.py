"""The tour for those who are here for the first time: five steps in a run that is going on.

Each step says what to do and why, and is done when the records and the screen show that it is.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.style import Style
from rich.text import Text

from lab.analysis.leader_decisions import Decision, DecisionLog
from lab.kernel import Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Record
from lab.tui.dialogs import RecordDialog
from lab.tui.frame.lines import Line
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.tui.views.views import DIAGRAM

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["STEPS", "Place", "Tour", "TourLine", "TourLog", "tour_deeds"]


class Place(Struct, frozen=True):
    """What the screen shows: the record at the cursor, whether that follows the run, the view, what was done."""

    record: int
    following: bool
    view: str = "log"
    opened: bool = False
    exported: bool = False


class TourLog:
    """What the records tell of the tour: ``loss`` is what began when a leader was killed.

    ``leader`` leads after that, ``found`` are the first and the last record in which it was set.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._decisions = DecisionLog(cluster)
        self._set: dict[int, int] = {}
        self.loss: Decision | None = None

    @property
    def leads(self) -> int | None:
        """Who leads now, as far as that is settled."""
        return None if self._decisions.leaders is None else self._decisions.leaders[-1]

    @property
    def leader(self) -> int | None:
        """Who leads after the loss."""
        return self.loss.leaders[-1] if self.loss is not None and self.loss.leaders else None

    @property
    def found(self) -> tuple[int, int] | None:
        """The records between which the new one was set."""
        if self.loss is None or self.loss.settled is None or self.leader is None:
            return None
        return self._set.get(self.leader, self.loss.settled), self.loss.settled

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        self._decisions.observe(record)
        cluster, decision = self._decisions.cluster, self._decisions.decision
        if self.loss is None and decision is not None:
            if any(cluster.nodes[node].process == "killed" for node in decision.before):
                self.loss = decision
        elif isinstance(record, Step) and record.changed.get("coordinator") == record.node:
            self._set.setdefault(record.node, cluster.record)


class _TourStep(Struct, frozen=True):
    title: str
    said: Callable[[TourLog], str]
    is_done: Callable[[TourLog, Place], bool]


def _is_found(log: TourLog, place: Place) -> bool:
    if place.following:
        return False
    return log.found is None or log.found[0] <= place.record <= log.found[1]


def _kill_said(log: TourLog) -> str:
    if log.leads is None:
        return "wait until a node leads: a star stands beside it"
    return f"node {log.leads} leads (the star). Press {log.leads} to select it, then k: its process dies at once"


STEPS = (
    _TourStep("kill the coordinator", _kill_said, lambda log, _: log.loss is not None),
    _TourStep(
        "who leads now?",
        lambda log: "nobody, until the others miss its answers and hold an election; watch until another leads",
        lambda log, _: log.leader is not None,
    ),
    _TourStep(
        "find the moment when it was set",
        lambda log: (
            f"press [ to go back in time, from one change of status to the one before, until you see node "
            f"{log.leader or '…'} become the coordinator; ] goes on again"
        ),
        _is_found,
    ),
    _TourStep(
        "look at what happened there",
        lambda log: "press D: time runs along the lines of the nodes, arrows are messages. It shows who told whom",
        lambda _, place: place.opened or place.view == DIAGRAM,
    ),
    _TourStep(
        "take it with you",
        lambda log: "press X, choose what to export, and press Enter: the file can be opened without lab",
        lambda _, place: place.exported,
    ),
)


class TourLine(Line):
    """Which step it is, and what to do. It is not there while no tour is on."""

    DEFAULT_CSS = """
    TourLine { height: auto; max-height: 4; padding: 0 1; background: $boost; display: none; text-wrap: wrap; }
    """

    def show(self, place: int, log: TourLog | None, theme_styles: ThemeStyles) -> None:
        """Show that step; None: no tour."""
        self.display = log is not None
        if log is None:
            return
        step = STEPS[place]
        self.put(
            Text.assemble(
                (f"tour {place + 1}/{len(STEPS)}  ", theme_styles.accent),
                (f"{step.title}: ", Style(bold=True)),
                step.said(log),
                ("  S skips this step, :tour ends the tour", DIM),
            ),
            wraps=True,
        )


class Tour:
    """The tour on a screen: ``theme_styles`` at each frame goes on to the next step where one is done."""

    def __init__(self, screen: "RunScreen") -> None:
        self._screen = screen
        self._log: TourLog | None = None
        self._record = 0
        self._place = 0
        self._exported = ""

    @property
    def is_on(self) -> bool:
        """Whether it is."""
        return self._log is not None

    def turn(self) -> None:
        """Begin at the first step, or end."""
        screen = self._screen
        if self._log is not None:
            self._end("the tour is over; :tour begins it again")
            return
        screen.arrangement.show_all()
        screen.player.to_end()
        snapshot = screen.player.cluster().snapshot()
        self._log, self._record, self._place = TourLog(ClusterState.resume(snapshot)), snapshot.record, 0
        screen.say("five steps; each tells what to do")

    def skip(self) -> None:
        """To the next step."""
        self._go_on("skipped")

    def exported(self, said: str) -> None:
        """A file was written, of which this was said."""
        self._exported = said

    def theme_styles(self) -> None:
        """At what there is by now."""
        log, screen = self._log, self._screen
        if log is not None:
            lines = screen.player.lines
            last = len(lines) - 1
            for record in lines.records(self._record + 1, last + 1):
                log.observe(record)
            self._record = last
            if STEPS[self._place].is_done(log, self._seen()):
                self._go_on(f"done: {STEPS[self._place].title}")
        screen.query_one(TourLine).show(self._place, self._log, screen.theme_styles)

    def _seen(self) -> Place:
        screen = self._screen
        opened = isinstance(screen.app.screen, RecordDialog)
        player, view = screen.player, screen.views.chosen
        return Place(player.number, player.following, view, opened, bool(self._exported))

    def _go_on(self, said: str) -> None:
        self._place += 1
        if self._place == len(STEPS):
            self._end(f"{self._exported or said}; that was the tour, ? has all keys")
        else:
            self._exported = ""
            self._screen.say(said)

    def _end(self, said: str) -> None:
        self._log, self._place, self._exported = None, 0, ""
        self._screen.say(said)


def tour_deeds(screen: "RunScreen") -> dict[str, Callable[[str], object]]:
    """The tour, and its next step."""
    return {"tour": lambda _: screen.tour.turn(), "skip": lambda _: screen.tour.skip()}
