"""An election every T, whether it is needed or not: nobody waits for ever, and nobody ever stops sending."""

from lab.kernel import periodic
from lab.protocols import Bully


class MyBully(Bully):
    """Who hears nothing of its coordinator asks it; and, if there is no answer, elects."""

    def _again_us(self) -> int:
        return max(self.begun_us(self.election), self.begun_us(self.coordinator_timeout)) + self.t_us

    @periodic(_again_us)
    async def coordinator_timeout(self) -> None:
        """Elect."""
        self.begin(self.election)
