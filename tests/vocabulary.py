"""Hold identifiers, help texts and docstrings to the project's vocabulary.

``python -m tests.vocabulary [PATH ...]`` lists what offends, a line each: file, line, word.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

WORDS = frozenset(
    [
        "aeon",
        "arranging",
        "beside",
        "border",
        "borders",
        "books",
        "claimed",
        "deed",
        "deeds",
        "desk",
        "dispensed",
        "doing",
        "doings",
        "family",
        "fates",
        "gate",
        "house",
        "hunt",
        "hunting",
        "journal",
        "kin",
        "lifeline",
        "lit",
        "look",
        "manieth",
        "obey",
        "offence",
        "offences",
        "office",
        "orphan",
        "orphaned",
        "orphans",
        "paced",
        "parting",
        "plate",
        "podium",
        "pupil",
        "pupils",
        "quarry",
        "said",
        "say",
        "saying",
        "says",
        "seat",
        "sifted",
        "sight",
        "spawner",
        "standing",
        "standings",
        "tell",
        "telling",
        "tells",
        "told",
        "twig",
        "twigs",
        "zygote",
        "keeping",
    ]
)
"""Words that stand in no identifier, as a whole or as a part of it (``pupil_rows``, ``PupilRows``)."""

NAMES = frozenset(
    [
        "Arrow",
        "Border",
        "Cluster",
        "Cone",
        "Deed",
        "Doing",
        "Ending",
        "FaultView",
        "Flight",
        "Future",
        "Gate",
        "House",
        "Hunt",
        "Kin",
        "Lines",
        "Look",
        "Made",
        "Moment",
        "NodeView",
        "Offence",
        "Office",
        "Parting",
        "Pupil",
        "Quarry",
        "RecordedLines",
        "Rest",
        "Roll",
        "Shown",
        "SpooledLines",
        "Strike",
        "Stretch",
        "Switch",
        "Told",
        "Turn",
        "Twig",
        "about",
        "absent",
        "above",
        "answers",
        "below",
        "carries",
        "choices",
        "choose",
        "fire",
        "hand_over",
        "is_there",
        "is_up",
        "let_out",
        "life",
        "look",
        "obey",
        "offers",
        "open_cursor",
        "own_command",
        "past_of",
        "put_cursor",
        "roll",
        "settle",
        "stands",
        "take",
        "turn_to",
    ]
)
"""Names that are no identifier as they stand, though a longer one may hold them (``ClusterProcess``)."""

MODULES = frozenset(["answers", "offers", "roll", "family", "answers", "orders"])

TEXTUAL = frozenset(("border_title", "border_subtitle"))
"""Attributes of Textual's widgets."""

CLAUSE = re.compile(
    r"(What|Whatever|Whether|Who|Whoever|Whom|Whose|Where|Wherever|How|Which|Those|That)\b"
    r"|(The same|So many|So much|Since when)\b"
)
"""How a docstring begins that opens with a relative clause."""

_PROSE = re.compile(
    r"""(?<![fF])\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}"""
    r"""|(?<![fFrR])"(?:[^"\\\n]|\\.)*\""""
    r"""|#[^\n]*""",
    re.DOTALL,
)
"""Strings and comments; an f-string may bind a name."""

_TOKEN = re.compile(r"[A-Za-z_]\w*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_of(name: str) -> list[str]:
    """Split an identifier into its words, in lower case."""
    return [part.lower() for part in _PARTS.findall(name)]


def is_banned(name: str) -> bool:
    """Return whether the vocabulary has another name for this."""
    if name in TEXTUAL:
        return False
    return name.lstrip("_") in NAMES or not WORDS.isdisjoint(words_of(name))


_is_banned = cache(is_banned)


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each identifier that the module itself names, with its line: definitions, parameters, variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(alias)):
                yield node.lineno, alias
            case ast.MatchAs(name=str(captured)) | ast.MatchStar(name=str(captured)):
                yield node.lineno, captured


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each docstring's line and text, of modules, classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def python_files(paths: list[Path]) -> Iterator[Path]:
    """Yield the Python files that are, or are under, these paths."""
    for path in paths:
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def may_violate(path: Path) -> bool:
    """Return whether parsing could find a name: it is many times slower than this look at the tokens."""
    if path.stem == "__init__" or is_banned(path.stem) or path.stem in MODULES:
        return True
    return any(map(_is_banned, set(_TOKEN.findall(_PROSE.sub("", path.read_text("utf-8"))))))


def violations_in(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, what is wrong) for the names and docstrings of one file."""
    tree = ast.parse(path.read_text("utf-8"))
    stem = path.parent.name if path.stem == "__init__" else path.stem
    if stem.isidentifier() and (is_banned(stem) or stem in MODULES):
        yield 1, f"module {stem}"
    for line, name in bound_names(tree):
        if is_banned(name):
            yield line, f"name {name}"
    for line, text in docstrings(tree):
        if CLAUSE.match(text):
            yield line, f"docstring: {text.splitlines()[0]}"


def main() -> None:
    """List what offends, a line each."""
    for path in python_files([Path(each) for each in sys.argv[1:] or ["lab", "tests"]]):
        for line, what in violations_in(path):
            print(f"{path}:{line}: {what}")


if __name__ == "__main__":
    main()
