"""The rules by which a protocol is mutated: each makes one small change that an author could make by mistake.

A rule looks at one node of the syntax tree, and yields the changes that it can make there. A change is a few edits
of the source, so the difference to the original is those lines and no others. Its ``reach`` are lines, one of
which a run must have executed if the change is to make a difference to it: a run of the original that has not is
the same run for the mutant.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct

from lab.worlds.mutation.code import Code, Edit
from lab.worlds.mutation.live_code import ALL_LIVE, LiveCode
from lab.worlds.mutation.mutable_source import Extent, specifies

# what is mutated: the statements of functions, and the declarations of a class's fields


class SourceChange(NamedTuple):
    """A change to the source by the rule of this id, at this line, in this function or class."""

    rule: str
    line: int
    place: str
    edits: tuple[Edit, ...]
    reach: frozenset[int]


class MutationScope(Struct, frozen=True):
    """The class or function that is mutated. ``writing`` and ``sending`` are methods that do so at once.

    ``environment`` are the fields and methods that are left alone, with the statements that use them; ``live`` is
    what is in use, and ``replaced`` are methods that are not, as *Class.method*.
    """

    code: Code
    writing: frozenset[str]
    sending: frozenset[str]
    environment: frozenset[str] = frozenset()
    live: LiveCode = ALL_LIVE
    replaced: frozenset[str] = frozenset()


Found = Iterator[tuple[list[Edit], frozenset[int] | None]]
"""The edits of each change; and the lines of which a run must execute one, if not those of the statement."""


class MutationRule(Struct, frozen=True):
    """A rule. ``text`` is what it changes, as a phrase for a table."""

    id: str
    text: str
    find: Callable[[MutationScope, ast.AST], Found]
    in_declarations: bool = False


def changes_in(
    code: Code,
    extents: Iterator[Extent],
    environment: frozenset[str] = frozenset(),
    live: LiveCode = ALL_LIVE,
    replaced: frozenset[str] = frozenset(),
) -> Iterator[SourceChange]:
    """Yield all changes to these classes and functions, in the order of the source, then of the rules.

    ``environment`` are the names of fields and methods that are left alone: see ``Algorithm.environment``;
    ``live`` and ``replaced`` are as in ``MutationScope``.
    """
    kept = list(extents)
    scope = MutationScope(code, *_effects_of_methods(kept), environment, live, replaced)
    for extent in kept:
        yield from _changes(scope, extent.node, extent.name)


def _changes(
    scope: MutationScope, definition: ast.AST, place: str, rules: "tuple[MutationRule, ...] | None" = None
) -> Iterator[SourceChange]:
    if rules is None:
        rules = tuple(rule for rule in RULES if not rule.in_declarations)
    if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
        found = [
            SourceChange(
                *(rule.id, scope.code.line_at(edits[0].start), place, tuple(edits)),
                _reach(scope.code, node) if reach is None else reach,
            )
            for node in _executed(definition, scope)
            for rule in rules
            for edits, reach in rule.find(scope, node)
        ]
        order = {rule.id: number for number, rule in enumerate(RULES)}
        yield from sorted(found, key=lambda change: (change.line, order[change.rule], change.edits))
        return
    assert isinstance(definition, ast.ClassDef)
    for statement in definition.body:
        if specifies(statement) and not isinstance(statement, ast.ClassDef):
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{place}.{statement.name}"
            if statement.name not in scope.environment and name not in scope.replaced:
                yield from _changes(scope, statement, name, rules)
        elif isinstance(statement, ast.ClassDef):
            settings = tuple(rule for rule in rules if rule.id == "timeout")
            inner = settings if statement.name == "Parameters" else rules
            yield from _changes(scope, statement, f"{place}.{statement.name}", inner)
        elif isinstance(statement, ast.AnnAssign) and definition.name != "Parameters":
            if ast.unparse(statement.target) in scope.environment:
                continue
            for rule in RULES:
                if rule.in_declarations:
                    for edits, _ in rule.find(scope, statement):
                        yield SourceChange(rule.id, statement.lineno, place, tuple(edits), frozenset())


def _executed(function: ast.FunctionDef | ast.AsyncFunctionDef, scope: MutationScope) -> Iterator[ast.AST]:
    """Yield what a function executes, without texts, notes, assertions, and what uses the environment.

    Nor what its parameters choose, and what they rule out.
    """
    environment, live = scope.environment, scope.live
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr) or _self_method(node) == "note":
            continue
        if isinstance(node, ast.stmt) and _only_notes(node):
            continue
        if environment and isinstance(node, ast.stmt | ast.expr) and _uses(node, environment):
            pending += [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            continue
        if not live.is_settled(node):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += node.body if isinstance(node.body, list) else [node.body]
        else:
            pending += [each for name, each in live.children(node) if name not in ("annotation", "returns")]


def _only_notes(statement: ast.stmt) -> bool:
    """Return whether all that a statement does is to write a note, if perhaps on a condition."""
    if isinstance(statement, ast.If):
        return all(map(_only_notes, [*statement.body, *statement.orelse]))
    return isinstance(statement, ast.Expr) and _self_method(_called(statement.value)) == "note"


def _uses(node: ast.stmt | ast.expr, names: frozenset[str]) -> bool:
    """Return whether an expression, or a statement without those inside it, uses an attribute of these names."""
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Attribute) and each.attr in names and ast.unparse(each.value) == "self":
            return True
        pending += [child for child in ast.iter_child_nodes(each) if not isinstance(child, ast.stmt)]
    return False


def _reach(code: Code, node: ast.AST) -> frozenset[int]:
    """Return the lines of what is evaluated together with the node; of a statement, its own.

    An operand of ``and`` that is not the first may stay unevaluated, as may an arm of a conditional expression.
    """
    found = node.iter if isinstance(node, ast.comprehension) else node
    while not (isinstance(node, ast.stmt) or _is_conditional(code, node)):
        node = code.parent(node)
        found = node if isinstance(node, ast.expr) else found
    assert isinstance(found, ast.expr | ast.stmt)
    return _lines(found)


def _is_conditional(code: Code, node: ast.AST) -> bool:
    """Return whether its parent may be evaluated without this node."""
    parent = code.parent(node)
    if isinstance(parent, ast.BoolOp):
        return node is not parent.values[0]
    if isinstance(parent, ast.IfExp):
        return node is not parent.test
    return isinstance(parent, ast.Lambda)


def _lines(node: ast.expr | ast.stmt) -> frozenset[int]:
    assert node.end_lineno is not None
    return frozenset(range(node.lineno, node.end_lineno + 1))


# calls


def _called(value: ast.AST) -> ast.AST:
    """Return the call of an awaited call, anything else as it is."""
    return value.value if isinstance(value, ast.Await) else value


def _self_method(node: ast.AST) -> str:
    """Return the method if this is a call of a method of ``self`` or ``super()``, else an empty text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if isinstance(owner, ast.Call):
            owner = owner.func
        if isinstance(owner, ast.Name) and owner.id in ("self", "super"):
            return node.func.attr
    return ""


def _is_on_self(call: ast.AST) -> bool:
    """Return whether this is a call on ``self``, or on what it has: ``self._task.stop_processing()``."""
    if not isinstance(call, ast.Call):
        return False
    owner: ast.AST = call.func
    while isinstance(owner, ast.Attribute | ast.Subscript):
        owner = owner.value
    if isinstance(owner, ast.Call):
        owner = owner.func
    return isinstance(owner, ast.Name) and owner.id in ("self", "super")


def _effects_of_methods(extents: list[Extent]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of methods that assign fields, and of those that send and assign none."""
    plain = {
        node.name: node
        for extent in extents
        for node in ast.walk(extent.node)
        if isinstance(node, ast.FunctionDef)
    }
    calls = {name: {_self_method(node) for node in ast.walk(method)} - {""} for name, method in plain.items()}

    def reaching(first: set[str]) -> set[str]:
        while more := {name for name in plain if name not in first and calls[name] & first}:
            first |= more
        return first

    writing = reaching({name for name, method in plain.items() if any(map(_assigns_field, ast.walk(method)))})
    sending = reaching({"send"}) - {"send"}
    return frozenset(writing), frozenset(sending - writing)


def _assigns_field(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=targets):
            found = [each for target in targets for each in ast.walk(target)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            found = [target]
        case _:
            return False
    return any(isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self" for each in found)


# comparisons and numbers

_TURNED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: (r"in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
_NEGATABLE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


def _turned(scope: MutationScope, node: ast.AST) -> Found:
    if not isinstance(node, ast.Compare):
        return
    for before, operator, after in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        pattern, text = _TURNED[type(operator)]
        yield [_replace_between(scope.code, before, after, pattern, text)], None


def _replace_between(code: Code, before: ast.expr, after: ast.expr, pattern: str, text: str) -> Edit:
    """Return the edit that replaces the operator between two operands."""
    start, end = code.span(before)[1], code.span(after)[0]
    found = re.search(pattern.encode(), code.source[start:end])
    assert found is not None
    return Edit(start + found.start(), start + found.end(), text)


_COVERED: dict[type[ast.cmpop], int] = {ast.Lt: 1, ast.LtE: -1, ast.Gt: -1, ast.GtE: 1}
"""The increase of the right side that equals turning the comparison: of integers, the same change."""


def _off_by_one(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield from _constant_off(scope, node, node.value)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        (operator,), (right,) = node.ops, node.comparators
        covered = _COVERED.get(type(operator))
        constants = (ast.Constant, ast.UnaryOp)
        if covered is None or isinstance(right, constants) or isinstance(node.left, constants):
            return
        if any(_is_count(each) for each in (node.left, right)):
            sign = "-" if covered > 0 else "+"
            yield [scope.code.replace(right, f"{_operand(scope.code, right)} {sign} 1")], None


def _constant_off(scope: MutationScope, node: ast.Constant, value: int) -> Found:
    parent = scope.code.parent(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        return
    around = list(_expressions_around(scope.code, node))
    if any(_is_time(each) or isinstance(each, ast.Subscript) for each in around) or _is_in_duration(around):
        return
    covered = 0
    if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        covered = _COVERED.get(type(parent.ops[0]), 0) * (1 if parent.left is not node else -1)
    elif _is_successor(parent):
        covered = 1  # numbers need only grow
    for off in (-1, 1):
        if off != covered:
            yield [scope.code.replace(node, str(value + off))], None


def _is_successor(expression: ast.AST) -> bool:
    """Return whether this is the number after another one, such as a version; a number of things is not."""
    match expression:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)):
            return not _is_count(left)
    return False


def _expressions_around(code: Code, node: ast.AST) -> Iterator[ast.AST]:
    while not isinstance(node, ast.stmt):
        yield node
        node = code.parent(node)


def _is_count(expression: ast.expr) -> bool:
    """Return whether this is a number of things, such as nodes: ``len(…)``, ``sum(…)``, ``… // 2``."""
    return any(
        (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in ("len", "sum"))
        or (isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv))
        for each in ast.walk(expression)
    )


def _operand(code: Code, node: ast.expr) -> str:
    """Return the source of an operand of ``+`` or ``-``, in parentheses where they are needed."""
    is_safe = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
    )
    return code.text(node) if is_safe else f"({code.text(node)})"


# times


_BOUNDS = ("t_us", "tm_us", "tp_us")
_WAITS = {"sleep": ("us", 0), "ask": ("within", 2), "ask_all": ("within", 2), "until": ("within", 2)}


def _scaled(scope: MutationScope, node: ast.AST) -> Found:
    duration = _duration(node)
    if duration is None and isinstance(node, ast.expr) and _is_time(node) and _counts_alone(scope.code, node):
        duration = node
    if duration is not None and not (isinstance(duration, ast.Constant) and not duration.value):
        for text in (_half(scope.code, duration), _double(scope.code, duration)):
            yield [scope.code.replace(duration, text)], None


def _duration(node: ast.AST) -> ast.expr | None:
    """Return the duration in a call that waits, None in anything else."""
    name, place = _WAITS.get(_self_method(node), ("", 0))
    if not name:
        return None
    assert isinstance(node, ast.Call)
    named = [each.value for each in node.keywords if each.arg == name]
    return next(iter([*named, *node.args[place : place + 1]]), None)


def _is_time(node: ast.AST) -> bool:
    """Return whether this is a bound, or a multiple of a time."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return any(_time_name(each) not in ("", "now_us") for each in (node.left, node.right))
    return isinstance(node, ast.Attribute) and _time_name(node) in _BOUNDS


def _time_name(node: ast.AST) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name if name.endswith("_us") else ""


def _counts_alone(code: Code, node: ast.expr) -> bool:
    """Return whether a time is no factor of another, and no duration that is changed as a whole."""
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    parent = code.parent(node)
    if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.BinOp) and _is_time(parent)):
        return False
    return not _is_in_duration(list(_expressions_around(code, node)))


def _is_in_duration(around: list[ast.AST]) -> bool:
    """Return whether one of these nested expressions is the duration of a call around it."""
    durations = [_duration(each) for each in around]
    return any(each is not None and each in around for each in durations)


def _half(code: Code, node: ast.expr) -> str:
    factor, other = _factor(node)
    if factor and factor % 2 == 0:
        return code.text(other) if factor == 2 else f"{factor // 2} * {code.text(other)}"
    return f"{_factor_text(code, node)} // 2"


def _double(code: Code, node: ast.expr) -> str:
    factor, other = _factor(node)
    return f"{2 * factor} * {code.text(other)}" if factor else f"2 * {_factor_text(code, node)}"


def _factor(node: ast.expr) -> tuple[int, ast.expr]:
    """Return the integer by which something is multiplied, and that; 0 if there is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for number, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(number, ast.Constant) and type(number.value) is int and _is_atom(other):
                return number.value, other
    return 0, node


def _factor_text(code: Code, node: ast.expr) -> str:
    is_safe = _is_atom(node) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult))
    return code.text(node) if is_safe else f"({code.text(node)})"


def _is_atom(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)


# conditions


def _negated(scope: MutationScope, node: ast.AST) -> Found:
    for test in _conditions(node):
        match test:
            case ast.Compare(ops=[operator]) if isinstance(operator, _NEGATABLE):
                continue  # turned by another rule
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                text = scope.code.text(operand)
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
                text = f"not {scope.code.text(test)}"
            case _:
                text = f"not ({scope.code.text(test)})"
        yield [scope.code.replace(test, text)], _reach(scope.code, test)


def _always_true(scope: MutationScope, node: ast.AST) -> Found:
    for test in _conditions(node):
        yield [scope.code.replace(test, "True")], _reach(scope.code, test)


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the conditions of an ``if``, a conditional expression or a comprehension."""
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Constant):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def _without_body(scope: MutationScope, node: ast.AST) -> Found:
    if (
        isinstance(node, ast.If)
        and not isinstance(node.body[-1], ast.Return)
        and not all(map(_is_idle, node.body))
    ):
        yield [scope.code.replace_block(node.body, "pass")], _lines(node.body[0])


def _without_guard(scope: MutationScope, node: ast.AST) -> Found:
    if not (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return)):
        return
    if node.orelse or scope.code.is_elif(node):
        yield [scope.code.replace_block(node.body, "pass")], _lines(node.body[0])
    else:
        yield [scope.code.remove(node)], _lines(node.body[0])


def _is_idle(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing, or only notes something for users."""
    is_note = isinstance(statement, ast.Expr) and _self_method(statement.value) == "note"
    return is_note or isinstance(statement, ast.Pass | ast.Assert)


def _swapped(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.BoolOp):
        pattern, text = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield (
            [
                _replace_between(scope.code, before, after, pattern, text)
                for before, after in zip(node.values, node.values[1:], strict=False)
            ],
            None,
        )


def _without_operand(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            reach = _reach(scope.code, value)
            yield [scope.code.replace(value, str(isinstance(node.op, ast.And)))], reach


# statements


def _without_call(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.Expr) and _is_on_self(_called(node.value)):
        yield [scope.code.remove(node)], _lines(node)


def _without_reset(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.Assign) and _assigns_field(node) and _is_fixed(node.value):
        yield [scope.code.remove(node)], _lines(node)


def _is_fixed(value: ast.expr) -> bool:
    """Return whether a value is a constant, empty, or a member of an enumeration."""
    match value:
        case ast.Constant() | ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="frozenset" | "tuple" | "set" | "dict" | "list"), args=[], keywords=[]):
            return True
        case ast.Attribute(value=ast.Name(), attr=name):
            return name.isupper()
    return False


def _sent_first(scope: MutationScope, node: ast.AST) -> Found:
    """Move what sends a message, or returns an answer, before the write that precedes it."""
    if not (isinstance(node, ast.stmt) and (_sends(scope, node) or _replies(scope.code, node))):
        return
    block = scope.code.block(node)
    for earlier in reversed(block[: block.index(node)]):
        if _writes(scope, earlier):
            moved = scope.code.move_before(node, earlier)
            if moved is not None:
                yield [moved], _lines(earlier)
            return
        if not isinstance(earlier, ast.Expr) or _sends(scope, earlier):
            return


def _sends(scope: MutationScope, statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr | ast.Assign):
        return False
    if isinstance(statement.value, ast.Await):
        return _self_method(statement.value.value) in ("ask", "ask_all")
    return isinstance(statement, ast.Expr) and _self_method(statement.value) in ("send", *scope.sending)


def _replies(code: Code, statement: ast.stmt) -> bool:
    """Return whether a statement is the return of an answer by a handler."""
    if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Call):
        return False
    around: ast.AST = statement
    while not isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
        around = code.parent(around)
    marks = (each.func for each in around.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Name) and each.id == "on" for each in marks)


def _writes(scope: MutationScope, statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return _self_method(statement.value) in scope.writing
    return _assigns_field(statement)


# values


def _flipped(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield [scope.code.replace(node, str(not node.value))], None


def _flipped_default(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _flipped(scope, node.value)


_OPPOSITE = {"min": "max", "max": "min"}


def _other_extreme(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OPPOSITE:
        yield [scope.code.replace(node.func, _OPPOSITE[node.func.id])], None


def _other_end(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        other = {"0": "-1", "-1": "0"}.get(ast.unparse(node.slice))
        if other is not None:
            yield [scope.code.replace(node.slice, other)], None


def _unsafe(scope: MutationScope, node: ast.AST) -> Found:
    if isinstance(node, ast.AnnAssign):
        for each in ast.walk(node.annotation):
            if isinstance(each, ast.Subscript) and ast.unparse(each.value) == "Safe":
                yield [scope.code.replace(each, scope.code.text(each.slice))], None


RULES = (
    MutationRule("comparison", "a comparison is turned: < and <=, == and !=, is and is not", _turned),
    MutationRule("off-by-one", "a constant, or the number in a quorum, is one more or one less", _off_by_one),
    MutationRule("timeout", "a time to wait is half as long, or twice as long", _scaled),
    MutationRule("negation", "the condition of an if is negated", _negated),
    MutationRule("always", "the condition of an if is always true", _always_true),
    MutationRule("body", "the body of an if is left out", _without_body),
    MutationRule("guard", "a guard, an if that ends in return, is left out", _without_guard),
    MutationRule("and-or", "and becomes or, and or becomes and", _swapped),
    MutationRule("operand", "an operand of and or or is left out", _without_operand),
    MutationRule("call", "a statement that calls a method of self is left out", _without_call),
    MutationRule("send-first", "a message or an answer leaves before the write that precedes it", _sent_first),
    MutationRule("reset", "the assignment of a constant to a field is left out", _without_reset),
    MutationRule("flip", "True becomes False, and False becomes True", _flipped),
    MutationRule("default", "a field begins with True instead of False, or the reverse", _flipped_default, True),
    MutationRule("min-max", "min becomes max, and max becomes min", _other_extreme),
    MutationRule("first-last", "the first of a sequence is taken instead of the last, or the reverse", _other_end),
    MutationRule("unsafe", "a field is kept in memory instead of stable storage: without Safe", _unsafe, True),
)
"""All rules, in the order of reports."""
