"""Strike a run while it is executed, at moments of a kind at which few faults have struck so far.

A blind schedule hits what lasts long. A striker sees each step as it is recorded, and draws whether a fault
strikes right after one of its messages: almost certainly where none ever did, seldom where many have. So all kinds
of moments are struck about equally often, however short or rare they are, and those in the reaction to an earlier
fault as well. At a task above an election, most strikes wait for a message of one kind, or for a write: else
they would fall on its elections and on the beginnings of its tasks, which have the most kinds. At a message of a
client or a service, that may be struck, or cut off from the node. What a striker did is a schedule like any other:
executed again, it gives the same run.
"""

from random import Random

from msgspec.structs import replace

from lab.kernel import Step
from lab.recording.records import Record
from lab.script.director import Director
from lab.script.parse import parse
from lab.script.statements import At, Statement
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan
from lab.worlds.campaign.situations import Point, SituationReader, number_of

_FRESH = 0.6
"""The probability of a strike where none was before."""
_PARTITION = "partition"
_OUTSIDE = "outside"
_SHARE_OF_AIMED, _LONGEST_AIM = 0.8, 20
"""The share of strikes at a task above an election that are aimed; they wait for up to so many T."""
_WRITES = "a write"
_SWAPS = 0.4
"""The share of strikes with which a node comes back that was away: one leader goes as another returns."""


class Striker:
    """Strikes a run of ``frame``, a schedule with few faults or none.

    ``struck`` has the situations of its strikes. ``before`` counts earlier strikes by situation. The ``director``
    of the run must be set before its first step.
    """

    director: Director

    def __init__(
        self, plan: SchedulePlan, before: dict[int, int], frame: Schedule, reader: SituationReader
    ) -> None:
        self.struck: list[int] = []
        self._plan = plan
        self._before = before
        self._frame = frame
        self._reader = reader
        self._rng = Random(f"{frame.seed}/strikes")
        self._t_us = plan.timing.t_us
        self._left = self._rng.randint(*self._rng.choice([(1, 4), (2, 8)]))
        self._from_us = self._rng.choice([0, self._rng.randint(0, 3 * self._t_us), 8 * self._t_us])
        self._aiming = Random(f"{frame.seed}/aims")
        self._aim, self._aims_until_us = "", 0
        self._take_aim()
        self._faults: list[ScheduledFault] = []
        self._instant_us = -1
        self._passed: set[str] = set()
        self._clocked_us = {fault.at_us for fault in frame.faults}

    @property
    def schedule(self) -> Schedule:
        """The schedule of the run, with all strikes."""
        faults = sorted((*self._frame.faults, *self._faults), key=lambda fault: fault.at_us)
        return replace(self._frame, faults=tuple(faults))

    def observe(self, record: Record) -> None:
        """Take the next record; strike, perhaps."""
        self._reader.observe(record)
        if not isinstance(record, Step) or not self._left:
            return
        # executed again, a strike waits for its message from the beginning of the instant on: after the commands
        # of that instant, and for the first such message
        if max(1, self._from_us) <= record.at_us < self._frame.end_us and record.at_us not in self._clocked_us:
            self._consider(record.at_us)
        if record.at_us != self._instant_us:
            self._instant_us, self._passed = record.at_us, set()
        self._passed.update(on for point in self._reader.points for on in (point.on, f"before {point.on}"))

    def _take_aim(self) -> None:
        """Draw the kind of message to strike at next, or none: so what comes early is not struck at most."""
        if self._plan.has_elected_task and self._aiming.random() < _SHARE_OF_AIMED:
            self._aim = self._aiming.choice([_WRITES, self._aiming.choice(self._plan.kinds)])
            self._aims_until_us = self._from_us + self._aiming.randint(self._t_us, _LONGEST_AIM * self._t_us)
        else:
            self._aim = ""

    def _is_aimed_at(self, point: Point) -> bool:
        if self._aim == _WRITES:
            return point.stores and point.message in self._plan.kinds
        return self._aim in ("", point.message)

    def _consider(self, at_us: int) -> None:
        """Draw whether, where and how a fault strikes the last step."""
        if self._aim and at_us >= self._aims_until_us:
            self._aim = ""
        options = [
            (self._before.get(number, 0) + self.struck.count(number), number, point, action)
            for point in self._reader.points
            if self._is_aimed_at(point)
            if at_us != self._instant_us or point.on not in self._passed
            for action in self._actions(point)
            for number in (number_of((point.kind, action[0])),)
        ]
        if not options:
            return
        rng = self._rng
        least = min(count for count, *_ in options)
        _, number, point, (action, command, end) = rng.choice([each for each in options if each[0] == least])
        if rng.random() >= _FRESH / (1 + least):
            return
        if command == _PARTITION:
            command = self._partition_at(point)
        self.struck.append(number)
        away = [f"restart {node}" for node in self._reader.down]
        away += [f"resume {node}" for node in self._reader.paused]
        self._add(ScheduledFault(at_us, point.on, command), is_now=True)
        if away and command not in away and rng.random() < _SWAPS:
            back_us = at_us + rng.choice([1_000, rng.randint(1_000, self._t_us)])
            self._add(ScheduledFault(min(back_us, self._frame.end_us), "", rng.choice(away)))
        is_outside = action[1] == _OUTSIDE
        if end and (is_outside or rng.random() < 0.6):
            longest = 20 if is_outside or command.startswith(_PARTITION) else 5
            after_us = rng.choice([0, rng.randint(0, self._t_us), rng.randint(self._t_us, longest * self._t_us)])
            self._add(ScheduledFault(min(at_us + after_us + 1_000, self._frame.end_us), "", end))
        if not command.startswith(("restart", "resume")):
            self._left -= 1
        gap_us = rng.choice([0, rng.randint(0, self._t_us), rng.randint(self._t_us, 5 * self._t_us)])
        self._from_us = at_us + gap_us
        self._take_aim()

    def _actions(self, point: Point) -> list[tuple[tuple[str, str], str, str]]:
        """Return what can strike at a point: a name for the sort of fault, its command, and what ends it."""
        faults, down = self._plan.faults, self._reader.down
        found: list[tuple[tuple[str, str], str, str]] = []
        is_peer = point.peer not in self._reader.outside
        ends = [("node", point.node)] + ([("peer", point.peer)] if is_peer and point.peer not in down else [])
        for end, victim in ends:
            if "kill" in faults:
                found.append((("kill", end), f"kill {victim}", f"restart {victim}"))
            if "pause" in faults:
                found.append((("pause", end), f"pause {victim}", f"resume {victim}"))
        if "partition" in faults and is_peer and point.peer != point.node:
            found.append((("partition", ""), _PARTITION, "heal"))
        if not is_peer:
            found += self._actions_outside(point)
        found += [(("restart", ""), f"restart {node}", "") for node in down]
        found += [(("resume", ""), f"resume {node}", "") for node in self._reader.paused]
        return found

    def _actions_outside(self, point: Point) -> list[tuple[tuple[str, str], str, str]]:
        """Return what can strike the client or the service at the other end of a message."""
        faults, peer = self._plan.faults, point.peer
        found: list[tuple[tuple[str, str], str, str]] = []
        if "kill" in faults and self._frame.is_service(peer):
            found.append((("kill", _OUTSIDE), f"kill {peer}", f"restart {peer}"))
        if "pause" in faults:
            found.append((("pause", _OUTSIDE), f"pause {peer}", f"resume {peer}"))
        if "partition" in faults:
            link = f"{point.node}<->{peer}"
            found.append((("cut", _OUTSIDE), f"cut {link}", f"join {link}"))
        return found

    def _partition_at(self, point: Point) -> str:
        """Draw a partition between the two nodes of a message."""
        sides: tuple[list[int], list[int]] = [], []
        for node in self._frame.nodes:
            is_far = node == point.peer if node in (point.node, point.peer) else self._rng.random() < 0.5
            sides[is_far].append(node)
        return f"partition {' | '.join(' '.join(map(str, side)) for side in sides)}"

    def _add(self, fault: ScheduledFault, is_now: bool = False) -> None:
        self._faults.append(fault)
        if not fault.on:
            self._clocked_us.add(fault.at_us)
        line = scripted(fault)
        self.director.add(replace(line, triggers=line.triggers[1:]) if is_now else line)


def scripted(fault: ScheduledFault) -> Statement:
    """Return the line of the command language for a fault."""
    read = parse(f"{fault.trigger}{fault.command}")
    return replace(read, triggers=(At(fault.at_us), *read.triggers), source=str(fault))
