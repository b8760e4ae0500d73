"""Only the election of a higher starter is entered; but a lower one may have begun later."""

from msgspec.structs import replace

from lab.kernel import on
from lab.protocols import Ring
from lab.protocols.ring import ELECTION, Passed


class MyRing(Ring):
    """What comes is passed on to the next node that is up; its starter takes it off the ring."""

    @on(ELECTION)
    def election_comes(self, sender: int, message: ELECTION) -> Passed:
        """Enter the election, and pass it on with the own id."""
        if message.number.starter == self.id:
            self._come_round(message)
        else:
            if message.number.starter > self.number.starter:
                self._enter(message.number)
            met = max(message.met, self.number)
            self._pass(replace(message, members=(*message.members, self.id), met=met))
        return Passed()

    def _way_to(self, starter: int) -> tuple[int, ...]:
        """Whom to try, one after the other, for a message of this starter: all others, the successor first."""
        return self._along
