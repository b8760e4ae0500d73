"""The script of a recording: every command that changed something, so that it comes when it came.

For each command there are several triggers that it may have, from robust to exact (``anchors``). A script is tried
in simulation, and what it comes to is compared with what the recording came to. The most robust triggers are tried
first, all together. If that comes to something else, an assignment that comes to the same is looked for; and from
there every command gets the most robust trigger that keeps it so. Commands that touch nothing are left out, as
long as it comes to the same. Of two scripts that do, one is better that does with other seeds and delays too.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Protocol
from lab.recording.records import Header
from lab.scenario.anchors import Anchor, anchors, exact_anchors
from lab.scenario.head import LONGEST_US
from lab.scenario.outcome import Outcome
from lab.scenario.story import Given, Story, rounded_up
from lab.scenario.trial import Trial, disturbed_headers, simulated_header, try_script
from lab.script import Expectation
from lab.worlds.campaign.trial import RunawayError

__all__ = ["Draft", "Found", "Line", "Search"]


class Line(Struct, frozen=True):
    """A command, and what it waits for."""

    given: Given
    anchor: Anchor

    def __str__(self) -> str:
        """As the language has it."""
        return f"{self.anchor} {self.given.command}".strip()


class Draft(Struct, frozen=True):
    """The script of a scenario, without what is expected; the nodes that it is for, and when it ends."""

    nodes: tuple[int, ...]
    lines: tuple[Line, ...]
    end_us: int


class Found(Struct, frozen=True):
    """A draft that was tried: what is ``missed`` of the outcome, and which lines touch nothing, or never come."""

    draft: Draft
    missed: tuple[Expectation, ...]
    idle: tuple[Line, ...] = ()
    missing: tuple[Line, ...] = ()
    trial: Trial | None = None

    @property
    def is_same(self) -> bool:
        """Whether it comes to the same."""
        return self.trial is not None and not self.missed

    @property
    def is_good(self) -> bool:
        """Whether it comes to the same, and every line does its part."""
        return self.is_same and not self.idle and not self.missing

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The less the better."""
        return not self.is_same, len(self.missing) + len(self.missed), len(self.idle)


class Search:
    """Looks for the script of a recording. ``tell`` is called with the number of runs so far."""

    def __init__(
        self, story: Story, protocol: type[Protocol], outcome: Outcome, tell: Callable[[int], None]
    ) -> None:
        self.outcome = outcome
        self._story = story
        self._protocol = protocol
        self._header = simulated_header(story.header)
        self._tell = tell
        self._tried = 0
        self._known: dict[Draft, Found] = {}

    def find(self) -> Found:
        """The most robust draft that comes to the same; if none does, the one that comes nearest."""
        best: Found | None = None
        for end_us in self._ends():
            for assign in (self.robust, self._second, self._typed, self._by_step, self._by_clock):
                found = self._cleaned(assign, end_us)
                if best is None or found.rank < best.rank:
                    best = found
                if found.is_good and self.is_steady(found):
                    return self._improved(found)
            if best is not None and best.is_good:
                break
        assert best is not None
        return self._improved(best) if best.is_same else best

    def attempt(self, draft: Draft) -> Found:
        """Try it, if it has not been tried."""
        found = self._known.get(draft)
        if found is None:
            found = self._known[draft] = self._attempt(draft, self._header)
        return found

    def is_steady(self, found: Found) -> bool:
        """Whether it comes to the same with other seeds and delays."""
        return all(self._attempt(found.draft, header).is_good for header in disturbed_headers(self._header))

    def robust(self, given: tuple[Given, ...]) -> tuple[Line, ...]:
        """These commands, each with the most robust of its triggers."""
        return self._level(given, 0)

    def _attempt(self, draft: Draft, header: Header) -> Found:
        self._tried += 1
        self._tell(self._tried)
        try:
            trial = try_script(
                self._protocol, replace(header, nodes=draft.nodes), [*map(str, draft.lines)], draft.end_us
            )
        except RunawayError:
            return Found(draft, ())
        missed = self.outcome.missed(trial.cluster, trial.judge)
        idle, missing = (
            tuple(line for number, line in enumerate(draft.lines, 1) if number in numbers)
            for numbers in (trial.idle, trial.missing)
        )
        return Found(draft, tuple(missed), idle, missing, trial)

    def _ends(self) -> Iterator[int]:
        """When it may end: after time enough for all to agree, at a round time, or when the recording did.

        What came of the commands of a recording that goes on long after them is over in that time.

        The recording is no longer than a scenario may be.
        """
        story = self._story
        end_us = max(story.cluster.at_us, 1_000)
        settled_us = story.last_us + story.within_us
        first_us = settled_us if story.is_cut else max(end_us, settled_us)
        ends = dict.fromkeys([rounded_up(first_us), rounded_up(end_us), end_us])
        yield from (each for each in ends if each <= LONGEST_US)

    # whole assignments

    def _second(self, given: tuple[Given, ...]) -> tuple[Line, ...]:
        return self._level(given, 1)

    def _level(self, given: tuple[Given, ...], level: int) -> tuple[Line, ...]:
        lines = []
        for before, each in zip((None, *given), given, strict=False):
            found = anchors(self._story, before, each)
            lines.append(Line(each, found[min(level, len(found) - 1)]))
        return tuple(lines)

    def _typed(self, given: tuple[Given, ...]) -> tuple[Line, ...]:
        return tuple(Line(each, exact_anchors(self._story, each)[0]) for each in given)

    def _by_step(self, given: tuple[Given, ...]) -> tuple[Line, ...]:
        return tuple(Line(each, exact_anchors(self._story, each)[-2:][0]) for each in given)

    def _by_clock(self, given: tuple[Given, ...]) -> tuple[Line, ...]:
        return tuple(Line(each, exact_anchors(self._story, each)[-1]) for each in given)

    def _cleaned(self, assign: Callable[[tuple[Given, ...]], tuple[Line, ...]], end_us: int) -> Found:
        """The draft with this assignment, without the commands that do nothing, as far as they can go."""
        draft = Draft(self._story.header.nodes, assign(tuple(self._story.given)), end_us)
        return self.cleaned(draft, lambda lines: assign(tuple(line.given for line in lines)))

    def cleaned(self, draft: Draft, again: Callable[[tuple[Line, ...]], tuple[Line, ...]]) -> Found:
        """Try it; without lines that do nothing, as long as it does no worse. ``again``: how the others wait."""
        found = self.attempt(draft)
        while found.idle and not found.missing:
            lines = tuple(line for line in found.draft.lines if line not in found.idle)
            cleaner = self.attempt(replace(draft, lines=again(lines)))
            if cleaner.rank > found.rank:
                break
            found = cleaner
        return found

    def _improved(self, found: Found) -> Found:
        """Give each command the most robust trigger that keeps what it comes to, from the first to the last."""
        for place, line in enumerate(found.draft.lines):
            before = found.draft.lines[place - 1].given if place else None
            for anchor in anchors(self._story, before, line.given):
                if anchor == line.anchor:
                    break
                lines = list(found.draft.lines)
                lines[place] = replace(line, anchor=anchor)
                better = self.attempt(replace(found.draft, lines=tuple(lines)))
                if better.rank <= found.rank:
                    found = better
                    break
        return found
