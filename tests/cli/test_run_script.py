"""``lab run --do`` and ``--script``: unmet expectations and commands that were never due are reported."""

import pytest

from tests.cli.invocation import Called, Lab

SCRIPT = """\
# of five, the highest dies, twice
when all normal: kill 5
kill 5
expect 4 down within 1s
expect all.coordinator == 3
expect violation A1.1
on send EnterElection 1->2: kill 1
"""


def _run(lab: Lab, *words: str) -> Called:
    return lab("run", "bully", "--sim", "--headless", "--for", "3s", "--seed", "1", *words)


@pytest.mark.parametrize(
    "line",
    [
        "expect all normal",
        "expect never 4 down",
        "expect all.coordinator == 5 within 2s",
        "when all normal: expect 5 leads",
        'when all normal say "all are  Normal"',
        'mark "the start"',
        "at 1s   kill 5",
    ],
)
def test_success_is_not_reported(lab: Lab, line: str) -> None:
    """A met expectation, a caption, a command."""
    done = _run(lab, "--do", line)
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("when all normal expect 1 leads", "when all normal expect 1 leads: 1 was Normal under 5"),
        ("expect 4 down within 1s", "expect 4 down within 1s: timed out: 4 was running"),
        ("expect never live == 5", "expect never live == 5: live was 5"),
        ('on send NewState 1->2 say "hi"', 'never due: on send NewState 1->2 say "hi"'),
        ("on send NewState 1->2 expect 1 leads", "never due: on send NewState 1->2 expect 1 leads"),
    ],
)
def test_unmet_expectations_are_reported(lab: Lab, line: str, output: str) -> None:
    """In one line, with the actual values."""
    done = _run(lab, "--do", line)
    assert (done.status, done.line()) == (1, output)


def test_expectations_of_verdicts_are_refused_by_hand(lab: Lab) -> None:
    """They are about the whole run; the error says where to write them."""
    output = _run(lab, "--do", "expect no violation").refused()
    assert output.startswith(
        "--do 'expect no violation': a verdict is about the whole run, so it is not known yet: write"
    )


def test_a_script_is_judged_line_by_line(lab: Lab) -> None:
    """By the rules for scenarios, with line numbers."""
    (lab.folder / "s.script").write_text(SCRIPT)
    done = _run(lab, "--script", "s.script", "--do", "expect never 4 suspects 5")
    assert (done.status, done.err.splitlines()) == (
        1,
        [
            "lab: expect never 4 suspects 5: 4 suspected 5",
            "lab: script line 3, kill 5: 5: already down, nothing changed",
            "lab: script line 4, expect 4 down within 1s: timed out: 4 was running",
            "lab: script line 5, expect all.coordinator == 3: "
            + ", ".join(f"{node}.coordinator was 4" for node in (1, 2, 3, 4)),
            "lab: script line 6, expect violation A1.1: no violation of A1.1 was found",
            "lab: script line 7, on send EnterElection 1->2: kill 1: "
            "its trigger never fired: on send EnterElection 1->2",
        ],
    )


def test_a_successful_script(lab: Lab) -> None:
    """0, without output; an expected violation is no failure."""
    lines = (
        "when all normal: partition 1 2 | 3 4 5\nexpect 2 leads within 2s\nexpect violation A1.1 under partition\n"
    )
    (lab.folder / "s.script").write_text(lines)
    done = _run(lab, "--script", "s.script")
    assert (done.status, done.err) == (0, "")


def test_then_waits_for_the_option_before(lab: Lab) -> None:
    """Alone, the second line would be carried out at once: 2 and 1 are up before 3 is killed."""
    lines = ("--do", "when all normal kill 3", "--do", "then when 2 up and 1 up kill 1")
    done = _run(lab, *lines, "--record", "then.jsonl")
    assert done.out.index("fault: kill 3") < done.out.index("fault: kill 1")
    assert '"line":2' in (lab.folder / "then.jsonl").read_text()
