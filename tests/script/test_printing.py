"""The canonical text of a statement: parsing it gives the statement again."""

import pytest
from hypothesis import given
from msgspec.structs import replace

from lab.script.parse import parse
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.statements import Statement
from lab.script.verbs import VERBS
from tests.script.strategies import PREDICATES, scripted


def _meant(line: Statement) -> Statement:
    """The line without how it was written."""
    return replace(line, text="", source="")


@given(scripted())
def test_printing_and_parsing_is_the_identity(line: Statement) -> None:
    assert _meant(parse(str(line))) == line


@given(PREDICATES)
def test_a_predicate_alone_has_a_text(predicate: object) -> None:
    assert str(predicate) == str(parse(f"when {predicate!s}: heal").trigger).removeprefix("when ")


EXAMPLES = [
    *(verb.example for verb in VERBS.values()),
    *EXPECTATIONS.values(),
    *(f"{trigger}: kill 5" for trigger in TRIGGERS.values()),
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_in_canonical_form(text: str) -> None:
    if text != "publish 5":
        assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  kill   5 ", "kill 5"),
        ("then kill 5,4 all", "kill 5 4 all"),
        ("then after 2s kill 5", "after 2s: kill 5"),
        ("then when all normal kill 5", "then when all normal: kill 5"),
        ("then expect all normal", "then expect all normal"),
        ("then expect all normal within 2s", "expect all normal within 2s"),
        ("when (all normal) : at 2000ms kill 5", "when all normal at 2s: kill 5"),
        ("when (1 + 2) + (3 * 4) == 4 - (3 - 2): kill 5", "when 1 + 2 + 3 * 4 == 4 - (3 - 2): kill 5"),
        ("when (4 up and 5 up) and not (not 4 up): kill 5", "when (4 up and 5 up) and not not 4 up: kill 5"),
        ("on send AreYouUp #1: kill 5", "on send AreYouUp: kill 5"),
        ("delay 1 2 -> 3 , 4 400ms +- 100ms", "delay 1 2->3 4 400ms ±100ms"),
        ("lose all 007.50%", "lose all 7.5%"),
        ("reorder all 50%", "reorder all 50% 100ms"),
        ("duplicate all 50% 0ms", "duplicate all 50%"),
        ("duplicate 1->2 NewState 50% 2000ms", "duplicate 1->2 NewState 50% 2s"),
        ("step 1", "step"),
        ("speed 10x", "speed 10"),
        ("inject 1->3 AreYouUp {}", "inject 1->3 AreYouUp"),
        ("publish 5", "tell 5 publish"),
        ("publish", "publish"),
        ('say "  a   b "', 'say "a b"'),
    ],
)
def test_one_meaning_has_one_text(text: str, canonical: str) -> None:
    """However it was written."""
    assert str(parse(text)) == canonical
