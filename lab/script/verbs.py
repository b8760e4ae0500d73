"""The commands of the language, and those that protocols declare, for help, completion and errors."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from lab.kernel import Protocol, ProtocolCommand
from lab.protocols import PROTOCOLS, TASKS


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
    "unwrite": Verb(
        "unwrite NODES [last COUNT]",
        "undo the last forced writes of a crashed node, which it had reported as done",
        "unwrite 5 last 2",
    ),
    "tear": Verb(
        "tear NODES", "tear the last forced write of a crashed node; its restart discards the rest of it", "tear 5"
    ),
    "flip": Verb(
        "flip NODES",
        "flip a bit in the stable storage of a crashed node, which cannot start until wiped",
        "flip 5",
    ),
    "slow": Verb("slow NODES TIME [±TIME]", "delay every message to the node by TIME", "slow 4 300ms"),
    "slow-disk": Verb(
        "slow-disk NODES TIME",
        "make each step that writes stable storage take TIME longer, until heal or slow-disk NODES 0ms",
        "slow-disk 4 20ms",
    ),
    "delay": Verb(
        "delay LINKS [KINDS] TIME [±TIME]", "add TIME to the latency of messages", "delay 2->3 400ms ±100ms"
    ),
    "lose": Verb("lose LINKS [KINDS] PERCENT", "lose PERCENT of the messages", "lose 4->1 Accept 100%"),
    "duplicate": Verb(
        "duplicate LINKS [KINDS] PERCENT [TIME]",
        "deliver PERCENT of the messages twice; with TIME, the copy up to TIME later, out of order",
        "duplicate all 20%",
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
    "heal": Verb("heal [LINKS]", "end link faults and slow disks: all, or link faults on LINKS", "heal"),
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
    "cancel": Verb(
        "cancel", "end the lines that repeat (every), and those given by hand that still wait", "cancel"
    ),
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


def terminal_of(word: str) -> str:
    """Return the name of the grammar's terminal for a word of its own."""
    return f"_{word.upper().replace('-', '_')}"


# the commands of protocols, which need no *tell* before them

_DEFAULT_TARGETS = {
    "leaders": " Without NODES: every coordinator, or every node that is up if the protocol elects nobody.",
    "one": " Runs on the coordinator, or the highest node if the protocol elects nobody; elsewhere: tell NODES …",
    "named": "",
}


def bare_commands() -> dict[str, Verb]:
    """Return the commands of the built-in protocols by name."""
    return {
        name: Verb(
            own.usage, own.does.strip().partition("\n")[0] + _DEFAULT_TARGETS[own.to], own.example or f"{name} 5"
        )
        for name, own in _declared()
    }


def names_of_bare_commands(own: Iterable[type[Protocol]]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the commands that take at most nodes, and of those that take other arguments.

    Those of the user's ``own`` protocols are among them, but for names that begin another line.
    """
    declared = dict(each for protocol in own for each in protocol.commands.items() if each[0] not in BEGINNINGS)
    declared |= dict(_declared())
    with_words = frozenset(name for name, command in declared.items() if command.words)
    return frozenset(declared) - with_words, with_words


BEGINNINGS = {*VERBS, "then", "at", "after", "every", "when", "on", "before", "expect"}
"""The words with which a line begins in every run."""


def _declared() -> Iterator[tuple[str, ProtocolCommand]]:
    for each in (*PROTOCOLS.values(), *TASKS.values()):
        yield from each.commands.items()
