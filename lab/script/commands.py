"""The commands of the language, parsed; and the one table of them that help, completion and errors use."""

from typing import Literal

from msgspec import Struct

__all__ = [
    "FASTEST",
    "MOST_STEPS",
    "SLOWEST",
    "VERBS",
    "Answer",
    "Caption",
    "Command",
    "CommandError",
    "Heal",
    "Hint",
    "Inject",
    "LinkFault",
    "LinkSet",
    "NodeCommand",
    "Nodes",
    "Partition",
    "Slow",
    "Tell",
    "Verb",
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
    "slow": Verb("slow NODES TIME [±TIME]", "the node takes so much longer over what it gets", "slow 4 300ms"),
    "delay": Verb("delay LINKS [KINDS] TIME [±TIME]", "messages take so much longer", "delay 2->3 400ms ±100ms"),
    "lose": Verb("lose LINKS [KINDS] PERCENT", "so many of the messages are lost", "lose 4->1 Accept 100%"),
    "duplicate": Verb(
        "duplicate LINKS [KINDS] PERCENT", "so many of the messages arrive twice", "duplicate all 20%"
    ),
    "reorder": Verb(
        "reorder LINKS [KINDS] PERCENT [TIME]",
        "so many of the messages may be overtaken",
        "reorder 1<->2 50% 100ms",
    ),
    "hold": Verb("hold LINKS [KINDS]", "messages wait on their way", "hold 3->1 Accept"),
    "release": Verb("release [LINKS]", "what is held goes on, all or that of some links", "release 3->1"),
    "cut": Verb("cut LINKS", "nothing passes, in the direction given", "cut 2->3"),
    "join": Verb("join LINKS", "end the cuts and partitions of these links", "join 2->3"),
    "partition": Verb("partition NODES | NODES …", "nothing passes from side to side", "partition 1 2 | 3 4 5"),
    "heal": Verb("heal [LINKS]", "end the faults of links: all, or those of some links", "heal"),
    "inject": Verb(
        "inject A->B KIND [{…}]",
        "forge a message: B gets it, and A never sent it; {…} is what is in it, as JSON",
        "inject 1->3 AreYouUp",
    ),
    "tell": Verb("tell NODES COMMAND [WORDS…]", "a command of the protocol's own", "tell 5 publish"),
    "say": Verb('say "TEXT"', "a caption for those who watch", 'say "4 is the first to notice"'),
    "mark": Verb('mark "TEXT"', "a bookmark in the recording", 'mark "here it goes wrong"'),
    "answer": Verb('answer TASK "TEXT"', "in an exercise: the answer to the question of a task", 'answer 2 "4"'),
    "hint": Verb("hint TASK", "in an exercise: the next hint for a task; it costs what it says", "hint 1"),
    "freeze": Verb("freeze", "simulated: let virtual time stand still", "freeze"),
    "go": Verb("go", "simulated: let it go on", "go"),
    "speed": Verb("speed FACTOR", "simulated: virtual over real time, from 0.01 to 1000, or max", "speed 0.1"),
    "step": Verb("step [COUNT]", "simulated: freeze, and let the next events happen", "step 3"),
    "deliver": Verb(
        "deliver A->B [KIND]", "simulated: freeze; the first such message in flight arrives now", "deliver 3->1"
    ),
    "choose": Verb("choose NUMBER", "simulated: freeze; of what may happen next, the so-manieth does", "choose 2"),
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
    """delay, lose, cut, duplicate, reorder, hold. Times in microseconds, the probability from 0 to 1.

    ``kinds``: only messages of these kinds; empty: all.
    """

    verb: Literal["delay", "lose", "cut", "duplicate", "reorder", "hold"]
    links: LinkSet
    us: int = 0
    jitter_us: int = 0
    probability: float = 1.0
    kinds: tuple[str, ...] = ()


class Slow(Struct, frozen=True):
    """slow: what these nodes get, they get so much later, as if they took so long over it. Microseconds."""

    nodes: Nodes
    us: int
    jitter_us: int = 0


class Partition(Struct, frozen=True):
    """Two sides or more; one side alone is meant against all others."""

    sides: tuple[Nodes, ...]


class Heal(Struct, frozen=True):
    """End faults of links; of all where none are named. release: what holds; join: what cuts."""

    links: LinkSet | None = None
    verb: Literal["heal", "release", "join"] = "heal"


class Inject(Struct, frozen=True):
    """A message that ``target`` gets as if ``source`` had sent it. ``body`` is its payload as JSON."""

    source: int
    target: int
    kind: str
    body: str = "{}"


class Caption(Struct, frozen=True):
    """Words for those who watch: said, or kept as a mark."""

    verb: Literal["say", "mark"]
    text: str


class Answer(Struct, frozen=True):
    """What is answered to the question of an exercise's task, which has this number, from 1."""

    task: int
    text: str


class Hint(Struct, frozen=True):
    """The next hint for a task of an exercise was asked for."""

    task: int


class Tell(Struct, frozen=True):
    """A command of the protocol's own; whether the protocol has it is not looked at here.

    Behind one that takes no words there may be nodes. Without any it is for whom the protocol says.
    """

    nodes: Nodes | None
    command: str
    words: tuple[str, ...] = ()


class WorldCommand(Struct, frozen=True):
    """freeze, go, speed, step, choose, deliver, fire: of time itself, so only a simulated run obeys.

    ``factor`` None: as fast as it can be computed. ``count`` is how many events, or the place of the one chosen,
    from 1. ``deliver`` has a ``source``, a ``node`` and perhaps a
    ``kind``, ``fire`` a ``node``.
    """

    verb: Literal["freeze", "go", "speed", "step", "choose", "deliver", "fire"]
    factor: float | None = None
    count: int = 1
    node: int = 0
    source: int = 0
    kind: str = ""


Command = (
    NodeCommand | LinkFault | Slow | Partition | Heal | Inject | Tell | Caption | Answer | Hint | WorldCommand
)
