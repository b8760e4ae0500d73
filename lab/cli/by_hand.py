"""What came of the lines that a run was given beside its script: with ``--do``, by hand, or with ``lab ctl``."""

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, Expected, Record
from lab.scenario.values import why_unmet
from lab.script import Caption, Scripted, parse
from lab.script.holding import Suspicions

__all__ = ["ByHand"]


class ByHand:
    """Watches a run that was given these lines; ``cluster`` is as each record leaves it."""

    def __init__(self, lines: tuple[str, ...], cluster: ClusterState) -> None:
        self._left = [parse(line) for line in lines]
        self._cluster = cluster
        self._suspicions = Suspicions()
        self._amiss: list[str] = []

    def suppose(self, record: Record | None) -> None:
        """Take a record of the run that this one goes on from: what was done there was not asked for here."""
        self._suspicions.observe(record)

    def observe(self, record: Record | None) -> None:
        """Take the next record of this run."""
        self._suspicions.observe(record)
        if not isinstance(record, Captioned | Commanded | Expected) or record.line:
            return
        came = next((line for line in self._left if _recorded_as(line) == record.text), None)
        if came is not None:
            self._left.remove(came)
        if isinstance(record, Commanded) and record.refused:
            self._amiss.append(f"{record.text}: {record.outcome}")
        elif isinstance(record, Expected) and not record.met:
            why = why_unmet(record.why, parse(record.text).command, self._cluster, self._suspicions)
            self._amiss.append(f"{record.text}: {why}")

    def amiss(self) -> list[str]:
        """What was refused, was not as it was expected, or was never due, the run being over."""
        return [*self._amiss, *(f"its time never came: {line.source}" for line in self._left)]


def _recorded_as(line: Scripted) -> str:
    return line.command.text if isinstance(line.command, Caption) else line.source
