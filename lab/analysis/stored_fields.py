"""Collect the fields of node states that are in stable storage: stored by a step, or present at a start."""

from lab.kernel import Started, Step
from lab.recording.records import Record

__all__ = ["StoredFields"]


class StoredFields:
    """The ``names`` of the fields found so far, and those of them that are ``logs``, in the order found."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.logs: dict[str, None] = {}

    def observe(self, record: Record | None) -> None:
        """Add the fields that the next record stores."""
        if not isinstance(record, Step):
            return
        if record.logged:
            self.logs.update(dict.fromkeys(record.logged))
            self.names.update(dict.fromkeys(record.logged))
        if record.stored:
            self.names.update(dict.fromkeys(record.stored))
        if isinstance(record.input, Started):
            self.names.update(dict.fromkeys(record.input.stored))
