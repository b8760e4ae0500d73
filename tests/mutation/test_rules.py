"""The rules: what each changes, that it changes nothing else, and which lines a run must execute."""

import ast
import textwrap
from pathlib import Path

import pytest

from lab.worlds.mutation.code import Code
from lab.worlds.mutation.mutable_source import Extent
from lab.worlds.mutation.mutation_rules import RULES, SourceChange, changes_in

Difference = tuple[list[str], list[str]]


def _changes(source: str, rule: str = "") -> tuple[list[SourceChange], str]:
    text = textwrap.dedent(source)
    tree = ast.parse(text)
    extents = [Extent(each.name, each) for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)]
    found = list(changes_in(Code(text, tree), iter(extents)))
    return [each for each in found if rule in ("", each.rule)], text


def _differences(rule: str, source: str) -> list[Difference]:
    """Return the lines that each mutant of this rule lacks, and those that it has instead."""
    changes, text = _changes(source, rule)
    found = []
    for change in changes:
        mutated = Code(text, ast.parse(text)).edited(change.edits)
        ast.parse(mutated)
        before, after = text.splitlines(), mutated.splitlines()
        while before and after and before[0] == after[0]:
            del before[0], after[0]
        while before and after and before[-1] == after[-1]:
            del before[-1], after[-1]
        found.append(([each.strip() for each in before], [each.strip() for each in after]))
    return found


def _method(*lines: str, head: str = "def step(self):") -> str:
    return "\n".join(["class Node:", f"    {head}", *(f"        {line}" for line in lines)]) + "\n"


def _turned(rule: str, *lines: str) -> list[str]:
    """Return the mutants of a method, where each mutant differs in one line."""
    found = _differences(rule, _method(*lines))
    assert all(len(before) == len(after) == 1 for before, after in found), found
    return [after[0] for _, after in found]


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a <= b", ["x = a < b"]),
        ("x = a > b", ["x = a >= b"]),
        ("x = (a) >= (b)  # a >= b", ["x = (a) > (b)  # a >= b"]),
        ("x = a == b", ["x = a != b"]),
        ("x = a != b", ["x = a == b"]),
        ("x = a is None", ["x = a is not None"]),
        ("x = a is  not None", ["x = a is None"]),
        ("x = a in b", ["x = a not in b"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = 'ß' < a <= b", ["x = 'ß' <= a <= b", "x = 'ß' < a < b"]),
    ],
)
def test_comparisons_are_turned(line: str, mutants: list[str]) -> None:
    assert _turned("comparison", line) == mutants


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("x = n // 2", ["x = n // 1", "x = n // 3"]),
        ("x = len(a) + 1", ["x = len(a) + 0", "x = len(a) + 2"]),
        ("x = self.version + 1", ["x = self.version + 0"]),
        ("x = max(a, b) + 1", ["x = max(a, b) + 0"]),
        ("self.ask_all(p, m, within=self.t_us, enough=1)", ["…enough=0)", "…enough=2)"]),
        ("x = len(a) < len(b)", ["x = len(a) < len(b) - 1"]),
        ("x = len(a) >= b", ["x = len(a) >= b - 1"]),
        ("x = len(a) <= b", ["x = len(a) <= b + 1"]),
        ("x = a < n // 2", ["x = a < n // 2 - 1", "x = a < n // 1", "x = a < n // 3"]),
        ("x = a < 3", ["x = a < 2"]),
        ("x = 3 < a", ["x = 4 < a"]),
        ("x = a == 3", ["x = a == 2", "x = a == 4"]),
        ("x = a[0] + b[-1]", []),
        ("x = 3 * self.t_us", []),
        ("x = True", []),
    ],
)
def test_numbers_are_off_by_one(line: str, mutants: list[str]) -> None:
    """Not where turning the comparison is the same change; not places in sequences, nor factors of times.

    A number that need only grow, such as a version, grows; that it grows by two is no mistake.
    """
    found = _turned("off-by-one", line)
    assert sorted(found) == sorted(
        each.replace("…", line[: line.rindex("enough")]) if "…" in each else each for each in mutants
    )


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("await self.sleep(self.t_us)", ["self.t_us // 2", "2 * self.t_us"]),
        ("await self.sleep(3 * self.t_us)", ["3 * self.t_us // 2", "6 * self.t_us"]),
        ("await self.sleep(2 * self.t_us, 'rest')", ["self.t_us", "4 * self.t_us"]),
        ("await self.sleep(a + b)", ["(a + b) // 2", "2 * (a + b)"]),
        ("a = await self.ask(p, Message(1), within=self.t_us)", ["self.t_us // 2", "2 * self.t_us"]),
        ("a = await self.until(f, 'it', within=4 * T_us)", ["2 * T_us", "8 * T_us"]),
        ("return self.heard_us(p) + 2 * self.t_us", ["self.t_us", "4 * self.t_us"]),
        ("return self.x_us or timing.t_us", ["timing.t_us // 2", "2 * timing.t_us"]),
        ("return self.now_us", []),
        ("return await self.until(f, 'it', within=None)", []),
    ],
)
def test_times_are_halved_and_doubled(line: str, mutants: list[str]) -> None:
    found = _differences("timeout", _method(line, head="async def step(self):"))
    time = next(
        (
            t
            for t in ("3 * self.t_us", "2 * self.t_us", "4 * T_us", "a + b", "timing.t_us", "self.t_us")
            if t in line
        ),
        "",
    )
    assert sorted(after[0] for _, after in found) == sorted(line.replace(time, each) for each in mutants)


def test_conditions() -> None:
    """They are negated, or always true; a single ``==``, ``is`` or ``in`` is turned by another rule."""
    lines = ("if a:", "    f()", "elif not b:", "    g()", "elif a < b:", "    h()", "elif a == b:", "    i()")
    assert _turned("negation", *lines) == ["if not a:", "elif b:", "elif not (a < b):"]
    assert _turned("always", *lines) == ["if True:", "elif True:", "elif True:", "elif True:"]
    line = "x = [a if a and b else c for a in d if a.b]"
    assert _turned("negation", line) == [
        line.replace("if a and b", "if not (a and b)"),
        line.replace("a.b", "not a.b"),
    ]


def test_and_becomes_or() -> None:
    assert _turned("and-or", "x = a and (b or c) and d") == ["x = a or (b or c) or d", "x = a and (b and c) and d"]
    line = "x = a and (b or c)"
    assert sorted(_turned("operand", line)) == [
        "x = True and (b or c)",
        "x = a and (False or c)",
        "x = a and (True)",
        "x = a and (b or False)",
    ]


def test_bodies_and_guards() -> None:
    """A guard is left out as a whole; of an ``if`` with an ``else``, or an ``elif``, only the body is."""
    source = """
        class Node:
            def step(self):
                # why
                if stale:
                    self.note("stale")
                    return

                if a:
                    self.x = f(
                        1,
                    )
                    self.y = 2
                elif b:
                    return
                self.z = 1
    """
    assert _differences("guard", source) == [
        (["if stale:", 'self.note("stale")', "return"], []),
        (["return"], ["pass"]),
    ]
    assert _differences("body", source) == [(["self.x = f(", "1,", ")", "self.y = 2"], ["pass"])]


def test_calls_on_self_are_left_out() -> None:
    """Awaited ones too, and those on what the node has; not notes, and not calls whose value is used."""
    source = """
        class Node:
            async def step(self):
                self.note("it begins")
                self.stop(
                    self.election,
                )  # now
                await self.sleep(1)
                self._task.stop_processing()
                super().step()
                x = self.f()
                g(self)

            def one(self):
                self.begin(self.step)
    """
    assert _differences("call", source) == [
        (["self.stop(", "self.election,", ")  # now"], []),
        (["await self.sleep(1)"], []),
        (["self._task.stop_processing()"], []),
        (["super().step()"], []),
        (["self.begin(self.step)"], ["pass"]),
    ]


def test_messages_leave_before_the_write() -> None:
    """Before an assignment, an append to the log, or a method that writes; an answer of a handler likewise."""
    source = """
        class Node:
            def _write(self, entry):
                self.log += (entry,)

            def _begin(self):
                self._write("begin")

            def _send(self):
                self.send(1, Hello())

            async def step(self):
                self.state = 2
                await self.ask(1, Hello(), within=5)
                self._begin()
                x = 1
                answer = await self.ask(1, Hello(), within=5)
                self._begin()
                self.note("begun")
                self._send()

            @on(Hello)
            def on_hello(self, sender, message):
                self.state = 3
                return Answer()

            def plain(self):
                self.state = 3
                return Answer()
    """
    assert _differences("send-first", source) == [
        (["self.state = 2", "await self.ask(1, Hello(), within=5)"],) * 1
        + (["await self.ask(1, Hello(), within=5)", "self.state = 2"],),
        (
            ["self._begin()", 'self.note("begun")', "self._send()"],
            ["self._send()", "self._begin()", 'self.note("begun")'],
        ),
        (["self.state = 3", "return Answer()"], ["return Answer()", "self.state = 3"]),
    ]


def test_resets_are_left_out() -> None:
    lines = (
        "self.a = None",
        "self.b = frozenset()",
        "self.c = Status.ELECTION",
        "self.d = e",
        "f = None",
        "self.g = ()",
    )
    assert [before for before, _ in _differences("reset", _method(*lines))] == [
        ["self.a = None"],
        ["self.b = frozenset()"],
        ["self.c = Status.ELECTION"],
        ["self.g = ()"],
    ]


def test_values() -> None:
    assert _turned("flip", "return Answer(True, x=False)") == [
        "return Answer(False, x=False)",
        "return Answer(True, x=True)",
    ]
    assert _turned("min-max", "x = max(a, min(b))") == ["x = min(a, min(b))", "x = max(a, max(b))"]
    assert _turned("first-last", "x = sorted(a)[0] + b[-1] + c[1] + d[:0]") == [
        "x = sorted(a)[-1] + b[-1] + c[1] + d[:0]",
        "x = sorted(a)[0] + b[0] + c[1] + d[:0]",
    ]


def test_declarations() -> None:
    """Of the state and of messages; not what the class declares about itself, nor its parameters."""
    source = """
        class Node(Election):
            promises: ClassVar[tuple[str, ...]] = ("A2",)
            writes_text: ClassVar[bool] = True

            class Parameters(Struct, frozen=True):
                quick: bool = False

                def wait_us(self, timing):
                    return 3 * timing.t_us if self.quick else 5

            processing: bool = False
            term: Displayed[Safe[int]] = 0
            vote: Safe[int | None] = None

            @classmethod
            def settles_within_us(cls, timing, parameters, nodes):
                return 3 * timing.t_us
    """
    assert _differences("default", source) == [(["processing: bool = False"], ["processing: bool = True"])]
    assert _differences("unsafe", source) == [
        (["term: Displayed[Safe[int]] = 0"], ["term: Displayed[int] = 0"]),
        (["vote: Safe[int | None] = None"], ["vote: int | None = None"]),
    ]
    assert {change.rule for change in _changes(source)[0]} == {"default", "unsafe", "timeout"}
    assert len(_differences("timeout", source)) == 2


def test_the_environment_is_left_alone() -> None:
    """Its fields and methods, and statements and conditions that use them; the statements inside are mutated."""
    source = """
        class Node(Algorithm):
            entries: int = 0
            asked: bool = False

            def wait_us(self):
                return 2 * self.timing.t_us

            async def step(self):
                self.entries += 1
                await self.sleep(self.wait_us(), "work")
                if self.entries > 3 and self.asked:
                    self.asked = False
                await self.sleep(self.timing.t_us, "an answer")
    """
    text = textwrap.dedent(source)
    tree = ast.parse(text)
    extents = [Extent("Node", node) for node in tree.body if isinstance(node, ast.ClassDef)]
    found = changes_in(Code(text, tree), iter(extents), frozenset({"entries", "wait_us"}))
    assert [(change.rule, text.splitlines()[change.line - 1].strip()) for change in found] == [
        ("default", "asked: bool = False"),
        ("reset", "self.asked = False"),
        ("flip", "self.asked = False"),
        ("timeout", 'await self.sleep(self.timing.t_us, "an answer")'),
        ("timeout", 'await self.sleep(self.timing.t_us, "an answer")'),
        ("call", 'await self.sleep(self.timing.t_us, "an answer")'),
    ]


def test_texts_and_assertions_are_left_alone() -> None:
    lines = ("assert a < 3", "raise Bad(1)", "self.note(f'{1} {a < b}')", "x = f'{a < b}'", "'''Text 1.'''")
    assert _changes(_method(*lines))[0] == []


def test_notes_are_left_alone_with_their_conditions() -> None:
    """An ``if`` that decides on notes alone decides nothing."""
    noting = ("if a < b:", "    self.note('1')", "elif c:", "    self.note('2')")
    assert _changes(_method(*noting))[0] == []
    assert {each.rule for each in _changes(_method(*noting, "else:", "    self.x = True"))[0]} > {"comparison"}


def test_the_lines_that_a_run_must_execute() -> None:
    """One of the changed part of the expression, or the first of a body."""
    source = """
        class Node:
            x: bool = False

            def step(self):
                return (
                    a < b
                    and c > d
                )

            def other(self):
                if a:
                    self.b = c
                    self.d()
                f(
                    2,
                )
    """
    found = {(change.rule, change.line): set(change.reach) for change in _changes(source)[0]}
    assert found["default", 3] == set()
    assert found["comparison", 7] == {7, 8}
    assert found["comparison", 8] == {8}
    assert found["operand", 8] == {8}
    assert found["negation", 12] == {12}
    assert found["body", 13] == {13}
    assert found["call", 14] == {14}
    assert found["off-by-one", 16] == {15, 16, 17}


def test_every_rule_has_a_test_and_a_sentence() -> None:
    text = (Path(__file__)).read_text()
    for rule in RULES:
        assert f'"{rule.id}"' in text
        assert len(rule.text) > 20
    assert len({rule.id for rule in RULES}) == len(RULES)
