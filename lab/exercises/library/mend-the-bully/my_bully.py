"""The bully algorithm, with its author's own Coordinator_Timeout."""

from lab.kernel import periodic
from lab.protocols import Bully, Status
from lab.protocols.bully import AreYouUp


class MyBully(Bully):
    """A node that hears nothing from its coordinator asks it; if there is no answer, it holds an election."""

    def _silence_ends_us(self) -> int | None:
        if self.status not in (Status.NORMAL, Status.REORGANIZATION):
            return None
        if self.coordinator is None or self.coordinator == self.id:
            return None
        return self.heard_us(self.coordinator) + self.timeout_us

    @periodic(_silence_ends_us)
    async def coordinator_timeout(self) -> None:
        """Ask the coordinator whether it is up."""
        assert self.coordinator is not None
        answer = await self.ask(self.coordinator, AreYouUp(), within=self.t_us)
        if answer is None:
            self.begin(self.election)
