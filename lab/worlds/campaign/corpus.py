"""The situations that the runs of a campaign have reached, and from them the schedules to try next.

Most runs are struck while they are executed, at moments at which few faults have struck so far: see
``lab.worlds.campaign.striker``. Some of these have random faults as well. Others vary a schedule that reached
something new. A fixed share is drawn blindly.
"""

import os
import zlib
from bisect import bisect
from itertools import accumulate
from pathlib import Path
from random import Random

import msgspec

from lab.durable import owner_only
from lab.foreign_file import read_foreign
from lab.recording.reader import UNREADABLE
from lab.text import UserError
from lab.worlds.campaign.schedule import Schedule, SchedulePlan, draw, draw_frame
from lab.worlds.campaign.situations import Situations
from lab.worlds.campaign.variation import vary

_SHARE_OF_BLIND, _SHARE_OF_BARE, _SHARE_OF_STRUCK = 0.25, 0.35, 0.3
"""The shares of runs that are drawn without regard to what was reached; that are struck as they go, and have no
other faults; and that are struck in addition to random faults."""
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
        if not self._ranking[0] or how < _SHARE_OF_BLIND:
            return draw(plan, seed), False
        if how < _SHARE_OF_BLIND + _SHARE_OF_BARE:
            return draw_frame(plan, seed), True
        if how < _SHARE_OF_BLIND + _SHARE_OF_BARE + _SHARE_OF_STRUCK:
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
