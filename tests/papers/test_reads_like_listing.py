"""A protocol reads like its listing: every file in lab/protocols keeps to rules that can be checked.

An ``await`` is the whole right side of a simple statement, at most one in each. So the wait of a procedure is at
one line, and a suspended procedure has no hidden state. Nothing below the worlds has a clock, a random source or
an order of its own.
"""

import ast
from pathlib import Path

import pytest

import lab

LAB = Path(lab.__file__).parent
PROTOCOLS = sorted((LAB / "protocols").glob("*.py"))
LOWER = sorted(path for room in ("kernel", "network", "protocols") for path in (LAB / room).glob("*.py"))
FORBIDDEN = {"time", "os", "socket", "datetime", "secrets", "uuid", "threading", "asyncio", "trio"}
UNORDERED = {"set", "frozenset"}


def awaits_out_of_place(source: str) -> list[int]:
    """Return the lines of every ``await`` that is not the whole right side of a simple statement."""
    tree = ast.parse(source)
    allowed = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return)
        and isinstance(node.value, ast.Await)
    }
    awaits = [node for node in ast.walk(tree) if isinstance(node, ast.Await)]
    wrong = {node.lineno for node in awaits if id(node) not in allowed}
    wrong |= {inner.lineno for node in awaits for inner in ast.walk(node.value) if isinstance(inner, ast.Await)}
    waiting = (ast.AsyncFor, ast.AsyncWith)
    wrong |= {node.lineno for node in ast.walk(tree) if isinstance(node, waiting)}
    wrong |= {
        node.target.lineno for node in ast.walk(tree) if isinstance(node, ast.comprehension) and node.is_async
    }
    return sorted(wrong)


def impurities(source: str) -> list[str]:
    """Return imports of clocks and the like, global randomness, ``id``, ``hash``, and iterations of sets."""
    tree = ast.parse(source)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
            found += [f"{node.lineno}: import {name}" for name in names if name in FORBIDDEN or name == "random"]
        elif isinstance(node, ast.ImportFrom):
            module = str(node.module).partition(".")[0]
            names = [alias.name for alias in node.names]
            if module in FORBIDDEN or (module == "random" and names != ["Random"]):
                found.append(f"{node.lineno}: from {node.module} import {', '.join(names)}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("id", "hash"):
            found.append(f"{node.lineno}: {node.func.id}()")
        elif isinstance(node, ast.For | ast.comprehension) and _is_set(node.iter):
            found.append(f"{node.iter.lineno}: a set is iterated; use sorted()")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list"):
            found += [f"{each.lineno}: a set becomes a {node.func.id}" for each in node.args if _is_set(each)]
    return found


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in UNORDERED
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub):
        return _is_set(node.left) or _is_set(node.right)
    return isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Attribute) and node.attr == "up")


def test_every_await_is_a_simple_statement() -> None:
    """None in comprehensions, conditions, f-strings and nested calls; at most one in a statement."""
    assert [
        f"{path.name}:{line}" for path in PROTOCOLS for line in awaits_out_of_place(path.read_text("utf-8"))
    ] == []


def test_the_lower_rooms_have_no_clock_and_no_random_source() -> None:
    """Time and randomness are arguments; every iteration has the same order in every run."""
    assert [f"{path}:{found}" for path in LOWER for found in impurities(path.read_text("utf-8"))] == []


def test_a_protocol_does_not_iterate_over_up() -> None:
    """``up`` is a set: only ``sorted(self.up)`` has an order. Arguments of ask_all count as iteration."""
    calls = [
        (f"{path.name}:{node.lineno}", node)
        for path in PROTOCOLS
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask_all"
    ]
    assert calls
    assert [place for place, call in calls if _is_set(call.args[0])] == []


@pytest.mark.parametrize(
    "statement",
    [
        "if await self.ask(1, X(), within=5): pass",
        "x = [await self.ask(p, X(), within=5) for p in self.peers]",
        "x = (await self.ask(1, X(), within=5)).normal",
        "self.note(f'{await self.ask(1, X(), within=5)}')",
        "x = await self.a(), await self.b()",
        "x = await self.a(await self.b())",
        "x = not await self.a()",
        "x += await self.a()",
        "while await self.a(): pass",
        "async for x in self.a(): pass",
        "async with self.a(): pass",
        "x = [y async for y in self.a()]",
        "lambda: (await self.a())",
    ],
)
def test_the_check_finds_an_await_out_of_place(statement: str) -> None:
    """Otherwise the test would show nothing."""
    assert awaits_out_of_place(f"async def f(self):\n    {statement}\n")


@pytest.mark.parametrize(
    "statement", ["await self.a()", "x = await self.a()", "x: int = await self.a()", "return await self.a()"]
)
def test_the_check_lets_a_simple_statement_pass(statement: str) -> None:
    """The four permitted forms."""
    assert awaits_out_of_place(f"async def f(self):\n    {statement}\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "import random",
        "from random import choice",
        "from os import path",
        "x = hash(y)",
        "for x in self.up: pass",
        "x = [y for y in {1, 2}]",
        "x = tuple(frozenset(y))",
        "for x in self.up - {1}: pass",
    ],
)
def test_the_check_finds_an_impurity(line: str) -> None:
    """Otherwise the test would show nothing."""
    assert impurities(line + "\n")
