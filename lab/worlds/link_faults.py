"""The link faults in force: set as rules of the network, and lifted as a whole or on some of their links.

Recording a fault may fire triggers that lift it, or others: see ``Control``.
"""

from collections.abc import Callable

from lab.kernel import Timing
from lab.network import Links, Network, Rule
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Fault, Record, Routed
from lab.script import Heal, resolve_links
from lab.units import format_count
from lab.worlds.outcome import CommandOutcome

__all__ = ["LinkFaults"]

_ENDS = {
    "heal": ((), "no link fault is in force", "no fault is in force"),
    "release": (("hold",), "nothing is held", "nothing is held"),
    "join": (("cut", "partition"), "nothing is cut", "nothing is cut"),
}
"""For each verb: the kinds of faults that it ends (none: all), and two replies when there is nothing to end.

The first reply: there are no such faults at all; the second: none on the links named.
"""


class LinkFaults:
    """Set and lift link faults. ``number_next`` returns the number of a new fault.

    ``spare`` is the unused part of Tm and Tp: a longer delay breaks assumption 8 or 9.
    """

    def __init__(
        self,
        network: Network,
        spare: Timing,
        record: Callable[[Record], None],
        now_us: Callable[[], int],
        number_next: Callable[[], int],
    ) -> None:
        self._network = network
        self._spare = spare
        self._record = record
        self._now_us = now_us
        self._number_next = number_next
        self._kinds: dict[int, str] = {}

    def resume(self, rules: dict[int, tuple[str, Rule]]) -> None:
        """Continue a run in which these rules were in force, each with its kind."""
        for number, (kind, rule) in rules.items():
            self._network.add_rule(number, rule)
            self._kinds[number] = kind

    def add_rule(self, verb: str, text: str, line: int, rule: Rule) -> CommandOutcome:
        """Begin a fault. It replaces an older one of this verb for the same links and kinds of messages.

        A partition replaces any older partition.
        """
        rules, partitions = self._network.rules, verb == "partition"
        same = [
            number
            for number, kind in self._kinds.items()
            if kind == verb
            and (partitions or (rules[number].links, rules[number].kinds) == (rule.links, rule.kinds))
        ]
        for number in same:
            self._lift(number)
        number = self._number_next()
        self._network.add_rule(number, rule)
        self._kinds[number] = verb
        broken, links = rule.broken_assumptions(self._spare), tuple(sorted(rule.links))
        self._record(Fault(self._now_us(), number, verb, text, (), broken, links, line=line))
        return CommandOutcome(True, format_count(len(rule.links), "link"))

    def heal(self, command: Heal, cluster: ClusterState) -> CommandOutcome:
        """End the faults of the verb's kinds, on the links named."""
        kinds, none, none_there = _ENDS[command.verb]
        selected = [number for number, kind in self._kinds.items() if not kinds or kind in kinds]
        if not selected:
            return CommandOutcome(False, f"{none}, nothing changed")
        healed = None if command.links is None else resolve_links(command.links, cluster)
        touching = [n for n in selected if healed is None or self._network.rules[n].links & healed]
        if not touching:
            return CommandOutcome(False, f"{none_there} on these links, nothing changed")
        for number in touching:
            self._lift(number, healed)
        over = sum(number not in self._kinds for number in touching)
        parts = [f"{format_count(over, 'fault')} ended"] if over else []
        if len(touching) > over:
            parts.append(f"{format_count(len(touching) - over, 'fault')} narrowed")
        return CommandOutcome(True, ", ".join(parts))

    def _lift(self, number: int, healed: Links | None = None) -> None:
        """End a fault on these links (None: on all); do nothing if it has ended already."""
        rule = self._network.rules.get(number)
        if rule is None:
            return
        now_us, kind = self._now_us(), self._kinds[number]
        released = self._network.remove_links(number, rule.links if healed is None else healed, now_us)
        lifted = number not in self._network.rules
        if lifted:
            del self._kinds[number]
        for message in released:
            self._record(Routed(now_us, message.source, message.serial, "released", by=(number,)))
        if lifted:
            self._record(Fault(now_us, number, kind, lifted=True))
        elif number in self._kinds:
            self._record(Fault(now_us, number, kind, links=tuple(sorted(self._network.rules[number].links))))
