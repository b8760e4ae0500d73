"""The script in a recording, and the state of its lines as of a record."""

from collections.abc import Sequence

from lab.analysis.script_log import LineResult, ScriptLog
from lab.recording.records import Captioned, Commanded, Expected, Record
from lab.tui.source import RecordedScenario
from lab.tui.views.script_view import head_paragraphs, line_states
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


def _results(records: Sequence[Record], first: int = 10) -> Sequence[LineResult]:
    log = ScriptLog()
    for number, record in enumerate(records, first):
        log.add(number, record)
    return log.results(first + len(records))


def _words(records: Sequence[Record], over: bool = False) -> list[str]:
    states = line_states(RecordedScenario(TEXT), _results(records), [], over, over)
    return [states[line].word for line in sorted(states)]


def test_the_script_follows_the_head() -> None:
    """Line numbers are those of the file."""
    script = RecordedScenario(SCENARIO)
    assert [number for number, _ in script.lines] == [*range(FIRST, len(SCENARIO.splitlines()) + 1)]
    assert head_paragraphs(script) == [
        "What becomes of lines",
        "Every way in which a line of a script can end.",
        "source: these tests",
    ]
    assert FIRST not in script.statements, "a remark"
    assert FIRST + 1 in script.statements
    assert FIRST + 1 not in script.predecessors
    assert script.predecessors[FIRST + 2] == FIRST + 1


def test_a_text_without_a_head_is_all_script() -> None:
    """As ``--script`` takes it."""
    script = RecordedScenario(TEXT)
    assert head_paragraphs(script) == []
    assert [*script.statements] == [1, 2, 3, 6, 7, 8]


def test_an_unknown_line_is_shown() -> None:
    """A newer version may have written it."""
    script = RecordedScenario('shows = [\n---\nfrobnicate 5\nsay "x"\n')
    assert script.lines[:2] == [(3, "frobnicate 5"), (4, 'say "x"')]
    assert [*script.statements] == [3, 4]
    assert head_paragraphs(script) == []


def test_the_first_line_of_each_sequence_waits() -> None:
    """Lines after it have not begun; expectations of the run have no turn."""
    assert _words([]) == ["waits", "", "", "", "at the end", "waits"]


def test_each_line_waits_once_the_one_before_it_is_done() -> None:
    kill = Commanded(5, "kill 5", "5 killed", line=1)
    assert _words([kill])[:4] == ["done", "waits", "", ""]
    met = Expected(9, "expect", True, line=3)
    assert _words([kill, Commanded(6, "kill 4", "", line=2), met, Captioned(9, "x", line=6)])[:4] == [
        *("done", "done", "met", "said")
    ]


def test_lines_after_an_unmet_expectation_are_never_reached() -> None:
    """The reason is given."""
    results = _results([Expected(9, "expect", False, "timed out", line=3)], 7)
    states = line_states(RecordedScenario(TEXT), results, [], False, False)
    assert (states[3].status, states[3].word, states[3].why, states[3].record) == (
        "unmet",
        "NOT MET",
        "timed out",
        7,
    )
    assert (states[6].status, states[6].word) == ("unmet", "NEVER")


def test_a_command_without_effect_differs_from_one_with_effect() -> None:
    """Refused or without effect, each with its reply."""
    refused = Commanded(5, "kill 9", "there is no node 9", changed=False, refused=True, line=1)
    idle = Commanded(5, "kill 5", "already down", changed=False, line=2)
    states = line_states(RecordedScenario(TEXT), _results([refused, idle]), [], False, False)
    assert [(states[line].word, states[line].why) for line in (1, 2)] == [
        ("REFUSED", "there is no node 9"),
        ("NO EFFECT", "already down"),
    ]


def test_when_the_run_is_over_no_line_waits() -> None:
    assert _words([], over=True) == ["NEVER"] * 6


def test_a_repeated_line_is_counted() -> None:
    """With the record of the last time."""
    ticks = _results([Captioned(number, "tick", line=1) for number in (3, 5, 8)], 6)
    state = line_states(RecordedScenario('every 1s: say "tick"'), ticks, [], False, False)[1]
    assert (state.word, state.record, state.why) == ("said", 8, "3 times so far")


def test_only_newlines_end_lines() -> None:
    """Not what else Unicode counts as one; trailing blanks after the rule are ignored."""
    script = RecordedScenario('shows = "a\u2028b\u0085c"\n--- \nkill 5\nsay "x\u2028y"\nheal\n')
    assert script.lines == [(3, "kill 5"), (4, 'say "x\u2028y"'), (5, "heal")]
    assert head_paragraphs(script) == ["a b c"]


def test_a_hostile_head_is_ignored() -> None:
    """The script is shown all the same."""
    for head in ("seed = " + "1" * 5_000, "set = { a = " + "[" * 20_000):
        script = RecordedScenario(f"{head}\n---\nkill 5\n")
        assert (head_paragraphs(script), script.lines) == ([], [(3, "kill 5")])


WATCHED = """\
when all normal: kill 5
then expect always live == 4
when 4 leads: expect never 5 leads
then kill 4
"""


def test_lines_after_a_watched_line_do_not_wait_for_it() -> None:
    """It is watched from its turn, or from its trigger on."""

    def words(*records: Record) -> list[str]:
        states = line_states(RecordedScenario(WATCHED), _results(records), [], False, False)
        return [states[line].word for line in sorted(states)]

    kill = Commanded(5, "kill 5", "5 killed", line=1)
    unmet = Expected(6, "expect never 5 leads", False, line=3)
    assert words() == ["waits", "", "waits", "waits"]
    assert words(kill) == ["done", "watched", "waits", "waits"]
    assert words(kill, unmet) == ["done", "watched", "NOT MET", "waits"]
    assert words(kill, Commanded(7, "kill 4", "4 killed", line=4)) == ["done", "watched", "watched", "done"]
