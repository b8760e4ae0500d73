"""The table of actions: the source of the keys, the footer, the help, the ``:`` words and the guide's table."""

from typing import Literal

from msgspec import Struct

__all__ = ["ACTIONS", "Action", "actions_as_markdown", "find_action", "footer_actions"]


class Action(Struct, frozen=True):
    """An action of the user.

    ``word`` is its id and its word on the ``:`` line. ``keys`` are the keys as Textual names them, ``shown`` as
    the user reads them. ``footer`` is its label in the footer; empty if it has none. ``takes`` is the argument
    that may follow the word on the ``:`` line.

    ``where`` limits it to runs that take commands (``driver``) or to simulated ones among these (``simulated``).
    ``needs_node`` limits it to when a node is selected, ``of_view`` to when that view is visible.
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
    Action(
        "restart",
        "r",
        "r",
        "restart the selected node; its stable storage is kept",
        "restart",
        "cluster",
        "driver",
        True,
    ),
    Action(
        "pause",
        "p",
        "p",
        "pause or resume the selected node (SIGSTOP, SIGCONT)",
        "pause",
        "cluster",
        "driver",
        True,
    ),
    Action("delay", "d", "d", "delay messages: those of the selected node, or all", "delay", "cluster", "driver"),
    Action("lose", "l", "l", "lose messages: those of the selected node, or all", "loss", "cluster", "driver"),
    Action("partition", "x", "x", "partition the network; asks for the sides", "partition", "cluster", "driver"),
    Action("heal", "h", "h", "heal the network: end all link faults", "heal", "cluster", "driver"),
    Action(
        "wipe",
        "W",
        "W",
        "erase the stable storage of the selected node, which must be down",
        "",
        "cluster",
        "driver",
        True,
    ),
    Action(
        *("answer", "A", "A", "answer the selected task, or read it in full", "answer", "exercise"),
        takes="[TASK [TEXT]]",
    ),
    Action(
        *("hint", "H", "H", "show the next hint for the task; asks first, because it may cost points", "hint"),
        group="exercise",
        takes="[TASK]",
    ),
    Action("again", "R", "R", "end this attempt and begin a new one", "again", "exercise"),
    Action("hand-in", "J", "J", "hand in: end the run and judge the remaining tasks", "hand in", "exercise"),
    Action(
        "command",
        "colon",
        ":",
        "open the command line: any command, or any word of this table",
        "command",
        "view",
    ),
    Action("play", "space", "space", "play or pause; freeze or resume a simulated run", "play", "time"),
    Action("back", "comma", ",", "go one record back", "back", "time"),
    Action(
        "step",
        "full_stop",
        ".",
        "go one record forward; at the end of a simulated run, execute one event",
        "step",
        "time",
    ),
    Action("choose", "c", "c", "choose the next event (simulated runs)", "choose", "time", "simulated"),
    Action("slower", "less_than_sign", "<", "slow down playback, or the simulated run", "", "time"),
    Action("faster", "greater_than_sign", ">", "speed up playback, or the simulated run", "", "time"),
    Action(
        "next-message",
        "e",
        "e",
        "go to the next message sent or received, by the selected node or any",
        "",
        "time",
    ),
    Action("previous-message", "E", "E", "go to the previous message", "", "time"),
    Action("next-of-node", "o", "o", "go to the next record of the selected node", "", "time"),
    Action("previous-of-node", "O", "O", "go to the previous record of the selected node", "", "time"),
    Action(
        *(
            "until",
            "u",
            "u",
            "go to where a predicate next becomes true: until 4.status == Normal",
            "until",
            "time",
        ),
        takes="PREDICATE",
    ),
    Action(
        *(
            "until-back",
            "U",
            "U",
            "go back to where a predicate last became true: until-back coordinators > 1",
            "",
            "time",
        ),
        takes="PREDICATE",
    ),
    Action("previous-fault", "left_curly_bracket", "{", "go to the previous fault", "", "time"),
    Action("next-fault", "right_curly_bracket", "}", "go to the next fault", "", "time"),
    Action("previous-election", "left_parenthesis", "(", "go to the previous election", "", "time"),
    Action("next-election", "right_parenthesis", ")", "go to the next election", "", "time"),
    Action("previous-status", "left_square_bracket", "[", "go to the previous change of status", "", "time"),
    Action("next-status", "right_square_bracket", "]", "go to the next change of status", "", "time"),
    Action(
        "previous-mark",
        "N",
        "N",
        "go to the previous search hit; without a search, bookmark, caption or unmet expectation",
        "",
        "time",
    ),
    Action(
        "next-mark",
        "n",
        "n",
        "go to the next search hit; without a search, bookmark, caption or unmet expectation",
        "next mark",
        "time",
    ),
    Action(
        *(
            "bookmark",
            "M",
            "M",
            "bookmark this record with a note, or list the bookmarks",
            "bookmark",
            "time",
        ),
        takes="NOTE",
    ),
    Action("rewind", "shift+left", "Shift+Left", "go five seconds back", "", "time"),
    Action("forward", "shift+right", "Shift+Right", "go five seconds forward", "", "time"),
    Action("start", "home", "Home", "go to the start", "", "time"),
    Action("end", "end", "End", "go to the end; follow a live run", "", "time"),
    Action(
        "branch", "B", "B", "branch: continue from this record in a new simulated run; q returns here", "", "view"
    ),
    Action("branches", "T", "T", "show the tree of this recording and its branches, and open one", "", "view"),
    Action(
        *(
            "compare",
            "equals_sign",
            "=",
            "compare with another recording from where they diverge, or hide it",
            "compare",
        ),
        takes="FILE",
    ),
    Action(
        "witness", "v", "v", "go to the next violation of an assertion and mark its witness", "witness", "view"
    ),
    Action(
        "diagram",
        "D",
        "D",
        "show or hide the space-time diagram: a line per node, an arrow per message",
        group="views",
    ),
    Action("zoom-in", "plus", "+", "zoom the diagram in, up to one row per step", of_view="diagram"),
    Action("zoom-out", "minus", "-", "zoom the diagram out, up to one minute per row", of_view="diagram"),
    Action("turn", "vertical_line", "|", "turn the diagram: time flows down, or to the right", of_view="diagram"),
    Action("jump", "j", "j", "move the time cursor to what is selected in the diagram", of_view="diagram"),
    Action("exercise", "I", "I", "show or hide the exercise: its tasks and their state", "", "views"),
    Action("groups", "g", "g", "show or hide the history of groups", "", "views"),
    Action(
        "bank", "b", "b", "show or hide the bank: accounts, open transactions and why they are open", "", "views"
    ),
    Action("map", "m", "m", "show or hide the map of the field", "", "views"),
    Action(
        "network",
        "L",
        "L",
        "show or hide the network: which nodes are connected, every link; Enter changes a link",
        "",
        "views",
    ),
    Action("script", "s", "s", "show or hide the script: lines done and lines waiting", "", "views"),
    Action(
        "code", "C", "C", "show or hide the protocol's source: where each node waits, and what ran", "", "views"
    ),
    Action(
        "inspect", "i", "i", "show or hide the full state of one node, and what its last step changed", "", "views"
    ),
    Action("assertions", "a", "a", "show or hide the assertions and their verdicts", "", "views"),
    Action(
        *("search", "slash", "/", "search: text, node:3, kind:AreYouUp, -fate:lost, when 4 normal", "search"),
        takes="QUERY",
    ),
    Action(
        *("filter", "ampersand", "&", "filter the log: show only the lines that match a query", "filter"),
        takes="QUERY",
    ),
    Action("follow", "F", "F", "trace the message under the cursor: its causes and its effects", "follow"),
    Action("copy", "y", "y", "copy what is under the cursor: a line of the log, or the record as JSON", "copy"),
    Action("write", "w", "w", "write the commands of this run to a scenario file", "", "view"),
    Action("export", "X", "X", "export the run as a picture, page, trace or table", takes="FORMAT [FILE]"),
    Action("open", "enter", "Enter", "show the record under the log's cursor in full", "", "view"),
    Action("heartbeats", "f", "f", "show or hide heartbeats in the log", "heartbeats", "view"),
    Action("deselect", "escape", "Esc", "end the search, or else deselect the node and the witness", "", "view"),
    Action(
        "predict",
        "P",
        "P",
        "turn predict mode on or off: who will lead next?",
        "",
        "time",
    ),
    Action("tour", "", "", "start or end the tour: five steps for newcomers"),
    Action("skip", "S", "S", "skip to the next step of the tour"),
    Action("full", "z", "z", "show only this view, or everything again", "", "view"),
    Action(
        "taller",
        "ctrl+up",
        "Ctrl+Up",
        "make the view taller; or drag the line of tabs",
    ),
    Action("shorter", "ctrl+down", "Ctrl+Down", "make the view shorter, and so the nodes' area taller"),
    Action("wider", "ctrl+left", "Ctrl+Left", "make the view beside the log wider; or drag their border"),
    Action("narrower", "ctrl+right", "Ctrl+Right", "make the view beside the log narrower"),
    Action("theme", "t", "t", "switch between light and dark; with a name after :, to that theme", takes="[NAME]"),
    Action("themes", "", "", "choose a theme from the list of all"),
    Action("help", "question_mark,f1", "?", "show this help", "help", "view"),
    Action("quit", "q", "q", "quit, or go back from a branch to its parent run", "quit", "view"),
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
"""The first actions of the footer: a narrow terminal cuts it off at the right end."""


def footer_actions() -> list[Action]:
    """Return all actions in the order of the footer, the most needed first; views have tabs instead of labels."""
    places = {word: place for place, word in enumerate(_FIRST)}
    return sorted(ACTIONS, key=lambda action: places.get(action.word, len(_FIRST)))


def actions_as_markdown() -> str:
    """Format the table as the guide has it."""
    rows = ["| key | `:` word | what it does |", "|---|---|---|"]
    for action in ACTIONS:
        key = f"`{action.shown}`".replace("|", r"\|") if action.shown else ""
        rows.append(f"| {key} | `{action.word}` | {action.help} |")
    return "\n".join(rows)


def find_action(word: str) -> Action | None:
    """Return the action with this word, or None."""
    return next((action for action in ACTIONS if action.word == word), None)
