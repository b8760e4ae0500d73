"""The message of a crashed starter is removed, but an old election is still entered."""

from lab.kernel import on
from lab.protocols import Ring
from lab.protocols.ring import ELECTION, Passed


class MyRing(Ring):
    """Each message is passed on to the next node that is up; its starter removes it."""

    @on(ELECTION)
    def on_election(self, sender: int, message: ELECTION) -> Passed:
        """Take part in the election, and pass the message on with this node's id."""
        if message.starter == self.id:
            self.on_return(message)
        else:
            self.enter(message)
            self.pass_on(self.extended(message))
        return Passed()

    def is_newer(self, message: ELECTION) -> bool:
        """Return whether to take part in this election: in any."""
        return True

    def route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes to try, in order, for a message of this starter: none beyond it."""
        if starter == self.id:
            return self.ring_order
        return self.ring_order[: self.ring_order.index(starter) + 1]
