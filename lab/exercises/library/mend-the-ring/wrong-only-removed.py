"""The message of a crashed starter is removed, but an old election is still entered."""

from msgspec.structs import replace

from lab.kernel import on
from lab.protocols import Ring
from lab.protocols.ring import ELECTION, Passed


class MyRing(Ring):
    """Each message is passed on to the next node that is up; its starter removes it."""

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Enter the election, and pass the message on with this node's id."""
        if message.number.starter == self.id:
            self._on_return(message)
        else:
            self._enter(message.number)
            met = max(message.met, self.number)
            self._pass(replace(message, members=(*message.members, self.id), met=met))
        return Passed()

    def _route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes to try, in order, for a message of this starter: none beyond it."""
        if starter == self.id:
            return self._ring_order
        return self._ring_order[: self._ring_order.index(starter) + 1]
