"""A toy to be mutated: every node counts, and adopts the greatest count that it hears of."""

from lab.kernel import Payload, Safe, on, procedure
from lab.properties import LocalState, Memory, Outcome, over_history
from lab.protocols import Algorithm

MOST = 2


class Count(Payload, frozen=True):
    """My count."""

    number: int


class Beacon(Algorithm):
    """A count that spreads, and never falls."""

    count: Safe[int] = 0

    def started(self) -> None:
        self.begin(self.beat)

    @procedure
    async def beat(self) -> None:
        while True:
            if self.count < MOST:
                self.count += 1
            for peer in self.peers:
                self.send(peer, Count(self.count))
            await self.sleep(2 * self.timing.t_us, "the next beat")

    @on(Count)
    def on_count(self, sender: int, message: Count) -> None:
        if message.number <= self.count:
            return
        self.count = message.number

    def unused(self) -> None:
        self.count = 0


class Forgetful(Beacon):
    """Another protocol in this file, which is not mutated with the first."""

    def unused(self) -> None:
        self.begin(self.beat)


@over_history(noun="count", done="seen")
def never_falls(greatest: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No count falls."""
    known = greatest.get(after.id, 0)
    greatest[after.id] = max(known, after.count)
    return after.count >= known or f"{after.id} counted {known}, and now {after.count}"
