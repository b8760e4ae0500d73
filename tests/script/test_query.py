"""Queries of the log: parsing, error messages, and that printing is the inverse of parsing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.analysis.delivery import OUTCOMES
from lab.kernel import Timing
from lab.protocols import Bully
from lab.recording.log_lines import LINE_TYPES, LogLine
from lab.script.query import FIELDS, Query, Term, read_query
from lab.script.scope import CommandError
from tests.harness import simulated_header

HEADER = simulated_header(Bully, (1, 2, 3, 4), Timing(50_000, 20_000))
MESSAGE = LogLine(7, 1000, "message", "{}", 2, 3, "AreYouUp", 5)
STATUS = LogLine(8, 1000, "status", "Normal, coordinator 4", 3, kind="Normal")

_TEXTS = st.text("abc-:>19 .when", min_size=1, max_size=8).map(lambda text: " ".join(text.split())).filter(bool)
_WORDS = st.one_of(
    st.builds(Term, _TEXTS, st.just(""), st.booleans()),
    st.builds(Term, st.sampled_from(["1", "2", "4"]), st.sampled_from(["node", "from", "to"]), st.booleans()),
    st.builds(Term, st.sampled_from(["1->2", "4->3"]), st.just("link"), st.booleans()),
    st.builds(Term, st.sampled_from(OUTCOMES), st.just("fate"), st.booleans()),
    st.builds(Term, st.sampled_from(LINE_TYPES), st.just("what"), st.booleans()),
    st.builds(Term, st.sampled_from(["AreYouUp", "NewState"]), st.just("kind"), st.booleans()),
)


@given(st.text(max_size=60) | st.text('nodekifatwhlro:"->- 1234.=()', max_size=40))
def test_any_text_is_a_query_or_is_refused_in_one_line(text: str) -> None:
    """Nothing else is ever raised."""
    message = ""
    try:
        read_query(text, HEADER)
    except CommandError as error:
        message = str(error) or "no message"
    assert "no message" not in message
    assert "\n" not in message


@given(st.lists(_WORDS, max_size=4), st.sampled_from(["", "4 normal", "groups <= 2"]))
def test_printing_a_query_and_parsing_it_is_the_identity(terms: list[Term], predicate: str) -> None:
    query = Query(tuple(terms), read_query(f"when {predicate}").predicate if predicate else None)
    assert read_query(str(query), HEADER) == query


@pytest.mark.parametrize(
    ("text", "message", "status"),
    [
        ("", True, True),
        ("node:3", True, True),
        ("node:2", True, False),
        ("-node:2", False, True),
        ("from:2", True, False),
        ("from:3", False, False),
        ("to:3", True, False),
        ("link:2->3", True, False),
        ("link:3->2", False, False),
        ("kind:AreYouUp", True, False),
        ("kind:NewState", False, False),
        ("fate:lost", True, False),
        ("fate:delivered", False, False),
        ('-fate:"timed out"', True, True),
        ("what:status", False, True),
        ("AREYOUUP", True, False),
        ("areyouup lost", False, False),
        ('"coordinator 4"', False, True),
        ("-coordinator", True, False),
        ("node:3 coordinator -what:message", False, True),
    ],
)
def test_all_words_of_a_query_must_match(text: str, message: bool, status: bool) -> None:
    """A lost message, and a change of status; free text is searched in the displayed line."""
    query = read_query(text, HEADER)
    for line, expected in ((MESSAGE, message), (STATUS, status)):
        assert query.matches(line, "lost", lambda line: f"{line.kind} {line.text}".lower()) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nod:3", "unknown field nod; the fields are node, from, to, link, kind, fate, what;"),
        ("nod:3", "did you mean node?"),
        ("node:9", "there is no node 9; the nodes are 1 2 3 4"),
        ("node:four", "there is no node four; the nodes are 1 2 3 4"),
        ("link:2-3", "link is two nodes: link:2->3"),
        ("kind:areyouup", "did you mean AreYouUp?"),
        ("fate:time", "did you mean timed out?"),
        ("what:", "what: has no value; it is one of: message, status"),
        ('"open', "the quotes are not closed"),
        ("when 4 norml", "column 8: 'norml' is not expected here (did you mean 'normal'?)"),
        ("when 9 normal", "there is no node 9"),
        ("when", "the line ends too soon"),
    ],
)
def test_error_messages(text: str, message: str) -> None:
    with pytest.raises(CommandError) as error:
        read_query(text, HEADER)
    assert message in str(error.value)


def test_every_field_has_an_example_that_is_a_query() -> None:
    for field, example in FIELDS.items():
        (term,) = read_query(example).terms
        assert term.field == field
