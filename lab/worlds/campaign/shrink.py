"""Shrinking: the least schedule that still violates the assertion.

Each pass tries schedules that are simpler in one way; one that still violates the same assertion, and breaks no
other assumption, takes the place of the one it came from. The passes go round until none of them finds anything:

    strikes     leave them out, half of them at a time, then fewer (Zeller's ddmin)
    nodes       leave one out, with the strikes that name it
    messages    let all of them take less time, and no varying time
    chances     touch every message instead of some
    instants    strike at an instant instead of at a message; earlier; at a round number
    end         stop right after the violation
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from lab.properties import Violation
from lab.recording.records import Commanded, Link
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.campaign.trial import RunawayError, Trial

__all__ = ["Shrinking", "fewer", "shrink"]

T = TypeVar("T")

_LEAST_US = 1_000
"""Messages are not made any faster: in no time at all they could go round for ever at one instant."""
_PERCENT = re.compile(r"\d+%")


def shrink(
    least: Callable[[], T], passes: Sequence[Callable[[T], Iterator[T]]], keep: Callable[[T], bool]
) -> None:
    """Let the passes go round, each over the ``least`` so far, until none gives anything that is kept.

    ``keep`` tries what is simpler, and makes it the least if it will do.
    """
    smaller = True
    while smaller:
        smaller = False
        for simpler in passes:
            while any(keep(each) for each in simpler(least())):
                smaller = True


def fewer(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Without some of them: all at first, then half of them at a time, then fewer (Zeller's ddmin)."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


class Shrinking:
    """Shrinks ``trial``, in which ``violation`` was found. ``carry_out`` runs a schedule to its end, no further.

    ``tried`` counts the runs that it took. ``trial`` and ``violation`` are the least found so far.
    """

    def __init__(self, trial: Trial, violation: Violation, carry_out: Callable[[Schedule], Trial]) -> None:
        self.trial = trial
        self.violation = violation
        self.tried = 0
        self._seen = {trial.schedule}
        self._carry_out = carry_out
        self._broken = {broken.assumption for broken in violation.broken}

    def run(self, progress: Callable[[int], None] = lambda tried: None) -> None:
        """Shrink until nothing gets any smaller; ``progress`` is told the number of runs so far."""
        self._progress = progress
        self._keep(replace(self.trial.schedule, end_us=_end_us(self.violation)))
        passes = (self._strikes, self._nodes, self._messages, self._chances, self._instants)
        shrink(lambda: self.trial.schedule, passes, self._keep)

    def _keep(self, schedule: Schedule) -> bool:
        """Try it; if it shows the same, it is what is shrunk further, and its end is where that shows."""
        if schedule in self._seen:
            return False
        self._seen.add(schedule)
        self.tried += 1
        self._progress(self.tried)
        try:
            trial = self._carry_out(schedule)
        except RunawayError:
            return False
        found = next(filter(self._is_the_same, trial.violations), None)
        if found is None:
            return False
        self.trial, self.violation = trial, found
        ended = _end_us(found)
        if ended < schedule.end_us:
            left = tuple(strike for strike in schedule.strikes if strike.at_us <= found.at_us)
            self._keep(replace(schedule, end_us=ended, strikes=left))
        return True

    def _is_the_same(self, violation: Violation) -> bool:
        wanted = self.violation
        return (
            violation.assertion == wanted.assertion
            and violation.is_failure == wanted.is_failure
            and {broken.assumption for broken in violation.broken} <= self._broken
        )

    # each gives simpler schedules, the boldest first

    @staticmethod
    def _strikes(schedule: Schedule) -> Iterator[Schedule]:
        for strikes in fewer(schedule.strikes):
            yield replace(schedule, strikes=strikes)

    @staticmethod
    def _nodes(schedule: Schedule) -> Iterator[Schedule]:
        if len(schedule.nodes) > 2:
            for node in schedule.nodes:
                yield schedule.without_node(node)

    @staticmethod
    def _messages(schedule: Schedule) -> Iterator[Schedule]:
        link = schedule.link
        if link.jitter_us:
            yield replace(schedule, link=Link(link.latency_us + link.jitter_us))
            yield replace(schedule, link=Link(link.latency_us))
        for less_us in (_LEAST_US, link.latency_us // 2):
            if _LEAST_US <= less_us < link.latency_us:
                yield replace(schedule, link=Link(less_us, min(link.jitter_us, less_us)))

    @staticmethod
    def _chances(schedule: Schedule) -> Iterator[Schedule]:
        for place, strike in enumerate(schedule.strikes):
            certain = replace(strike, command=_PERCENT.sub("100%", strike.command))
            yield replace(schedule, strikes=(*schedule.strikes[:place], certain, *schedule.strikes[place + 1 :]))

    def _instants(self, schedule: Schedule) -> Iterator[Schedule]:
        for place, strike in enumerate(schedule.strikes):
            for simpler in (*self._fired(strike), *_simpler(strike)):
                strikes = (*schedule.strikes[:place], simpler, *schedule.strikes[place + 1 :])
                yield replace(schedule, strikes=tuple(sorted(strikes, key=lambda strike: strike.at_us)))

    def _fired(self, strike: ScheduledFault) -> Iterator[ScheduledFault]:
        """Instead of at a message: when that came, or a little later."""
        if strike.on:
            for record in self.trial.records:
                if isinstance(record, Commanded) and record.text == str(strike):
                    for grain_us in (100_000, 1_000):
                        yield ScheduledFault((record.at_us // grain_us + 1) * grain_us, "", strike.command)


def _end_us(violation: Violation) -> int:
    """A little later, in whole milliseconds."""
    return (violation.at_us // 1_000 + 1) * 1_000


def _simpler(strike: ScheduledFault) -> Iterator[ScheduledFault]:
    if strike.on:
        yield replace(strike, on="")
        if "->" in strike.on:
            yield replace(strike, on=strike.on.rpartition(" ")[0])
    for earlier_us in (0, strike.at_us // 2_000 * 1_000, strike.at_us - 100_000):
        if 0 <= earlier_us < strike.at_us:
            yield replace(strike, at_us=earlier_us)
    for grain_us in (1_000_000, 100_000, 10_000):
        if strike.at_us % grain_us:
            yield replace(strike, at_us=strike.at_us // grain_us * grain_us)
