"""Transcriptions of texts into code: each line of a text with the line of code that does it.

Every line of the code is cited, in its order, or listed with the reason why the text does not have it: a reading,
a rule of the specification, or bookkeeping. Every other member of the class is listed with its reason, too. So
nothing else is in the class. A sentence that asks nothing of a node, since it gives an example or draws a
conclusion, is listed with the reason why no line does it.
"""

import ast
import inspect
import re
import textwrap
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from lab.protocols.algorithm import Algorithm
from lab.protocols.departures import Quotation, Text

__all__ = ["SAME", "CodeLine", "Passage", "Transcription", "rules_of"]

SAME = ""
"""The line of code cited last does this, too."""
_RULE = re.compile(r"\b[A-Z]\d{1,2}(?:\.\d+)?(?:-[A-Z]?\d{1,2})?\b")


class CodeLine(Struct, frozen=True):
    """A statement, or its head, in the line ``number`` of its file.

    It has the ``words`` of the text that it carries out, or the reason why it was ``added``; or neither, if the
    source differs from what was transcribed.
    """

    number: int
    code: str
    words: tuple[Quotation, ...] = ()
    added: str = ""


class Passage(Struct, frozen=True):
    """A passage of a text, such as a listing, and the ``members`` of the class that carry it out.

    ``lines`` are pairs of its words and the line of code that does what they demand, in the order of the code;
    ``added`` are the other lines of that code, ``idle`` the words that no line does, each with the reason.
    """

    place: str
    members: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    added: Mapping[str, str] = MappingProxyType({})
    idle: Mapping[str, str] = MappingProxyType({})


class Transcription(Struct, frozen=True):
    """A text, and the class that is its code. ``added`` are members that the text does not have, with reasons."""

    text: Text
    protocol: type[Algorithm]
    passages: tuple[Passage, ...]
    added: Mapping[str, str]

    def source(self) -> ast.ClassDef:
        """Return the source of the installed class, with the line numbers of its file."""
        lines, first = inspect.getsourcelines(self.protocol)
        (found,) = ast.increment_lineno(ast.parse(textwrap.dedent("".join(lines))), first - 1).body
        assert isinstance(found, ast.ClassDef)
        return found

    def code_of(self, passage: Passage, source: ast.ClassDef) -> Iterator[CodeLine]:
        """Yield the lines of code of a passage, in the source of the class."""
        left = deque(passage.lines)
        added = {_plain(code): reason for code, reason in passage.added.items()}
        for number, code in _code(source, passage.members):
            words = []
            if code not in added and left and _plain(left[0][1]) == code:
                words.append(left.popleft()[0])
                while left and left[0][1] == SAME:
                    words.append(left.popleft()[0])
            quoted = tuple(Quotation(self.text, passage.place, each) for each in words)
            yield CodeLine(number, code, quoted, added.get(code, ""))


def rules_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """Return the rules of the specification that the first paragraph of its docstring names."""
    return tuple(_RULE.findall((ast.get_docstring(function) or "").partition("\n\n")[0]))


def _code(source: ast.ClassDef, members: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of code of these members: statements, or their heads."""
    for name in members:
        for each in source.body:
            match each:
                case ast.FunctionDef(name=defined) | ast.AsyncFunctionDef(name=defined) if defined == name:
                    yield from _statements(each.body[1:] if ast.get_docstring(each) else each.body)
                case ast.AnnAssign(target=ast.Name(id=defined)) if defined == name:
                    yield from _statements([each])


def _statements(body: list[ast.stmt], word: str = "if") -> Iterator[tuple[int, str]]:
    for each in body:
        match each:
            case ast.If(test=test, body=inner, orelse=otherwise):
                yield each.lineno, f"{word} {ast.unparse(test)}:"
                yield from _statements(inner)
                is_elif = len(otherwise) == 1 and isinstance(otherwise[0], ast.If)
                yield from _statements(otherwise, "elif" if is_elif else "if")
            case ast.For(target=target, iter=sequence, body=inner):
                yield each.lineno, f"for {ast.unparse(target)} in {ast.unparse(sequence)}:"
                yield from _statements(inner)
            case ast.While(test=test, body=inner):
                yield each.lineno, f"while {ast.unparse(test)}:"
                yield from _statements(inner)
            case _:
                yield each.lineno, ast.unparse(each)


@cache
def _plain(code: str) -> str:
    """Return a line of code as ``ast.unparse`` writes it."""
    is_head = code.endswith(":")
    body = ast.parse(f"{code.removeprefix('el')}\n    pass" if is_head else code).body
    return next(_statements(body, "elif" if code.startswith("elif") else "if"))[1]
