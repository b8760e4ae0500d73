"""Find triggers for a command of a recording, so that a script gives it at the corresponding time.

    then when all normal        by what has become true since the previous command
    on status 4 Election        by a step of the protocol, just before the command
    after 1.5s                  by the time since the previous command
    at 3.214s                   by the clock

The first is the most robust: it also fits other runs, machines and delays. The last is the most exact, at least in
simulation. Which of them is needed is found by trial.
"""

from msgspec import Struct

from lab.protocols import Status
from lab.scenario.command_history import CommandHistory, GivenCommand, Observation, happened_between
from lab.script import After, At, Every, OnMessage, OnStatus, Trigger, When
from lab.script.predicates import All, Is, Not, Predicate
from lab.script.printing import unparse

__all__ = ["Anchor", "anchors", "exact_anchors", "rounded"]

_BY_HAND_US = 20_000
"""Shorter than the time between two commands given by hand."""
_ALL_NORMAL = Is("all", "normal")
_STATUSES = tuple(status.value for status in Status)


class Anchor(Struct, frozen=True):
    """The triggers of a line. ``follows``: it first waits for the line before it."""

    triggers: tuple[Trigger, ...] = ()
    follows: bool = True

    def __str__(self) -> str:
        words = [unparse(trigger) for trigger in self.triggers]
        if self.follows and not (self.triggers and isinstance(self.triggers[0], After)):
            words.insert(0, "then")
        return " ".join(words)


def anchors(history: CommandHistory, before: GivenCommand | None, given: GivenCommand) -> list[Anchor]:
    """Return the anchors for a command that was given after the one ``before`` it, the most robust first."""
    return _Anchors(history, before, given).found()


def exact_anchors(history: CommandHistory, given: GivenCommand) -> list[Anchor]:
    """Return the anchors that give the command at exactly the same time in the same run.

    These are: as it was typed, which is exact if that was before the run; at the message that triggered it; by the
    clock.
    """
    triggers = _triggers(given)
    found = []
    if triggers and not isinstance(triggers[-1], Every) and not isinstance(triggers[0], After):
        found.append(Anchor(triggers, given.line.follows))
    if triggers and isinstance(triggers[-1], OnMessage):
        found += _at_message(history, given, triggers[-1])
    return [*found, Anchor((At(given.at_us),), follows=False)]


def _at_message(history: CommandHistory, given: GivenCommand, trigger: OnMessage) -> list[Anchor]:
    """Return the anchor at the message that triggered the command, counted from the start of the run."""
    earlier = [event for event in history.messages if event.record < given.began]
    hits = [event for event in earlier if event.at_us == given.at_us and _matches(trigger, event.what)]
    if not hits:
        return []
    _, kind, source, target = hits[-1].what
    nth = sum(event.what == hits[-1].what for event in earlier)
    return [Anchor((OnMessage(trigger.event, kind, source, target, nth),), follows=False)]


def _matches(trigger: OnMessage, what: tuple[str, str, int, int]) -> bool:
    event, kind, source, target = what
    ends = trigger.source in (None, source) and trigger.target in (None, target)
    return (trigger.event, trigger.kind) == (event, kind) and ends


def rounded(us: int) -> int:
    """Round to a number that a person would write."""
    grain_us = next((grain for grain in (100_000, 10_000, 1_000) if us >= 10 * grain), 1)
    return round(us / grain_us) * grain_us


def _triggers(given: GivenCommand) -> tuple[Trigger, ...]:
    line = given.line
    return () if line.trigger is None else (line.trigger, *line.then)


class _Anchors:
    def __init__(self, history: CommandHistory, before: GivenCommand | None, given: GivenCommand) -> None:
        self._history = history
        self._given = given
        self._after = 0 if before is None else before.record
        self._since_us = 0 if before is None else before.at_us
        self._follows = before is not None

    def found(self) -> list[Anchor]:
        given = self._given
        gap_us = given.at_us - self._since_us
        found = self._own()
        if self._follows and gap_us < _BY_HAND_US:
            found.append(Anchor())
        found += self._by_state()
        found += self._by_status()
        found.append(self._anchor(After(rounded(gap_us))))
        found += self._by_message()
        found += [self._anchor(After(gap_us)), Anchor((At(rounded(given.at_us)),), follows=False)]
        return list(dict.fromkeys([*found, *exact_anchors(self._history, given)]))

    def _anchor(self, *triggers: Trigger) -> Anchor:
        return Anchor(triggers, self._follows)

    def _own(self) -> list[Anchor]:
        """Return the anchors with the user's own triggers, except for the clock."""
        kept = tuple(trigger for trigger in _triggers(self._given) if not isinstance(trigger, At))
        if not kept or any(isinstance(trigger, Every | After) for trigger in kept):
            return []
        return list(dict.fromkeys([Anchor(kept, self._follows and self._given.line.follows), self._anchor(*kept)]))

    def _by_state(self) -> list[Anchor]:
        """Return anchors at the latest agreement of all, or, without one, at the latest change of who leads."""
        history, given = self._history, self._given
        agreed = happened_between(history.agreed, self._after, given.began)
        leaders = happened_between(history.leaders, self._after, given.began)
        if agreed and agreed[-1].what is not None:
            return self._once(_ALL_NORMAL, agreed[-1].at_us, self._disagreed_at_once(agreed))
        if leaders and leaders[-1].what and not (agreed and agreed[-1].what):
            parts = tuple(Is(node, "leads") for node in leaders[-1].what)
            return self._once(parts[0] if len(parts) == 1 else All(parts), leaders[-1].at_us, True)
        return []

    def _disagreed_at_once(self, agreed: list[Observation[int | None]]) -> bool:
        """Return whether the agreement cannot be confused with the one before the previous command."""
        at_first = [event for event in self._history.agreed if event.record <= self._after][-1].what
        is_by_command = agreed[0].what is None and agreed[0].record in self._history.processes
        return at_first is None or is_by_command

    def _once(self, predicate: Predicate, since_us: int, is_new: bool) -> list[Anchor]:
        triggers = (When(predicate),) if is_new else (When(Not(predicate)), When(predicate))
        late_us = self._given.at_us - since_us
        later = () if late_us < self._history.header.timing.t_us else (After(rounded(late_us)),)
        return list(dict.fromkeys([self._anchor(*triggers), self._anchor(*triggers, *later)]))

    def _by_status(self) -> list[Anchor]:
        """Return an anchor at the status that a node had just entered."""
        if not self._history.elects:
            return []
        entered = happened_between(self._history.statuses, self._after, self._given.began)
        last = entered[-1] if entered else None
        if last is None or last.what[1] not in _STATUSES or sum(event.what == last.what for event in entered) > 1:
            return []
        late_us = self._given.at_us - last.at_us
        if late_us > self._history.header.timing.t_us:
            return []
        return [self._anchor(OnStatus(*last.what), *self._later(late_us))]

    def _by_message(self) -> list[Anchor]:
        """Return an anchor at the message that had just been sent or delivered."""
        passed = happened_between(self._history.messages, self._after, self._given.began)
        last = passed[-1] if passed else None
        if last is None or self._given.at_us - last.at_us > self._history.header.timing.tm_us:
            return []
        event, kind, source, target = last.what
        nth = sum(event.what == last.what for event in passed)
        on = OnMessage(event, kind, source, target, nth)  # type: ignore[arg-type]
        return [self._anchor(on, *self._later(self._given.at_us - last.at_us))]

    @staticmethod
    def _later(us: int) -> tuple[Trigger, ...]:
        return (After(rounded(us)),) if us >= 1_000 else ()
