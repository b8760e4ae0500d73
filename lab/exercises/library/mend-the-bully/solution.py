"""In status Election, the silence of that election's leader counts."""

from lab.kernel import periodic
from lab.protocols import Bully, Status
from lab.protocols.bully import AreYouUp


class MyBully(Bully):
    """A node that hears nothing from its coordinator asks it; if there is no answer, it holds an election."""

    def _silence_ends_us(self) -> int | None:
        leader = self.halted if self.status is Status.ELECTION else self.coordinator
        if leader is None or leader == self.id:
            return None
        return self.heard_us(leader) + self.timeout_us

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        """Ask the coordinator whether it is up; a live leader of an election would have continued it."""
        if self.status is not Status.ELECTION:
            assert self.coordinator is not None
            answer = await self.ask(self.coordinator, AreYouUp(), within=self.t_us)
            if answer is not None:
                return
        self.begin(self.election)
