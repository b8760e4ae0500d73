"""Doing something to a link: the commands that there are for it, one key each.

What needs a number is begun on the command line, to be changed there; all else is done at once.
"""

from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lab.analysis.connectivity import Pair
from lab.script import VERBS
from lab.tui.dialog import Dialog, frame
from lab.tui.offers import takes_commands, why_no_commands
from lab.tui.views.network.links import NetworkNow

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["LinkDialog", "Order", "edit_link", "orders_for"]


class Order(Struct, frozen=True):
    """A command for links, and its key; one that is not ``complete`` is changed on the command line first."""

    key: str
    command: str
    complete: bool = True


def orders_for(link: Pair, both_ways: bool, now: NetworkNow) -> tuple[Order, ...]:
    """What can be done to the link, or to it and the one back: nothing is ended that is not there."""
    source, target = link
    links = f"{source}{'<->' if both_ways else '->'}{target}"
    ways = (link, (target, source)) if both_ways else (link,)
    sorts = {trouble.sort for way in ways for trouble in now.troubles.get(way, ())}
    held = any(flight.held for way in ways for flight in now.in_flight.get(way, ()))
    orders = [
        Order("d", f"delay {links} 400ms", complete=False),
        Order("l", f"lose {links} 30%", complete=False),
        Order("u", f"duplicate {links} 20%", complete=False),
        Order("r", f"reorder {links} 50% 100ms", complete=False),
        Order("o", f"hold {links}"),
        Order("x", f"cut {links}"),
    ]
    if "hold" in sorts or held:
        orders.append(Order("e", f"release {links}"))
    if "cut" in sorts:
        orders.append(Order("j", f"join {links}"))
    if sorts:
        orders.append(Order("h", f"heal {links}"))
    return tuple(orders)


def edit_link(screen: "RunScreen", link: Pair, now: NetworkNow) -> None:
    """Ask what is to be done to the link, and do it; where nothing can be, say why."""
    source, target = link
    if not takes_commands(screen.source):
        said = f"the link {source}->{target} cannot be changed: {why_no_commands(screen.source)}"
        screen.say(said, warn=True)
        return
    if source == target:
        screen.say(f"{source} has no link to itself; the arrows go to another", warn=True)
        return

    def give(order: Order | None) -> None:
        if order is not None:
            (screen.give if order.complete else screen.open_line)(order.command)

    screen.app.push_screen(LinkDialog(link, now), give)


class LinkDialog(Dialog[Order | None]):
    """The result is the order that was chosen, or nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "leave", "close"),
        ("b", "turn", ""),
    ]

    def __init__(self, link: Pair, now: NetworkNow) -> None:
        super().__init__()
        self._link = link
        self._network = now
        self._both_ways = False
        self._orders = orders_for(link, both_ways=False, now=now)

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical() as box:
            box.border_subtitle = "b: both ways or one   Esc leaves"
            yield OptionList()

    def on_mount(self) -> None:
        """Show what there is."""
        self.query_one(OptionList).focus()
        self._list()

    def on_key(self, event: events.Key) -> None:
        """The key of an order is as good as Enter on it."""
        order = next((order for order in self._orders if order.key == event.key), None)
        if order is not None:
            event.stop()
            self.dismiss(order)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        self.dismiss(self._orders[event.option_index])

    def action_turn(self) -> None:
        """Both ways, or only from the one to the other."""
        self._both_ways = not self._both_ways
        self._orders = orders_for(self._link, self._both_ways, self._network)
        self._list()

    def _list(self) -> None:
        source, target = self._link
        way = "between {} and {}, both ways" if self._both_ways else "from {} to {}"
        frame(self.query_one(Vertical), title=f"the link {way.format(source, target)}")
        listed = self.query_one(OptionList)
        listed.clear_options()
        for order in self._orders:
            row = Text()
            row.append(f" {order.key} ", "bold")
            row.append(f" {order.command + ('' if order.complete else ' …'):28}")
            row.append(VERBS[order.command.partition(" ")[0]].help, "dim")
            listed.add_option(Option(row))
        listed.action_first()
