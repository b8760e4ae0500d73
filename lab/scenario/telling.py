"""What happened in a recording, in words: a title, what there is to see, and a remark on each command."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from lab.analysis.elections import agreed_coordinator
from lab.recording.cluster_state import ClusterState
from lab.scenario.head import LONGEST_TITLE
from lab.scenario.outcome import Outcome
from lab.scenario.searching import Found
from lab.scenario.story import Given, Story, happened_between
from lab.script import (
    Caption,
    ExpectViolation,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    Slow,
    Tell,
)
from lab.script.commands import Nodes
from lab.script.printing import said
from lab.text import sanitize
from lab.units import count_of

__all__ = ["remark_on", "shows_of", "title_of"]

_TOLD = 2
_AT_ONCE_US = 1_000
_NODE_VERBS = {
    "kill": ("dies", "die"),
    "restart": ("comes back", "come back"),
    "pause": ("is paused", "are paused"),
    "resume": ("goes on", "go on"),
    "wipe": ("loses what it stored", "lose what they stored"),
}
_LINK_VERBS = {
    "delay": "messages are late",
    "lose": "messages are lost",
    "cut": "links are cut",
    "duplicate": "messages come twice",
    "reorder": "messages overtake each other",
    "hold": "messages are held",
    "heal": "the links are mended",
    "release": "what was held goes on",
    "join": "links are joined",
}


def title_of(story: Story, found: Found) -> str:
    """Such as ``4 and 5 die, 3 takes over``."""
    given = [line.given for line in found.draft.lines]
    phrases = [*dict.fromkeys(_phrases(given))]
    if len(phrases) > _TOLD + 1:
        phrases[_TOLD:] = ["and more"]
    ending = _ending(story, given)
    if not phrases and agreed_coordinator(story.cluster.nodes) is None:
        phrases = [f"a run of {story.header.protocol.title} without faults"]
    elif not story.elects:
        ending = f"in a run of {story.header.protocol.title}"
    title = ", ".join(filter(None, [*phrases, ending]))
    return sanitize(title[:1].upper() + title[1:], LONGEST_TITLE)


def shows_of(story: Story, outcome: Outcome, found: Found) -> str:
    """That it was made from a recording, of what, and what came of it."""
    header, draft = story.header, found.draft
    what = f"{header.protocol.title} with {count_of(len(draft.nodes), 'node')}"
    many = f", with {count_of(len(draft.lines), 'command')}" if draft.lines else ""
    told = [f"Made from a recording of a {header.world} run of {what}{many}."]
    ended = story.cluster if found.trial is None or not found.is_same else found.trial.cluster
    told.append(f"What came of it: {'; '.join([*_ended(ended, story.elects), *map(_verdict, outcome.verdicts)])}.")
    if story.steered:
        told.append("Somebody chose what happened next there, which a script cannot; it is left out.")
    if not found.is_same:
        missed = "; ".join(said(each) for each in found.missed)
        told.append(f"Run again in simulation, it does not come to the same: {missed or 'it did not end'}.")
    elif not found.is_good:
        told.append("Some of its lines touch nothing, and yet it would come to something else without them.")
    return " ".join(told)


def remark_on(story: Story, given: Given, after: Given | None) -> str:
    """Whom it struck, where the command does not say, and whom all agreed on before the one ``after`` it.

    What was so at once, or came long after, is not its effect; a caption has none.
    """
    if isinstance(given.line.command, Caption):
        return ""
    told = []
    if re.search(r"\b(all|coordinators?)\b", given.command) and isinstance(given.line.command, NodeCommand):
        told.append(given.outcome)
    last = story.cluster.record + 1 if after is None else after.began
    soon = range(given.at_us + _AT_ONCE_US, given.at_us + story.long_us)
    agreed = [event for event in happened_between(story.agreed, given.began - 1, last) if event.at_us in soon]
    leaders = [event for event in happened_between(story.leaders, given.began - 1, last) if event.at_us in soon]
    if agreed and agreed[-1].what is not None:
        told.append(f"{agreed[-1].what} leads after {_seconds(agreed[-1].at_us - given.at_us)}")
    elif leaders and len(leaders[-1].what) > 1:
        told.append(f"{_and(leaders[-1].what)} lead after {_seconds(leaders[-1].at_us - given.at_us)}")
    return sanitize("; ".join(filter(None, told))).replace('"', "'")


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f} s" if us >= 1_000_000 else f"{us / 1e3:.0f} ms"


def _phrases(given: Iterable[Given]) -> Iterator[str]:
    """What the commands did, in a few words each; what was done alike, or to the same nodes, in one phrase."""
    deeds = []
    for words, group in groupby(map(_deed, given), key=lambda deed: deed[0]):
        if words:
            deeds.append((words, sorted({node for _, nodes in group for node in nodes})))
    for struck, alike in groupby(deeds, key=lambda deed: deed[1]):
        verbs = [*dict.fromkeys(words[len(struck) > 1] for words, _ in alike)]
        if struck:
            yield f"{_and(struck)} {_and(verbs)}"
        else:
            yield from verbs


def _deed(given: Given) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """What the command did, in words for one node and for more, and the nodes; nothing of a caption."""
    match given.line.command:
        case NodeCommand(verb, nodes):
            return _NODE_VERBS[verb], _struck(nodes, given)
        case Slow(nodes):
            return ("is slow", "are slow"), _struck(nodes, given)
        case LinkFault(verb) | Heal(_, verb):
            said_ = _LINK_VERBS[verb]
        case Tell(_, command):
            said_ = f"{command} is told"
        case Partition():
            said_ = "the network parts"
        case Inject():
            said_ = "a message is forged"
        case _:
            return (), ()
    return (said_, said_), ()


def _struck(nodes: Nodes, given: Given) -> tuple[int, ...]:
    """The nodes that it struck; where they are named by what they are, as what came of it names them."""
    if not nodes.words:
        return nodes.ids
    return tuple(map(int, re.findall(r"\d+", given.outcome.partition(";")[0])))


def _ended(cluster: ClusterState, elects: bool) -> Iterator[str]:
    """Whom they follow in the end, and who runs no more."""
    views = list(cluster.nodes.values())
    running = [view for view in views if view.process == "running"]
    leader = agreed_coordinator(cluster.nodes)
    if leader is not None:
        yield f"all agree on {leader} in the end"
    elif elects:
        follow: dict[str, list[int]] = {}
        for view in running:
            normal = view.status == "Normal" and view.coordinator is not None
            begins = "about to begin" if view.status == "Down" else f"in {view.status}"
            follow.setdefault(f"under {view.coordinator}" if normal else begins, []).append(view.id)
        yield "in the end " + ", ".join(f"{_and(nodes)} {_are(nodes)} {how}" for how, nodes in follow.items())
    for process in ("killed", "failed", "paused"):
        nodes = tuple(view.id for view in views if view.process == process)
        if nodes:
            yield f"{_and(nodes)} {_are(nodes)} {'paused' if process == 'paused' else 'down'}"


def _are(nodes: Sequence[int]) -> str:
    return "is" if len(nodes) == 1 else "are"


def _verdict(expected: ExpectViolation) -> str:
    if expected.none:
        return f"{expected.assertion or 'all that is promised'} holds"
    return f"{expected.assertion} is violated" + (f" under {expected.under}" if expected.under else "")


def _ending(story: Story, given: list[Given]) -> str:
    """Who leads in the end, and what that is beside who led before; empty where nobody is elected at all."""
    leader = agreed_coordinator(story.cluster.nodes)
    leading = story.leaders[-1].what
    if not story.elects:
        return ""
    if leader is None:
        return f"{_and(leading)} lead" if len(leading) > 1 else "without agreement in the end"
    start = given[0].began if given else story.cluster.record + 1
    before = [event.what for event in story.agreed if event.record < start and event.what is not None]
    lost = any(leader not in event.what for event in story.leaders if event.record >= start)
    if not given or not before:
        return f"{leader} is elected"
    if leader != before[-1]:
        return f"{leader} takes over"
    return f"{leader} leads again" if lost else f"{leader} still leads"


def _and(each: Sequence[int] | Sequence[str]) -> str:
    words = [*map(str, each)]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
