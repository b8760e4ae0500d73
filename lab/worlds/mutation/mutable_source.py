"""The source that a protocol is made of: its classes, and all that they use by name, in the files of its author.

Of a user's protocol these are the user's files, of a built-in one the modules of ``lab.protocols``. The classes on
which every protocol rests, such as ``Election``, are left alone: the rest of the program knows protocols by them.
So are properties, which no class of a protocol uses, and declarations such as ``promises``: they say what must
hold, and a mutant is to be judged by them.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from lab.foreign_file import read_foreign_text
from lab.protocols import Algorithm, Task
from lab.worlds.mutation.live_code import ALL_LIVE, LiveCode, replaced_methods, settled_properties

_BUILT_IN = "lab.protocols."
_SHARED = ("algorithm", "cost", "definition", "election", "history", "parameters", "stack", "survey", "task")
_COMMANDS = ("accounts", "bank_commands")
_LEFT_ALONE = (*_SHARED, *_COMMANDS)
"""The modules of ``lab.protocols`` that all protocols share, or that read what users type."""
_DEPARTURES = "departures"
"""The end of the names of modules that quote texts."""
_SPECIFYING = (
    "promises_with",
    "relied_on",
    "settles_within_us",
    "objection",
    "refusal",
    "formulas",
    "__str__",
    "__repr__",
)
"""The methods that say what must hold or how things are shown."""


class Extent(Struct, frozen=True):
    """A part of a module: the definition of a class or function, by its qualified name."""

    name: str
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class ModuleSource:
    """The source of a module. ``used`` are the names of its own definitions of which the protocol is made."""

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__name__
        self.path = Path(inspect.getfile(module))
        self.text = read_foreign_text(self.path)
        self.used: set[str] = set()

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """The statements of the module by the names that they bind."""
        found: dict[str, ast.stmt] = {}
        for statement in self.tree.body:
            if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found[statement.name] = statement
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                found |= {target.id: statement for target in targets if isinstance(target, ast.Name)}
        return found

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The import statements, wherever they are."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]

    def imported(self) -> Iterator[tuple[str, str, str]]:
        """Yield (name here, module, name there) of what is imported; ``*`` and no name there are all of it."""
        for node in self.imports:
            for alias in node.names:
                if isinstance(node, ast.ImportFrom):
                    yield alias.asname or alias.name, node.module or "", alias.name
                else:
                    yield alias.asname or alias.name.partition(".")[0], alias.name, ""

    def extents(self) -> Iterator[Extent]:
        """Yield the classes and functions of which the protocol is made, in the order of the source."""
        for name, node in self.definitions.items():
            if name in self.used and isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield Extent(name, node)


class SourceLayer(Struct, frozen=True):
    """A layer of the protocol: its class, as its source defines it."""

    protocol: type[Algorithm]

    @property
    def module(self) -> str:
        return self.protocol.__module__

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.protocol.__name__

    @property
    def is_built_in(self) -> bool:
        return self.module.startswith("lab.")

    @property
    def target(self) -> str:
        """The target that names this class."""
        if self.is_built_in:
            return self.protocol.name
        return f"{inspect.getfile(self.protocol)}:{self.name}"


class ProtocolSource:
    """The source of a protocol: its ``layers``, the task above an election first, and its ``modules`` by name.

    The first module is the one of the first layer.
    """

    def __init__(self, protocol: type[Algorithm]) -> None:
        upper = protocol.upper_protocol
        parts = [each for each in (upper, protocol) if each is not None and issubclass(each, Algorithm)]
        self.layers = tuple(SourceLayer(_written_class(part)) for part in parts)
        self._folders = tuple(
            Path(inspect.getfile(each.protocol)).resolve().parent for each in self.layers if not each.is_built_in
        )
        self.modules: dict[str, ModuleSource] = {}
        for layer in self.layers:
            for klass in layer.protocol.__mro__:
                self._use(klass.__module__, klass.__name__)

    @property
    def environment(self) -> frozenset[str]:
        """The names of the fields and methods that model what is outside the protocol."""
        return frozenset(name for layer in self.layers for name in layer.protocol.environment)

    def live_in(self, module: ModuleSource, parameters: Struct | None) -> tuple[LiveCode, frozenset[str]]:
        """Return what is in use of a module, and the methods in it that are left alone, as *Class.method*.

        These are not in use, or settled by the parameters.
        """
        if parameters is None:
            return ALL_LIVE, frozenset()
        dead: set[tuple[type, str]] = set()
        used: set[tuple[type, str]] = set()
        settled: dict[str, bool] = {}
        for layer in self.layers:
            classes = tuple(each for each in layer.protocol.__mro__ if each.__module__ in self.modules)
            definitions, live = {}, {}
            for klass in classes:
                found = self.modules[klass.__module__].definitions.get(klass.__name__)
                if isinstance(found, ast.ClassDef):
                    definitions[klass] = found
                    live[klass] = LiveCode(parameters, vars(sys.modules[klass.__module__]))
            replaced = replaced_methods(classes, definitions, live)
            of_layer = settled_properties(classes, definitions, live)
            settled |= of_layer
            unused = replaced | {(klass, name) for klass in definitions for name in vars(klass).keys() & of_layer}
            dead |= unused
            used |= {(klass, name) for klass in definitions for name in vars(klass)} - unused
        names = (f"{klass.__name__}.{name}" for klass, name in dead - used if klass.__module__ == module.name)
        return LiveCode(parameters, vars(sys.modules[module.name]), settled), frozenset(names)

    def _use(self, module: str, name: str) -> None:
        """Note that the protocol is made of this definition, and of all that it uses."""
        source = self._source(module)
        if source is None or name in source.used:
            return
        if name not in source.definitions:
            for here, other, there in source.imported():
                if here == name:
                    self._use(other, there)
                elif there == "*":
                    self._use(other, name)
            return
        source.used.add(name)
        for used in _names_in(source.definitions[name]):
            self._use(module, used)
        for here, other, there in source.imported():
            if not there:  # a module: all that is used of it by name
                for attribute in _attributes_of(here, source.definitions[name]):
                    self._use(other, attribute)

    def _source(self, module: str) -> ModuleSource | None:
        """Return the source of a module of the author's; None for other modules."""
        known = self.modules.get(module)
        loaded = sys.modules.get(module)
        if known is None and loaded is not None and self._is_mutable(loaded):
            known = self.modules[module] = ModuleSource(loaded)
        return known

    def _is_mutable(self, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        if not file or not file.endswith(".py"):
            return False
        if self._folders:
            is_own = not module.__name__.startswith("lab.")
            return is_own and any(folder == Path(file).resolve().parent for folder in self._folders)
        name = module.__name__
        own = name.removeprefix(_BUILT_IN)
        return name.startswith(_BUILT_IN) and own not in _LEFT_ALONE and not own.endswith(_DEPARTURES)

    def module(self, name: str) -> ModuleSource:
        """Return the source of a loaded module, also of one that may not be mutated."""
        return self.modules.get(name) or ModuleSource(sys.modules[name])

    def dependents(self, module: str) -> set[str]:
        """Return the module and all modules that import it, directly or through others."""
        found = {module}
        while True:
            more = {
                name
                for name, source in self.modules.items()
                if name not in found and any(other in found for _, other, _ in source.imported())
            }
            if not more:
                return found
            found |= more


def _written_class(protocol: type[Algorithm]) -> type[Algorithm]:
    """Return the class that a file defines; stacks, and protocols with more promises, are made from it."""
    for klass in protocol.__mro__:
        module = sys.modules.get(klass.__module__)
        is_written = module is not None and vars(module).get(klass.__name__) is klass
        if is_written and issubclass(klass, Algorithm):
            return klass
    raise LookupError(f"no file defines {protocol.__name__}")


def specifies(statement: ast.stmt) -> bool:
    """Return whether a statement of a class declares what must hold, or describes the protocol for others."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name in _SPECIFYING
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
            return "ClassVar" in ast.unparse(annotation) or _is_of_all(name)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return _is_of_all(name)
    return False


def _is_of_all(name: str) -> bool:
    """Return whether every protocol has such an attribute, which is no part of its state."""
    return any(name in vars(klass) for klass in Task.__mro__[:-1])


def _names_in(definition: ast.stmt) -> list[str]:
    """Return the names that a definition uses, in their order, without its declarations."""
    return [*dict.fromkeys(node.id for node in _used_nodes(definition) if isinstance(node, ast.Name))]


def _attributes_of(name: str, definition: ast.stmt) -> list[str]:
    return [
        node.attr
        for node in _used_nodes(definition)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    ]


def _used_nodes(definition: ast.AST) -> Iterator[ast.AST]:
    yield definition
    for child in ast.iter_child_nodes(definition):
        if not (isinstance(definition, ast.ClassDef) and isinstance(child, ast.stmt) and specifies(child)):
            yield from _used_nodes(child)
