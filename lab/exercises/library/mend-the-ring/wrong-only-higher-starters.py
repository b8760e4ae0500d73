"""Only the election of a higher starter is entered, but a lower one may have started later."""

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
        """Return whether to take part in this election: if its starter is higher than the last."""
        return message.number.starter > self.number.starter

    def route_to(self, starter: int) -> tuple[int, ...]:
        """Return the nodes to try, in order, for a message of this starter: all others, the successor first."""
        return self.ring_order
