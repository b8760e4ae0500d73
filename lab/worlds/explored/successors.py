"""States as single integers, and their successors from tables.

A packed state has 32 bits for each part of the state, and 32 more for the nodes that are down, one bit each. It
takes half the memory of a tuple, and is faster to hash.

A move of a node depends on the node's local state, the message that arrives if one does, the nodes that are down,
and the parts that all nodes share, such as the faults left. For each combination of these it is computed once, on
a row that leaves open what the queues and the memories are, and kept as a *way*: the bits of the packed state that
it changes, and a table of the bits that it changes in queues and memories, by what they are. The passing of time,
restarts and commands depend on more: they are computed for each state.

In a network that may be cut, all moves are computed for each state: it counts whether the links of a node that is
down for ever still carry something, wherever the move is.
"""

from collections.abc import Iterable
from struct import Struct

from lab.worlds.explored.moves import Found, Moves
from lab.worlds.explored.part_changes import CLEARED, UNCHANGED, PartChanges
from lab.worlds.explored.states import COMMANDS, KILLS, MEMORIES, PAUSED, PAUSES, RESTARTS, SUSPICIONS, Move, State

_PART_BITS = 32
_PART = (1 << _PART_BITS) - 1


MOST = _PART
"""The greatest number that a part of a packed state can hold."""

Way = tuple[Move, int, int, int, dict[int, int]]
"""A move, and how it changes a packed state: the bits that it keeps, those that it flips, those of the queues and
the memories by which it flips more, and the table of these."""

_NOTHING_OPEN = {0: 0}


class _Table(dict[int, int]):
    """The bits that changes of some parts of a packed state flip, by the bits of these parts."""

    def __init__(self, parts: PartChanges, changes: tuple[tuple[int, int], ...]) -> None:
        self._parts, self._changes = parts, changes

    def __missing__(self, packed: int) -> int:
        bits = 0
        for part, change in self._changes:
            shift = part * _PART_BITS
            number = packed >> shift & _PART
            bits |= (number ^ self._parts.apply(change, number)) << shift
        self[packed] = bits
        return bits


class _Ways:
    """The ways by local state, and those of deliveries also by message, where the shared parts are the same."""

    def __init__(self) -> None:
        self.timers: dict[int, list[Way]] = {}
        self.suspicions: dict[int, list[Way]] = {}
        self.deliveries: dict[tuple[int, int], list[Way]] = {}
        self.strikes: dict[int, list[Way]] = {}


class Successors:
    """Pack states of ``count`` nodes, and find what these moves lead to from a packed state."""

    def __init__(self, moves: Moves, count: int) -> None:
        self._moves = moves
        self._changes = moves.parts if isinstance(moves.parts, PartChanges) else None
        self._count = count
        self._links = [(link, link % count) for link in range(count, count + count * count)]
        self._size = count + count * count - COMMANDS
        self._open_parts = (*(link for link, _ in self._links), self._size + MEMORIES)
        self._packing = Struct(f"<{self._size + 1}I")
        self._down = (1 << count) - 1 << self._size * _PART_BITS
        self._shared = self.mask(*range(COMMANDS, MEMORIES)) | self._down
        self._faults = self.mask(KILLS, RESTARTS, PAUSES, PAUSED)
        self._known: dict[int, _Ways] = {}
        self._tables: dict[tuple[tuple[int, int], ...], _Table] = {}
        self._same: dict[Move, Move] = {}

    def mask(self, *parts: int) -> int:
        """Return the bits of these parts of a state, each given by its index in the tuple."""
        return sum(_PART << part % self._size * _PART_BITS for part in parts)

    def pack(self, state: State) -> int:
        """Return the state as one integer."""
        down = sum(1 << place for place in range(self._count) if self._moves.is_down(state, place))
        return int.from_bytes(self._packing.pack(*state, down), "little")

    def unpack(self, packed: int) -> State:
        """Return the state as a tuple of its parts."""
        return self._packing.unpack(packed.to_bytes(self._packing.size, "little"))[:-1]

    def steps(self, state: State) -> Found:
        """Return the moves without faults, each with the next state."""
        packed = self.pack(state)
        return self._followed(packed, self.ways(packed, state)[0])

    def faults(self, state: State) -> Found:
        """Return the faults but for the healing of a cut, each with the next state."""
        packed = self.pack(state)
        strikes = [] if state[COMMANDS] else self._strikes(state, self._known_ways(packed))
        return self._followed(packed, strikes)

    def ways(self, packed: int, state: State) -> tuple[list[Way], list[Way]]:
        """Return the ways without faults, and the faults and the calls of clients, from a state.

        It is given packed and as a tuple. If commands are left, the next of them is the only way. If no other move
        is possible, healing the cut is one of the faults.
        """
        moves = self._moves
        if state[COMMANDS]:
            row = self._row(state)
            return self._ways(row, moves.command(row)), []
        known = self._known_ways(packed)
        steps = self._steps(state, known) + self._exactly(packed, moves.waits(state))
        strikes = moves.has_clients or packed & self._faults
        faults = self._strikes(state, known) if strikes else []
        if not steps:
            faults += self._exactly(packed, moves.heals(state))
        return steps, faults

    def follow(self, packed: int, ways: Iterable[Way]) -> list[int]:
        """Return the packed states that these ways lead to from a packed state."""
        return [packed & kept ^ flipped ^ table[packed & chosen_by] for _, kept, flipped, chosen_by, table in ways]

    def _followed(self, packed: int, ways: list[Way]) -> Found:
        reached = self.follow(packed, ways)
        return [(way[0], self.unpack(after)) for way, after in zip(ways, reached, strict=True)]

    def _known_ways(self, packed: int) -> _Ways:
        """Return the ways known where the shared parts are those of the state, to be completed."""
        if self._changes is None:
            return _Ways()
        known = self._known.get(packed & self._shared)
        if known is None:
            known = self._known[packed & self._shared] = _Ways()
        return known

    def _steps(self, state: State, known: _Ways) -> list[Way]:
        moves, ways, wrong = self._moves, list[Way](), list[int]()
        for place in range(self._count):
            if moves.has_overdue(state, place):
                continue
            if moves.counts_suspicions and moves.is_wrong(state, place):
                wrong.append(place)
                continue
            timers = known.timers.get(state[place])
            if timers is None:
                row = self._row(state)
                timers = known.timers[state[place]] = self._ways(row, moves.timers(row, place))
            ways += timers
        first, delivered = moves.first_message, known.deliveries
        for link, place in self._links:
            queue = state[link]
            if queue:
                key = state[place], first[queue]
                deliveries = delivered.get(key)
                if deliveries is None:
                    row = self._row(state)
                    deliveries = delivered[key] = self._ways(row, moves.deliveries(row, link, key[1]))
                ways += deliveries
        if wrong:
            ways += self._suspicions(state, known, wrong) if ways else self._last_timers(state, wrong)
        return ways

    def _suspicions(self, state: State, known: _Ways, places: Iterable[int]) -> list[Way]:
        """Return the firing of these timers, which is wrong, if there are suspicions left."""
        ways = list[Way]()
        if not state[SUSPICIONS]:
            return ways
        for place in places:
            suspicions = known.suspicions.get(state[place])
            if suspicions is None:
                row = self._row(state)
                suspicions = self._ways(row, self._moves.timers(row, place, is_wrong=True))
                known.suspicions[state[place]] = suspicions
            ways += suspicions
        return ways

    def _last_timers(self, state: State, places: Iterable[int]) -> list[Way]:
        """Return the firing of these timers where nothing else can happen: what they wait for cannot come."""
        row = self._row(state)
        return [way for place in places for way in self._ways(row, self._moves.timers(row, place))]

    def _strikes(self, state: State, known: _Ways) -> list[Way]:
        moves, ways = self._moves, list[Way]()
        for place in range(self._count):
            strikes = known.strikes.get(state[place])
            if strikes is None:
                row = self._row(state)
                strikes = known.strikes[state[place]] = self._ways(row, moves.strikes(row, place))
            ways += strikes
            if state[RESTARTS] and moves.may_restart(state, place):
                row = self._row(state)
                ways += self._ways(row, moves.restarts(row, place))
        return ways

    def _row(self, state: State) -> State:
        """Return the state with its queues and memories left open, if their changes can be applied later."""
        if self._changes is None:
            return state
        queues = (UNCHANGED,) * len(self._links)
        return (*state[: self._count], *queues, *state[COMMANDS:MEMORIES], UNCHANGED)

    def _ways(self, row: State, found: Found) -> list[Way]:
        if self._changes is None:
            return self._exactly(self.pack(row), found)
        ways = list[Way]()
        for move, after in found:
            changes = [(part, after[part]) for part in self._open_parts if after[part] != UNCHANGED]
            cleared = self.mask(*(part for part, change in changes if change == CLEARED))
            tabled = tuple((part, change) for part, change in changes if change != CLEARED)
            flipped = self.pack(row) ^ self.pack(self._row(after))
            table = self._tables.setdefault(tabled, _Table(self._changes, tabled))
            ways.append((self._intern(move), ~cleared, flipped, self.mask(*dict(tabled)), table))
        return ways

    def _exactly(self, packed: int, found: Found) -> list[Way]:
        """Return the ways from a state to those in ``found``, with no part left open."""
        return [(self._intern(move), -1, packed ^ self.pack(after), 0, _NOTHING_OPEN) for move, after in found]

    def _intern(self, move: Move) -> Move:
        return self._same.setdefault(move, move)
