"""Scripts as text: lines, comments, and the numbers in error messages."""

import pytest

from lab.script.parse import ScriptError, numbered_lines, parse, read_script
from lab.script.scope import CommandError

SCRIPT = """
# a comment
   # another
#1 is one, too
when all normal: kill 5   # and here
on send AreYouUp 4->5 #2: say "no # comment"   # but this is
\t
heal  #yes
kill 5 #1st
on send AreYouUp #2 kill 4 #3 of them
say "a"#no
"""


def test_lines_have_the_numbers_that_an_editor_shows() -> None:
    """Comments and empty lines are skipped, but counted."""
    assert list(numbered_lines(SCRIPT)) == [
        (5, "when all normal: kill 5"),
        (6, 'on send AreYouUp 4->5 #2: say "no # comment"'),
        (8, "heal"),
        (9, "kill 5"),
        (10, "on send AreYouUp #2 kill 4"),
        (11, 'say "a"#no'),
    ]


def test_only_line_feeds_end_lines() -> None:
    """Not the other line separators of Unicode; those of Windows work too."""
    assert [number for number, _ in numbered_lines('kill 5\r\nsay "a\u2028b\x0bc"\r\nheal')] == [1, 2, 3]


def test_lines_are_numbered_from_the_scripts_place_in_its_file() -> None:
    lines = read_script("kill 5\n\nheal", first=12)
    assert [(line.line, line.text) for line in lines] == [(12, "kill 5"), (14, "heal")]
    assert lines[0].command == parse("kill 5").command


def test_an_error_has_the_number_of_its_line() -> None:
    """And the message for a single line."""
    with pytest.raises(ScriptError) as caught:
        read_script("heal\n  kil 5", first=3)
    with pytest.raises(CommandError) as alone:
        parse("  kil 5")
    assert (caught.value.line, str(caught.value)) == (4, str(alone.value))
    assert str(caught.value).startswith("column 3: ")


def test_an_empty_script() -> None:
    assert read_script("") == read_script("# nothing\n\n") == []
