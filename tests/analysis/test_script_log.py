"""The results of the lines of a script, collected from the records."""

import pytest

from lab.analysis.script_log import LineResult, ScriptLog, inert_results, line_result
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Captioned, Commanded, End, Expected, Fault, Process, Record


@pytest.mark.parametrize(
    ("record", "result", "succeeded"),
    [
        (Captioned(5, "x", line=2), LineResult(2, 9, 5, "said"), True),
        (Captioned(5, "x", mark=True, line=2), LineResult(2, 9, 5, "marked"), True),
        (Commanded(5, "kill 5", "killed", line=2), LineResult(2, 9, 5, "done", "killed"), True),
        (Commanded(5, "kill 5", "down", changed=False, line=2), LineResult(2, 9, 5, "no effect", "down"), False),
        (
            Commanded(5, "kill 9", "9?", changed=False, refused=True, line=2),
            LineResult(2, 9, 5, "refused", "9?"),
            False,
        ),
        (Expected(5, "expect 4 leads", True, line=2), LineResult(2, 9, 5, "met"), True),
        (Expected(5, "expect 4 leads", False, "late", line=2), LineResult(2, 9, 5, "not met", "late"), False),
    ],
)
def test_the_result_of_each_record(record: Record, result: LineResult, succeeded: bool) -> None:
    """And whether the line succeeded."""
    assert line_result(9, record) == result
    assert result.succeeded == succeeded


@pytest.mark.parametrize("record", [Commanded(5, "kill 5", "killed"), End(5, "over"), None])
def test_other_records_have_no_result(record: Record | None) -> None:
    """Typed commands have no line."""
    assert line_result(9, record) is None


def test_a_line_is_inert_if_none_of_its_faults_touched_anything() -> None:
    """At the first of them; a fault of a typed command belongs to no line."""
    cluster = ClusterState((1, 2))
    records: list[Record] = [
        Fault(1, 1, "lose", "lose 1->2", links=((1, 2),), line=3),
        Fault(2, 2, "kill", "kill 1", (1,), line=4),
        Fault(3, 2, "kill", lifted=True),
        Fault(4, 3, "kill", "kill 1", (1,), line=4),
        Process(5, 1, "killed"),
        Fault(6, 4, "lose", "lose 1->2", links=((1, 2),), line=3),
        Fault(7, 5, "lose", "lose 2->1", links=((2, 1),)),
    ]
    for record in records:
        cluster.apply(record)
    assert inert_results(enumerate(records), cluster) == [LineResult(3, 0, 1, "inert")]


def test_results_and_captions_as_of_a_record() -> None:
    """A mark is not a caption, and typed commands have no line."""
    log = ScriptLog()
    records = [
        Captioned(1, "a", line=1),
        Captioned(2, "m", mark=True, line=2),
        Captioned(3, "b"),
        None,
        End(9, "over"),
    ]
    for number, record in enumerate(records, 4):
        log.add(number, record)
    captions = [[caption.text for caption in log.captions(number, 2)] for number in range(3, 8)]
    assert captions == [[], ["a"], ["a"], ["a", "b"], ["a", "b"]]
    assert [caption.text for caption in log.captions(7, 1)] == ["b"]
    assert [result.record for result in log.results(3)] == []
    assert [result.record for result in log.results(99)] == [4, 5]
    assert [log.is_over(number) for number in (7, 8)] == [False, True]
