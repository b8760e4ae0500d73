"""The network between nodes: links, faults as rules, and the messages in flight. Pure: no socket, no clock.

``send`` takes a message and says what became of it, ``due`` gives those that arrive by now. Links are
directed, and first-in first-out unless a rule says otherwise (rule M6). Each link has its own generator, so
what happens on one moves nothing on another.
"""

import heapq
from collections.abc import Callable, Iterator
from random import Random
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import Message
from lab.network.rules import Cut, Hold, Links, Rule, Travel

__all__ = ["Network", "Sending"]


class Sending(Struct, frozen=True, gc=False):
    """The network's decision on one message.

    ``due_us``: when it arrives, or None if it does not (``fate`` dropped or held). ``extra``: when further
    copies arrive. ``by``: the ids of the rules that touched it.
    """

    fate: Literal["", "delayed", "dropped", "held"]
    why: str
    due_us: int | None
    extra: tuple[int, ...]
    reordered: bool
    by: tuple[int, ...]


class Network:
    """``chance(source, target)`` gives the generator of a link; latency and jitter hold for every message."""

    def __init__(self, chance: Callable[[int, int], Random], latency_us: int = 0, jitter_us: int = 0) -> None:
        self.rules: dict[int, Rule] = {}
        self._chance = chance
        self._generators: dict[tuple[int, int], Random] = {}
        self._latency_us = latency_us
        self._jitter_us = jitter_us
        self._heap: list[tuple[int, int, Message]] = []
        self._held: list[Message] = []
        self._serial = 0
        self._last_due_us: dict[tuple[int, int], int] = {}

    def set_rule(self, number: int, rule: Rule) -> None:
        """Put a rule in force, after those there are."""
        self.rules[number] = rule

    def lift_rule(self, number: int, now_us: int) -> list[Message]:
        """Take a rule out of force; the messages that it held, which are on their way again."""
        self.rules.pop(number, None)
        return self.release(now_us)

    def narrow_rule(self, number: int, without: Links, now_us: int) -> list[Message]:
        """Take links out of a rule, which is lifted if none is left; the messages released by that."""
        links = self.rules[number].links - without
        if not links:
            return self.lift_rule(number, now_us)
        self.rules[number] = replace(self.rules[number], links=links)
        return self.release(now_us)

    def release(self, now_us: int) -> list[Message]:
        """Let go of the held messages that no rule in force holds; those messages."""
        kept, released = [], []
        for message in self._held:
            if self._is_held(message):
                kept.append(message)
            else:
                released.append(message)
                self._fly(message, self._in_order((message.source, message.target), now_us))
        self._held = kept
        return released

    def _is_held(self, message: Message) -> bool:
        rules = self.rules.values()
        return any(isinstance(rule, Hold) and rule.applies(message) for rule in rules)

    def send(self, message: Message, now_us: int) -> Sending | None:
        """Take a message; what is to become of it. None: it arrives once, in time."""
        link = (message.source, message.target)
        latency_us = self.draw_latency_us(link) if self._jitter_us else self._latency_us
        if not self.rules:
            # what _in_order and _fly do, without the calls: a twentieth of the time of a whole simulation
            due_us = now_us + latency_us
            last_us = self._last_due_us.get(link, 0)
            if last_us > due_us:
                due_us = last_us
            else:
                self._last_due_us[link] = due_us
            self._serial += 1
            heapq.heappush(self._heap, (due_us, self._serial, message))
            return None
        travel = Travel(latency_us)
        chance = self._generator(link)
        by = []
        for number, rule in self.rules.items():
            if rule.applies(message) and rule.decide(travel, chance):
                by.append(number)
                if travel.fate == "dropped":
                    return Sending("dropped", travel.why, None, (), False, tuple(by))
        if travel.fate == "held":
            self._held.append(message)
            return Sending("held", "", None, (), False, tuple(by))
        due_us = now_us + travel.delay_us
        if travel.in_order:
            due_us = self._in_order(link, due_us)
        extra = (due_us,) * (travel.copies - 1)
        for each_us in (due_us, *extra):
            self._fly(message, each_us)
        if not by:
            return None
        delayed = travel.delay_us > latency_us
        return Sending("delayed" if delayed else "", "", due_us, extra, not travel.in_order, tuple(by))

    def resume(self, message: Message, due_us: int | None, in_order: bool = True) -> None:
        """Take over a message that was sent before; it arrives then, or, with None, is held."""
        if due_us is None:
            self._held.append(message)
        else:
            self._fly(message, self._in_order((message.source, message.target), due_us) if in_order else due_us)

    def draw_latency_us(self, link: tuple[int, int]) -> int:
        """How long a message takes on this link before any fault."""
        if not self._jitter_us:
            return self._latency_us
        share = self._generator(link).random()  # randint takes four times as long
        return max(0, self._latency_us - self._jitter_us + int(share * (2 * self._jitter_us + 1)))

    def next_due_us(self) -> int | None:
        """When the next message arrives."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_us: int) -> Iterator[tuple[Message, int | None]]:
        """The messages that arrive by now, in order, each with the id of the cut that stops it, or None."""
        while self._heap and self._heap[0][0] <= now_us:
            yield self.arrive()

    def arrive(self) -> tuple[Message, int | None]:
        """The next message, with the id of the cut that stops it, or None. IndexError where none is on its way."""
        message = heapq.heappop(self._heap)[2]
        return message, self._cut_of(message) if self.rules else None

    def flying(self) -> list[tuple[int, int, Message]]:
        """The messages on their way, held ones apart: (due, serial in this network, message), soonest first."""
        return sorted(self._heap, key=lambda entry: entry[:2])

    def take(self, wanted: Callable[[Message], bool]) -> tuple[Message, int | None] | None:
        """Take the first message out that is wanted, before its time, as ``due`` gives them; None if none is."""
        for entry in self.flying():
            if wanted(entry[2]):
                self._heap.remove(entry)
                heapq.heapify(self._heap)
                return entry[2], self._cut_of(entry[2])
        return None

    def _cut_of(self, message: Message) -> int | None:
        for number, rule in self.rules.items():
            if isinstance(rule, Cut) and rule.applies(message):
                return number
        return None

    def _in_order(self, link: tuple[int, int], due_us: int) -> int:
        last_us = self._last_due_us.get(link, 0)
        if last_us > due_us:
            return last_us
        self._last_due_us[link] = due_us
        return due_us

    def _fly(self, message: Message, due_us: int) -> None:
        self._serial += 1
        heapq.heappush(self._heap, (due_us, self._serial, message))

    def _generator(self, link: tuple[int, int]) -> Random:
        # made when first drawn from: of a million links hardly one may need the 2.5 kB
        found = self._generators.get(link)
        if found is None:
            found = self._generators[link] = self._chance(*link)
        return found
