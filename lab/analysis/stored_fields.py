"""Which fields of the nodes' state are in safe storage: those that a step stored, or a node began with."""

from lab.kernel import Started, Step
from lab.recording.records import Record

__all__ = ["SafeFields"]


class SafeFields:
    """``names`` are those found so far, ``logs`` those of them that are logs, in the order of being found."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.logs: dict[str, None] = {}

    def observe(self, record: Record | None) -> None:
        """Take the next record."""
        if not isinstance(record, Step):
            return
        if record.logged:
            self.logs.update(dict.fromkeys(record.logged))
            self.names.update(dict.fromkeys(record.logged))
        if record.stored:
            self.names.update(dict.fromkeys(record.stored))
        if isinstance(record.input, Started):
            self.names.update(dict.fromkeys(record.input.stored))
