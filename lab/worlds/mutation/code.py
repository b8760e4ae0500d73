"""Source code and its syntax tree: where each node stands, and edits that leave all other bytes as they are."""

import ast
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, count
from typing import NamedTuple

_INDENT = b" \t"


class Edit(NamedTuple):
    """Replace the bytes from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


class Code:
    """The source of a module, as bytes, because the columns of syntax trees count bytes."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.source = text.encode()
        self.tree = tree
        lines = self.source.splitlines(keepends=True)
        self._starts = [0, *accumulate(map(len, lines))]
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the offsets of the node's first byte, and of the first byte after it."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return the source of the node."""
        start, end = self.span(node)
        return self.source[start:end].decode()

    def line_at(self, offset: int) -> int:
        """Return the number of the line, from 1, that this byte is in."""
        return bisect_right(self._starts, offset)

    def parent(self, node: ast.AST) -> ast.AST:
        """Return the node that this one is a part of."""
        return self._parents[node]

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that the node is a part of, or the node itself."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that this one stands in."""
        parent = self._parents[statement]
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and statement in value:
                return value
        raise LookupError(f"line {statement.lineno} stands in no block")

    def is_elif(self, node: ast.If) -> bool:
        """Return whether the statement begins with ``elif``."""
        start, _ = self.span(node)
        return self.source.startswith(b"elif", start)

    # edits

    def replace(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that puts ``text`` in the place of the node."""
        return Edit(*self.span(node), text)

    def replace_block(self, block: list[ast.stmt], text: str) -> Edit:
        """Return the edit that puts ``text`` in the place of all statements of the block."""
        return Edit(self.span(block[0])[0], self.span(block[-1])[1], text)

    def remove(self, statement: ast.stmt) -> Edit:
        """Return the edit that leaves the statement out; if its block would be empty, with ``pass`` instead."""
        if len(self.block(statement)) == 1 or not self._has_own_lines(statement):
            return self.replace(statement, "pass")
        start, end = self._lines_of(statement)
        return Edit(start, end, "")

    def move_before(self, statement: ast.stmt, earlier: ast.stmt) -> Edit | None:
        """Return the edit that moves the statement before an earlier one; None if they share lines."""
        if not (self._has_own_lines(statement) and self._has_own_lines(earlier)):
            return None
        (start, end), (first, _) = self._lines_of(statement), self._lines_of(earlier)
        moved = self.source[start:end]
        if not moved.endswith(b"\n"):
            moved += b"\n"
        return Edit(first, end, (moved + self.source[first:start]).decode())

    def _lines_of(self, statement: ast.stmt) -> tuple[int, int]:
        assert statement.end_lineno is not None
        decorators = getattr(statement, "decorator_list", ())
        first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        return self._starts[first - 1], self._starts[statement.end_lineno]

    def _has_own_lines(self, statement: ast.stmt) -> bool:
        """Return whether the lines of the statement hold nothing else but a comment."""
        (first, last), (start, end) = self._lines_of(statement), self.span(statement)
        before, after = self.source[first:start], self.source[end:last].strip()
        return not before.strip(_INDENT) and (not after or after.startswith(b"#"))

    def edited(self, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
        """Return the source from ``start`` to ``end`` after these edits, which do not overlap."""
        parts, place = [], start
        for edit in sorted(edits):
            parts += [self.source[place : edit.start], edit.text.encode()]
            place = edit.end
        return b"".join([*parts, self.source[place:end]]).decode()

    def padded(self, edits: Sequence[Edit]) -> list[Edit]:
        """Return the edits, and others that put empty lines for those that they remove, so that the rest stays."""
        return [*edits, *filter(None, map(self._padding, edits))]

    def _padding(self, edit: Edit) -> Edit | None:
        """Return the edit that puts empty lines after this one, None if it removes no line."""
        missing = self.source.count(b"\n", edit.start, edit.end) - edit.text.count("\n")
        if missing <= 0:
            return None
        is_at_line = edit.end in self._starts and not edit.text
        place = edit.end if is_at_line else self.source.find(b"\n", edit.end) + 1
        return Edit(place, place, missing * "\n") if place else None

    def lines_around(self, edits: Sequence[Edit]) -> tuple[int, int, int]:
        """Return where the lines of the definition or declaration that has all edits start and end.

        It stands in a class or in the module; the last number is how many classes are around it.
        """
        first, last = min(edit.start for edit in edits), max(edit.end for edit in edits)
        found, depth = (0, len(self.source)), 0
        inside: list[ast.stmt] = self.tree.body
        for level in count():
            spans = ((each, self._lines_of(each)) for each in inside)
            inner = next((each for each in spans if each[1][0] <= first and last <= each[1][1]), None)
            if inner is None:
                break
            found, depth = inner[1], level
            inside = inner[0].body if isinstance(inner[0], ast.ClassDef) else []
        return *found, depth
