"""The texts line by line: each line of a listing, each sentence of prose, with the line of code that does it.

Every line of the code is cited, in its order, or listed with the reason why the text does not have it: a reading,
a rule of the guide, or bookkeeping. So nothing else is in the class.
"""

import ast

import pytest

from lab.protocols.texts import TRANSCRIPTIONS
from lab.protocols.transcription import SAME, CodeLine, Passage, Transcription

PASSAGES = [(transcription, passage) for transcription in TRANSCRIPTIONS for passage in transcription.passages]


def names_in(source: ast.ClassDef) -> list[str]:
    """Return the names of all that the class defines."""
    names = []
    for each in source.body:
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case _:
                assert isinstance(each, ast.Expr), "the docstring"
    return names


@pytest.mark.parametrize(
    ("transcription", "passage"),
    PASSAGES,
    ids=[f"{each.protocol.__name__}-{passage.members[0]}" for each, passage in PASSAGES],
)
def test_the_code_is_the_text_line_by_line(transcription: Transcription, passage: Passage) -> None:
    """Each line of the text has its code, in this order; each line of code is cited, or its reason is given."""
    lines = list(transcription.code_of(passage, transcription.source()))
    assert [line for line in lines if not line.words and not line.added] == []
    assert [quoted.words for line in lines for quoted in line.words] == [words for words, _ in passage.lines]
    assert all(words for words, _ in passage.lines)
    assert len({line.code for line in lines if line.added}) == len(passage.added)


@pytest.mark.parametrize("transcription", TRANSCRIPTIONS, ids=lambda each: each.protocol.__name__)
def test_nothing_else_is_in_the_class(transcription: Transcription) -> None:
    """Each member of the class is in one passage, or its reason is given."""
    cited = [member for passage in transcription.passages for member in passage.members]
    assert sorted([*cited, *transcription.added]) == sorted(names_in(transcription.source()))


def test_code_that_the_text_does_not_have_is_found() -> None:
    """A line too many has neither words nor a reason, nor has anything after it; a line too few is missed."""
    source = ast.parse(
        "class Text:\n    def do(self):\n        self.a()\n        self.x()\n        self.b()"
    ).body[0]
    assert isinstance(source, ast.ClassDef)
    passage = Passage("1", ("do",), (("A", "self.a()"), ("AA", SAME), ("B", "self.b()")), {"self.x()": "why"})
    whole = Transcription(TRANSCRIPTIONS[0].text, TRANSCRIPTIONS[0].protocol, (passage,), {})

    def read(passage: Passage) -> list[tuple[str, str]]:
        def shown(line: CodeLine) -> str:
            return " ".join(each.words for each in line.words) or line.added

        return [(line.code, shown(line)) for line in whole.code_of(passage, source)]

    assert read(passage) == [("self.a()", "A AA"), ("self.x()", "why"), ("self.b()", "B")]
    without = Passage("1", ("do",), passage.lines)
    assert read(without)[1] == ("self.x()", "")
    missed = Passage("1", ("do",), (("Z", "self.z()"), *passage.lines), passage.added)
    assert read(missed) == [("self.a()", ""), ("self.x()", "why"), ("self.b()", "")]
