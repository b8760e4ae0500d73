"""An election every T, needed or not: no node waits forever, and none ever stops sending."""

from lab.kernel import periodic
from lab.protocols import Bully


class MyBully(Bully):
    """A node that hears nothing from its coordinator asks it; if there is no answer, it holds an election."""

    def _again_us(self) -> int:
        return max(self.begun_us(self.election), self.begun_us(self.coordinator_timeout)) + self.t_us

    @periodic(_again_us)
    async def coordinator_timeout(self) -> None:
        """Elect."""
        self.begin(self.election)
