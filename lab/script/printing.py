"""Print parsed statements in canonical form: parsing the text again gives the same structs."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from lab.script import predicates
from lab.script.commands import (
    Answer,
    Caption,
    Command,
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
from lab.script.predicates import (
    Arithmetic,
    Attribute,
    Balance,
    Compare,
    Count,
    Is,
    LinkIs,
    Not,
    Number,
    Predicate,
    Suspects,
    Text,
    Value,
)
from lab.script.statements import (
    After,
    At,
    Every,
    Expect,
    Expectation,
    ExpectThroughout,
    ExpectViolation,
    OnMessage,
    OnStatus,
    Statement,
    Trigger,
    When,
    covers_whole_run,
)
from lab.units import format_us


def unparse(what: Statement | Trigger | Command | Expectation | Predicate | Value) -> str:
    """Return the canonical text of a statement or of a part of one."""
    return _FORMATTERS[type(what)](what)


def _line(line: Statement) -> str:
    triggers = [unparse(trigger) for trigger in (line.trigger, *line.then) if trigger]
    follows_anyway = (
        not covers_whole_run(line.command) if line.trigger is None else isinstance(line.trigger, After)
    )
    then = ["then"] if line.follows and not follows_anyway else []
    before = " ".join([*then, *triggers])
    return f"{before}{':' if triggers else ''} {unparse(line.command)}".strip()  # type: ignore[arg-type]


def _words(*words: object) -> str:
    """Join the words that are not empty."""
    return " ".join(filter(None, map(str, words)))


def _nodes(nodes: Nodes | None) -> str:
    return "" if nodes is None else _words(*nodes.ids, *nodes.words)


def _links(links: LinkSet | None) -> str:
    if links is None:
        return ""
    if links.targets is None:
        return _nodes(links.sources)
    return f"{_nodes(links.sources)}{'<->' if links.both else '->'}{_nodes(links.targets)}"


def _link(source: int | None, target: int | None) -> str:
    """Format one link; empty if its ends are None, which means any."""
    return "" if source is None else f"{source}->{target}"


def _time(us: int, jitter_us: int = 0) -> str:
    return format_us(us) + (f" ±{format_us(jitter_us)}" if jitter_us else "")


def _percent(share: float) -> str:
    shown = f"{Decimal(repr(share)) * 100:f}"  # the shortest text that parses to this number
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + "%"


def format_amount(fault: LinkFault | Slow) -> str:
    """Format the time or percentage of a fault; empty if it has none."""
    if isinstance(fault, Slow):
        return _time(fault.us, fault.jitter_us)
    share = _percent(fault.probability)
    amounts = {
        "delay": _time(fault.us, fault.jitter_us),
        "lose": share,
        "duplicate": share,
        "reorder": f"{share} {_time(fault.us)}",
    }
    return amounts.get(fault.verb, "")


def _fault(fault: LinkFault) -> str:
    return _words(fault.verb, _links(fault.links), *fault.kinds, format_amount(fault))


def _protocol_command(command: ProtocolCommandLine) -> str:
    named = command.nodes is not None
    return _words("tell" if named else "", _nodes(command.nodes), command.command, *command.words)


def _of_world(command: WorldCommand) -> str:
    parameters = {
        "speed": "max" if command.factor is None else f"{command.factor}".removesuffix(".0"),
        "step": command.count if command.count > 1 else "",
        "choose": command.count,
        "deliver": _words(_link(command.source, command.node), command.kind),
        "fire": command.node,
    }
    return _words(command.verb, parameters.get(command.verb, ""))


def _violation(expected: ExpectViolation) -> str:
    under = f"under {expected.under}" if expected.under else ""
    return _words("expect", "no" if expected.none else "", "violation", expected.assertion, under)


def _count(count: Count) -> str:
    which = _words(count.kind, _link(count.source, count.target))
    return f"{count.what}({which})" if which else count.what


def _grouped(part: Predicate, *looser: type) -> str:
    return f"({unparse(part)})" if isinstance(part, looser) else unparse(part)


def _arithmetic(value: Arithmetic) -> str:
    """Format an operation. Operators are left-associative: a right operand of the same rank needs parentheses."""
    binds = value.operator in "*/"
    sides = [unparse(value.left), unparse(value.right)]
    for place, side in enumerate((value.left, value.right)):
        if isinstance(side, Arithmetic) and (side.operator in "*/") < binds + place:
            sides[place] = f"({sides[place]})"
    return f" {value.operator} ".join(sides)


_FORMATTERS: dict[type, Callable[[Any], str]] = {
    Statement: _line,
    # triggers
    At: lambda it: f"at {_time(it.us)}",
    After: lambda it: f"after {_time(it.us)}",
    Every: lambda it: f"every {_time(it.us)}",
    When: lambda it: f"when {unparse(it.predicate)}",
    OnMessage: lambda it: _words(
        "on", it.event, it.kind, _link(it.source, it.target), f"#{it.nth}" if it.nth > 1 else ""
    ),
    OnStatus: lambda it: f"on status {it.who} {it.status}",
    # commands
    NodeCommand: lambda it: _words(it.verb, _nodes(it.nodes)),
    Slow: lambda it: _words("slow", _nodes(it.nodes), format_amount(it)),
    LinkFault: _fault,
    Partition: lambda it: f"partition {' | '.join(map(_nodes, it.sides))}",
    Heal: lambda it: _words(it.verb, _links(it.links)),
    Inject: lambda it: _words("inject", _link(it.source, it.target), it.kind, it.body if it.body != "{}" else ""),
    ProtocolCommandLine: _protocol_command,
    Caption: lambda it: f'{it.verb} "{it.text}"',
    Answer: lambda it: f'answer {it.task} "{it.text}"',
    Hint: lambda it: f"hint {it.task}",
    WorldCommand: _of_world,
    # expectations
    Expect: lambda it: _words(
        "expect", unparse(it.predicate), "" if it.within_us is None else f"within {_time(it.within_us)}"
    ),
    ExpectThroughout: lambda it: f"expect {'always' if it.always else 'never'} {unparse(it.predicate)}",
    ExpectViolation: _violation,
    # predicates
    predicates.Any: lambda it: " or ".join(_grouped(part, predicates.Any) for part in it.parts),
    predicates.All: lambda it: " and ".join(_grouped(part, predicates.Any, predicates.All) for part in it.parts),
    Not: lambda it: f"not {_grouped(it.part, predicates.Any, predicates.All)}",
    Compare: lambda it: f"{unparse(it.left)} {it.operator} {unparse(it.right)}",
    Is: lambda it: f"{it.who} {it.state}",
    Suspects: lambda it: f"{it.who} suspects {it.whom}",
    LinkIs: lambda it: f"{_link(it.source, it.target)} cut",
    # values
    Number: lambda it: str(it.value),
    Text: lambda it: it.word,
    Attribute: lambda it: f"{it.who}.{it.name}",
    Balance: lambda it: f"balance({it.account})",
    Count: _count,
    Arithmetic: _arithmetic,
}
