"""The script that a recording holds, and what has come of its lines by some record."""

from collections.abc import Sequence

from lab.analysis.script_log import LineResult, ScriptLog
from lab.recording.records import Captioned, Commanded, Expected, Record
from lab.tui.views.script.script_state import parse_script, line_states
from tests.tui.scripted import SCENARIO

FIRST = SCENARIO.splitlines().index("---") + 2
TEXT = """\
when all normal: kill 5
then kill 4
expect 3 leads within 1s

# so
say "x"
expect live == 3
at 1s: heal
"""


def _deeds(records: Sequence[Record], first: int = 10) -> Sequence[LineResult]:
    log = ScriptLog()
    for number, record in enumerate(records, first):
        log.add(number, record)
    return log.results(first + len(records))


def _words(records: Sequence[Record], over: bool = False) -> list[str]:
    states = line_states(parse_script(TEXT), _deeds(records), [], over, over)
    return [states[line].word for line in sorted(states)]


def test_a_scenario_has_its_script_behind_its_head() -> None:
    """The numbers are those of the file; the head says what there is to see."""
    script = parse_script(SCENARIO)
    assert [line.number for line in script.lines] == [*range(FIRST, len(SCENARIO.splitlines()) + 1)]
    assert script.paragraphs == (
        "What becomes of lines",
        "Every way in which a line of a script can end.",
        "source: these tests",
    )
    assert not script.lines[0].is_statement, "a remark"
    assert script.lines[1].is_statement
    assert script.lines[1].behind is None
    assert script.lines[2].behind == FIRST + 1


def test_a_text_without_a_head_is_all_script() -> None:
    """As ``--script`` takes it."""
    script = parse_script(TEXT)
    assert script.paragraphs == ()
    assert [line.number for line in script.lines if line.is_statement] == [1, 2, 3, 6, 7, 8]


def test_a_line_that_is_not_understood_is_shown_all_the_same() -> None:
    """A newer version may have written it, or anybody."""
    script = parse_script('shows = [\n---\nfrobnicate 5\nsay "x"\n')
    assert [(line.text, line.is_statement) for line in script.lines] == [("frobnicate 5", True), ('say "x"', True)]
    assert script.paragraphs == ()


def test_the_first_line_of_each_sequence_waits() -> None:
    """What follows it has not begun; what is expected of the run takes no turn."""
    assert _words([]) == ["waits", "", "", "", "at the end", "waits"]


def test_each_line_waits_once_the_one_before_it_is_done() -> None:
    """A caption counts as said, a command as done."""
    kill = Commanded(5, "kill 5", "5 killed", line=1)
    assert _words([kill])[:4] == ["done", "waits", "", ""]
    met = Expected(9, "expect", True, line=3)
    assert _words([kill, Commanded(6, "kill 4", "", line=2), met, Captioned(9, "x", line=6)])[:4] == [
        *("done", "done", "met", "said")
    ]


def test_what_follows_an_unmet_expectation_never_comes() -> None:
    """It is said why not."""
    results = _deeds([Expected(9, "expect", False, "its time is up", line=3)], 7)
    states = line_states(parse_script(TEXT), results, [], False, False)
    assert (states[3].sort, states[3].word, states[3].why, states[3].record) == (
        "unmet",
        "NOT MET",
        "its time is up",
        7,
    )
    assert (states[6].sort, states[6].word) == ("unmet", "NEVER")


def test_a_command_that_did_nothing_is_told_from_one_that_did() -> None:
    """Refused, or without effect, each with what was said of it."""
    refused = Commanded(5, "kill 9", "there is no node 9", changed=False, refused=True, line=1)
    idle = Commanded(5, "kill 5", "down already", changed=False, line=2)
    states = line_states(parse_script(TEXT), _deeds([refused, idle]), [], False, False)
    assert [(states[line].word, states[line].why) for line in (1, 2)] == [
        ("REFUSED", "there is no node 9"),
        ("NO EFFECT", "down already"),
    ]


def test_when_the_run_is_over_what_has_not_come_never_came() -> None:
    """Nothing waits any more."""
    assert _words([], over=True) == ["NEVER"] * 6


def test_a_line_that_comes_again_and_again_says_how_often() -> None:
    """With the record of the last time."""
    ticks = _deeds([Captioned(number, "tick", line=1) for number in (3, 5, 8)], 6)
    state = line_states(parse_script('every 1s: say "tick"'), ticks, [], False, False)[1]
    assert (state.word, state.record, state.why) == ("said", 8, "3 times so far")


def test_only_the_ends_of_lines_are_ends_of_lines() -> None:
    """Whatever else Unicode takes for one; and blanks behind the rule are none of the script's."""
    script = parse_script('shows = "a\u2028b\u0085c"\n--- \nkill 5\nsay "x\u2028y"\nheal\n')
    assert [(line.number, line.text) for line in script.lines] == [
        (3, "kill 5"),
        (4, 'say "x\u2028y"'),
        (5, "heal"),
    ]
    assert script.paragraphs == ("a b c",)


def test_a_head_of_bad_faith_says_nothing() -> None:
    """With more in it than can be read; the script is shown all the same."""
    for head in ("seed = " + "1" * 5_000, "set = { a = " + "[" * 20_000):
        script = parse_script(f"{head}\n---\nkill 5\n")
        assert (script.paragraphs, [line.text for line in script.lines]) == ((), ["kill 5"])


WATCHED = """\
when all normal: kill 5
then expect always live == 4
when 4 leads: expect never 5 leads
then kill 4
"""


def test_what_is_behind_a_line_that_is_watched_does_not_wait_for_it() -> None:
    """Not for its end, nor, once it is unmet, in vain; it is watched when its turn comes, or its trigger has."""

    def words(*records: Record) -> list[str]:
        states = line_states(parse_script(WATCHED), _deeds(records), [], False, False)
        return [states[line].word for line in sorted(states)]

    kill = Commanded(5, "kill 5", "5 killed", line=1)
    unmet = Expected(6, "expect never 5 leads", False, line=3)
    assert words() == ["waits", "", "waits", "waits"]
    assert words(kill) == ["done", "watched", "waits", "waits"]
    assert words(kill, unmet) == ["done", "watched", "NOT MET", "waits"]
    assert words(kill, Commanded(7, "kill 4", "4 killed", line=4)) == ["done", "watched", "watched", "done"]
