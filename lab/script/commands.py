"""The commands of the language: what they name, and the nodes, links and rules that this is in a cluster."""

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Literal

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput, Payload, Protocol, encode
from lab.network import Cut, Delay, Duplicate, Hold, Links, Lose, Reorder, Rule, links_among
from lab.network import Slow as SlowRule
from lab.protocols import Election
from lab.protocols.maelstrom import kind_of
from lab.recording.cluster_state import ClusterState
from lab.recording.snapshot import NodeState
from lab.script.scope import CommandError, NodeNames, Scope, format_link, join_words, require_node
from lab.text import did_you_mean, sanitize
from lab.units import first_duplicate, format_us

SLOWEST, FASTEST = 0.01, 1000.0
"""Limits of the speed of a simulated run: virtual time per real time."""
MOST_STEPS = 10_000
"""Limit of the number of events in ``step`` and ``choose``."""

_LONGEST_NAME = 40


# nodes and links


class Nodes(Struct, frozen=True):
    """Nodes as the user named them: by number, or as *all*, *coordinator* or *coordinators*."""

    ids: tuple[int, ...] = ()
    words: tuple[Literal["all", "coordinator", "coordinators"], ...] = ()

    def __str__(self) -> str:
        return join_words(*self.ids, *self.words)

    @property
    def by_role(self) -> bool:
        """True if the nodes depend on who leads at the time of the command."""
        return any(word != "all" for word in self.words)

    def resolve(self, cluster: ClusterState) -> tuple[int, ...]:
        """Return the ids, ascending. Raises CommandError for a node that does not exist."""
        for node in self.ids:
            require_node(node, cluster.ids, None if cluster.header is None else NodeNames.of(cluster.header))
        ids = set(map(int, self.ids))
        if "all" in self.words:
            ids |= cluster.nodes.keys()
        if "coordinator" in self.words:
            ids.add(max(coordinators_of(cluster)))
        if "coordinators" in self.words:
            ids.update(coordinators_of(cluster))
        return tuple(sorted(ids))


class LinkSet(Struct, frozen=True):
    """Directed links from ``sources`` to ``targets``; without targets, all links from and to the sources."""

    sources: Nodes
    targets: Nodes | None = None
    both: bool = False

    def __str__(self) -> str:
        if self.targets is None:
            return str(self.sources)
        return f"{self.sources}{'<->' if self.both else '->'}{self.targets}"

    @property
    def named(self) -> tuple[Nodes, ...]:
        """The nodes at both ends."""
        return (self.sources,) if self.targets is None else (self.sources, self.targets)

    def resolve(self, cluster: ClusterState) -> Links:
        """Return the directed links. Raises CommandError if there are none."""
        sources = frozenset(self.sources.resolve(cluster))
        everyone = frozenset(cluster.nodes)  # clients can still reach a node that is cut off from the cluster
        if self.targets is None:
            links = links_among(sources, everyone) | links_among(everyone, sources)
        else:
            targets = frozenset(self.targets.resolve(cluster))
            links = links_among(sources, targets)
            if self.both:
                links |= links_among(targets, sources)
        if not links:
            raise CommandError("a node has no link to itself; name two nodes: 2->3")
        return links


def coordinators_of(cluster: ClusterState) -> list[int]:
    """Return the nodes that lead: Normal, and their own coordinators. Raises CommandError if none does."""
    alive = _alive(cluster)
    known = [view.state for view in alive if view.state]
    if known and not any("coordinator" in state for state in known):
        raise CommandError("this protocol elects nobody, so there is no coordinator; name a node by its number")
    leaders = [view.id for view in alive if view.leads]
    if not leaders:
        raise CommandError("nobody is coordinator at present; name a node by its number")
    return leaders


def _alive(cluster: ClusterState) -> list[NodeState]:
    return [view for view in cluster.nodes.values() if view.process in ("running", "paused")]


class _Command(Struct, frozen=True):
    """The base of all commands."""

    @property
    def named(self) -> tuple[Nodes, ...]:
        """All nodes that it names."""
        return ()

    @property
    def by_role(self) -> bool:
        """True if some of its nodes depend on who leads."""
        return any(named.by_role for named in self.named)

    def check(self, scope: Scope) -> None:
        """Raise CommandError if it can never be executed in the run."""
        self.check_storage(scope)
        for named in self.named:
            scope.require_nodes(named.ids)
            if (twice := first_duplicate(named.ids)) is not None:
                raise CommandError(f"node {twice} is named twice; name each node once")
            if named.by_role:
                scope.require_election(
                    "there is no coordinator", f"name a node by its number, such as {scope.ids[-1]}"
                )

    def check_storage(self, scope: Scope) -> None:
        """Raise CommandError if it is about stable storage that the laboratory does not keep."""


# faults


class NodeCommand(_Command, frozen=True):
    """One of: kill, restart, pause, resume, wipe, unwrite, tear, flip. ``count`` is that of the writes to undo."""

    verb: Literal["kill", "restart", "pause", "resume", "wipe", "unwrite", "tear", "flip"]
    nodes: Nodes
    count: int = 1

    def __str__(self) -> str:
        return f"{self.verb} {self.nodes}" + (f" last {self.count}" if self.count > 1 else "")

    @property
    def named(self) -> tuple[Nodes, ...]:
        return (self.nodes,)

    def check_storage(self, scope: Scope) -> None:
        if self.verb in ("wipe", "unwrite", "tear", "flip"):
            scope.require_storage(self.verb)


class LinkFault(_Command, frozen=True):
    """One of: delay, lose, cut, duplicate, reorder, hold. The probability is from 0 to 1.

    ``kinds``: the kinds of messages that it affects; empty for all.
    """

    verb: Literal["delay", "lose", "cut", "duplicate", "reorder", "hold"]
    links: LinkSet
    us: int = 0
    jitter_us: int = 0
    probability: float = 1.0
    kinds: tuple[str, ...] = ()

    def __str__(self) -> str:
        return join_words(self.verb, self.links, *self.kinds, self.amount)

    @property
    def amount(self) -> str:
        """Its time or percentage as text; empty if it has none."""
        if self.verb == "delay":
            return _format_time(self.us, self.jitter_us)
        percent = _format_percent(self.probability) if self.verb in ("lose", "duplicate", "reorder") else ""
        return f"{percent} {format_us(self.us)}" if self.verb == "reorder" or self.us else percent

    @property
    def named(self) -> tuple[Nodes, ...]:
        return self.links.named

    def check(self, scope: Scope) -> None:
        super().check(scope)
        if not self.by_role:
            self.links.resolve(scope.cluster)
        scope.require_kinds(self.kinds)

    def rule(self, cluster: ClusterState) -> Rule:
        """Return its network rule."""
        return self.rule_over(self.links.resolve(cluster))

    def rule_over(self, links: Links) -> Rule:
        """Return its network rule, on these links instead of its own."""
        kinds = frozenset(self.kinds)
        match self.verb:
            case "delay":
                return Delay(links=links, kinds=kinds, delay_us=self.us, jitter_us=self.jitter_us)
            case "lose":
                return Lose(links=links, kinds=kinds, probability=self.probability)
            case "duplicate":
                return Duplicate(links=links, kinds=kinds, probability=self.probability, spread_us=self.us)
            case "reorder":
                return Reorder(links=links, kinds=kinds, probability=self.probability, spread_us=max(1, self.us))
            case "hold":
                return Hold(links=links, kinds=kinds)
            case "cut":
                return Cut(links=links)


class Slow(_Command, frozen=True):
    """Delay of all messages to these nodes, as if they were slow to process them."""

    nodes: Nodes
    us: int
    jitter_us: int = 0

    def __str__(self) -> str:
        return f"slow {self.nodes} {self.amount}"

    @property
    def amount(self) -> str:
        """Its time as text."""
        return _format_time(self.us, self.jitter_us)

    @property
    def named(self) -> tuple[Nodes, ...]:
        return (self.nodes,)

    def rule(self, cluster: ClusterState) -> Rule:
        """Return its network rule, on all links to the nodes."""
        return self.rule_over(links_among(frozenset(cluster.nodes), frozenset(self.nodes.resolve(cluster))))

    def rule_over(self, links: Links) -> Rule:
        """Return its network rule, on these links instead of its own."""
        return SlowRule(links=links, delay_us=self.us, jitter_us=self.jitter_us)


class SlowDisk(_Command, frozen=True):
    """Each step of these nodes that writes stable storage takes ``us`` longer; 0: no longer than it does."""

    nodes: Nodes
    us: int

    def __str__(self) -> str:
        return f"slow-disk {self.nodes} {format_us(self.us)}"

    @property
    def named(self) -> tuple[Nodes, ...]:
        return (self.nodes,)

    def check_storage(self, scope: Scope) -> None:
        scope.require_storage("slow-disk")


class Partition(_Command, frozen=True):
    """Groups of nodes that cannot reach each other; a single group is cut off from all other nodes.

    Every node of the cluster is in one. A client or a service is in one if it is named; else all nodes reach it.
    """

    sides: tuple[Nodes, ...]

    def __str__(self) -> str:
        return f"partition {' | '.join(map(str, self.sides))}"

    @property
    def named(self) -> tuple[Nodes, ...]:
        return self.sides

    def check(self, scope: Scope) -> None:
        super().check(scope)
        if not self.by_role:
            self.rule(scope.cluster)

    def rule(self, cluster: ClusterState) -> Rule:
        """Return the cut between the groups. Raises CommandError if a node is in no group, or in two."""
        sides = [frozenset(side.resolve(cluster)) for side in self.sides]
        everyone = frozenset(cluster.nodes).union(*sides)
        if len(sides) == 1:
            sides.append(everyone - sides[0])
        if not all(sides):
            raise CommandError("all nodes are in one group, so nothing is separated: partition 1 2 | 3 4 5")
        placed: set[int] = set()
        for side in sides:
            if placed & side:
                raise CommandError(f"{_appear(placed & side)} in two groups")
            placed |= side
        left = everyone - placed
        if left:
            raise CommandError(f"{_appear(left)} in no group; add {'it' if len(left) == 1 else 'them'} to one")
        return self.rule_over(frozenset((a, b) for one in sides for a in one for b in placed - one))

    def rule_over(self, links: Links) -> Rule:
        """Return its network rule, on these links instead of its own."""
        return Cut(links=links)


class Heal(_Command, frozen=True):
    """End of link faults, on all links if none are named: heal ends all, release holds, join cuts."""

    links: LinkSet | None = None
    verb: Literal["heal", "release", "join"] = "heal"

    def __str__(self) -> str:
        return join_words(self.verb, "" if self.links is None else self.links)

    @property
    def named(self) -> tuple[Nodes, ...]:
        return () if self.links is None else self.links.named

    def check(self, scope: Scope) -> None:
        super().check(scope)
        if self.links is not None and not self.by_role:
            self.links.resolve(scope.cluster)


class Inject(_Command, frozen=True):
    """A forged message from ``source`` to ``target``. ``body`` is its payload as JSON."""

    source: int
    target: int
    kind: str
    body: str = "{}"

    def __str__(self) -> str:
        body = self.body if self.body != "{}" else ""
        return join_words("inject", format_link(self.source, self.target), self.kind, body)

    def check(self, scope: Scope) -> None:
        self.encoded(scope)

    def encoded(self, scope: Scope) -> msgspec.Raw:
        """Return the body of the message. Raises CommandError if the protocol has no such message."""
        scope.require_link(self.source, self.target)
        return self._body_for_program() if scope.protocol.is_program else encode(self._payload(scope))

    def _body_for_program(self) -> msgspec.Raw:
        try:
            body = msgspec.json.decode(self.body, type=dict[str, object])
        except (ValueError, RecursionError) as error:
            raise CommandError(f"not the body of a message: {error}; write an object of JSON") from None
        if kind_of(body) != self.kind:
            raise CommandError(
                f'{self.kind}: write its type in the body, such as {{"type":"request_vote","term":3}}'
            )
        return msgspec.Raw(self.body.encode())

    def _payload(self, scope: Scope) -> Payload:
        scope.require_kinds([self.kind])
        kind = scope.protocol.payloads[self.kind]
        try:
            payload = msgspec.json.decode(self.body, type=kind)
            given = msgspec.json.decode(self.body)
        except (ValueError, RecursionError) as error:  # of msgspec, or of characters that UTF-8 does not have
            raise CommandError(f"not a valid {self.kind}: {error}; write its payload as JSON") from None
        fields = kind.__struct_fields__
        for name in sorted(given.keys() - set(fields)):
            has = f"its fields are {', '.join(fields)}" if fields else "it has no fields"
            raise CommandError(f"{self.kind} has no field {name}; {has}{did_you_mean(name, fields)}")
        return payload


# other commands


class ProtocolCommandLine(_Command, frozen=True):
    """A command of the protocol: ``tell 5 publish``, ``publish``, ``transfer 10 savings checking``.

    Parsing does not check that the protocol has it. Without ``nodes``, the protocol decides which nodes run it.
    """

    nodes: Nodes | None
    command: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        nodes = () if self.nodes is None else ("tell", self.nodes)
        return join_words(*nodes, self.command, *self.words)

    @property
    def named(self) -> tuple[Nodes, ...]:
        return () if self.nodes is None else (self.nodes,)

    def check(self, scope: Scope) -> None:
        self.input(scope)
        super().check(scope)

    def input(self, scope: Scope) -> CommandInput:
        """Return the input for a node.

        Raises CommandError if the protocol has no such command, or refuses the arguments.
        """
        name, protocol = self.command, scope.protocol_with(self.command)
        if name not in protocol.commands:
            known = sorted({command for each in scope.protocols for command in each.commands})
            has = f"its commands are {', '.join(known)}" if known else "it has no commands"
            shown = sanitize(name, _LONGEST_NAME)
            raise CommandError(f"{protocol.name} has no command {shown}; {has}{did_you_mean(name, known)}")
        parameters = msgspec.convert(scope.parameters, protocol.Parameters)
        refusal = protocol.refusal(name, self.words, scope.ids, parameters)
        if refusal:
            raise CommandError(refusal)
        if self.nodes is None and protocol.commands[name].to == "named":
            example = protocol.commands[name].example or f"tell 5 {name}"
            raise CommandError(f"{name} needs nodes: {example}")
        return CommandInput(name, self.words)

    def targets(self, cluster: ClusterState, protocol: type[Protocol]) -> tuple[int, ...]:
        """Return the ids of the nodes that run it, ascending. Raises CommandError if there are none.

        If one node is to run it and the user names none, a running node is preferred to a paused one.
        """
        if self.nodes is not None:
            return self.nodes.resolve(cluster)
        elects = issubclass(protocol, Election)
        chosen = [view.id for view in _alive(cluster) if view.leads or not elects]
        if not chosen and elects:
            raise CommandError(f"nobody is coordinator at present; wait for the election: when all normal: {self}")
        if not chosen:
            raise CommandError("no node is up at present; restart one")
        if protocol.commands[self.command].to != "one":
            return tuple(sorted(chosen))
        running = [node for node in chosen if cluster.view_of(node).process == "running"]
        return (max(running or chosen),)


class Caption(_Command, frozen=True):
    """A caption (say) or a bookmark (mark)."""

    verb: Literal["say", "mark"]
    text: str

    def __str__(self) -> str:
        return f'{self.verb} "{self.text}"'


class Answer(_Command, frozen=True):
    """An answer to the question of an exercise's task, numbered from 1; it may have several lines."""

    task: int
    text: str

    def __str__(self) -> str:
        return f'answer {self.task} "{escape(self.text)}"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
_UNESCAPED = {escaped: text for text, escaped in _ESCAPES.items()}


def escape(text: str) -> str:
    r"""Write a text as it stands between the quotes of an answer: with ``\"``, ``\n`` and ``\\``."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def unescape(text: str) -> str:
    """Read a text that was written so; other backslashes stand for themselves."""
    return re.sub(r"\\.", lambda found: _UNESCAPED.get(found[0], found[0]), text)


class Hint(_Command, frozen=True):
    """A request for the next hint for a task of an exercise."""

    task: int

    def __str__(self) -> str:
        return f"hint {self.task}"


class Cancel(_Command, frozen=True):
    """End the lines that repeat, and those given by hand that still wait for a trigger."""

    def __str__(self) -> str:
        return "cancel"


class WorldCommand(_Command, frozen=True):
    """A command that controls virtual time; only simulated runs support it.

    ``factor`` None: as fast as possible. ``count``: the number of events (step), or the number of the enabled
    event, from 1 (choose). ``deliver`` has a ``source``, a ``node`` and an optional ``kind``; ``fire`` has a
    ``node``.
    """

    verb: Literal["freeze", "go", "speed", "step", "choose", "deliver", "fire"]
    factor: float | None = None
    count: int = 1
    node: int = 0
    source: int = 0
    kind: str = ""

    def __str__(self) -> str:
        match self.verb:
            case "speed":
                return f"speed {'max' if self.factor is None else f'{self.factor}'.removesuffix('.0')}"
            case "step":
                return f"step {self.count}" if self.count > 1 else "step"
            case "choose":
                return f"choose {self.count}"
            case "deliver":
                return join_words("deliver", format_link(self.source, self.node), self.kind)
            case "fire":
                return f"fire {self.node}"
        return self.verb

    def check(self, scope: Scope) -> None:
        if self.verb in ("deliver", "fire"):
            scope.require_link(self.source if self.verb == "deliver" else None, self.node)
            scope.require_kinds([self.kind])


Command = (
    NodeCommand
    | LinkFault
    | Slow
    | SlowDisk
    | Partition
    | Heal
    | Inject
    | ProtocolCommandLine
    | Caption
    | Cancel
    | Answer
    | Hint
    | WorldCommand
)


def _format_time(us: int, jitter_us: int = 0) -> str:
    return format_us(us) + (f" ±{format_us(jitter_us)}" if jitter_us else "")


def _format_percent(share: float) -> str:
    shown = f"{Decimal(repr(share)) * 100:f}"  # the shortest text that parses to this number
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + "%"


def _appear(nodes: Collection[int]) -> str:
    return f"node {min(nodes)} appears" if len(nodes) == 1 else f"nodes {' '.join(map(str, sorted(nodes)))} appear"
