"""Build the structs of ``lab.script.commands`` from the parse tree."""

from typing import Any

from lab.script.building.numbers import whole_number
from lab.script.commands import (
    FASTEST,
    MOST_STEPS,
    SLOWEST,
    Answer,
    Caption,
    CommandError,
    Heal,
    Hint,
    Inject,
    LinkFault,
    LinkSet,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    WorldCommand,
)
from lab.units import parse_us

__all__ = ["CommandRules"]


class CommandRules:
    """One method per grammar rule for a command, or for its operands: nodes, links, kinds."""

    def node_command(self, items: list[Any]) -> NodeCommand:
        return NodeCommand(str(items[0]), items[1])  # type: ignore[arg-type]

    def slow(self, items: list[Any]) -> Slow:
        nodes, time, jitter = items
        return Slow(nodes, parse_us(time), parse_us(jitter) if jitter else 0)

    def delay(self, items: list[Any]) -> LinkFault:
        links, kinds, delay, jitter = items
        return LinkFault("delay", links, parse_us(delay), parse_us(jitter) if jitter else 0, kinds=kinds)

    def lose(self, items: list[Any]) -> LinkFault:
        links, kinds, percent = items
        return LinkFault("lose", links, probability=_probability(percent), kinds=kinds)

    def duplicate(self, items: list[Any]) -> LinkFault:
        links, kinds, percent = items
        return LinkFault("duplicate", links, probability=_probability(percent), kinds=kinds)

    def reorder(self, items: list[Any]) -> LinkFault:
        links, kinds, percent, spread = items
        return LinkFault(
            "reorder", links, parse_us(spread or "100ms"), probability=_probability(percent), kinds=kinds
        )

    def hold(self, items: list[Any]) -> LinkFault:
        return LinkFault("hold", items[0], kinds=items[1])

    def cut(self, items: list[Any]) -> LinkFault:
        return LinkFault("cut", items[0])

    def release(self, items: list[Any]) -> Heal:
        return Heal(items[0], "release")

    def join(self, items: list[Any]) -> Heal:
        return Heal(items[0], "join")

    def heal(self, items: list[Any]) -> Heal:
        return Heal(items[0])

    def partition(self, items: list[Any]) -> Partition:
        return Partition(tuple(items))

    def inject(self, items: list[Any]) -> Inject:
        source, target, kind, body = items
        return Inject(whole_number(source), whole_number(target), str(kind), str(body or "{}"))

    def protocol_command(self, items: list[Any]) -> ProtocolCommandLine:
        nodes, command, *words = items
        return ProtocolCommandLine(nodes, str(command), tuple(map(str, words)))

    def bare_command(self, items: list[Any]) -> ProtocolCommandLine:
        command, nodes = items
        return ProtocolCommandLine(nodes, str(command))

    def bare_command_with_words(self, items: list[Any]) -> ProtocolCommandLine:
        command, *words = items
        return ProtocolCommandLine(None, str(command), tuple(map(str, words)))

    def caption(self, items: list[Any]) -> Caption:
        return Caption("say", _text_of(items[0]))

    def mark(self, items: list[Any]) -> Caption:
        return Caption("mark", _text_of(items[0]))

    def answer(self, items: list[Any]) -> Answer:
        task, text = items
        return Answer(_task("answer", task), _text_of(text))

    def hint(self, items: list[Any]) -> Hint:
        return Hint(_task("hint", items[0]))

    def freeze(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("freeze")

    def go(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("go")

    def speed(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("speed", factor=None if items[0].type == "MAX" else _factor(items[0]))

    def step(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("step", count=_count("step", items[0] or "1"))

    def choose_event(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("choose", count=_count("choose", items[0]))

    def deliver(self, items: list[Any]) -> WorldCommand:
        source, target, kind = items
        return WorldCommand("deliver", source=int(source), node=int(target), kind=str(kind or ""))

    def fire_timer(self, items: list[Any]) -> WorldCommand:
        return WorldCommand("fire", node=int(items[0]))

    def links(self, items: list[Any]) -> LinkSet:
        sources, arrow, targets = items
        return LinkSet(sources, targets, arrow == "<->")

    def kinds(self, items: list[Any]) -> tuple[str, ...]:
        return tuple(map(str, items))

    def nodes(self, items: list[Any]) -> Nodes:
        ids = tuple(int(item) for item in items if item.type == "NUMBER")
        words = tuple(str(item) for item in items if item.type == "WORD")
        return Nodes(ids, words)  # type: ignore[arg-type]


def _text_of(quoted: str) -> str:
    text = " ".join(quoted[1:-1].split())
    if not text:
        raise CommandError('the text between the quotes is empty; for example: say "4 is the first to notice"')
    return text


def _task(verb: str, text: str) -> int:
    task = int(text) if len(text) < 4 else 0
    if not task:
        raise CommandError(f"{verb} {text[:20]}: tasks are numbered from 1")
    return task


def _probability(percent: str) -> float:
    share = float(f"{percent[:-1]}e-2")
    if share > 1:
        raise CommandError(f"{percent} is out of range: write 0% to 100%")
    return share


def _factor(text: str) -> float:
    factor = float(text.removesuffix("x"))
    if not SLOWEST <= factor <= FASTEST:
        raise CommandError(f"speed {text} is out of range: write {SLOWEST:g} to {FASTEST:g}, or max")
    return factor


def _count(verb: str, text: str) -> int:
    count = int(text) if len(text) < 9 else 0
    if not 1 <= count <= MOST_STEPS:
        raise CommandError(f"{verb} {text[:20]} is out of range: write 1 to {MOST_STEPS}")
    return count
