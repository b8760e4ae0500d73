"""Lines of a script that follow others: each begins to wait once the one before it is done, and seen to be.

A signal takes its time, so a line that strikes processes is over only when its records say so of each of them.
Only a line that waits for a message or for a status begins with the strike itself.
"""

from collections.abc import Collection

from msgspec import Struct

from lab.recording.records import Event, Process
from lab.script.lines import predecessors
from lab.script.triggers import OnMessage, OnStatus, Scripted

__all__ = ["Following"]


class _Behind(Struct, eq=False):
    """A line, and the number of the one before it, which is being carried out, or has been (``is_over``).

    It begins to wait once one of these ``events`` has been seen of each of the processes in ``until``; with
    ``at_once`` it does not wait for that: a process may be seen struck later than what is sent because of it.
    """

    line: Scripted
    before: int
    until: set[int]
    events: Collection[Event]
    at_once: bool
    is_over: bool = False


class Following:
    """Holds such lines back. ``begun``, ``done`` and ``saw`` give those that begin to wait by that."""

    def __init__(self) -> None:
        self._following: dict[int, Scripted] = {}
        self._behind: list[_Behind] = []

    @property
    def attends(self) -> bool:
        """Whether it has to be shown what happens to processes."""
        return bool(self._behind)

    def hold_back(self, script: list[Scripted]) -> list[Scripted]:
        """Keep those of these lines that follow others; the rest."""
        before = predecessors(script)
        self._following |= {before[line.line]: line for line in script if line.line in before}
        return [line for line in script if line.line not in before]

    def behind(self, line: Scripted) -> list[Scripted]:
        """What follows this line, if anything does, is held back no longer."""
        following = self._following.pop(line.line, None)
        return [] if following is None else [following]

    def begun(self, line: Scripted, nodes: Collection[int], events: Collection[Event]) -> list[Scripted]:
        """A line is about to be carried out. It is done when one of these events is seen of each of these nodes.

        The line behind it sees what it brings about, where that waits for a message or for a status.
        """
        for following in self.behind(line):
            at_once = isinstance(following.trigger, OnMessage | OnStatus)
            self._behind.append(_Behind(following, line.line, set(nodes), events, at_once))
        return self._taken()

    def done(self, line: Scripted, struck: Collection[int]) -> list[Scripted]:
        """A line was carried out, and struck these nodes alone."""
        for each in self._behind:
            if each.before == line.line:
                each.is_over = True
                each.until.intersection_update(struck)
        return self._taken()

    def saw(self, record: Process) -> list[Scripted]:
        """Something has happened to a process."""
        for each in self._behind:
            if record.event in each.events:
                each.until.discard(record.node)
        return self._taken()

    def _taken(self) -> list[Scripted]:
        ready = [each for each in self._behind if each.at_once or (each.is_over and not each.until)]
        self._behind = [each for each in self._behind if each not in ready]
        return [each.line for each in ready]
