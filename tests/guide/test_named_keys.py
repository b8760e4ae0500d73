"""Every key that a text names is the one that the table of actions gives to what the text says of it.

Texts are the pages of the guide, the README and the exercises. Messages of the interface take the keys from the
table, because a user may change them: ``{word}`` in a message stands for the key of that action.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.tui.actions import ACTIONS

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    path
    for pattern in (
        "README.md",
        "lab/guide/**/*.md",
        "lab/exercises/library/*/*.md",
        "lab/exercises/library/*/*.toml",
    )
    for path in ROOT.glob(pattern)
    if path.name not in ("glossary.md", "command-line.md")
)
CODE = sorted({*(ROOT / "lab" / "tui").rglob("*.py")} - {*(ROOT / "lab" / "tui" / "apps").rglob("*.py")})
"""The screen of a run; other screens have keys of their own."""
KEYS = {action.word: action.shown for action in ACTIONS}
NO_KEYS = {"!", '"', "-", "*", "A", "n", "Ctrl+G", "Ctrl+L", "Enter", "Esc", "Tab"}
"""What is in code style as a key would be: operators, signs, type variables, keys that the table does not have."""
OTHER_SCREENS = {"class.md", "lecture.md"}
"""Pages on screens that have keys of their own."""
KEY = r"`([!-~]|space|F\d+|Home|End|Enter|Esc|Tab|Ctrl\+[A-Z])`"

AFTER = {
    "kill": r"kills\b|: node \d is killed",
    "restart": r"(?:again )?restarts\b|: node \d restarts",
    "pause": r"(?:pauses|again resumes)\b|: node \d is paused",
    "partition": r"partitions\b|: partition\b",
    "heal": r"heals\b",
    "play": r"(?:stops|freezes)\b",
    "step": r"runs (?:one|the next) event",
    "choose": r"(?:lists all \*\*enabled|lets you choose)",
    "faster": r"makes it faster",
    "previous-fault": r"jumps to the previous fault",
    "next-fault": r"jumps to the next fault",
    "next-violation": r"(?:goes to the (?:next )?violation|jumps (?:there|to the point)|shows where)",
    "until": r"(?:searches for a predicate|goes to where it becomes true)",
    "bank": r"shows the\s+(?:bank|accounts)",
    "map": r"shows the map",
    "code": r"(?:shows (?:its|the) source|the (?:source|code)\b)",
    "diagram": r"(?:draws\b|shows the (?:run as a )?(?:space-time )?diagram)",
    "assertions": r"shows (?:the|all) assertions",
    "search": r"searches(?! for a predicate)",
    "filter": r"filters\b",
    "command": r"(?:opens the command line|takes a command)",
    "follow": r"follows one message",
    "watch": r"asks for an expression",
    "branch": r"\*\*branches",
    "branches": r"shows the tree",
    "bookmark": r"puts a bookmark",
    "bookmarks": r"lists them",
    "full": r"gives a view",
    "cards": r"changes between the two",
    "hall": r"(?:shows who leads in letters|once more shows)",
    "help": r"(?:shows help|lists all keys|shows all$|shows all[.;])",
    "quit": r"(?:quits|returns to the)",
    "end": r"(?:follows the run again|goes to the newest record)",
    "start": r"goes to the start",
}
"""What follows a key in a text, by the word of its action."""
BEFORE = {
    "assertions": r"(?:at the assertions|is violated|violate A\d)",
    "pause": r"pause it",
    "restart": r"restart (?:it|\d|them)",
    "kill": r"kill it",
    "heal": r"\b[Hh]eal(?: the network)?",
    "partition": r"partitioning the network",
    "network": r"network view",
    "bank": r"the (?:bank|interface)",
    "diagram": r"the diagram",
    "code": r"code view",
    "inspect": r"(?:inspector|decision|logs its decision)",
    "groups": r"history of groups",
}
"""What comes before a key in parentheses."""
ROWS = {
    "diagram": "space-time diagram",
    "inspect": "inspector",
    **{word: word for word in ("code", "network", "assertions", "groups", "bank", "map", "script", "compare")},
}
"""The names of the views in tables that begin with their keys."""


def _named(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (the action that the text speaks of, the key that it names, the text)."""
    text = re.sub(r"\s+", " ", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for word, phrase in AFTER.items():
        for found in re.finditer(rf"{KEY}(?: and {KEY})? ?(?:{phrase})", text):
            if found[2] is None:
                yield word, found[1], found[0]
    for word, phrase in BEFORE.items():
        for found in re.finditer(rf"(?:{phrase}) \({KEY}(?: shows it| again)?\)", text):
            yield word, found[1], found[0]
    for word, name in ROWS.items():
        for found in re.finditer(rf"\| {KEY} \| \*\*{name}\*\*", text):
            yield word, found[1], found[0]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_text_names_the_keys_of_the_table(path: Path) -> None:
    text = path.read_text("utf-8")
    assert [(word, key, phrase) for word, key, phrase in _named(text) if KEYS[word] != key] == []
    if path.name not in OTHER_SCREENS:
        known = {*KEYS.values(), *"0123456789", *NO_KEYS}
        named = re.findall(
            rf"{KEY}(?![\w(])", re.sub(r"```.*?```|<!-- generated.*?end -->", "", text, flags=re.DOTALL)
        )
        assert set(named) <= known, "these are no keys"


def test_the_texts_name_many_keys() -> None:
    """The phrases above fit what is written: each occurs."""
    found = {word for path in TEXTS for word, _, _ in _named(path.read_text("utf-8"))}
    assert found == {*AFTER, *BEFORE, *ROWS}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`D` shows the\nspace-time diagram.", "D"),
        ("Look at the assertions (`A`).", "A"),
        ("Press `5`, then `K` kills it", "K"),
        ("| `b` | **bank**: accounts |", "b"),
    ],
)
def test_a_wrong_key_is_found(text: str, wrong: str) -> None:
    assert [key for word, key, _ in _named(text) if KEYS[word] != key] == [wrong]


def _constants(path: Path) -> Iterator[str]:
    """Yield the texts of a module, without docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    yield from (
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


DOES = r"(?:shows?|adds?|lists?|gives?|go|goes|begins?|branches|quits?|skips?|chooses|freezes|executes|for all)\b"
SIGN = r"(?:[A-Za-z]|[^\w\s{}\"'…:=])"
NAMES_A_KEY = re.compile(rf"\b[Pp]ress (?!a ){SIGN}(?:[ ,;:.]|$)|(?:^|[;,(·] ?|\band ){SIGN} {DOES}")


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_a_message_takes_its_keys_from_the_table(path: Path) -> None:
    for text in _constants(path):
        assert {*re.findall(r"\{([a-z]+(?:-[a-z]+)*)\}", text)} <= KEYS.keys(), text
        assert not NAMES_A_KEY.search(text), text


def test_a_key_in_a_message_is_found() -> None:
    for text in (
        "; s shows the script",
        "M adds a bookmark",
        "n and N go there, M lists them",
        "press X, or ? for all keys",
    ):
        assert NAMES_A_KEY.search(text)
