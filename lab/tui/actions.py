"""The actions of the user: the table behind keys, footer, help, ``:`` words and guide, and what is available when.

Keys follow one logic: verbs on nodes, moves in time, views, the run, and what finds all else. A letter names its
word. A capital is the stronger or backward form of the same small letter, and brackets come in pairs. What is
rarely needed has no key: the command palette and the ``:`` line offer it.

The table comes first, then the keys of the user, then the reasons why an action is not available.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.script.scope import scope_of
from lab.tasks.extension import Extension, View, built_in_extensions
from lab.text import sanitize
from lab.tui.player import SCRIPT_MARKS
from lab.tui.source import Source
from lab.units import format_ranges

_SHOWN = {"comma": ",", "escape": "Esc", "?,f1": "?"}


def format_key(key: str) -> str:
    """Return a key as the user reads it, such as ``Shift+Left``."""
    return _SHOWN.get(key, key if len(key) == 1 or key == "space" else key.title())


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
        """The key as the user reads it; empty without one."""
        return format_key(self.keys)


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
    _cluster("partition", "x", "partition the network; asks for the sides", "partition"),
    _cluster("heal", "h", "heal the network: end all link faults", "heal", command="heal"),
    _cluster("delay", "d", "delay messages: those of the selected node, or all", "delay", draft="delay {} 400ms"),
    _cluster("lose", "", "lose messages: those of the selected node, or all", draft="lose {} 30%"),
    _cluster(
        "wipe",
        "",
        "erase the stable storage of the selected node, which must be down",
        needs_node=True,
        command="wipe {}",
    ),
    _time("play", "space", "play or pause; freeze or resume a simulated run", "play"),
    _time("back", "comma", "go one record back", "back"),
    _time("step", ".", "go one record forward; at the end of a simulated run, execute one event", "step"),
    _time("choose", "o", "choose which event occurs next (simulated runs)", "choose", where="simulated"),
    _time("slower", "<", "slow down playback, or the simulated run"),
    _time("faster", ">", "speed up playback, or the simulated run"),
    _time("previous-election", "(", "go back to where an election began, or a node took over as leader"),
    _time("next-election", ")", "go to where an election begins, or a node takes over as leader", "election"),
    _time("previous-fault", "{", "go to the previous fault"),
    _time("next-fault", "}", "go to the next fault"),
    _time("previous-status", "[", "go to the previous change of status"),
    _time("next-status", "]", "go to the next change of status"),
    _time(
        "next-mark",
        "n",
        "go to the next search hit or, without a search, bookmark, caption or unmet expectation",
        "next mark",
    ),
    _time(
        "previous-mark",
        "N",
        "go to the previous search hit or, without a search, bookmark, caption or unmet expectation",
    ),
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
    _time("next-violation", "v", "go to the next violation of an assertion and mark its witness", "violation"),
    _time("previous-violation", "V", "go to the previous violation of an assertion"),
    _time("rewind", "shift+left", "go five seconds back"),
    _time("forward", "shift+right", "go five seconds forward"),
    _time("start", "home", "go to the start"),
    _time("end", "end", "go to the end; follow a live run"),
    _time("next-message", "", "go to the next message sent or received, by the selected node or any"),
    _time("previous-message", "", "go to the previous message"),
    _time("next-of-node", "", "go to the next record of the selected node"),
    _time("previous-of-node", "", "go to the previous record of the selected node"),
    _time("predict", "", "turn predict mode on or off: who will lead next?"),
    _view("exercise", "e", "show or hide the exercise: its tasks and their state"),
    _view("diagram", "s", "show or hide the space-time diagram: a line per node, an arrow per message"),
    _view("groups", "g", "show or hide the history of groups"),
    *(_view_of_task(view) for brought in built_in_extensions() for view in brought.views),
    _view("network", "l", "show or hide the network: which nodes are connected, every link; Enter changes a link"),
    _view("script", ";", "show or hide the script and the commands given by hand: those done, and those waiting"),
    _view("code", "c", "show or hide the protocol's source: where each node waits, and what ran"),
    _view("inspect", "i", "show or hide the full state of one node, and what its last step changed"),
    _view("assertions", "a", "show or hide the assertions and their verdicts"),
    _view("compare", "=", "compare with another recording from where they diverge, or hide it", takes="FILE"),
    Action("zoom-in", "+", "zoom the diagram in, up to one row per step", "zoom in", of_view="diagram"),
    Action("zoom-out", "-", "zoom the diagram out, up to one minute per row", "zoom out", of_view="diagram"),
    Action("turn", "|", "turn the diagram: time flows down, or to the right", "turn", of_view="diagram"),
    Action("command", ":", "open the command line: any command, or any word of this table", "command"),
    Action("palette", "ctrl+p", "find an action by any of its letters", "all actions"),
    Action("help", "?,f1", "show this help", "help"),
    Action("quit", "q", "quit, or go back from a branch to its parent run", "quit"),
    Action(
        "search", "/", "search: text, node:3, kind:AreYouUp, -fate:lost, when 4 normal", "search", takes="QUERY"
    ),
    Action("filter", "&", "filter the log: show only the lines that match a query", "filter", takes="QUERY"),
    Action("open", "enter", "go to the moment under the cursor, or open what is there: a record, a task, a link"),
    Action("deselect", "escape", "end the search, or else deselect the node and the witness"),
    Action("follow", "f", "follow the message under the cursor: its causes and its effects", "follow message"),
    Action("copy", "y", "copy what is under the cursor: a line of the log, or the record as JSON", "copy"),
    Action("bookmark", "m", "bookmark this record with a note", "bookmark", takes="NOTE"),
    Action("bookmarks", "M", "list the bookmarks, to go to one or remove it"),
    Action("branch", "b", "branch: continue from this record in a new simulated run; quit returns here", "branch"),
    Action("branches", "B", "show the tree of this recording and its branches, and open one"),
    Action(
        "watch",
        "w",
        "show a value or a predicate at every moment: watch all.coordinator",
        "watch",
        takes="EXPRESSION",
    ),
    Action("unwatch", "", "end a watch: one, or all; without an expression, choose one", takes="[EXPRESSION|all]"),
    Action("export", "", "export the run as a picture, page, trace or table", takes="FORMAT [FILE]"),
    Action("write", "", "write the commands of this run to a scenario file"),
    Action("full", "z", "show only this view, or everything again"),
    Action("cards", "#", "show the nodes as cards, or as rows"),
    Action("hall", "f11", "show the cluster in large letters, for a hall; or everything again"),
    Action("heartbeats", "", "show or hide heartbeats in the log"),
    Action("taller", "ctrl+up", "make the view taller; or drag the line of tabs"),
    Action("shorter", "ctrl+down", "make the view shorter, and so the nodes' area taller"),
    Action("wider", "ctrl+left", "make the view beside the log wider; or drag their border"),
    Action("narrower", "ctrl+right", "make the view beside the log narrower"),
    Action("theme", "", "switch between light and dark; with a name after :, to that theme", takes="[NAME]"),
    Action("themes", "", "choose a theme from the list of all"),
    Action("tour", "", "start or end the tour: five steps for newcomers"),
    Action("skip", "", "skip to the next step of the tour"),
    _exercise("answer", "", "answer the selected task, or read it in full", takes="[TASK [TEXT]]"),
    _exercise(
        "hint",
        "",
        "show the next hint for the task; asks first, because it may cost points",
        takes="[TASK]",
    ),
    _exercise("again", "", "end this attempt and begin a new one"),
    _exercise("hand-in", "", "hand in: end the run and judge the remaining tasks"),
)

_NODES, _SCRUB_BAR, _PROMPTS = "nodes", "scrub-bar", ("command-line", "search-line")
"""The ids of what may have the focus besides a view."""
_NODE = ("kill", "restart", "pause")
_OF_FOCUS: dict[str, tuple[str, ...]] = {
    _NODES: (*_NODE, "partition"),
    "log": ("open", "follow", "copy", "filter"),
    "diagram": ("open", "zoom-in", "zoom-out", "turn"),
    "exercise": ("open", "hint", "again", "hand-in"),
}
"""The first actions of the footer while this has the focus; of other views, what Enter does."""
_ENTER = {
    "log": "go there",
    "diagram": "go there",
    "exercise": "answer",
    "network": "change link",
    "code": "lines run",
    "groups": "go there",
    "script": "go there",
    "assertions": "violation",
    "compare": "divergence",
}
"""The effect of Enter in each view, as its label in the footer."""
_FIRST = (
    *("command", "help", "quit", "play", "step", "choose", "back", "branch", *_NODE, "partition", "heal", "delay"),
    *("search", "next-election", "next-violation", "next-mark", "until"),
)
"""The actions that follow in the footer, which a narrow terminal cuts off at the right end."""


class FooterKey(Struct, frozen=True):
    """A key of the footer.

    ``shown`` is the key as the user reads it, ``label`` what it does, ``tooltip`` the same at length. A click
    performs ``action``, as Textual names it; empty: it presses ``key``.
    """

    shown: str
    label: str
    tooltip: str = ""
    key: str = ""
    action: str = ""


_PROMPT_KEYS = (
    FooterKey("Tab", "complete", "complete the word, or take the first suggestion", "tab"),
    FooterKey("Enter", "do it", "submit the line", "enter"),
    FooterKey("Esc", "leave", "close the line", "escape"),
    FooterKey("Up", "history", "the lines entered before", "up"),
)

FIXED = ("open", "deselect")
"""Actions whose keys are the same everywhere, in dialogs too."""
TASK_VIEWS = tuple(view.word for each in built_in_extensions() for view in each.views)
"""The views that the built-in tasks bring. They share a key, as no run has two of them."""


def actions_of(extension: Extension | type[Extension], keys: Mapping[str, str]) -> dict[str, Action]:
    """Return the table by word, with the user's ``keys`` and the views that a protocol brings.

    The key that the views of tasks share is that of the view that the run has, else of the first. A view of a
    user's own protocol has the key that it declares, unless another action has it.
    """
    brought = {view.word: view for view in extension.views}
    actions = {action.word: replace(action, keys=keys.get(action.word, action.keys)) for action in ACTIONS}
    taken = {key for action in actions.values() if action.word not in TASK_VIEWS for key in action.keys.split(",")}
    for word, view in brought.items():
        if word not in actions:
            actions[word] = replace(_view_of_task(view), keys="" if view.key in taken else view.key)
    here = {actions[word].keys for word in brought}
    for word in TASK_VIEWS:
        if word not in brought:
            actions[word] = replace(actions[word], keys="" if actions[word].keys in here else actions[word].keys)
            here.add(actions[word].keys)
    return actions


def actions_as_markdown() -> str:
    """Format the table as the guide has it."""
    rows = ["| key | `:` word | what it does |", "|---|---|---|"]
    for action in ACTIONS:
        key = f"`{action.shown}`".replace("|", r"\|") if action.shown else ""
        rows.append(f"| {key} | `{action.word}` | {action.help} |")
    return "\n".join(rows)


# the table of a run

_NEEDS_ALIVE = {"kill": True, "pause": True, "restart": False, "wipe": False}
"""Whether the process of the selected node must be alive for an action, or must not."""
_NOT_SERVED = ("export", "write", "branch", "branches", "compare")
"""Actions that reach files outside the student's folder, or cost the shared machine too much."""


class ActionTable(Mapping[str, Action]):
    """The actions of a run by their words, with the user's ``keys``: when each is available, and what offers it.

    ``seen`` are the visible views, and ``search`` and ``tour`` while one of these is active.
    """

    def __init__(self, source: Source, keys: Mapping[str, str] | None = None) -> None:
        self._source = source
        self._actions = actions_of(source.extension, keys or {})

    def __getitem__(self, word: str) -> Action:
        return self._actions[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def __len__(self) -> int:
        return len(self._actions)

    def key(self, word: str) -> str:
        """Return what a user presses for an action, or types if it has no key: ``:word``."""
        return self._actions[word].shown or f":{word}"

    def with_keys(self, text: str) -> str:
        """Replace each word of an action in braces by its key."""
        return re.sub(r"\{([a-z-]+)\}", lambda found: self.key(found[1]) if found[1] in self else found[0], text)

    # what is available

    def is_available(self, action: Action, process: str | None, seen: tuple[str, ...]) -> bool:
        """Return whether an action applies now, to the selected node.

        ``process`` is the state of that node's process; None if no node is selected: its keys then ask for one.
        """
        is_applicable = (
            process is None
            or action.word not in _NEEDS_ALIVE
            or _NEEDS_ALIVE[action.word] == (process in ("running", "paused"))
        )
        return is_applicable and not self.reason_unavailable(action, seen)

    def reason_unavailable(self, action: Action, seen: tuple[str, ...] = ()) -> str:
        """Return why an action is not available in this run, whichever node is selected; empty if it is.

        The word of an action in braces stands for its key.
        """
        source = self._source
        if action.of_view and action.of_view not in seen:
            return f"{action.word} works in the {action.of_view}: press {{{action.of_view}}} to show it"
        if action.where == "driver" and not source.takes_commands:
            return f"this run takes no commands: {source.reason_no_commands}"
        if action.where == "simulated" and not source.controls_time:
            return "only in a simulated run can you choose the next event: lab run bully --sim"
        if action.word in ("next-mark", "previous-mark") and "search" in seen:
            return ""
        if source.is_served and action.word in _NOT_SERVED and not (action.word == "branch" and source.may_branch):
            return f"{action.word} is not on the server; install lab to use it"
        return self._reason_in_exercise(action) or self._reason_missing(action.word, seen)

    def _reason_in_exercise(self, action: Action) -> str:
        source = self._source
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

    def _reason_missing(self, word: str, seen: tuple[str, ...]) -> str:
        """Return what is missing that the action needs."""
        source = self._source
        header = source.store.header
        reason = ""
        match word:
            case "next-mark" | "previous-mark" if not self._has_marks:
                reason = "this run has no bookmark, caption, mark or unmet expectation so far; {bookmark} adds one"
            case "skip" if "tour" not in seen:
                reason = "no tour is running; :tour starts one"
            case "tour" if not source.takes_commands:
                reason = "the tour needs a running cluster; lab tour starts one"
            case "predict" if self.elects_nobody:
                reason = "{} elects no coordinator, so there is nothing to predict; try lab run bully"
            case "groups" if not source.groups.groups:
                reason = "{} has no groups; try lab run invitation"
            case "script" if not (header.scenario or self._has_commands):
                reason = "this run has no script; try lab run SCENARIO, or lab run bully --script FILE"
                if source.takes_commands:
                    reason += "; commands given by hand, and those that wait, are listed here once there are some"
            case "code" if not header.protocol.source.strip():
                reason = "this recording does not contain the source of its protocol"
            case _ if source.extension.view(word) is None:
                reason = _reason_without(word)
        return reason and reason.replace("{}", sanitize(header.title, 30))

    @property
    def _has_commands(self) -> bool:
        """True if commands were given by hand in a run that goes on."""
        source = self._source
        return bool(source.waiting) or (source.is_live and source.script_log.has_given)

    @property
    def own_commands(self) -> tuple[str, ...]:
        """The commands that the source carries out itself, besides those of the script language."""
        return self._source.own_commands

    @property
    def elects_nobody(self) -> bool:
        """True if the protocol of the run elects no coordinator, as far as is known."""
        promises = self._source.store.header.protocol.promises
        return bool(promises) and not {"A1.1", "A3.1"}.intersection(promises)

    @property
    def _has_marks(self) -> bool:
        return bool(self._source.bookmarks.all) or not self._source.marks.found.isdisjoint(SCRIPT_MARKS)

    # what offers them

    def opening_hint(self) -> str:
        """Return the remark of a recording or scenario, or else which keys to press first."""
        source, every = self._source, f"{self.key('help')} for all keys"
        remark = source.store.header.remark
        if source.attempt is not None and source.can_command:
            return f"Up and Down select a task, Enter answers it, :hint helps; a digit selects a node, {every}"
        script = f"; {self.key('script')} shows the script" if source.store.header.scenario else ""
        if remark and (script or not source.is_live):
            return f"{sanitize(remark, 250)} ({every}{script})"
        if source.is_live and source.store.header.world == "simulated":
            keys = "{play} freezes and resumes time, {step} executes the next event, {choose} chooses which; "
            return f"{self.with_keys(keys)}{every}{self._own_hint}"
        hint = self.with_keys(source.extension.opening_hint)
        return f"press a node's number to select it, {every}{hint and f'; {hint}'}{self._own_hint}"

    @property
    def _own_hint(self) -> str:
        """An example of the commands of a protocol that has nothing to do without them; empty for others."""
        source = self._source
        scope = scope_of(source.store.header) if source.takes_commands and self.elects_nobody else None
        example = "" if scope is None else next(scope.own_examples(), "")
        return example and f"; for work to do, try :{example}"

    def in_order(self, focus: str, selected: int | None) -> list[Action]:
        """Return the actions of what has the focus, with this id; then of the selected node; then all others."""
        of_focus = _OF_FOCUS.get(focus, ("open",) if focus in _ENTER else ())
        of_node = _NODE if selected is not None else ()
        return [self[word] for word in dict.fromkeys((*of_focus, *of_node, *_FIRST, *self))]

    def footer(
        self, available: Collection[Action], focus: str, selected: int | None, process: str | None = None
    ) -> Iterator[FooterKey]:
        """Yield the keys of the footer, the most useful first. Views have tabs instead.

        ``process`` is the state of the selected node's process.
        """
        if focus in _PROMPTS:
            yield from _PROMPT_KEYS
            return
        if focus == _NODES and selected is None:
            nodes = self._source.store.header.nodes
            shown = format_ranges(nodes)
            select = f"screen.digit('{nodes[0]}')"
            yield FooterKey(shown, "select a node", "or the arrow keys, or a click", action=select)
        elif focus == _SCRUB_BAR:
            yield FooterKey("0-9", "tenths of the run", "or a click", "5")
        enter = "" if focus == "network" and not self._source.takes_commands else _ENTER.get(focus, "")
        for action in self.in_order(focus, selected):
            label = enter if action.word == "open" else action.footer
            if action.word == "pause" and process == "paused":
                label = "resume"
            is_word = not action.keys and action.word in _OF_FOCUS.get(focus, ())
            if (label or is_word) and action in available:
                yield FooterKey(self.key(action.word), label, action.help, action=f"screen.do('{action.word}')")


@cache
def _reason_without(word: str) -> str:
    """Return what the runs of other protocols lack, if this is the word of a view that a built-in task brings."""
    views = (view for brought in built_in_extensions() for view in brought.views)
    return next((f"{{}} {view.without}" for view in views if view.word == word), "")
