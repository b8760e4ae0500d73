"""Scripts as text: lines, remarks, and the numbers that errors name."""

import pytest

from lab.script import CommandError, ScriptError, numbered_lines, parse, read_script

SCRIPT = """
# a remark
   # another
#1 is one, too
when all normal: kill 5   # and here
on send AreYouUp 4->5 #2: say "no # remark"   # but this is
\t
heal  #yes
kill 5 #1st
on send AreYouUp #2 kill 4 #3 of them
say "a"#no
"""


def test_lines_have_the_numbers_that_an_editor_shows() -> None:
    """Remarks and empty lines are left out, and counted."""
    assert list(numbered_lines(SCRIPT)) == [
        (5, "when all normal: kill 5"),
        (6, 'on send AreYouUp 4->5 #2: say "no # remark"'),
        (8, "heal"),
        (9, "kill 5"),
        (10, "on send AreYouUp #2 kill 4"),
        (11, 'say "a"#no'),
    ]


def test_only_the_ends_of_lines_are_ends_of_lines() -> None:
    """Whatever else Unicode takes for one; those of Windows are as good as any."""
    assert [number for number, _ in numbered_lines('kill 5\r\nsay "a\u2028b\x0bc"\r\nheal')] == [1, 2, 3]


def test_a_script_begins_at_the_line_where_it_stands_in_its_file() -> None:
    """Each line has its number with it."""
    lines = read_script("kill 5\n\nheal", first=12)
    assert [(line.line, line.text) for line in lines] == [(12, "kill 5"), (14, "heal")]
    assert lines[0].command == parse("kill 5").command


def test_a_line_that_cannot_be_read_is_named() -> None:
    """By its number, and with what is said of a line alone."""
    with pytest.raises(ScriptError) as caught:
        read_script("heal\n  kil 5", first=3)
    with pytest.raises(CommandError) as alone:
        parse("  kil 5")
    assert (caught.value.line, str(caught.value)) == (4, str(alone.value))
    assert str(caught.value).startswith("column 3: ")


def test_nothing_is_a_script() -> None:
    """Of no lines."""
    assert read_script("") == read_script("# nothing\n\n") == []
