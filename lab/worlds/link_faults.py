"""The faults of links that are in force: set as rules of the network, and ended, whole or on some of their links.

Whatever is recorded of one may let another line end it, or others: see ``Control``.
"""

from collections.abc import Callable

from lab.kernel import Timing
from lab.network import Links, Network, Rule
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Fault, Record, Routed
from lab.script import Heal, resolve_links
from lab.units import count_of
from lab.worlds.outcome import Outcome

__all__ = ["LinkFaults"]

_ENDS = {
    "heal": ((), "no fault of links is in force", "no fault is in force"),
    "release": (("hold",), "nothing is held", "nothing is held"),
    "join": (("cut", "partition"), "nothing is cut", "nothing is cut"),
}
"""Which kinds of faults each of these ends, none: all; and what is said where there are none, at all or there."""


class LinkFaults:
    """Sets them, and ends them. ``number_next`` gives a new fault its number.

    ``spare`` is what is left of Tm and Tp: a delay of more breaks assumption 8, or 9.
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
        """Go on from a run in which these were in force, each with its kind."""
        for number, (kind, rule) in rules.items():
            self._network.set_rule(number, rule)
            self._kinds[number] = kind

    def set_rule(self, verb: str, text: str, line: int, rule: Rule) -> Outcome:
        """Begin one, in the place of an older one of this verb on the same links, for the same kinds."""
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
        self._network.set_rule(number, rule)
        self._kinds[number] = verb
        broken, links = rule.broken(self._spare), tuple(sorted(rule.links))
        self._record(Fault(self._now_us(), number, verb, text, (), broken, links, line=line))
        return Outcome(True, count_of(len(rule.links), "link"))

    def heal(self, command: Heal, cluster: ClusterState) -> Outcome:
        """End those that are meant, on the links that are meant."""
        kinds, none, none_there = _ENDS[command.verb]
        meant = [number for number, kind in self._kinds.items() if not kinds or kind in kinds]
        if not meant:
            return Outcome(False, f"{none}, nothing changed")
        healed = None if command.links is None else resolve_links(command.links, cluster)
        touching = [n for n in meant if healed is None or self._network.rules[n].links & healed]
        if not touching:
            return Outcome(False, f"{none_there} on these links, nothing changed")
        for number in touching:
            self._lift(number, healed)
        over = sum(number not in self._kinds for number in touching)
        said = [f"{count_of(over, 'fault')} ended"] if over else []
        if len(touching) > over:
            said.append(f"{count_of(len(touching) - over, 'fault')} narrowed")
        return Outcome(True, ", ".join(said))

    def _lift(self, number: int, healed: Links | None = None) -> None:
        """Take it from these links, or from all that it has; nothing is left to do where it has been ended."""
        rule = self._network.rules.get(number)
        if rule is None:
            return
        now_us, kind = self._now_us(), self._kinds[number]
        released = self._network.narrow_rule(number, rule.links if healed is None else healed, now_us)
        lifted = number not in self._network.rules
        if lifted:
            del self._kinds[number]
        for message in released:
            self._record(Routed(now_us, message.source, message.serial, "released", by=(number,)))
        if lifted:
            self._record(Fault(now_us, number, kind, lifted=True))
        elif number in self._kinds:
            self._record(Fault(now_us, number, kind, links=tuple(sorted(self._network.rules[number].links))))
