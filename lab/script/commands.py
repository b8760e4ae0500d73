"""The commands of the language, parsed; and the one table of them that help, completion and errors use."""

from typing import Literal

from msgspec import Struct

__all__ = [
    "FASTEST",
    "MOST_STEPS",
    "SLOWEST",
    "VERBS",
    "After",
    "At",
    "Command",
    "CommandError",
    "Heal",
    "LinkFault",
    "LinkSet",
    "NodeCommand",
    "Nodes",
    "OnMessage",
    "Partition",
    "Scripted",
    "Tell",
    "Trigger",
    "Verb",
    "WhenNormal",
    "WorldCommand",
    "commands_as_markdown",
]


SLOWEST, FASTEST = 0.01, 1000.0
"""Virtual over real time in a simulated run, unless it goes as fast as it can be computed."""
MOST_STEPS = 10_000
"""So many events at one command."""


class CommandError(Exception):
    """A command that cannot be carried out as it stands; the text is for the user."""


class Verb(Struct, frozen=True):
    """One command: how it is written, what it does, and an example."""

    usage: str
    help: str
    example: str


VERBS: dict[str, Verb] = {
    "kill": Verb("kill NODES", "crash: the process is gone at once, with all but its safe storage", "kill 5"),
    "restart": Verb("restart NODES", "a new process, with what safe storage held", "restart 5"),
    "pause": Verb("pause NODES", "stop the process where it stands; it loses nothing", "pause coordinator"),
    "resume": Verb("resume NODES", "let a paused process go on", "resume all"),
    "wipe": Verb("wipe NODES", "empty the safe storage of a node that is down", "wipe 5"),
    "delay": Verb("delay LINKS TIME [±TIME]", "messages take so much longer", "delay 2->3 400ms ±100ms"),
    "lose": Verb("lose LINKS PERCENT", "so many of the messages are lost", "lose all 30%"),
    "cut": Verb("cut LINKS", "nothing passes, in the direction given", "cut 2->3"),
    "duplicate": Verb("duplicate LINKS PERCENT", "so many of the messages arrive twice", "duplicate all 20%"),
    "reorder": Verb(
        "reorder LINKS PERCENT [TIME]", "so many of the messages may be overtaken", "reorder 1<->2 50% 100ms"
    ),
    "partition": Verb("partition NODES | NODES …", "nothing passes from side to side", "partition 1 2 | 3 4 5"),
    "heal": Verb("heal [LINKS]", "end the faults of links: all, or those of some links", "heal"),
    "tell": Verb("tell NODES COMMAND [WORDS…]", "a command of the protocol's own", "tell 5 publish"),
    "freeze": Verb("freeze", "simulated: let virtual time stand still", "freeze"),
    "go": Verb("go", "simulated: let it go on", "go"),
    "speed": Verb("speed FACTOR", "simulated: virtual over real time, from 0.01 to 1000, or max", "speed 0.1"),
    "step": Verb("step [COUNT]", "simulated: freeze, and let the next events happen", "step 3"),
    "deliver": Verb(
        "deliver A->B [KIND]", "simulated: freeze; the first such message in flight arrives now", "deliver 3->1"
    ),
    "fire": Verb("fire NODE", "simulated: freeze; its next timer fires, and the clock goes on to that", "fire 2"),
}


def commands_as_markdown() -> str:
    """The table of commands as the README has it."""
    rows = ["| command | what it does | for example |", "|---|---|---|"]
    for verb in VERBS.values():
        usage, example = (text.replace("|", "\\|") for text in (verb.usage, verb.example))
        rows.append(f"| `{usage}` | {verb.help} | `{example}` |")
    return "\n".join(rows)


class Nodes(Struct, frozen=True):
    """Nodes as the user named them: by number, and as *all*, *coordinator* and *coordinators*."""

    ids: tuple[int, ...] = ()
    words: tuple[Literal["all", "coordinator", "coordinators"], ...] = ()

    @property
    def by_role(self) -> bool:
        """Whether who is meant depends on who leads at that time."""
        return any(word != "all" for word in self.words)


class LinkSet(Struct, frozen=True):
    """Directed links: from ``sources`` to ``targets``; without targets, all from and to the sources."""

    sources: Nodes
    targets: Nodes | None = None
    both: bool = False


class NodeCommand(Struct, frozen=True):
    """kill, restart, pause, resume, wipe."""

    verb: Literal["kill", "restart", "pause", "resume", "wipe"]
    nodes: Nodes


class LinkFault(Struct, frozen=True):
    """delay, lose, cut, duplicate, reorder. Times in microseconds, the probability from 0 to 1."""

    verb: Literal["delay", "lose", "cut", "duplicate", "reorder"]
    links: LinkSet
    us: int = 0
    jitter_us: int = 0
    probability: float = 1.0


class Partition(Struct, frozen=True):
    """Two sides or more; one side alone is meant against all others."""

    sides: tuple[Nodes, ...]


class Heal(Struct, frozen=True):
    """End faults of links; of all where none are named."""

    links: LinkSet | None = None


class Tell(Struct, frozen=True):
    """A command of the protocol's own; whether the protocol has it is not looked at here.

    Without nodes it is for all that lead, or, where nobody is elected, for all that run.
    """

    nodes: Nodes | None
    command: str
    words: tuple[str, ...] = ()


class WorldCommand(Struct, frozen=True):
    """freeze, go, speed, step, deliver, fire: of time itself, so only a simulated run obeys.

    ``factor`` None: as fast as it can be computed. ``deliver`` has a ``source``, a ``node`` and perhaps a
    ``kind``, ``fire`` a ``node``.
    """

    verb: Literal["freeze", "go", "speed", "step", "deliver", "fire"]
    factor: float | None = None
    count: int = 1
    node: int = 0
    source: int = 0
    kind: str = ""


Command = NodeCommand | LinkFault | Partition | Heal | Tell | WorldCommand


class At(Struct, frozen=True):
    """``at 2s``: so long after the run began."""

    us: int


class After(Struct, frozen=True):
    """``after 2s``: so long after the trigger before it, or after the command was given."""

    us: int


class WhenNormal(Struct, frozen=True):
    """``when all normal``: as soon as all running nodes are Normal under one coordinator."""


class OnMessage(Struct, frozen=True):
    """``on send EnterElection 4->1``: as soon as such a message has left, or has arrived."""

    moment: Literal["send", "deliver"]
    kind: str
    source: int | None = None
    target: int | None = None


Trigger = At | After | WhenNormal | OnMessage


class Scripted(Struct, frozen=True):
    """A command, and what it waits for; ``text`` is the command as it is written, ``source`` the whole line.

    ``then`` are further triggers, each of which is looked for once the one before it has come.
    """

    command: Command
    text: str
    trigger: Trigger | None
    source: str
    then: tuple[Trigger, ...] = ()
