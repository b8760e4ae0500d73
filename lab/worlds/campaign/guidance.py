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

    Without a corpus, each schedule depends on its seed alone.
    """

    def __init__(self, plan: SchedulePlan, seed: int, runs: int, corpus: Corpus | None) -> None:
        self._plan = plan
        self._seed = seed
        self._runs = runs
        self._corpus = corpus
        self._outcomes: deque[tuple[Schedule, Situations, tuple[int, ...]]] = deque()

    def add(self, schedule: Schedule, situations: Situations, struck: tuple[int, ...] = ()) -> None:
        """Note what the next run, in the order of the seeds, has reached."""
        self._outcomes.append((schedule, situations, struck))

    def chunks(self, for_s: float | None = None) -> Iterator[list[Assignment]]:
        """Yield the runs to make, a chunk at a time; begin no more after ``for_s`` seconds."""
        began_s = time.monotonic()
        lengths: deque[int] = deque()
        done = 0
        while not self._runs or done < self._runs:
            if for_s is not None and time.monotonic() - began_s >= for_s:
                return
            length = _length(done)
            if self._runs:
                length = min(length, self._runs - done)
            if len(lengths) == LAG:
                self._learn(lengths.popleft())
            lengths.append(length)
            struck = {} if self._corpus is None else dict(self._corpus.struck)
            yield [self._assign(place, struck) for place in range(done, done + length)]
            done += length

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
