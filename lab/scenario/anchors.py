"""What a command may wait for in a script, so that it comes when it came in the recording.

    then when all normal        by what had come to be so since the command before it
    on status 4 Election        by a step of the protocol, just before it
    after 1.5s                  by the time since the command before it
    at 3.214s                   by the clock

The first lasts longest: it holds in another run, on other machines, with other delays. The last is the most exact,
in simulation at least. Which of them is needed is found out by trying.
"""

from msgspec import Struct

from lab.protocols import Status
from lab.scenario.story import Given, Happened, Story, happened_between
from lab.script import After, At, Every, OnMessage, OnStatus, Trigger, When
from lab.script.predicates import All, Is, Not, Predicate
from lab.script.printing import said

__all__ = ["Anchor", "anchors", "exact_anchors", "rounded"]

_AT_ONCE_US = 20_000
"""Nobody gives two commands so fast one after the other by hand."""
_ALL_NORMAL = Is("all", "normal")
_STATUSES = tuple(status.value for status in Status)


class Anchor(Struct, frozen=True):
    """The triggers of a line; ``follows``: it waits for the line before it first."""

    triggers: tuple[Trigger, ...] = ()
    follows: bool = True

    def __str__(self) -> str:
        """As the language has it."""
        words = [said(trigger) for trigger in self.triggers]
        if self.follows and not (self.triggers and isinstance(self.triggers[0], After)):
            words.insert(0, "then")
        return " ".join(words)


def anchors(story: Story, before: Given | None, given: Given) -> list[Anchor]:
    """What this command, which came after the one ``before`` it, may wait for; the most robust first."""
    return _Anchors(story, before, given).found()


def exact_anchors(story: Story, given: Given) -> list[Anchor]:
    """What it may wait for so that it comes at its very instant, if it is given in the same run again.

    As it was typed, which is exact if that was before the run; at the message it came with; by the clock.
    """
    triggers = _triggers(given)
    found = []
    if triggers and not isinstance(triggers[-1], Every) and not isinstance(triggers[0], After):
        found.append(Anchor(triggers, given.line.follows))
    if triggers and isinstance(triggers[-1], OnMessage):
        found += _at_message(story, given, triggers[-1])
    return [*found, Anchor((At(given.at_us),), follows=False)]


def _at_message(story: Story, given: Given, wanted: OnMessage) -> list[Anchor]:
    """The message that it struck at, counted from the start of the run."""
    earlier = [event for event in story.messages if event.record < given.began]
    hits = [event for event in earlier if event.at_us == given.at_us and _is_meant(wanted, event.what)]
    if not hits:
        return []
    _, kind, source, target = hits[-1].what
    nth = sum(event.what == hits[-1].what for event in earlier)
    return [Anchor((OnMessage(wanted.moment, kind, source, target, nth),), follows=False)]


def _is_meant(wanted: OnMessage, what: tuple[str, str, int, int]) -> bool:
    moment, kind, source, target = what
    ends = wanted.source in (None, source) and wanted.target in (None, target)
    return (wanted.moment, wanted.kind) == (moment, kind) and ends


def rounded(us: int) -> int:
    """To a number that people would write."""
    grain_us = next((grain for grain in (100_000, 10_000, 1_000) if us >= 10 * grain), 1)
    return round(us / grain_us) * grain_us


def _triggers(given: Given) -> tuple[Trigger, ...]:
    line = given.line
    return () if line.trigger is None else (line.trigger, *line.then)


class _Anchors:
    def __init__(self, story: Story, before: Given | None, given: Given) -> None:
        self._story = story
        self._given = given
        self._after = 0 if before is None else before.record
        self._since_us = 0 if before is None else before.at_us
        self._follows = before is not None

    def found(self) -> list[Anchor]:
        given = self._given
        gap_us = given.at_us - self._since_us
        found = self._own()
        if self._follows and gap_us < _AT_ONCE_US:
            found.append(Anchor())
        found += self._by_state()
        found += self._by_status()
        found.append(self._anchor(After(rounded(gap_us))))
        found += self._by_message()
        found += [self._anchor(After(gap_us)), Anchor((At(rounded(given.at_us)),), follows=False)]
        return list(dict.fromkeys([*found, *exact_anchors(self._story, given)]))

    def _anchor(self, *triggers: Trigger) -> Anchor:
        return Anchor(triggers, self._follows)

    def _own(self) -> list[Anchor]:
        """What the user had it wait for, but for the clock."""
        kept = tuple(trigger for trigger in _triggers(self._given) if not isinstance(trigger, At))
        if not kept or any(isinstance(trigger, Every | After) for trigger in kept):
            return []
        return list(dict.fromkeys([Anchor(kept, self._follows and self._given.line.follows), self._anchor(*kept)]))

    def _by_state(self) -> list[Anchor]:
        """That all agreed, or who led where they did not: the newest of that, if it was not so before."""
        story, given = self._story, self._given
        agreed = happened_between(story.agreed, self._after, given.began)
        leaders = happened_between(story.leaders, self._after, given.began)
        if agreed and agreed[-1].what is not None:
            return self._once(_ALL_NORMAL, agreed[-1].at_us, self._disagreed_at_once(agreed))
        if leaders and leaders[-1].what and not (agreed and agreed[-1].what):
            parts = tuple(Is(node, "leads") for node in leaders[-1].what)
            return self._once(parts[0] if len(parts) == 1 else All(parts), leaders[-1].at_us, True)
        return []

    def _disagreed_at_once(self, agreed: list[Happened[int | None]]) -> bool:
        """Whether nobody can take it for what was so before the command before this one."""
        at_first = [event for event in self._story.agreed if event.record <= self._after][-1].what
        is_by_command = agreed[0].what is None and agreed[0].record in self._story.processes
        return at_first is None or is_by_command

    def _once(self, predicate: Predicate, since_us: int, is_new: bool) -> list[Anchor]:
        triggers = (When(predicate),) if is_new else (When(Not(predicate)), When(predicate))
        late_us = self._given.at_us - since_us
        later = () if late_us < self._story.header.timing.t_us else (After(rounded(late_us)),)
        return list(dict.fromkeys([self._anchor(*triggers), self._anchor(*triggers, *later)]))

    def _by_status(self) -> list[Anchor]:
        """The status that a node had just entered, while they did not agree."""
        if not self._story.elects:
            return []
        entered = happened_between(self._story.statuses, self._after, self._given.began)
        last = entered[-1] if entered else None
        if last is None or last.what[1] not in _STATUSES or sum(event.what == last.what for event in entered) > 1:
            return []
        late_us = self._given.at_us - last.at_us
        if late_us > self._story.header.timing.t_us:
            return []
        return [self._anchor(OnStatus(*last.what), *self._later(late_us))]

    def _by_message(self) -> list[Anchor]:
        """The message that had just left or come."""
        passed = happened_between(self._story.messages, self._after, self._given.began)
        last = passed[-1] if passed else None
        if last is None or self._given.at_us - last.at_us > self._story.header.timing.tm_us:
            return []
        moment, kind, source, target = last.what
        nth = sum(event.what == last.what for event in passed)
        on = OnMessage(moment, kind, source, target, nth)  # type: ignore[arg-type]
        return [self._anchor(on, *self._later(self._given.at_us - last.at_us))]

    @staticmethod
    def _later(us: int) -> tuple[Trigger, ...]:
        return (After(rounded(us)),) if us >= 1_000 else ()
