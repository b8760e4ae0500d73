"""The part of a protocol's source that its parameters leave in use.

A text can be read in several ways, and a repair be left out: parameters choose. The choice is the user's, and
what it rules out is no part of the protocol that is tested. So neither is mutated.

A condition is *settled* if it depends on ``self.parameters`` alone, and on constants of its module, such as
``self.parameters.halting == "at_once"``; or on a property of the class that is settled itself.
"""

import ast
from collections.abc import Container, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from msgspec import Struct

_Conditional = ast.If | ast.IfExp
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class LiveCode:
    """The part of a module, with this ``namespace``, that the ``parameters`` leave in use; if None, all of it.

    ``settled`` are the values of the properties that depend on the parameters alone.
    """

    def __init__(
        self,
        parameters: Struct | None = None,
        namespace: Mapping[str, Any] | None = None,
        settled: Mapping[str, bool] | None = None,
    ) -> None:
        self._parameters = parameters
        self._namespace = dict(namespace or {})
        self._known = {**(settled or {}), "parameters": parameters}

    def children(self, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
        """Yield the nodes below this one that are in use, each with the name of its field."""
        for name, value in ast.iter_fields(node):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and not self._is_ruled_out(node, name, each):
                    yield name, each

    def is_settled(self, node: ast.AST) -> bool:
        """Return whether this is a choice that the parameters make, at least in part."""
        if isinstance(node, _Conditional):
            return self.decide(node.test) is not None
        return isinstance(node, ast.BoolOp) and any(self.decide(each) is not None for each in node.values)

    def decide(self, condition: ast.expr) -> bool | None:
        """Return the value of a settled condition; None if it is not settled."""
        if self._parameters is None:
            return None
        if isinstance(condition, ast.BoolOp):
            decided = [self.decide(each) for each in condition.values]
            deciding = isinstance(condition.op, ast.Or)
            if deciding in decided:
                return deciding
            return None if None in decided else not deciding
        if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
            decided_one = self.decide(condition.operand)
            return None if decided_one is None else not decided_one
        return self._evaluate(condition) if self._depends_on_parameters(condition) else None

    def has(self, method: Any) -> bool:
        """Return whether a method is in use; a repair or a variation that does not apply is not."""
        applies = getattr(method, "applies", None)
        return self._parameters is None or applies is None or bool(applies(self._parameters))

    def continues(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Return whether the function calls the method of that name in the next class."""
        pending: list[ast.AST] = [*function.body]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Attribute) and node.attr == function.name and _is_super(node.value):
                return True
            pending += [child for _, child in self.children(node)]
        return False

    def _is_ruled_out(self, parent: ast.AST, field: str, child: ast.AST) -> bool:
        if isinstance(parent, _Conditional):
            decided = self.decide(parent.test)
            return decided is not None and field in ("test", "orelse" if decided else "body")
        if isinstance(parent, ast.BoolOp) and isinstance(child, ast.expr):
            return self.decide(parent) is not None or self.decide(child) is not None
        return False

    def _depends_on_parameters(self, expression: ast.expr) -> bool:
        """Return whether it uses ``self.parameters``, or settled properties, and nothing else but constants."""
        known = {id(owner) for each in ast.walk(expression) for owner in _owner_of(each, self._known)}
        names = [each for each in ast.walk(expression) if isinstance(each, ast.Name)]
        is_constant = all(id(each) in known or self._is_constant(each.id) for each in names)
        return bool(known) and is_constant and all(map(_is_plain, ast.walk(expression)))

    def _is_constant(self, name: str) -> bool:
        return name[:1].isupper() and name in self._namespace

    def _evaluate(self, expression: ast.expr) -> bool | None:
        code = compile(ast.Expression(expression), "<condition>", "eval")
        try:
            return bool(eval(code, self._namespace, {"self": SimpleNamespace(**self._known)}))
        except Exception:  # of other parameters: those of the layer below, perhaps
            return None


ALL_LIVE = LiveCode()
"""All of a module: for when the parameters are not known."""


def _owner_of(node: ast.AST, names: Container[str]) -> Iterator[ast.Name]:
    """Yield the ``self`` of ``self.parameters``, or of another of these names."""
    match node:
        case ast.Attribute(value=ast.Name(id="self") as owner, attr=name) if name in names:
            yield owner


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _is_plain(node: ast.AST) -> bool:
    """Return whether a node calls nothing but a method of a constant, such as ``REPAIR.applies(…)``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    return not isinstance(node, ast.Await | ast.Lambda | ast.comprehension | ast.NamedExpr)


def replaced_methods(
    classes: tuple[type, ...], definitions: Mapping[type, ast.ClassDef], live: Mapping[type, LiveCode]
) -> set[tuple[type, str]]:
    """Return the methods that no object of the first of these classes ever executes, as (class, method).

    ``classes`` are those of its method resolution order, of which ``definitions`` has some. A method is replaced
    by one of an earlier class that does not call it by ``super()``; a repair that is left out replaces nothing.
    """
    dead: set[tuple[type, str]] = set()
    replaced: set[str] = set()
    for klass in classes:
        if klass not in definitions:
            continue
        for function in definitions[klass].body:
            if not isinstance(function, _Function):
                continue
            name = function.name
            if name in replaced or not live[klass].has(vars(klass).get(name)):
                dead.add((klass, name))
            elif not live[klass].continues(function):
                replaced.add(name)
    return dead


def settled_properties(
    classes: tuple[type, ...], definitions: Mapping[type, ast.ClassDef], live: Mapping[type, LiveCode]
) -> dict[str, bool]:
    """Return the values of the properties that the parameters settle, by name; see ``replaced_methods``.

    Such a property does nothing but return a settled condition. An earlier class may replace it by a constant.
    """
    found: dict[str, bool | None] = {}
    for klass in (each for each in classes if each in definitions):
        for statement in definitions[klass].body:
            match statement:
                case ast.FunctionDef(
                    name=name,
                    decorator_list=[ast.Name(id="property")],
                    body=[*before, ast.Return(ast.expr() as returned)],
                ):
                    is_alone = all(map(_is_docstring, before))
                    found.setdefault(name, live[klass].decide(_without_bool(returned)) if is_alone else None)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=bool() as value)):
                    found.setdefault(name, value)
    return {name: value for name, value in found.items() if value is not None}


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _without_bool(expression: ast.expr) -> ast.expr:
    """Return the condition in ``bool(…)``, anything else as it is."""
    match expression:
        case ast.Call(func=ast.Name(id="bool"), args=[condition]):
            return condition
    return expression
