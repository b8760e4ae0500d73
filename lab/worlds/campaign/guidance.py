"""The schedules of a campaign, drawn with regard to what earlier runs reached; the same for any number of workers.

A chunk of runs is drawn from the outcomes of the chunks that came at least ``LAG`` before it: so these are known,
however many chunks are executed at a time.

The corpus has the situations that runs have reached, and from them the schedules to try next. Most runs are struck
while they are executed, at moments at which few faults have struck so far: see ``lab.worlds.campaign.striker``.
Some of these have random faults as well. Others vary a schedule that reached something new. A fixed share is drawn
blindly.

A variation makes one to three small changes: it moves a fault to another message or time, lets a second fault
strike in the reaction to the first, exchanges two nodes, repeats a fault, leaves one out or adds one, draws other
links, or joins two schedules. It depends on its arguments alone.
"""

import os
import time
import zlib
from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.durable import owner_only
from lab.foreign_file import read_foreign
from lab.recording.reader import UNREADABLE
from lab.text import UserError
from lab.worlds.campaign.schedule import (
    Schedule,
    ScheduledFault,
    ScheduleGenerator,
    SchedulePlan,
    draw,
    draw_frame,
    draw_link,
    finished,
    unfinished,
)
from lab.worlds.campaign.situations import Situations
from lab.worlds.campaign.systematic import TreeRun

_SHARES, _SHARES_OF_ELECTED_TASKS = (0.25, 0.35, 0.3), (0.2, 0.1, 0.25)
"""The shares of runs that are drawn without regard to what was reached; that are struck as they go, and have no
other faults; and that are struck in addition to random faults. The rest are variations. The second are for tasks
of an elected coordinator: only few schedules get far into one, and these are worth more variations."""
_MOST_CHOSEN = 400
"""Of a large corpus, the schedules with the rarest situations are varied."""
_SUFFIX = ".schedule.json"


class CorpusError(UserError):
    """A folder that cannot be used as a corpus; the message is for the user."""


class Corpus:
    """The schedules kept, each with the situations that it was the first to reach.

    ``hits`` counts in how many runs each situation was reached, ``struck`` how often a fault struck in each.
    Schedules ``loaded`` from a folder have reached nothing yet: they run first.
    """

    def __init__(self, loaded: tuple[Schedule, ...] = ()) -> None:
        self.hits: dict[int, int] = {}
        self.struck: dict[int, int] = {}
        self.loaded = loaded
        self._kept: list[tuple[Schedule, tuple[int, ...]]] = []
        self._ranking: tuple[list[Schedule], list[float]] = ([], [])

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def schedules(self) -> list[Schedule]:
        """The schedules kept."""
        return [schedule for schedule, _ in self._kept]

    def add(self, schedule: Schedule, situations: Situations, struck: tuple[int, ...]) -> bool:
        """Count what a run of the schedule reached, and keep it if something is new; return whether it is."""
        hits = self.hits
        new = tuple(sorted(each for each in situations.all if each not in hits))
        for each in situations.all:
            hits[each] = hits.get(each, 0) + 1
        for each in struck:
            self.struck[each] = self.struck.get(each, 0) + 1
        if new:
            self._kept.append((schedule, new))
        return bool(new)

    def rank(self) -> None:
        """Weigh the schedules anew: those with situations that few runs have reached come first."""
        weighed = [(sum(1 / self.hits[each] for each in new), schedule) for schedule, new in self._kept]
        weighed.sort(key=lambda each: (-each[0], each[1].seed))
        chosen = weighed[:_MOST_CHOSEN]
        self._ranking = [schedule for _, schedule in chosen], [*accumulate(weight for weight, _ in chosen)]

    def next(self, plan: SchedulePlan, seed: int) -> tuple[Schedule, bool]:
        """Return the schedule of the run with this seed, and whether it is to be struck as it goes."""
        rng = Random(f"{seed}/corpus")
        how = rng.random()
        blind, bare, struck = accumulate(_SHARES_OF_ELECTED_TASKS if plan.has_elected_task else _SHARES)
        if not self._ranking[0] or how < blind:
            return draw(plan, seed), False
        if how < bare:
            return draw_frame(plan, seed), True
        if how < struck:
            schedule = draw(plan, seed)
            # a line that waits for a message of a step whose write takes long does not strike in the same place
            return schedule, not any(fault.command.startswith("slow-disk") for fault in schedule.faults)
        return vary(plan, self._pick(rng), self._pick(rng), seed), False

    def _pick(self, rng: Random) -> Schedule:
        schedules, weights = self._ranking
        return schedules[min(bisect(weights, rng.random() * weights[-1]), len(schedules) - 1)]


def load_corpus(folder: Path) -> Corpus:
    """Return the corpus kept in a folder, which need not exist. Raises CorpusError."""
    loaded = []
    try:
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            loaded.append(msgspec.json.decode(read_foreign(path), type=Schedule))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        place = folder if error.filename is None else error.filename
        raise CorpusError(f"--corpus {place}: {error.strerror}") from None
    except UNREADABLE as error:
        raise CorpusError(f"--corpus {folder}: {path.name} is no schedule of a campaign: {error}") from None
    return Corpus(tuple(loaded))


def save_corpus(corpus: Corpus, folder: Path) -> int:
    """Write the schedules that are not in the folder yet; return how many it then holds. Raises OSError."""
    known = set(corpus.loaded)
    for schedule in corpus.schedules:
        if schedule in known:
            continue
        text = msgspec.json.encode(schedule)
        # another campaign draws another schedule from the same seed
        path = folder / f"{schedule.seed}-{zlib.crc32(text):08x}{_SUFFIX}"
        if not path.exists():
            part = path.with_suffix(".part")
            with open(part, "wb", opener=owner_only) as file:
                file.write(msgspec.json.format(text))
            os.replace(part, path)
    return len(list(folder.glob(f"*{_SUFFIX}")))


_MOST_FAULTS = 40
"""A schedule with more commands is only made shorter."""


def vary(plan: SchedulePlan, parent: Schedule, other: Schedule, seed: int) -> Schedule:
    """Return a variation of ``parent``, with this seed for its links; ``other`` is one to join it with."""
    rng = Random(f"{seed}/variation")
    varied = replace(unfinished(parent), seed=seed)
    for _ in range(rng.randint(1, 3)):
        change = _leave_out if len(varied.faults) > _MOST_FAULTS else rng.choice(_CHANGES)
        varied = change(plan, varied, rng) if change is not _join else _join(plan, varied, rng, other)
    last_us = max((fault.at_us for fault in varied.faults), default=0)
    return finished(replace(varied, end_us=max(varied.end_us, last_us + plan.timing.t_us)))


def _with(schedule: Schedule, place: int, *faults: ScheduledFault) -> Schedule:
    """Return the schedule with these in place of the one fault."""
    return replace(schedule, faults=(*schedule.faults[:place], *faults, *schedule.faults[place + 1 :]))


def _place(schedule: Schedule, rng: Random) -> int | None:
    """Draw the place of a fault, and not of a command of the protocol, if there is one."""
    places = [place for place, fault in enumerate(schedule.faults) if not fault.command.startswith("tell ")]
    return rng.choice(places) if places else None


def _retrigger(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    place = _place(schedule, rng)
    if place is None:
        return schedule
    trigger = ScheduleGenerator.varying(plan, schedule, rng).draw_trigger()
    return _with(schedule, place, replace(schedule.faults[place], on=trigger))


def _shift(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Move a fault; sometimes all later ones with it."""
    place = _place(schedule, rng)
    if place is None:
        return schedule
    t_us, fault = plan.timing.t_us, schedule.faults[place]
    by_us = rng.choice([rng.randint(-t_us, t_us), rng.randint(-5 * t_us, 5 * t_us)]) // 1000 * 1000
    moved = replace(fault, at_us=max(0, fault.at_us + by_us))
    if rng.random() < 0.5:
        return _with(schedule, place, moved)
    later = (replace(each, at_us=max(0, each.at_us + by_us)) for each in schedule.faults[place:])
    return replace(schedule, faults=(*schedule.faults[:place], *later))


def _follow(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Let another fault strike in the reaction to one."""
    place = _place(schedule, rng)
    at_us = 0 if place is None else schedule.faults[place].at_us
    generator = ScheduleGenerator.varying(plan, schedule, rng)
    added = generator.add_fault(at_us + rng.randint(0, 3 * plan.timing.t_us) // 1000 * 1000)
    return replace(schedule, faults=(*schedule.faults, *added))


def _add(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    generator = ScheduleGenerator.varying(plan, schedule, rng)
    return replace(schedule, faults=(*schedule.faults, *generator.add_fault(rng.randint(0, schedule.end_us))))


def _leave_out(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    place = _place(schedule, rng)
    return schedule if place is None else _with(schedule, place)


def _repeat(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Repeat a fault, a while later, sometimes with another node as its victim."""
    place = _place(schedule, rng)
    if place is None:
        return schedule
    fault = schedule.faults[place]
    again = replace(fault, at_us=fault.at_us + rng.randint(0, 8 * plan.timing.t_us) // 1000 * 1000)
    if rng.random() < 0.5 and len(schedule.nodes) > 1:
        one, other = rng.sample(schedule.nodes, 2)
        again = again.renamed({one: other, other: one})
    return _with(schedule, place, fault, again)


def _exchange(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Exchange two nodes, in one fault or in all."""
    if len(schedule.nodes) < 2:
        return schedule
    one, other = rng.sample(schedule.nodes, 2)
    names, place = {one: other, other: one}, _place(schedule, rng)
    if place is not None and rng.random() < 0.5:
        return _with(schedule, place, schedule.faults[place].renamed(names))
    return replace(schedule, faults=tuple(fault.renamed(names) for fault in schedule.faults))


def _relink(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    return replace(schedule, link=draw_link(plan.timing, rng))


def _shrink(plan: SchedulePlan, schedule: Schedule, rng: Random) -> Schedule:
    """Leave out a node, if there are more than the least."""
    if len(schedule.nodes) <= max(2, plan.nodes[0]):
        return schedule
    return schedule.without_node(rng.choice(schedule.nodes))


def _join(plan: SchedulePlan, schedule: Schedule, rng: Random, other: Schedule | None = None) -> Schedule:
    """Append the faults of the other schedule that name nodes of this one."""
    if other is None:
        return schedule
    begin_us = rng.randint(0, schedule.end_us) // 1000 * 1000
    fitting = (fault for fault in unfinished(other).faults if fault.named_nodes() <= set(schedule.nodes))
    later = tuple(replace(fault, at_us=fault.at_us + begin_us) for fault in fitting)
    return replace(schedule, faults=(*schedule.faults, *later))


_CHANGES: tuple[Callable[..., Schedule], ...] = (
    *(_retrigger, _retrigger, _shift, _shift, _follow, _follow, _follow),
    *(_add, _leave_out, _repeat, _exchange, _relink, _shrink, _join),
)
"""The changes; the frequent ones are there more than once."""


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
    branch: TreeRun | None = None


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
