"""The mutants of a protocol: the changed source of each, its difference to the original, and its files.

The files of a mutant are those of a user's own protocol: copies of the changed module, and of the modules that
import it, in a folder of its own. A copy imports other copies by their path. Its lines have the same numbers as
those of the source that is shown.
"""

import ast
import difflib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from lab.worlds.loading.targets import target_with
from lab.worlds.mutation.code import Code, Edit
from lab.worlds.mutation.mutable_source import ModuleSource, ProtocolSource, SourceLayer
from lab.worlds.mutation.mutation_rules import changes_in

_CONTEXT = 2
_NAME = "-mutant"
"""Appended to the name of a built-in protocol, which a protocol in a file may not have."""


class Mutant(Struct, frozen=True):
    """A mutant: its number, from 1, the rule, the place of the change, and the module's changed source.

    In that ``text``, each line stays where it was, since waits are recorded with their lines.

    ``place`` is the class or function. ``reach`` are the lines of which a run must execute one, see
    ``SourceChange``; empty if the change is to a declaration, which every run uses.
    """

    number: int
    rule: str
    module: str
    file: str
    line: int
    place: str
    reach: frozenset[int]
    text: str
    diff: str

    @property
    def summary(self) -> str:
        """The change in one line: the first line that is different, before and after."""
        lines = self.diff.splitlines()[2:]
        removed, added = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
        if not added:
            return f"without: {removed[0]}"
        return f"{added[0]}, moved up" if removed == added else f"{removed[0]} → {added[0]}"


def mutants_of(source: ProtocolSource, parameters: Struct | None = None) -> Iterator[Mutant]:
    """Yield all mutants, the first layer's module first; of changes with the same result only one.

    With the ``parameters`` of the runs, what they choose and what they rule out is left alone. A mutant has the
    same number whatever the parameters are.
    """
    number = 0
    for module in source.modules.values():
        code = Code(module.text, module.tree)
        trees: dict[int, set[str]] = {}
        live, replaced = source.live_in(module, parameters)
        changes = changes_in(code, module.extents(), source.environment, live, replaced)
        in_use = {(change.rule, change.edits) for change in changes}
        for change in changes_in(code, module.extents(), source.environment):
            start, end, depth = code.lines_around(change.edits)
            if start not in trees:
                trees[start] = {_syntax(code.edited((), start, end), depth)}
            tree = _syntax(code.edited(change.edits, start, end), depth)
            if tree in trees[start]:
                continue
            trees[start].add(tree)
            number += 1
            if (change.rule, change.edits) not in in_use:
                continue
            diff = _diff(module, code.edited(change.edits))
            padded = code.padded(change.edits)
            is_same = _syntax(code.edited(padded, start, end), depth) == tree  # no text has lines of its own
            text = code.edited(padded if is_same else change.edits)
            yield Mutant(
                *(number, change.rule, module.name, module.path.name, change.line, change.place),
                *(change.reach, text, diff),
            )


def _syntax(lines: str, depth: int) -> str:
    """Return the syntax tree of lines that stand in so many classes; that of a whole module takes milliseconds.

    It is empty if there is an error in them.
    """
    classes = "".join(f"{level * ' '}class _:\n" for level in range(depth))
    try:
        return ast.dump(ast.parse(classes + lines))
    except SyntaxError:
        return ""


def _diff(module: ModuleSource, text: str) -> str:
    name = module.path.name
    lines = difflib.unified_diff(
        module.text.splitlines(), text.splitlines(), name, f"{name}, mutated", n=_CONTEXT, lineterm=""
    )
    return "\n".join(lines)


# files


def write_mutant(source: ProtocolSource, mutant: Mutant, folder: Path, properties: str = "") -> str:
    """Write the files of the mutant into the folder, and return its target; ``properties`` are another file."""
    folder.mkdir()
    copied = source.dependents(mutant.module)
    if len(source.layers) > 1:
        copied.add(source.layers[0].module)  # only a task in a file can be put on any election
    footers: dict[str, list[str]] = {}
    target = ""
    for layer in reversed(source.layers):
        if layer.module in copied:
            footers.setdefault(layer.module, []).extend(_footer(layer, target))
            target = f"{folder / source.module(layer.module).path.name}:{layer.name}"
        else:
            target = layer.target
    paths = {name: folder / source.module(name).path.name for name in copied}
    for name, path in paths.items():
        text = mutant.text if name == mutant.module else source.module(name).text
        lines = [_importing_copies(text, paths), *footers.get(name, [])]
        path.write_text("\n".join(lines), "utf-8")
    return target_with(target, properties) if properties else target


def _footer(layer: SourceLayer, lower: str) -> list[str]:
    """Return lines at the end of the layer's module: what the copy is called, and what it is stacked on."""
    lines = [f"{layer.name}.name = {layer.protocol.name + _NAME!r}"] if layer.is_built_in else []
    return lines + ([f"{layer.name}.usual_election = {lower!r}"] if lower else [])


def _importing_copies(text: str, paths: dict[str, Path]) -> str:
    """Return the source with imports of these modules replaced by their copies, without moving any line."""
    code = Code(text, ast.parse(text))
    edits: list[Edit] = []
    for node in ast.walk(code.tree):
        if isinstance(node, ast.ImportFrom) and node.module in paths:
            copied = f"_copy = {_loaded(paths[node.module])}"
            parts = [copied, *(_bound(alias) for alias in node.names)]
        elif isinstance(node, ast.Import) and any(alias.name in paths for alias in node.names):
            parts = [
                f"{alias.asname or alias.name} = {_loaded(paths[alias.name])}"
                if alias.name in paths
                else f"import {ast.unparse(alias)}"
                for alias in node.names
            ]
        else:
            continue
        edits.append(code.replace(node, "; ".join(parts) + "\n" * code.text(node).count("\n")))
    return code.edited(edits)


def _loaded(path: Path) -> str:
    module = "__import__('lab.worlds.loading.user_module', fromlist=['load_module'])"
    return f"{module}.load_module(__import__('pathlib').Path({str(path)!r}))"


def _bound(alias: ast.alias) -> str:
    if alias.name == "*":
        return "globals().update({name: each for name, each in vars(_copy).items() if name[:1] != '_'})"
    return f"{alias.asname or alias.name} = _copy.{alias.name}"
