"""The commands of the language as structs, and the table of them for help, completion and errors."""

from typing import Literal

from msgspec import Struct

SLOWEST, FASTEST = 0.01, 1000.0
"""Limits of the speed of a simulated run: virtual time per real time."""
MOST_STEPS = 10_000
"""Limit of the number of events in ``step`` and ``choose``."""


class CommandError(Exception):
    """A command that cannot be executed; the message is for the user."""


class Verb(Struct, frozen=True):
    """One command: its syntax, its effect and an example."""

    usage: str
    help: str
    example: str


VERBS: dict[str, Verb] = {
    "kill": Verb("kill NODES", "crash: kill the process; only its stable storage survives", "kill 5"),
    "restart": Verb("restart NODES", "recover: start a new process from stable storage", "restart 5"),
    "pause": Verb("pause NODES", "stop the process; it keeps its state", "pause coordinator"),
    "resume": Verb("resume NODES", "continue a paused process", "resume all"),
    "wipe": Verb("wipe NODES", "erase the stable storage of a crashed node", "wipe 5"),
    "slow": Verb("slow NODES TIME [±TIME]", "delay every message to the node by TIME", "slow 4 300ms"),
    "delay": Verb(
        "delay LINKS [KINDS] TIME [±TIME]", "add TIME to the latency of messages", "delay 2->3 400ms ±100ms"
    ),
    "lose": Verb("lose LINKS [KINDS] PERCENT", "lose PERCENT of the messages", "lose 4->1 Accept 100%"),
    "duplicate": Verb(
        "duplicate LINKS [KINDS] PERCENT", "deliver PERCENT of the messages twice", "duplicate all 20%"
    ),
    "reorder": Verb(
        "reorder LINKS [KINDS] PERCENT [TIME]",
        "delay PERCENT of the messages by up to TIME, out of order",
        "reorder 1<->2 50% 100ms",
    ),
    "hold": Verb("hold LINKS [KINDS]", "hold messages in flight until release or heal", "hold 3->1 Accept"),
    "release": Verb("release [LINKS]", "release held messages: all, or those on LINKS", "release 3->1"),
    "cut": Verb("cut LINKS", "drop every message, in the given direction", "cut 2->3"),
    "join": Verb("join LINKS", "end cuts and partitions on LINKS", "join 2->3"),
    "partition": Verb(
        "partition NODES | NODES …", "drop every message between the groups", "partition 1 2 | 3 4 5"
    ),
    "heal": Verb("heal [LINKS]", "end link faults: all, or those on LINKS", "heal"),
    "inject": Verb(
        "inject A->B KIND [{…}]",
        "forge a message: B receives it, but A never sent it; {…} is its payload as JSON",
        "inject 1->3 AreYouUp",
    ),
    "tell": Verb("tell NODES COMMAND [WORDS…]", "run a command of the protocol on NODES", "tell 5 publish"),
    "say": Verb('say "TEXT"', "show a caption", 'say "4 is the first to notice"'),
    "mark": Verb('mark "TEXT"', "set a bookmark in the recording", 'mark "here it goes wrong"'),
    "answer": Verb('answer TASK "TEXT"', "exercise: answer the question of a task", 'answer 2 "4"'),
    "hint": Verb("hint TASK", "exercise: show the next hint for a task; it may cost points", "hint 1"),
    "freeze": Verb("freeze", "simulated: stop virtual time", "freeze"),
    "go": Verb("go", "simulated: continue virtual time", "go"),
    "speed": Verb("speed FACTOR", "simulated: set virtual time per real time, 0.01 to 1000 or max", "speed 0.1"),
    "step": Verb("step [COUNT]", "simulated: freeze, then run the next COUNT events", "step 3"),
    "deliver": Verb(
        "deliver A->B [KIND]", "simulated: freeze, then deliver the first such message in flight", "deliver 3->1"
    ),
    "choose": Verb("choose NUMBER", "simulated: freeze, then run the NUMBER-th enabled event", "choose 2"),
    "fire": Verb(
        "fire NODE", "simulated: freeze, advance the clock to the next timer of NODE and fire it", "fire 2"
    ),
}


def commands_as_markdown() -> str:
    """Return the table of commands for the README."""
    rows = ["| command | what it does | for example |", "|---|---|---|"]
    for verb in VERBS.values():
        usage, example = (text.replace("|", "\\|") for text in (verb.usage, verb.example))
        rows.append(f"| `{usage}` | {verb.help} | `{example}` |")
    return "\n".join(rows)


class Nodes(Struct, frozen=True):
    """Nodes as the user named them: by number, or as *all*, *coordinator* or *coordinators*."""

    ids: tuple[int, ...] = ()
    words: tuple[Literal["all", "coordinator", "coordinators"], ...] = ()

    @property
    def by_role(self) -> bool:
        """True if the nodes depend on who leads at the time of the command."""
        return any(word != "all" for word in self.words)


class LinkSet(Struct, frozen=True):
    """Directed links from ``sources`` to ``targets``; without targets, all links from and to the sources."""

    sources: Nodes
    targets: Nodes | None = None
    both: bool = False


class NodeCommand(Struct, frozen=True):
    """One of: kill, restart, pause, resume, wipe."""

    verb: Literal["kill", "restart", "pause", "resume", "wipe"]
    nodes: Nodes


class LinkFault(Struct, frozen=True):
    """One of: delay, lose, cut, duplicate, reorder, hold. The probability is from 0 to 1.

    ``kinds``: the kinds of messages that it affects; empty for all.
    """

    verb: Literal["delay", "lose", "cut", "duplicate", "reorder", "hold"]
    links: LinkSet
    us: int = 0
    jitter_us: int = 0
    probability: float = 1.0
    kinds: tuple[str, ...] = ()


class Slow(Struct, frozen=True):
    """Delay of all messages to these nodes, as if they were slow to process them."""

    nodes: Nodes
    us: int
    jitter_us: int = 0


class Partition(Struct, frozen=True):
    """Groups of nodes that cannot reach each other; a single group is cut off from all other nodes."""

    sides: tuple[Nodes, ...]


class Heal(Struct, frozen=True):
    """End of link faults, on all links if none are named: heal ends all, release holds, join cuts."""

    links: LinkSet | None = None
    verb: Literal["heal", "release", "join"] = "heal"


class Inject(Struct, frozen=True):
    """A forged message from ``source`` to ``target``. ``body`` is its payload as JSON."""

    source: int
    target: int
    kind: str
    body: str = "{}"


class Caption(Struct, frozen=True):
    """A caption (say) or a bookmark (mark)."""

    verb: Literal["say", "mark"]
    text: str


class Answer(Struct, frozen=True):
    """An answer to the question of an exercise's task, numbered from 1."""

    task: int
    text: str


class Hint(Struct, frozen=True):
    """A request for the next hint for a task of an exercise."""

    task: int


class ProtocolCommandLine(Struct, frozen=True):
    """A command of the protocol: ``tell 5 publish``, ``publish``, ``transfer 10 savings checking``.

    Parsing does not check that the protocol has it. Without ``nodes``, the protocol decides which nodes run it.
    """

    nodes: Nodes | None
    command: str
    words: tuple[str, ...] = ()


class WorldCommand(Struct, frozen=True):
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


Command = (
    NodeCommand
    | LinkFault
    | Slow
    | Partition
    | Heal
    | Inject
    | ProtocolCommandLine
    | Caption
    | Answer
    | Hint
    | WorldCommand
)
