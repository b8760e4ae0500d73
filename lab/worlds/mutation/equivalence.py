"""Explore the original and a mutant, and compare what they reach.

Most mutants that no property notices differ from the original nevertheless. Some do not: a comparison is turned
that never sees equal numbers, a field is reset that was empty. If both reach the same global states in an
exploration, the mutant is equivalent within that exploration: for so many nodes and faults, in that model of time.
A global state is here what the nodes hold, how long it is until their next timers, and what is in flight; where
procedures wait and what their variables hold is left out.

That shows something only of changes that the exploration executes, and only if no bound stopped it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import CommandInput, Timing
from lab.kernel.fingerprint import EPOCH_US
from lab.protocols import Algorithm
from lab.recording.records import Header
from lab.units import format_count
from lab.worlds.campaign.coverage import ExecutedLines, trace_lines
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError
from lab.worlds.explored.local_states import SendsInstantsError
from lab.worlds.explored.states import COMMANDS, CUT, EMPTY, State, Timeouts, links_of
from lab.worlds.loading.config import simulation_header

MOST_STATES = 20_000
"""An exploration of the original with more states is not used: each mutant that survives takes as long."""
_SLACK = 2
"""A mutant may have this many times the states of the original: it may wait at other places."""
_TM_US = 100_000
_INSTANT = re.compile(rb"(?<!\d)1\d{%d}(?!\d)" % (len(str(EPOCH_US)) - 1))


class Bounds(Struct, frozen=True):
    """The bounds of an exploration, with one kill. ``settled``: it begins with all nodes Normal."""

    nodes: int
    restarts: int
    timeouts: Timeouts
    settled: bool = False

    def __str__(self) -> str:
        restarts = f", {format_count(self.restarts, 'restart')}" if self.restarts else ""
        begin = "normal" if self.settled else "start"
        return f"{format_count(self.nodes, 'node')}, 1 kill{restarts}, timeouts {self.timeouts}, from {begin}"


_GROWING = (
    (Bounds(2, 1, "prompt"), Bounds(2, 1, "synchronous")),
    (Bounds(3, 0, "prompt"), Bounds(3, 1, "prompt")),
)
"""Of each of these, the last is used that needs no more than MOST_STATES; each has all states of the first."""


class OriginalExploration(Struct, frozen=True):
    """An exploration of the original: its bounds, the number of its states, and a digest of them.

    ``violated`` are the assertions violated in some state, ``lines`` the executed lines.
    """

    bounds: Bounds
    header: Header
    states: int
    digest: bytes
    violated: tuple[str, ...]
    not_distinguished: tuple[str, ...]
    lines: ExecutedLines

    def executes(self, file: int, lines: frozenset[int]) -> bool:
        """Return whether it executes one of these lines; of a declaration, whether it can make a difference."""
        return bool(lines & self.lines[file]) if lines else self.bounds.restarts > 0


class FoundByExploring(Struct, frozen=True):
    """An assertion that a mutant violates and the original does not, after so many moves, within these bounds."""

    assertion: str
    moves: int
    bounds: str


Reached = Literal["same", "different", "unknown"]
"""The states that a mutant reaches, compared with the original's; unknown if its exploration was stopped."""


class MutantExploration(Struct, frozen=True):
    """The result of exploring a mutant: the states that it reaches, and what it violates."""

    reached: Reached
    violated: tuple[FoundByExploring, ...] = ()


def explore_original(
    protocol: type[Algorithm], parameters: dict[str, Any], files: tuple[str, ...]
) -> Iterator[OriginalExploration]:
    """Yield the explorations that will be compared; none if the protocol cannot be explored within bounds."""
    parameters = {**protocol.finite_parameters, **parameters}
    # most tasks do nothing before there is a coordinator; an election of the user's own may never come to rest
    settled = bool(protocol.upper_protocol and protocol.workload) and protocol.__module__.startswith("lab.")
    for growing in _GROWING:
        largest: OriginalExploration | None = None
        for bounds in growing:
            found = _explore(protocol, replace(bounds, settled=settled), parameters, files)
            if found is None:
                break
            largest = found
        if largest is None:
            return
        yield largest


def _explore(
    protocol: type[Algorithm], bounds: Bounds, parameters: dict[str, Any], files: tuple[str, ...]
) -> OriginalExploration | None:
    nodes = tuple(range(1, bounds.nodes + 1))
    # with Tm = Tp all times are multiples of Tm
    header = simulation_header(protocol, nodes, Timing(_TM_US, _TM_US), parameters)
    with trace_lines(files) as lines:
        explorer = _explored(protocol, header, bounds, MOST_STATES)
    if explorer is None or explorer.tally.stopped_by:
        return None
    return OriginalExploration(
        *(bounds, header, explorer.tally.states, _digest(explorer, nodes)),
        *(tuple(explorer.violated), tuple(explorer.not_distinguished), lines()),
    )


def compare(mutant: type[Algorithm], original: OriginalExploration) -> MutantExploration:
    """Explore the mutant within the same bounds."""
    explorer = _explored(mutant, original.header, original.bounds, _SLACK * original.states)
    if explorer is None:
        return MutantExploration("unknown")
    violated = tuple(
        FoundByExploring(name, explorer.count_moves_to(name), str(original.bounds))
        for name in explorer.violated
        if name not in original.violated
    )
    if violated:
        return MutantExploration("different", violated)
    if explorer.tally.stopped_by:
        return MutantExploration("unknown")
    is_same = _digest(explorer, original.header.nodes) == original.digest
    return MutantExploration("same" if is_same else "different")


def _explored(protocol: type[Algorithm], header: Header, bounds: Bounds, most_states: int) -> Explorer | None:
    """Return the explorer after its search; None if the protocol cannot be explored."""
    commands = tuple(
        (header.nodes[-1], CommandInput(words[0], tuple(words[1:])))
        for words in map(str.split, protocol.workload[:1])
    )
    explorer = Explorer(protocol, header, bounds.timeouts, 1, bounds.restarts, bounds.settled, commands=commands)
    try:
        explorer.run(most_states)
    except (NeverSettledError, SendsInstantsError):
        return None
    if explorer.tally.stopped_by == INTERRUPTED:
        raise KeyboardInterrupt
    return explorer


def _digest(explorer: Explorer, nodes: tuple[int, ...]) -> bytes:
    """Return a digest of the set of all states that were reached."""
    view = _StateView(explorer, len(nodes))
    found = {view.digest(state) for state in explorer.states}
    return _hash(sorted(found))


class _StateView:
    """Global states from outside: what nodes hold and when their timers fire, messages, and the faults left."""

    def __init__(self, explorer: Explorer, count: int) -> None:
        self._locals, self._queues, self._count = explorer.locals, explorer.queues, count
        self._local_digests: dict[int, bytes] = {}
        self._queue_digests: dict[int, bytes] = {EMPTY: b""}

    def digest(self, state: State) -> bytes:
        """Return a digest of the state."""
        nodes = [self._local(local) for local in state[: self._count]]
        links = [self._queue(queue) for queue in links_of(state, self._count)]
        return _hash([*nodes, *links, repr(state[COMMANDS:CUT]).encode()])

    def _local(self, local: int) -> bytes:
        known = self._local_digests.get(local)
        if known is None:
            view = self._locals.views[local]
            values = (view.process, view.state, self._locals.stored(local), self._locals.due_us[local])
            now_us = self._locals.clock_us(local)
            plain = _INSTANT.sub(
                lambda instant: b'"%d ago"' % (now_us - int(instant.group())),
                msgspec.json.encode(values, order="deterministic"),
            )
            known = self._local_digests[local] = _hash([plain])
        return known

    def _queue(self, queue: int) -> bytes:
        known = self._queue_digests.get(queue)
        if known is None:
            message = self._queues.messages[self._queues.first[queue]]
            left_us = b"%d" % self._queues.left_us[queue]
            rest = self._queue(self._queues.rest[queue])
            known = self._queue_digests[queue] = _hash([message.kind.encode(), bytes(message.body), left_us, rest])
        return known


def _hash(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d " % len(part))
        digest.update(part)
    return digest.digest()
