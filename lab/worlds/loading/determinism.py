"""Find in a user's source what is not the same in every execution: clocks, random numbers, threads, hidden state.

A node is a deterministic function of its inputs: only then can a recording be re-executed, a finding be shrunk,
and a state space be explored. A property is one of the states that it is given. What this cannot see in the source
is found by executing runs twice: see ``lab.worlds.campaign.repetition``.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

_RANDOM = "use self.random, whose draws are recorded"
_CLOCK = "use self.now_us, the time of the step"
_MODULES = {
    "random": _RANDOM,
    "secrets": _RANDOM,
    "uuid": _RANDOM,
    "time": _CLOCK,
    "threading": "a node does one thing at a time: begin a procedure",
    "multiprocessing": "a node does one thing at a time: begin a procedure",
    "subprocess": "a node only sends messages",
    "socket": "a node only sends messages",
}
_FUNCTIONS = {
    "os.urandom": _RANDOM,
    "os.getpid": "use self.id",
    "os.environ": "use a parameter: class Parameters(Struct, frozen=True)",
    "os.getenv": "use a parameter: class Parameters(Struct, frozen=True)",
    "datetime.now": _CLOCK,
    "datetime.utcnow": _CLOCK,
    "datetime.today": _CLOCK,
    "date.today": _CLOCK,
}
_BUILT_IN = {
    "id": "it is the address of an object: compare values",
    "hash": "it differs between processes for strings: compare values",
    "__import__": "import it at the top of the file",
    "open": "a node keeps what it must not forget in fields: name: Safe[…] = …",
    "input": "a node gets a command: decorate a method with @command",
}
_CHANGES = ("append", "add", "update", "pop", "clear", "extend", "insert", "remove", "setdefault", "discard")
_CLASS_OF_SELF = {"type(self)", "self.__class__"}
_OUTLIVES = (
    "outlives a crash of the node, and is shared by the nodes of a simulation: declare a field in the class"
)
_IS_JUDGED_AGAIN = "a property is judged anew in every replay: use the states that it is given"
_IS_SHARED = "is shared by all runs that are judged: remember it in the memory of @over_history"


_Imports = tuple[dict[str, str], dict[str, str]]


class SourceMistake(NamedTuple):
    """A mistake in the source: its line, and a text for the user."""

    line: int
    text: str


def hidden_inputs(source: bytes | str) -> Iterator[SourceMistake]:
    """Yield what functions of this source read besides their inputs, and where they keep state of their own."""
    for node, imported, shared, classes in _nodes_in_functions(source):
        for line, used, instead in _calls(node, *imported):
            yield SourceMistake(line, f"{used} is not the same in every execution: {instead}")
        for line, what in _changed(node, shared, classes):
            yield SourceMistake(line, f"{what} {_OUTLIVES}")
        yield from _unrecorded(node)


def inputs_besides_states(source: bytes | str) -> Iterator[SourceMistake]:
    """Yield what properties in this source read besides the states, and what they remember by themselves."""
    for node, imported, shared, classes in _nodes_in_functions(source):
        for line, used, _ in _calls(node, *imported):
            yield SourceMistake(line, f"{used} is not the same in every execution: {_IS_JUDGED_AGAIN}")
        for line, what in _changed(node, shared, classes):
            yield SourceMistake(line, f"{what} {_IS_SHARED}")


def _nodes_in_functions(source: bytes | str) -> Iterator[tuple[ast.AST, _Imports, set[str], set[str]]]:
    """Yield each node of the outermost functions, the imports, what it may change in the module, the classes."""
    tree = ast.parse(source)
    imported, mutable = _imports(tree), _mutable_globals(tree)
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} | _CLASS_OF_SELF
    for function in _functions(tree):
        shared = mutable - _locals(function)
        yield from ((node, imported, shared, classes) for node in ast.walk(function))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the outermost functions; what a module does for itself, as a script, is its own affair."""
    bodies: list[list[ast.stmt]] = [tree.body]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node
            elif isinstance(node, ast.ClassDef):
                bodies.append(node.body)


def _imports(tree: ast.Module) -> _Imports:
    """Return the modules by the names that they have here, and the names imported from modules."""
    modules, names = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update({each.asname or each.name: each.name for each in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
    return modules, names


def _calls(node: ast.AST, modules: dict[str, str], names: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield the line of what is used and differs between executions, its name, and what to use in its place."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BUILT_IN:
        yield node.lineno, f"{node.func.id}()", _BUILT_IN[node.func.id]
    used = _full_name(node, modules, names)
    if used is None or _is_seeded(used):
        return
    module, _, function = used.rpartition(".")
    instead = _MODULES.get(module.partition(".")[0])
    if instead is None:
        instead = _FUNCTIONS.get(".".join(used.split(".")[-2:]))
    if instead is not None and function:
        yield node.lineno, ast.unparse(node), instead  # type: ignore[attr-defined]


def _full_name(node: ast.AST, modules: dict[str, str], names: dict[str, str]) -> str | None:
    """Return the name of what is used from another module: ``random.uniform``."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = node.value.id
        known = modules.get(owner) or names.get(owner)
        return None if known is None else f"{known}.{node.attr}"
    return None


def _is_seeded(used: str) -> bool:
    return used == "random.Random"  # its seed is the author's affair; without one, runs differ when repeated


def _mutable_globals(tree: ast.Module) -> set[str]:
    """Return the names of lists, dicts and sets of the module and of its classes."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_mutable(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id for each in targets if isinstance(each, ast.Name)}
    return found


def _is_mutable(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("list", "dict", "set", "defaultdict", "Counter", "deque")
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _locals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names that are the function's own."""
    arguments = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    stored = {
        each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    declared = {name for each in ast.walk(function) if isinstance(each, ast.Global) for name in each.names}
    return (arguments | stored) - declared


def _changed(node: ast.AST, mutable: set[str], classes: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line of what is changed in the module, or in a class of it, and what that is."""
    if isinstance(node, ast.Global):
        yield node.lineno, f"{', '.join(node.names)} in the module"
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        if ast.unparse(node.value) in classes:
            yield node.lineno, ast.unparse(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        yield from _known(node.value, mutable)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
        yield from _known(node.func.value, mutable)


def _known(owner: ast.expr, mutable: set[str]) -> Iterator[tuple[int, str]]:
    if isinstance(owner, ast.Name) and owner.id in mutable:
        yield owner.lineno, f"{owner.id} in the module"


def _unrecorded(node: ast.AST) -> Iterator[SourceMistake]:
    """Yield where a value is set that is in no declared field."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        yield SourceMistake(node.lineno, "what is kept in __dict__ is not recorded: declare a field in the class")
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__":
        yield SourceMistake(
            node.lineno, "what is set by object.__setattr__ is not recorded: declare a field in the class"
        )
