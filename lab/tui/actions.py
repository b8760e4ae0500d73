"""The actions of the user: the table behind keys, footer, help, ``:`` words and guide, and what is available when.

The table comes first, then the reasons why an action is not available, then the keys to press first.
"""

from functools import cache, partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.tasks.extension import Extension, View, built_in_extensions
from lab.text import sanitize
from lab.tui.player import SCRIPT_MARKS
from lab.tui.source import Source

_SHOWN = {"comma": ",", "escape": "Esc", "?,f1": "?"}


class Action(Struct, frozen=True):
    """An action of the user.

    ``word`` is its id and its word on the ``:`` line, ``takes`` the argument that may follow it there. ``keys``
    are the keys as Textual names them. ``footer`` is its label in the footer; empty if it has none.

    ``where`` limits it to runs that take commands (``driver``) or to simulated ones among these (``simulated``).
    ``needs_node`` limits it to when a node is selected, ``of_view`` to when that view is visible.

    ``command`` is the command that it gives to the run, ``draft`` one that is edited on the command line first. In
    both, ``{}`` stands for the selected node; in a draft for all nodes, if none is selected.
    """

    word: str
    keys: str
    help: str
    footer: str = ""
    group: Literal["cluster", "time", "exercise", "views", "view"] = "view"
    where: Literal["driver", "simulated", "all"] = "all"
    needs_node: bool = False
    takes: str = ""
    of_view: str = ""
    command: str = ""
    draft: str = ""

    @property
    def shown(self) -> str:
        """The keys as the user reads them, such as ``Shift+Left``."""
        return _SHOWN.get(
            self.keys, self.keys if len(self.keys) == 1 or self.keys == "space" else self.keys.title()
        )


_cluster = partial(Action, group="cluster", where="driver")
_time = partial(Action, group="time")
_exercise = partial(Action, group="exercise")
_view = partial(Action, group="views")


def _view_of_task(view: View) -> Action:
    return _view(view.word, view.key, f"show or hide {view.help or view.hint}")


ACTIONS: tuple[Action, ...] = (
    _cluster("kill", "k", "kill the selected node (SIGKILL)", "kill", needs_node=True, command="kill {}"),
    _cluster(
        "restart",
        "r",
        "restart the selected node; its stable storage is kept",
        "restart",
        needs_node=True,
        command="restart {}",
    ),
    _cluster("pause", "p", "pause or resume the selected node (SIGSTOP, SIGCONT)", "pause", needs_node=True),
    _cluster("delay", "d", "delay messages: those of the selected node, or all", "delay", draft="delay {} 400ms"),
    _cluster("lose", "l", "lose messages: those of the selected node, or all", "loss", draft="lose {} 30%"),
    _cluster("partition", "x", "partition the network; asks for the sides", "partition"),
    _cluster("heal", "h", "heal the network: end all link faults", "heal", command="heal"),
    _cluster(
        "wipe",
        "W",
        "erase the stable storage of the selected node, which must be down",
        needs_node=True,
        command="wipe {}",
    ),
    _exercise("answer", "A", "answer the selected task, or read it in full", "answer", takes="[TASK [TEXT]]"),
    _exercise(
        "hint",
        "H",
        "show the next hint for the task; asks first, because it may cost points",
        "hint",
        takes="[TASK]",
    ),
    _exercise("again", "R", "end this attempt and begin a new one", "again"),
    _exercise("hand-in", "J", "hand in: end the run and judge the remaining tasks", "hand in"),
    Action("command", ":", "open the command line: any command, or any word of this table", "command"),
    _time("play", "space", "play or pause; freeze or resume a simulated run", "play"),
    _time("back", "comma", "go one record back", "back"),
    _time("step", ".", "go one record forward; at the end of a simulated run, execute one event", "step"),
    _time("choose", "c", "choose the next event (simulated runs)", "choose", where="simulated"),
    _time("slower", "<", "slow down playback, or the simulated run"),
    _time("faster", ">", "speed up playback, or the simulated run"),
    _time("next-message", "e", "go to the next message sent or received, by the selected node or any"),
    _time("previous-message", "E", "go to the previous message"),
    _time("next-of-node", "o", "go to the next record of the selected node"),
    _time("previous-of-node", "O", "go to the previous record of the selected node"),
    _time(
        "until",
        "u",
        "go to where a predicate next becomes true: until 4.status == Normal",
        "until",
        takes="PREDICATE",
    ),
    _time(
        "until-back",
        "U",
        "go back to where a predicate last became true: until-back coordinators > 1",
        takes="PREDICATE",
    ),
    _time("previous-fault", "{", "go to the previous fault"),
    _time("next-fault", "}", "go to the next fault"),
    _time("previous-election", "(", "go to the previous election"),
    _time("next-election", ")", "go to the next election"),
    _time("previous-status", "[", "go to the previous change of status"),
    _time("next-status", "]", "go to the next change of status"),
    _time(
        "previous-mark",
        "N",
        "go to the previous search hit or, without a search, bookmark, caption or unmet expectation",
    ),
    _time(
        "next-mark",
        "n",
        "go to the next search hit or, without a search, bookmark, caption or unmet expectation",
        "next mark",
    ),
    _time("bookmark", "M", "bookmark this record with a note, or list the bookmarks", "bookmark", takes="NOTE"),
    _time("rewind", "shift+left", "go five seconds back"),
    _time("forward", "shift+right", "go five seconds forward"),
    _time("start", "home", "go to the start"),
    _time("end", "end", "go to the end; follow a live run"),
    Action("branch", "B", "branch: continue from this record in a new simulated run; q returns here"),
    Action("branches", "T", "show the tree of this recording and its branches, and open one"),
    Action(
        "compare",
        "=",
        "compare with another recording from where they diverge, or hide it",
        "compare",
        takes="FILE",
    ),
    Action("witness", "v", "go to the next violation of an assertion and mark its witness", "witness"),
    _view("diagram", "D", "show or hide the space-time diagram: a line per node, an arrow per message"),
    Action("zoom-in", "+", "zoom the diagram in, up to one row per step", of_view="diagram"),
    Action("zoom-out", "-", "zoom the diagram out, up to one minute per row", of_view="diagram"),
    Action("turn", "|", "turn the diagram: time flows down, or to the right", of_view="diagram"),
    Action("jump", "j", "move the time cursor to what is selected in the diagram", of_view="diagram"),
    _view("exercise", "I", "show or hide the exercise: its tasks and their state"),
    _view("groups", "g", "show or hide the history of groups"),
    *(_view_of_task(view) for brought in built_in_extensions() for view in brought.views),
    _view("network", "L", "show or hide the network: which nodes are connected, every link; Enter changes a link"),
    _view("script", "s", "show or hide the script: lines done and lines waiting"),
    _view("code", "C", "show or hide the protocol's source: where each node waits, and what ran"),
    _view("inspect", "i", "show or hide the full state of one node, and what its last step changed"),
    _view("assertions", "a", "show or hide the assertions and their verdicts"),
    Action(
        "search", "/", "search: text, node:3, kind:AreYouUp, -fate:lost, when 4 normal", "search", takes="QUERY"
    ),
    Action("filter", "&", "filter the log: show only the lines that match a query", "filter", takes="QUERY"),
    Action("follow", "F", "trace the message under the cursor: its causes and its effects", "follow"),
    Action(
        "watch",
        "V",
        "show a value or a predicate at every moment: watch all.coordinator",
        takes="EXPRESSION",
    ),
    Action("unwatch", "", "end a watch: one, or all; without an expression, choose one", takes="[EXPRESSION|all]"),
    Action("copy", "y", "copy what is under the cursor: a line of the log, or the record as JSON", "copy"),
    Action("write", "w", "write the commands of this run to a scenario file"),
    Action("export", "X", "export the run as a picture, page, trace or table", takes="FORMAT [FILE]"),
    Action("palette", "ctrl+p", "find an action by any of its letters"),
    Action("open", "enter", "show the record under the log's cursor in full"),
    Action("heartbeats", "f", "show or hide heartbeats in the log", "heartbeats"),
    Action("deselect", "escape", "end the search, or else deselect the node and the witness"),
    _time("predict", "P", "turn predict mode on or off: who will lead next?"),
    Action("tour", "", "start or end the tour: five steps for newcomers"),
    Action("skip", "S", "skip to the next step of the tour"),
    Action("full", "z", "show only this view, or everything again"),
    Action("hall", "f11", "show the cluster in large letters, for a hall; or everything again"),
    Action("cards", "#", "show the nodes as cards, or as rows"),
    Action("taller", "ctrl+up", "make the view taller; or drag the line of tabs"),
    Action("shorter", "ctrl+down", "make the view shorter, and so the nodes' area taller"),
    Action("wider", "ctrl+left", "make the view beside the log wider; or drag their border"),
    Action("narrower", "ctrl+right", "make the view beside the log narrower"),
    Action("theme", "t", "switch between light and dark; with a name after :, to that theme", takes="[NAME]"),
    Action("themes", "", "choose a theme from the list of all"),
    Action("help", "?,f1", "show this help", "help"),
    Action("quit", "q", "quit, or go back from a branch to its parent run", "quit"),
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
    ),
    *("pause", "partition", "heal", "back", "search", "witness", "next-mark", "until"),
)
"""The first actions of the footer: a narrow terminal cuts it off at the right end."""


def actions_of(extension: Extension) -> dict[str, Action]:
    """Return the table by word, with the views that a user's own protocol brings; a taken key is left out."""
    actions = {action.word: action for action in ACTIONS}
    taken = {key for action in ACTIONS for key in action.keys.split(",")}
    own = [_view_of_task(view) for view in extension.views if view.word not in actions]
    return actions | {each.word: replace(each, keys="") if each.keys in taken else each for each in own}


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


# when an action is available

_NEEDS_ALIVE = {"kill": True, "pause": True, "restart": False, "wipe": False}
"""Whether the process of the selected node must be alive for an action, or must not."""
_NOT_SERVED = ("export", "write", "branch", "branches", "compare")
"""Actions that reach files outside the student's folder, or cost the shared machine too much."""


def is_available(action: Action, source: Source, process: str | None, seen: tuple[str, ...]) -> bool:
    """Return whether an action applies now, to the selected node; the footer shows only those that do.

    ``process`` is the state of that node's process; None if no node is selected. Its keys then say to select one.
    """
    is_applicable = (
        process is None
        or action.word not in _NEEDS_ALIVE
        or _NEEDS_ALIVE[action.word] == (process in ("running", "paused"))
    )
    return is_applicable and not reason_unavailable(action, source, seen)


def reason_unavailable(action: Action, source: Source, seen: tuple[str, ...] = ()) -> str:
    """Return why an action is not available in this run, whichever node is selected; empty if it is.

    ``seen`` are the visible views, and ``search`` and ``tour`` while one of these is active.
    """
    if action.of_view and action.of_view not in seen:
        key = next(each.shown for each in ACTIONS if each.word == action.of_view)
        return f"{action.word} works in the {action.of_view}: press {key} to show it"
    if action.where == "driver" and not source.takes_commands:
        return f"this run takes no commands: {source.reason_no_commands}"
    if action.where == "simulated" and not source.controls_time:
        return "only in a simulated run can you choose the next event: lab run bully --sim"
    if action.word in ("next-mark", "previous-mark") and "search" in seen:
        return ""
    if source.is_served and action.word in _NOT_SERVED:
        return f"{action.word} is not on the server; install lab to use it"
    return _reason_in_exercise(action, source) or _reason_missing(action.word, source, seen)


def _reason_in_exercise(action: Action, source: Source) -> str:
    attempt = source.attempt
    if attempt is None:
        is_missing = action.group == "exercise" or action.word == "exercise"
        return "this run belongs to no exercise; lab exercise list shows the exercises" if is_missing else ""
    if action.word in ("again", "hand-in") and not attempt.is_own:
        return f"only the student of this attempt can use {action.word}"
    if action.word in ("hint", "hand-in") and not source.takes_commands:
        return f"{action.word} is no longer possible: {source.reason_no_commands}"
    if action.word == "tour":
        return "the tour does not run in an exercise; lab tour starts one"
    if action.where == "driver" and action.word not in attempt.exercise.allowed:
        may = ", ".join(attempt.exercise.may) or "none"
        return f"{action.word} is not allowed in this exercise; allowed commands: {may}"
    return ""


def _reason_missing(word: str, source: Source, seen: tuple[str, ...]) -> str:
    """Return what is missing that the action needs."""
    header = source.store.header
    reason = ""
    match word:
        case "next-mark" | "previous-mark" if not _has_marks(source):
            reason = "no bookmark, caption, mark or unmet expectation in this run so far; M adds a bookmark"
        case "skip" if "tour" not in seen:
            reason = "no tour is running; :tour starts one"
        case "tour" if not source.takes_commands:
            reason = "the tour needs a running cluster; lab tour starts one"
        case "predict" if _elects_nobody(header.protocol.promises):
            reason = "{} elects no coordinator, so there is nothing to predict; try lab run bully"
        case "groups" if not source.groups.groups:
            reason = "{} has no groups; try lab run invitation"
        case "script" if not header.scenario:
            reason = "this run has no script; try lab run SCENARIO, or lab run bully --script FILE"
        case "code" if not header.protocol.source.strip():
            reason = "this recording does not contain the source of its protocol"
        case _ if source.extension.view(word) is None:
            reason = _reason_without(word)
    return reason.format(sanitize(header.protocol.title, 30)) if reason else ""


@cache
def _reason_without(word: str) -> str:
    """Return what the runs of other protocols lack, if this is the word of a view that a built-in task brings."""
    views = (view for brought in built_in_extensions() for view in brought.views)
    return next((f"{{}} {view.without}" for view in views if view.word == word), "")


def _has_marks(source: Source) -> bool:
    return bool(source.bookmarks.all) or not source.marks.found.isdisjoint(SCRIPT_MARKS)


def _elects_nobody(promises: tuple[str, ...]) -> bool:
    return bool(promises) and not {"A1.1", "A3.1"}.intersection(promises)


def opening_hint(source: Source) -> str:
    """Return the remark of a recording or scenario, or else which keys to press first."""
    remark = source.store.header.remark
    if source.attempt is not None and source.can_command:
        return "Up and Down select a task, A answers it, H gives a hint; a digit selects a node, ? for all keys"
    script = "; s shows the script" if source.store.header.scenario else ""
    if remark and (script or not source.is_live):
        return f"{sanitize(remark, 250)} (? for all keys{script})"
    if source.is_live and source.store.header.world == "simulated":
        return "space freezes and resumes time, . executes the next event, c chooses which; ? for all keys"
    hint = source.extension.opening_hint
    return f"press a node's number to select it, ? for all keys{hint and f'; {hint}'}"
