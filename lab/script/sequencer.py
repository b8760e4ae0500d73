"""Run lines in sequence: a line starts to wait once the line before it is done, and recorded as done.

A signal takes time, so a line that kills or pauses processes is done only when each of them has a record of that.
A line that waits for a message or a status is the exception: it starts to wait when the line before it begins.
"""

from collections.abc import Collection

from msgspec import Struct

from lab.recording.records import Event, Process
from lab.script.lines import predecessors
from lab.script.triggers import OnMessage, OnStatus, Statement

__all__ = ["Sequencer"]


class _Pending(Struct, eq=False):
    """A line whose predecessor is being executed, or has been (``is_done``).

    It starts to wait once each process in ``awaited`` has had one of the ``events``. With ``at_once`` it does not
    wait for them: the record of a crash may come later than the messages that are sent because of it.
    """

    line: Statement
    predecessor: int
    awaited: set[int]
    events: Collection[Event]
    at_once: bool
    is_done: bool = False


class Sequencer:
    """The lines that follow others. Its methods return those that start to wait because of an event."""

    def __init__(self) -> None:
        self._successors: dict[int, Statement] = {}
        self._pending: list[_Pending] = []

    @property
    def needs_records(self) -> bool:
        """True while it has to be shown the records of processes."""
        return bool(self._pending)

    def hold_back(self, script: list[Statement]) -> list[Statement]:
        """Keep the lines that follow others, and return the rest."""
        before = predecessors(script)
        self._successors |= {before[line.line]: line for line in script if line.line in before}
        return [line for line in script if line.line not in before]

    def release_successor(self, line: Statement) -> list[Statement]:
        """Remove and return the line that follows this one, if any."""
        following = self._successors.pop(line.line, None)
        return [] if following is None else [following]

    def line_started(self, line: Statement, nodes: Collection[int], events: Collection[Event]) -> list[Statement]:
        """Note that a line starts to execute. It is done when each of these nodes has had one of these events.

        A successor that waits for a message or a status starts to wait at once, so as not to miss the effects.
        """
        for following in self.release_successor(line):
            at_once = isinstance(following.trigger, OnMessage | OnStatus)
            self._pending.append(_Pending(following, line.line, set(nodes), events, at_once))
        return self._pop_ready()

    def line_done(self, line: Statement, affected: Collection[int]) -> list[Statement]:
        """Note that a line was executed, and affected only these nodes."""
        for each in self._pending:
            if each.predecessor == line.line:
                each.is_done = True
                each.awaited.intersection_update(affected)
        return self._pop_ready()

    def on_process(self, record: Process) -> list[Statement]:
        """Note what happened to a process."""
        for each in self._pending:
            if record.event in each.events:
                each.awaited.discard(record.node)
        return self._pop_ready()

    def _pop_ready(self) -> list[Statement]:
        ready = [each for each in self._pending if each.at_once or (each.is_done and not each.awaited)]
        self._pending = [each for each in self._pending if each not in ready]
        return [each.line for each in ready]
