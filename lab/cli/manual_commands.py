"""Track the commands given to a run outside its script: with ``--do``, in the interface, or with ``lab ctl``."""

from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, Expected, Record
from lab.scenario.values import explain_unmet
from lab.script import Caption, Statement, parse
from lab.script.evaluation import Suspicions

__all__ = ["ManualCommands"]


class ManualCommands:
    """A fold over a run that was given these lines. ``cluster`` must be the state after each record."""

    def __init__(self, lines: tuple[str, ...], cluster: ClusterState) -> None:
        self._pending = [parse(line) for line in lines]
        self._cluster = cluster
        self._suspicions = Suspicions()
        self._problems: list[str] = []

    def observe_parent(self, record: Record | None) -> None:
        """Observe a record of the parent run: its commands were not given to this run."""
        self._suspicions.observe(record)

    def observe(self, record: Record | None) -> None:
        """Observe the next record of this run."""
        self._suspicions.observe(record)
        if not isinstance(record, Captioned | Commanded | Expected) or record.line:
            return
        matching = next((line for line in self._pending if _recorded_text(line) == record.text), None)
        if matching is not None:
            self._pending.remove(matching)
        if isinstance(record, Commanded) and record.refused:
            self._problems.append(f"{record.text}: {record.outcome}")
        elif isinstance(record, Expected) and not record.met:
            why = explain_unmet(record.why, parse(record.text).command, self._cluster, self._suspicions)
            self._problems.append(f"{record.text}: {why}")

    def problems(self) -> list[str]:
        """Return what was refused, not met, or not due before the end of the run."""
        return [*self._problems, *(f"never due: {line.source}" for line in self._pending)]


def _recorded_text(line: Statement) -> str:
    return line.command.text if isinstance(line.command, Caption) else line.source
