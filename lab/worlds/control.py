"""Carrying out commands in any world: faults of nodes through its ``NodeHandles``, of links in the network.

To record something is to let happen what waits for it: every ``_record`` may carry out further lines before it
returns. So what is changed is changed before it is recorded, and what was read before is read again.
"""

from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from lab.journal import (
    Captioned,
    Cluster,
    Commanded,
    Event,
    Expected,
    Fault,
    Injected,
    Log,
    Record,
    Routed,
)
from lab.kernel import Message, Protocol, Timing, Told, encode
from lab.network import Links, Network, Rule
from lab.script import (
    At,
    Caption,
    Command,
    CommandError,
    Director,
    Expectation,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    Scripted,
    Settled,
    Slow,
    Tell,
    WorldCommand,
    fault_rule,
    forged,
    nodes_told,
    parse,
    read_script,
    resolve_links,
    resolve_nodes,
    told_by,
)
from lab.units import count_of
from lab.worlds.config import RunConfig
from lab.worlds.handles import NodeHandles

__all__ = ["Control", "Outcome", "add_all"]


def add_all(director: Director, config: RunConfig) -> None:
    """Add what a run begins with: its script, and its commands; those without a trigger are due at once."""
    for line in config.commands:
        scripted = parse(line)
        waits = scripted.trigger is not None or isinstance(scripted.command, Expectation)
        director.add(scripted if waits else replace(scripted, trigger=At(0)))
    director.add_script(read_script(config.script, first=config.first_line))


_STATES = {
    "kill": ("killed", "down already"),
    "restart": ("restarted", "up already"),
    "pause": ("paused", "not running"),
    "resume": ("resumed", "not paused"),
    "wipe": ("wiped", "up, or has nothing stored; wipe a node that is down"),
}
_SEEN_AS: dict[str, tuple[Event, ...]] = {
    "kill": ("killed", "failed"),
    "pause": ("paused",),
    "resume": ("resumed",),
    "restart": ("started",),
}
"""What is seen to happen to a process that was struck."""
_ENDS = {
    "heal": ((), "no fault of links is in force", "no fault is in force"),
    "release": (("hold",), "nothing is held", "nothing is held"),
    "join": (("cut", "partition"), "nothing is cut", "nothing is cut"),
}
"""Which kinds of faults each of these ends, none: all; and what is said where there are none, at all or there."""
_REACHED = {"reached": "told", "standing": "told once it goes on", "down": "down"}
_BREAKS = {"kill": (), "pause": (9,), "wipe": (4,)}


class Outcome(Struct, frozen=True):
    """What came of a command: whether anything changed, and what, in words. ``refused``: it could not be.

    ``told``: what these nodes are to be given. ``struck``: the nodes whose processes were.
    """

    changed: bool
    text: str
    refused: bool = False
    told: dict[int, Told] = {}
    struck: tuple[int, ...] = ()


class Control:
    """Carries out commands and records what they did. ``record`` appends to ``log``; ``now_us`` is the clock.

    ``director`` is told when a line of a script is done, and what follows it and is due is carried out, too.
    ``spare`` is what is left of Tm and Tp: a delay of more breaks assumption 8, or 9.
    """

    def __init__(
        self,
        protocol: type[Protocol],
        nodes: NodeHandles,
        network: Network,
        director: Director,
        log: Log,
        spare: Timing,
        record: Callable[[Record], None],
        now_us: Callable[[], int],
    ) -> None:
        self.protocol = protocol
        self._nodes = nodes
        self._network = network
        self._director = director
        self._log = log
        self._spare = spare
        self._record = record
        self._now_us = now_us
        self._ids_alone = Cluster.of(log.header)
        self._faults = 0
        self._link_faults: dict[int, str] = {}

    def resume(self, faults: int, rules: dict[int, tuple[str, Rule]]) -> None:
        """Go on from a run that had so many faults; ``rules`` are those of links in force, each with its kind."""
        self._faults = faults
        for number, (kind, rule) in rules.items():
            self._network.set_rule(number, rule)
            self._link_faults[number] = kind

    def execute(self, scripted: Scripted) -> Outcome:
        """Carry out a line of the language, and what follows it in its script and is due by that."""
        if isinstance(scripted.command, Expectation):
            self._director.add(scripted)
            for line in self._director.after(None):  # it may be met already
                self.execute(line)
            return Outcome(True, f"waits: {scripted.source}")
        outcome = self._perform(scripted)
        due = deque([(scripted, outcome)])
        while due:
            line, came = due.popleft()
            if isinstance(line.command, Settled) and not line.command.met:
                continue
            due.extend((each, self._perform(each)) for each in self._director.done(line, came.struck))
        return outcome

    def _perform(self, line: Scripted) -> Outcome:
        command, at_us = line.command, self._now_us()
        follows_nothing = isinstance(command, Settled) and not command.met
        if line.line and not follows_nothing:
            seen_as = _SEEN_AS.get(command.verb, ()) if isinstance(command, NodeCommand) else ()
            self._director.begun(line, self._named(command) if seen_as else (), seen_as)
        if isinstance(command, Settled):
            self._record(Expected(at_us, line.source, command.met, command.why, line.line))
            return Outcome(True, "")
        if isinstance(command, Caption):
            self._record(Captioned(at_us, command.text, command.verb == "mark", line.line))
            return Outcome(True, command.text)
        assert not isinstance(command, Expectation)  # what is due of one is Settled
        return self._carry_out(line, command)

    def _named(self, command: Command | Settled | Expectation) -> tuple[int, ...]:
        """The nodes of a command of nodes; none where it will be refused."""
        try:
            return resolve_nodes(command.nodes, self._log.cluster) if isinstance(command, NodeCommand) else ()
        except CommandError:
            return ()

    def _carry_out(self, scripted: Scripted, command: Command) -> Outcome:
        """Do it, and record what came of it, even if it could not be carried out."""
        # to know the state of the cluster may take a while, and most commands name nodes by their ids
        by_role = "coordinator" in scripted.text or isinstance(command, Tell)
        cluster = self._log.cluster if by_role else self._ids_alone
        try:
            outcome = self._execute(command, scripted, cluster)
        except CommandError as error:
            outcome = Outcome(False, str(error), refused=True)
        self._record(
            Commanded(
                self._now_us(),
                scripted.source,
                outcome.text,
                outcome.changed,
                outcome.refused,
                tuple(outcome.told),
                scripted.line,
            )
        )
        for node, told in outcome.told.items():
            self._nodes.tell(node, told)
        return outcome

    def _execute(self, command: Command, scripted: Scripted, cluster: Cluster) -> Outcome:
        text, line = scripted.text, scripted.line
        match command:
            case NodeCommand():
                return self._strike(command, line, cluster)
            case LinkFault() | Slow() | Partition():
                return self._set_rule(text.partition(" ")[0], text, line, fault_rule(command, cluster))
            case Heal():
                return self._heal(command, cluster)
            case Inject():
                return self._inject(command, text, line, cluster)
            case Tell():
                return self._tell(command, cluster)
            case WorldCommand():
                return Outcome(*self._nodes.steer(command, in_script=bool(line)))
            case Caption():
                raise AssertionError(command)

    def _tell(self, command: Tell, cluster: Cluster) -> Outcome:
        told = told_by(command, self.protocol)
        named = nodes_told(command, cluster)
        how = {node: self._nodes.reach(node) for node in named}
        reached = {node: told for node in named if how[node] != "down"}
        said = [
            f"{_ids(nodes)} {became}"
            for state, became in _REACHED.items()
            if (nodes := tuple(node for node in named if how[node] == state))
        ]
        return Outcome(bool(reached), "; ".join(said) + ("" if reached else ", nothing changed"), told=reached)

    def _strike(self, command: NodeCommand, line: int, cluster: Cluster) -> Outcome:
        verb = command.verb
        named = resolve_nodes(command.nodes, cluster)
        act = getattr(self._nodes, verb)
        fault = None
        if verb in _BREAKS:
            fault = self._next_fault()
            text = f"{verb} {_ids(named)}"
            self._record(Fault(self._now_us(), fault, verb, text, named, _BREAKS[verb], line=line))
        struck = tuple(node for node in named if act(node))
        left = tuple(node for node in named if node not in struck)
        if fault is not None and not struck:
            self._record(Fault(self._now_us(), fault, verb, lifted=True))
        done, refused = _STATES[verb]
        said = []
        if struck:
            said.append(f"{_ids(struck)} {done}")
        if left and not (struck and command.nodes.words):
            said.append(f"{_ids(left)}: {refused}" + ("" if struck else ", nothing changed"))
        return Outcome(bool(struck), "; ".join(said), struck=struck)

    def _inject(self, command: Inject, text: str, line: int, cluster: Cluster) -> Outcome:
        source, target = command.source, command.target
        payload = forged(command, self.protocol, tuple(cluster.nodes))
        fault = self._next_fault()
        message = Message(source, target, -fault, command.kind, encode(payload))
        self._record(Fault(self._now_us(), fault, "inject", text, (), (3,), line=line))
        self._record(Injected(self._now_us(), message))
        reach = self._nodes.reach(target)
        self._nodes.forge(message)
        if reach == "down":
            return Outcome(False, f"{target} is down, nothing changed")
        later = f"; {target} takes it once it goes on" if reach == "standing" else ""
        return Outcome(True, f"{command.kind} {source}->{target} forged{later}")

    def _set_rule(self, verb: str, text: str, line: int, rule: Rule) -> Outcome:
        """In the place of an older one of this verb on the same links, for the same kinds."""
        for number, kind in list(self._link_faults.items()):
            older = self._network.rules[number]
            same = older.links == rule.links and older.kinds == rule.kinds
            if kind == verb and (verb == "partition" or same):
                self._lift(number)
        number = self._next_fault()
        self._network.set_rule(number, rule)
        self._link_faults[number] = verb
        broken, links = rule.broken(self._spare), tuple(sorted(rule.links))
        self._record(Fault(self._now_us(), number, verb, text, (), broken, links, line=line))
        return Outcome(True, count_of(len(rule.links), "link"))

    def _heal(self, command: Heal, cluster: Cluster) -> Outcome:
        kinds, none, none_there = _ENDS[command.verb]
        meant = [number for number, kind in self._link_faults.items() if not kinds or kind in kinds]
        if not meant:
            return Outcome(False, f"{none}, nothing changed")
        healed = None if command.links is None else resolve_links(command.links, cluster)
        touching = [n for n in meant if healed is None or self._network.rules[n].links & healed]
        if not touching:
            return Outcome(False, f"{none_there} on these links, nothing changed")
        for number in touching:
            self._lift(number, healed)
        over = sum(number not in self._link_faults for number in touching)
        said = [f"{count_of(over, 'fault')} ended"] if over else []
        if len(touching) > over:
            said.append(f"{count_of(len(touching) - over, 'fault')} narrowed")
        return Outcome(True, ", ".join(said))

    def _next_fault(self) -> int:
        self._faults += 1
        return self._faults

    def _lift(self, number: int, healed: Links | None = None) -> None:
        """Take a fault of links from these links, or from all that it has."""
        now_us, kind = self._now_us(), self._link_faults[number]
        links = self._network.rules[number].links if healed is None else healed
        released = self._network.narrow_rule(number, links, now_us)
        if number not in self._network.rules:
            del self._link_faults[number]
        for message in released:
            self._record(Routed(now_us, message.source, message.serial, "released", by=(number,)))
        rule = self._network.rules.get(number)
        if rule is None:
            self._record(Fault(now_us, number, kind, lifted=True))
        else:
            self._record(Fault(now_us, number, kind, links=tuple(sorted(rule.links))))


def _ids(nodes: tuple[int, ...]) -> str:
    return " ".join(map(str, nodes))
