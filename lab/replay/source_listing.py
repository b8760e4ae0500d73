"""A listing of the source in a recording, which resolves the lines named in records to files and functions.

A wait names a line, but neither the file nor the class of its procedure. So functions are looked up by name, in
the order of the files: a class comes before its bases. The source is never executed. It may come from anywhere,
and need not be Python at all.
"""

import ast
import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from lab.kernel import Wait
from lab.protocols import SourceFile, files_in
from lab.protocols.departures import Quotation
from lab.protocols.transcription import Transcription, rules_of
from lab.recording.records import ProtocolInfo

_LONGEST = 1_000_000
"""The longest text that is parsed, in characters."""
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""The exceptions of parsing text that is not Python."""


class Function(Struct, frozen=True):
    """A function in the listing, from ``first`` (its decorators) through ``line`` (its ``def``) to ``last``.

    ``handles`` is the kind of message that it handles, or empty; ``rules`` are the rules of the specification that
    its docstring names. ``departures`` are the names of what departs from the text in it: the repair or variation
    that its class is, and the parameters that choose a reading.
    """

    name: str
    file: str
    first: int
    line: int
    last: int
    handles: str = ""
    rules: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()

    def has(self, line: int) -> bool:
        """Return whether the line of the listing is in the function, without its decorators."""
        return self.line <= line <= self.last


class Listing:
    """The text of all files; line numbers start at 1 and run through all of them."""

    def __init__(self, info: ProtocolInfo) -> None:
        self.lines = tuple(info.source.split("\n"))
        self.files = files_in(info.file, info.source)
        self.functions = tuple(function for file in self.files for function in _functions(file))

    def place_of(self, line: int) -> tuple[str, int]:
        """Return (file name, line number in it); ("", 0) for a line between two files."""
        for file in self.files:
            number = line - file.before
            if 0 < number <= file.text.count("\n") + 1:
                return file.name, number
        return "", 0

    def line_of(self, wait: Wait) -> int | None:
        """Return the line at which a procedure waits, or None if there is no such line.

        It is in the file of the procedure: in the procedure, or in a method that this awaits.
        """
        places = {function.file for function in self.named(wait.procedure)}
        for file in self.files:
            line = file.before + wait.line
            if file.name in places and any(each.has(line) and each.file == file.name for each in self.functions):
                return line
        own = self.files[0]
        is_guessed = not self.functions and 0 < wait.line <= own.text.count("\n") + 1
        return wait.line if is_guessed else None

    def named(self, procedure: str) -> tuple[Function, ...]:
        """Return the functions of that name; a procedure may have a key after the name of its method."""
        method = procedure.partition(" ")[0]
        return tuple(function for function in self.functions if function.name == method)

    def handler_of(self, kind: str) -> Function | None:
        """Return the function that handles messages of this kind; an override has precedence."""
        for function in self.functions:
            if function.handles == kind:
                return next(iter(self.named(function.name)), function)
        return None

    def function_at(self, line: int) -> Function | None:
        """Return the innermost function that contains the line."""
        around = [function for function in self.functions if function.first <= line <= function.last]
        return max(around, key=lambda function: function.first, default=None)

    def words(self, transcriptions: Iterable[Transcription]) -> dict[int, tuple[Quotation, ...]]:
        """Return the words of the texts that lines carry out, by line, up to where the source differs."""
        by_class = {each.protocol.__name__: each for each in transcriptions}
        return {line: words for file in self.files for line, words in _words(file, by_class)}


def _parsed(file: SourceFile) -> list[ast.stmt]:
    """Parse a file of Python. Raises one of _UNREADABLE."""
    if len(file.text) > _LONGEST:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the source is only displayed
        return ast.parse(file.text).body


def _words(
    file: SourceFile, transcriptions: Mapping[str, Transcription]
) -> Iterator[tuple[int, tuple[Quotation, ...]]]:
    with contextlib.suppress(*_UNREADABLE):
        for each in _parsed(file):
            if isinstance(each, ast.ClassDef) and each.name in transcriptions:
                whole = transcriptions[each.name]
                lines = (line for passage in whole.passages for line in whole.code_of(passage, each))
                yield from ((file.before + line.number, line.words) for line in lines if line.words)


def _functions(file: SourceFile) -> Iterator[Function]:
    with contextlib.suppress(*_UNREADABLE):
        yield from _functions_in(_parsed(file), file)


def _functions_in(
    body: Sequence[ast.stmt], file: SourceFile, departures: tuple[str, ...] = ()
) -> Iterator[Function]:
    for each in body:
        if isinstance(each, ast.ClassDef):
            yield from _functions_in(each.body, file, tuple(filter(None, map(_departure, each.decorator_list))))
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(
                each.name,
                file.name,
                file.before + min([each.lineno, *(decorator.lineno for decorator in each.decorator_list)]),
                file.before + each.lineno,
                file.before + (each.end_lineno or each.lineno),
                next((kind for decorator in each.decorator_list if (kind := _handled(decorator))), ""),
                rules_of(each),
                tuple(dict.fromkeys((*departures, *_parameters_in(each)))),
            )


def _departure(decorator: ast.expr) -> str:
    """Return the name of the repair or variation that the decorator makes of a class; empty if it makes none."""
    match decorator:
        case ast.Call(func=ast.Name(id="repair"), args=[ast.Name(id=name)]):
            return name.lower()
        case ast.Call(func=ast.Name(id="variation"), args=[ast.Constant(value=str(name))]):
            return name
    return ""


def _parameters_in(function: ast.stmt) -> Iterator[str]:
    """Yield the names of the parameters that a function reads."""
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Attribute(attr="parameters"), attr=name):
                yield name


def _handled(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(func=ast.Name(id="on"), args=[ast.Name(id=kind)]):
            return kind
    return ""
