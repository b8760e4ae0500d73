"""The canonical text of a line: what is read from it is what was read before."""

from hypothesis import given
from msgspec.structs import replace

from lab.script import Scripted, parse
from lab.script.printing import said
from tests.script.strategies import scripted


def _meant(line: Scripted) -> Scripted:
    """The line without how it was written."""
    return replace(line, text="", source="")


@given(scripted())
def test_every_line_that_can_be_read_is_read_again_from_its_text(line: Scripted) -> None:
    """Parse → print → parse is the identity."""
    assert _meant(parse(said(line))) == line
