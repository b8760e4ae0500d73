"""The source in a recording as a listing: which file, function and line is meant where a record names a line.

A wait names a line of the file that its procedure is in, and not the file; nor does it say which class has the
procedure. So the functions are looked up by their names, in the order of the files: a class comes before its
bases. Nothing of the source is ever executed. It may come from anybody, and need not be Python at all.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from msgspec import Struct

from lab.kernel import Wait
from lab.protocols import SourceFile, files_in
from lab.recording.records import ProtocolInfo

__all__ = ["Function", "Listing"]

_LONGEST = 1_000_000
"""Of a longer text nothing is looked up."""
_RULE = re.compile(r"\b[A-Z]\d{1,2}(?:\.\d+)?(?:-[A-Z]?\d{1,2})?\b")
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What comes of reading as Python what is none."""


class Function(Struct, frozen=True):
    """A function in the listing: it begins at line ``first`` with its decorators, and ``last`` is its last.

    ``handles`` is the kind of messages that it is a handler of, if it is one; ``rules`` are those of the
    specification that its docstring names.
    """

    name: str
    file: str
    first: int
    line: int
    last: int
    handles: str = ""
    rules: tuple[str, ...] = ()

    def has(self, line: int) -> bool:
        """Whether that line of the listing is one of its own."""
        return self.line <= line <= self.last


class Listing:
    """The text of all files, whose ``lines`` are numbered from 1 on through all of them."""

    def __init__(self, info: ProtocolInfo) -> None:
        self.lines = tuple(info.source.split("\n"))
        self.files = files_in(info.file, info.source)
        self.functions = tuple(function for file in self.files for function in _functions(file))

    def place_of(self, line: int) -> tuple[str, int]:
        """(name of its file, its number there); what is between two files is in none: ("", 0)."""
        for file in self.files:
            number = line - file.before
            if 0 < number <= file.text.count("\n") + 1:
                return file.name, number
        return "", 0

    def line_of(self, wait: Wait) -> int | None:
        """The line at which a procedure waits; None where there is no such line."""
        named = self.named(wait.procedure)
        for file in self.files:
            line = file.before + wait.line
            if any(function.has(line) and function.file == file.name for function in named):
                return line
        own = self.files[0]
        is_guessed = not self.functions and 0 < wait.line <= own.text.count("\n") + 1
        return wait.line if is_guessed else None

    def named(self, procedure: str) -> tuple[Function, ...]:
        """The functions of that name; that of a procedure may have behind it what the procedure is about."""
        method = procedure.partition(" ")[0]
        return tuple(function for function in self.functions if function.name == method)

    def handler_of(self, kind: str) -> Function | None:
        """The function that handles messages of this kind; one that is written anew below comes before it."""
        for function in self.functions:
            if function.handles == kind:
                return next(iter(self.named(function.name)), function)
        return None

    def function_at(self, line: int) -> Function | None:
        """The innermost function that has that line."""
        around = [function for function in self.functions if function.first <= line <= function.last]
        return max(around, key=lambda function: function.first, default=None)


def _functions(file: SourceFile) -> Iterator[Function]:
    if len(file.text) > _LONGEST:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is only shown, nobody has to hear how it could be better
            tree = ast.parse(file.text)
        yield from _functions_in(tree.body, file)
    except _UNREADABLE:
        return


def _functions_in(body: Sequence[ast.stmt], file: SourceFile) -> Iterator[Function]:
    for each in body:
        if isinstance(each, ast.ClassDef):
            yield from _functions_in(each.body, file)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(
                each.name,
                file.name,
                file.before + min([each.lineno, *(decorator.lineno for decorator in each.decorator_list)]),
                file.before + each.lineno,
                file.before + (each.end_lineno or each.lineno),
                next((kind for decorator in each.decorator_list if (kind := _handled(decorator))), ""),
                tuple(_RULE.findall((ast.get_docstring(each) or "").partition("\n\n")[0])),
            )


def _handled(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(func=ast.Name(id="on"), args=[ast.Name(id=kind)]):
            return kind
    return ""
