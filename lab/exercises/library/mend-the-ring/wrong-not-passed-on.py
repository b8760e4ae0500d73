"""Old messages are not passed on, so their starter waits for them, and tries again."""

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
        elif message.number >= self.number:
            self.enter(message)
            self.pass_on(self.extended(message))
        return Passed()

    def is_newer(self, message: ELECTION) -> bool:
        """Return whether to take part in this election: in any."""
        return True

    def route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes to try, in order, for a message of this starter: all others, the successor first."""
        return self.ring_order
