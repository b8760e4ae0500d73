"""The schedules of a campaign, drawn with regard to what earlier runs reached; the same for any number of workers.

A chunk of runs is drawn from the outcomes of the chunks that came at least ``LAG`` before it: so these are known,
however many chunks are executed at a time.
"""

import time
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from lab.worlds.campaign.corpus import Corpus
from lab.worlds.campaign.schedule import Schedule, SchedulePlan, draw
from lab.worlds.campaign.situations import Situations
from lab.worlds.campaign.systematic import Branch

LAG = 16
"""At most this many chunks may be executed at a time."""

_TRACED = 10


class Assignment(Struct, frozen=True):
    """A run to make: its schedule; with ``traced``, the ways through the protocol are collected in it.

    ``struck``: how often faults have struck so far, if it is to be struck as it goes. ``branch``: its place in the
    tree of a systematic campaign.
    """

    schedule: Schedule
    traced: bool = False
    struck: dict[int, int] | None = None
    branch: Branch | None = None


class Guide:
    """Draws the schedules for ``runs`` runs (0: without end) from ``seed`` on; ``add`` takes what they reached.

    Without a corpus, each schedule depends on its seed alone. Runs that were made earlier are skipped: what they
    reached is learned at the same places, so that all later schedules are those that would have been drawn.
    """

    def __init__(self, plan: SchedulePlan, seed: int, runs: int, corpus: Corpus | None) -> None:
        self._plan = plan
        self._seed = seed
        self._runs = runs
        self._corpus = corpus
        self._outcomes: deque[tuple[Schedule, Situations, tuple[int, ...]]] = deque()
        self._lengths: deque[int] = deque()
        self._drawn = 0
        self._chunk = range(0)

    def add(self, schedule: Schedule, situations: Situations, struck: tuple[int, ...] = ()) -> None:
        """Note what the next run, in the order of the seeds, has reached."""
        self._outcomes.append((schedule, situations, struck))

    def skip(self, schedule: Schedule, situations: Situations, struck: tuple[int, ...]) -> None:
        """Note what the next run has reached, which was made earlier, instead of drawing it."""
        if not self._chunk:
            self._begin_chunk()
        self._chunk = self._chunk[1:]
        self.add(schedule, situations, struck)

    def chunks(self, ends_s: float | None = None) -> Iterator[list[Assignment]]:
        """Yield the runs to make, a chunk at a time; begin no more at this monotonic time, in seconds."""
        while self._chunk or not self._runs or self._drawn < self._runs:
            if ends_s is not None and time.monotonic() >= ends_s:
                return
            if not self._chunk:
                self._begin_chunk()
            places, self._chunk = self._chunk, range(0)
            struck = {} if self._corpus is None else dict(self._corpus.struck)
            yield [self._assign(place, struck) for place in places]

    def _begin_chunk(self) -> None:
        """Learn from the chunk that is ``LAG`` chunks back, and begin the next one."""
        length = _length(self._drawn)
        if self._runs:
            length = min(length, self._runs - self._drawn)
        if len(self._lengths) == LAG:
            self._learn(self._lengths.popleft())
        self._lengths.append(length)
        self._chunk = range(self._drawn, self._drawn + length)
        self._drawn += length

    def finish(self) -> None:
        """Take what is left of the outcomes, once the last run is over."""
        self._learn(len(self._outcomes))

    def _learn(self, runs: int) -> None:
        if self._corpus is None:
            return
        is_new = False
        for _ in range(runs):
            is_new |= self._corpus.add(*self._outcomes.popleft())
        if is_new:
            self._corpus.rank()

    def _assign(self, place: int, struck: dict[int, int]) -> Assignment:
        traced = is_traced(place)
        if self._corpus is None:
            return Assignment(draw(self._plan, self._seed + place), traced)
        if place < len(self._corpus.loaded):
            return Assignment(self._corpus.loaded[place], traced)
        schedule, is_struck = self._corpus.next(self._plan, self._seed + place)
        return Assignment(schedule, traced, struck if is_struck else None)


def is_traced(place: int) -> bool:
    """Return whether the ways are collected in this run: in the first ten, and in every tenth after that."""
    return place < _TRACED or place % _TRACED == 0


def _length(done: int) -> int:
    """Return the length of the next chunk: at first, learning early matters more than few messages."""
    return 2 if done < 200 else 5 if done < 1_000 else 10
