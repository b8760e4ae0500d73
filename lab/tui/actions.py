"""The one table of what can be done: it makes the keys, the footer, the help, the ``:`` words and the README."""

from typing import Literal

from msgspec import Struct

__all__ = ["ACTIONS", "Action", "action_named", "in_footer_order", "keys_as_markdown"]


class Action(Struct, frozen=True):
    """One thing to do.

    ``word`` is what the ``:`` line calls it, and its id; ``keys`` as Textual names them, ``shown`` as people
    do. ``where``: only in a run that takes commands, or in a simulated one of those, or everywhere.
    ``needs_node``: only with a node selected. ``takes``: what may be typed after the word on the ``:`` line.
    ``of_view``: only while that view is seen.
    ``footer``: its label in the footer, or nothing.
    """

    word: str
    keys: str
    shown: str
    help: str
    footer: str = ""
    group: Literal["cluster", "time", "exercise", "views", "view"] = "view"
    where: Literal["driver", "simulated", "all"] = "all"
    needs_node: bool = False
    takes: str = ""
    of_view: str = ""


ACTIONS: tuple[Action, ...] = (
    Action("kill", "k", "k", "kill the selected node (SIGKILL)", "kill", "cluster", "driver", True),
    Action("restart", "r", "r", "restart it, with what safe storage held", "restart", "cluster", "driver", True),
    Action("pause", "p", "p", "pause it, or let it go on (SIGSTOP, SIGCONT)", "pause", "cluster", "driver", True),
    Action("delay", "d", "d", "delay messages: of the selected node, or all", "delay", "cluster", "driver"),
    Action("lose", "l", "l", "lose messages: of the selected node, or all", "loss", "cluster", "driver"),
    Action("partition", "x", "x", "partition the network: choose the sides", "partition", "cluster", "driver"),
    Action("heal", "h", "h", "heal the network: end all faults of links", "heal", "cluster", "driver"),
    Action("wipe", "W", "W", "empty its safe storage, if it is down", "", "cluster", "driver", True),
    Action(
        *("answer", "A", "A", "answer the selected task, or read it", "answer", "exercise"),
        takes="[TASK [TEXT]]",
    ),
    Action(
        *("hint", "H", "H", "the next hint for it; asks first: some cost points", "hint"),
        group="exercise",
        takes="[TASK]",
    ),
    Action("again", "R", "R", "a new attempt, from the beginning; this one ends", "again", "exercise"),
    Action("hand-in", "J", "J", "hand in: the run ends, and what is left is judged", "hand in", "exercise"),
    Action("command", "colon", ":", "the command line: any command, or any word of this table", "command", "view"),
    Action("play", "space", "space", "play or pause; stand still, or freeze a simulated run", "play", "time"),
    Action("back", "comma", ",", "one record back", "back", "time"),
    Action("step", "full_stop", ".", "one record forward; at a simulated run's end, one event", "step", "time"),
    Action("choose", "c", "c", "simulated: choose what happens next", "choose", "time", "simulated"),
    Action("slower", "less_than_sign", "<", "slower: what is played, or the simulated run", "", "time"),
    Action("faster", "greater_than_sign", ">", "faster: what is played, or the simulated run", "", "time"),
    Action(
        "next-message", "e", "e", "to the next message sent or received, by the selected node or any", "", "time"
    ),
    Action("previous-message", "E", "E", "to the message before", "", "time"),
    Action("next-of-node", "o", "o", "to the next record of the selected node", "", "time"),
    Action("previous-of-node", "O", "O", "to its record before", "", "time"),
    Action(
        *("until", "u", "u", "on to where a predicate becomes true: until 4.status == Normal", "until", "time"),
        takes="PREDICATE",
    ),
    Action(
        *("until-back", "U", "U", "back to where it last became true: until-back coordinators > 1", "", "time"),
        takes="PREDICATE",
    ),
    Action("previous-fault", "left_curly_bracket", "{", "to the fault before", "", "time"),
    Action("next-fault", "right_curly_bracket", "}", "to the next fault", "", "time"),
    Action("previous-election", "left_parenthesis", "(", "to the election before", "", "time"),
    Action("next-election", "right_parenthesis", ")", "to the next election", "", "time"),
    Action("previous-status", "left_square_bracket", "[", "to the change of status before", "", "time"),
    Action("next-status", "right_square_bracket", "]", "to the next change of status", "", "time"),
    Action(
        "previous-mark",
        "N",
        "N",
        "to the hit before; else bookmark, caption, mark or unmet expectation",
        "",
        "time",
    ),
    Action(
        "next-mark",
        "n",
        "n",
        "to the next hit of a search; else bookmark, caption, mark or unmet expectation",
        "next mark",
        "time",
    ),
    Action(
        *(
            "bookmark",
            "M",
            "M",
            "a bookmark at this record, with a note; and the list of them",
            "bookmark",
            "time",
        ),
        takes="NOTE",
    ),
    Action("rewind", "shift+left", "Shift+Left", "five seconds back", "", "time"),
    Action("forward", "shift+right", "Shift+Right", "five seconds on", "", "time"),
    Action("start", "home", "Home", "to the start", "", "time"),
    Action("end", "end", "End", "to the end; in a live run, follow it", "", "time"),
    Action("branch", "B", "B", "go on from this record in a simulated run of its own; q comes back", "", "view"),
    Action("branches", "T", "T", "the tree of this recording and its branches, to open one", "", "view"),
    Action(
        *(
            "beside",
            "equals_sign",
            "=",
            "another recording beside this one, where the two part; and back",
            "beside",
        ),
        takes="FILE",
    ),
    Action("witness", "v", "v", "to the next violation of an assertion, and mark its witness", "witness", "view"),
    Action(
        "diagram",
        "D",
        "D",
        "space and time: a line for each node, arrows for messages; and back",
        group="views",
    ),
    Action("zoom-in", "plus", "+", "diagram: to a finer scale, at last a row for each step", of_view="diagram"),
    Action("zoom-out", "minus", "-", "diagram: to a coarser scale, at last a minute a row", of_view="diagram"),
    Action("turn", "vertical_line", "|", "diagram: time flows down, or to the right", of_view="diagram"),
    Action("jump", "j", "j", "diagram: the cursor in time goes to what is selected there", of_view="diagram"),
    Action("exercise", "I", "I", "the exercise: its tasks, and how each stands; and back", "", "views"),
    Action("groups", "g", "g", "the history of groups instead of the log, and back", "", "views"),
    Action(
        "bank", "b", "b", "the bank instead of the log: accounts, what is open, and why; and back", "", "views"
    ),
    Action("map", "m", "m", "the map of the field instead of the log, and back", "", "views"),
    Action("network", "L", "L", "the network: who hears whom, every link; Enter changes one", "", "views"),
    Action("script", "s", "s", "the script instead of the log: what is done, what waits; and back", "", "views"),
    Action(
        "code", "C", "C", "the protocol's source: where each node waits in it, what ran; and back", "", "views"
    ),
    Action("inspect", "i", "i", "one node as a whole, and what its last step changed; and back", "", "views"),
    Action("assertions", "a", "a", "the assertions: verdicts and their witnesses; and back", "", "views"),
    Action(
        *("search", "slash", "/", "search: text, node:3, kind:AreYouUp, -fate:lost, when 4 normal", "search"),
        takes="QUERY",
    ),
    Action(
        *("filter", "ampersand", "&", "show only the lines of the log that match such a query", "filter"),
        takes="QUERY",
    ),
    Action("follow", "F", "F", "follow the message under the cursor: why it was sent, what came of it", "follow"),
    Action("copy", "y", "y", "copy what is under the cursor: a line of the log, or the record as JSON", "copy"),
    Action("write", "w", "w", "write what was done in this run as a scenario", "", "view"),
    Action("export", "X", "X", "export the run: a picture, a page, a trace, a table", takes="FORMAT [FILE]"),
    Action("open", "enter", "Enter", "open the record under the log's cursor in full", "", "view"),
    Action("heartbeats", "f", "f", "show or hide the heartbeats in the log", "heartbeats", "view"),
    Action("deselect", "escape", "Esc", "end a search; else select no node, mark no witness", "", "view"),
    Action("predict", "P", "P", "be asked who will lead next, wherever that is open; and no more", "", "time"),
    Action("tour", "", "", "the tour in five steps, for the first time here; or end it"),
    Action("skip", "S", "S", "the next step of the tour"),
    Action("full", "z", "z", "this view alone, without nodes and log; and back", "", "view"),
    Action(
        "taller", "ctrl+up", "Ctrl+Up", "a taller view, and less of the nodes; the line of tabs can be dragged"
    ),
    Action("lower", "ctrl+down", "Ctrl+Down", "a lower view, and more of the nodes"),
    Action("wider", "ctrl+left", "Ctrl+Left", "a wider view beside the log; their border can be dragged"),
    Action("narrower", "ctrl+right", "Ctrl+Right", "a narrower view beside the log"),
    Action("theme", "t", "t", "light or dark; after : by name, too", takes="[NAME]"),
    Action("themes", "", "", "choose a theme from all that there are"),
    Action("help", "question_mark,f1", "?", "this help", "help", "view"),
    Action("quit", "q", "q", "quit, or back to what this was branched from", "quit", "view"),
)


_FIRST = (
    *(
        "command",
        "help",
        "quit",
        "answer",
        "hint",
        "again",
        "hand-in",
        "play",
        "step",
        "choose",
        "kill",
        "restart",
        "pause",
        "partition",
        "heal",
    ),
    *("back", "search", "witness", "next-mark", "until"),
)
"""What the footer has first: at its right end a narrow terminal cuts it off."""


def in_footer_order() -> list[Action]:
    """All actions; those of the footer by how much they are needed. Views are not in it: they have tabs."""
    places = {word: place for place, word in enumerate(_FIRST)}
    return sorted(ACTIONS, key=lambda action: places.get(action.word, len(_FIRST)))


def keys_as_markdown() -> str:
    """The table as the README has it."""
    rows = ["| key | `:` word | what it does |", "|---|---|---|"]
    for action in ACTIONS:
        key = f"`{action.shown}`".replace("|", r"\|") if action.shown else ""
        rows.append(f"| {key} | `{action.word}` | {action.help} |")
    return "\n".join(rows)


def action_named(word: str) -> Action | None:
    """The action that the ``:`` line calls so."""
    return next((action for action in ACTIONS if action.word == word), None)
