"""The one table of what can be done: it makes the keys, the footer, the help, the ``:`` words and the README."""

from typing import Literal

from msgspec import Struct

__all__ = ["ACTIONS", "Action", "action_named", "in_footer_order", "keys_as_markdown"]


class Action(Struct, frozen=True):
    """One thing to do.

    ``word`` is what the ``:`` line calls it, and its id; ``keys`` as Textual names them, ``shown`` as people
    do. ``where``: only in a run that takes commands, or in a simulated one of those, or everywhere.
    ``needs_node``: only with a node selected.
    ``footer``: its label in the footer, or nothing.
    """

    word: str
    keys: str
    shown: str
    help: str
    footer: str = ""
    group: Literal["cluster", "time", "view"] = "view"
    where: Literal["driver", "simulated", "all"] = "all"
    needs_node: bool = False


ACTIONS: tuple[Action, ...] = (
    Action("kill", "k", "k", "kill the selected node (SIGKILL)", "kill", "cluster", "driver", True),
    Action("restart", "r", "r", "restart it, with what safe storage held", "restart", "cluster", "driver", True),
    Action("pause", "p", "p", "pause it, or let it go on (SIGSTOP, SIGCONT)", "pause", "cluster", "driver", True),
    Action("delay", "d", "d", "delay messages: of the selected node, or all", "delay", "cluster", "driver"),
    Action("lose", "l", "l", "lose messages: of the selected node, or all", "loss", "cluster", "driver"),
    Action("partition", "x", "x", "partition the network: choose the sides", "partition", "cluster", "driver"),
    Action("heal", "h", "h", "heal the network: end all faults of links", "heal", "cluster", "driver"),
    Action("wipe", "W", "W", "empty its safe storage, if it is down", "", "cluster", "driver", True),
    Action("command", "colon", ":", "the command line: any command, or any word of this table", "command", "view"),
    Action("play", "space", "space", "play or pause; stand still, or freeze a simulated run", "play", "time"),
    Action("back", "comma", ",", "one record back", "back", "time"),
    Action("step", "full_stop", ".", "one record forward; at a simulated run's end, one event", "step", "time"),
    Action("choose", "c", "c", "simulated: choose what happens next", "choose", "time", "simulated"),
    Action("slower", "less_than_sign", "<", "slower: what is played, or the simulated run", "", "time"),
    Action("faster", "greater_than_sign", ">", "faster: what is played, or the simulated run", "", "time"),
    Action("previous-fault", "left_curly_bracket", "{", "to the fault before", "", "time"),
    Action("next-fault", "right_curly_bracket", "}", "to the next fault", "", "time"),
    Action("previous-election", "left_parenthesis", "(", "to the election before", "", "time"),
    Action("next-election", "right_parenthesis", ")", "to the next election", "", "time"),
    Action("previous-status", "left_square_bracket", "[", "to the change of status before", "", "time"),
    Action("next-status", "right_square_bracket", "]", "to the next change of status", "", "time"),
    Action("previous-mark", "N", "N", "to the caption, mark or unmet expectation before", "", "time"),
    Action("next-mark", "n", "n", "to the next caption, mark or unmet expectation", "next caption", "time"),
    Action("rewind", "shift+left", "Shift+Left", "five seconds back", "", "time"),
    Action("forward", "shift+right", "Shift+Right", "five seconds on", "", "time"),
    Action("start", "home", "Home", "to the start", "", "time"),
    Action("end", "end", "End", "to the end; in a live run, follow it", "", "time"),
    Action("branch", "B", "B", "go on from this record in a simulated run of its own; q comes back", "", "view"),
    Action("branches", "T", "T", "the tree of this recording and its branches, to open one", "", "view"),
    Action("witness", "v", "v", "to the next violation of an assertion, and mark its witness", "witness", "view"),
    Action("groups", "g", "g", "the history of groups instead of the log, and back", "groups", "view"),
    Action(
        "bank", "b", "b", "the bank instead of the log: accounts, what is open, and why; and back", "bank", "view"
    ),
    Action("map", "m", "m", "the map of the field instead of the log, and back", "map", "view"),
    Action(
        "script", "s", "s", "the script instead of the log: what is done, what waits; and back", "script", "view"
    ),
    Action("write", "w", "w", "write what was done in this run as a scenario", "", "view"),
    Action("open", "enter", "Enter", "open the record under the log's cursor in full", "", "view"),
    Action("heartbeats", "f", "f", "show or hide the heartbeats in the log", "heartbeats", "view"),
    Action("deselect", "escape", "Esc", "select no node, mark no witness", "", "view"),
    Action("theme", "t", "t", "light or dark", "", "view"),
    Action("help", "question_mark,f1", "?", "this help", "help", "view"),
    Action("quit", "q", "q", "quit, or back to what this was branched from", "quit", "view"),
)


_FIRST = (
    *(
        "command",
        "help",
        "quit",
        "play",
        "next-mark",
        "step",
        "choose",
        "kill",
        "restart",
        "pause",
        "partition",
        "heal",
    ),
    *("script", "groups", "map", "bank", "witness"),
)
"""What the footer has first: at its right end a narrow terminal cuts it off."""


def in_footer_order() -> list[Action]:
    """All actions; those of the footer by how much they are needed."""
    places = {word: place for place, word in enumerate(_FIRST)}
    return sorted(ACTIONS, key=lambda action: places.get(action.word, len(_FIRST)))


def keys_as_markdown() -> str:
    """The table as the README has it."""
    rows = ["| key | `:` word | what it does |", "|---|---|---|"]
    rows += [f"| `{action.shown}` | `{action.word}` | {action.help} |" for action in ACTIONS]
    return "\n".join(rows)


def action_named(word: str) -> Action | None:
    """The action that the ``:`` line calls so."""
    return next((action for action in ACTIONS if action.word == word), None)
