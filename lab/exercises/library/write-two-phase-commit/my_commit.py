"""Two-phase commit, from an empty file."""

from typing import ClassVar

from lab.kernel import Log, Safe, command
from lab.protocols import Algorithm


class MyCommit(Algorithm):
    """Every node begins transactions, and takes part in those of all others."""

    workload: ClassVar[tuple[str, ...]] = ("commit",)

    log: Log[str] = Log()
    begun: Safe[int] = 0
    refuses: bool = False

    @command(to="one", example="commit")
    def commit(self) -> None:
        """Begin a transaction, in which all nodes take part."""
        self.begun += 1

    @command(to="named", example="refuse 2")
    def refuse(self) -> None:
        """Vote NO on the next transaction."""
        self.refuses = True
