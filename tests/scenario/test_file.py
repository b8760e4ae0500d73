"""Reading a scenario: its contents, and mistakes in every kind of place, each with its line."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.records import Link
from lab.scenario.file import Scenario, ScenarioError, read_scenario, scenario_in
from lab.script.commands import NodeCommand
from lab.script.statements import Expect

RIGHT = '''\
title = "A pause makes two coordinators"
shows = """
What to look at,
nodes = 3 of them.
"""
source = "Garcia-Molina 1982"
protocol = "bully"
nodes = "1-5"
tm = "80ms"
tp = "40ms"
latency = "20ms"
jitter = "10ms"
seed = 7
set = { check_every = "400ms", halting = "at_once" }
worlds = ["simulated"]
for = "8s"
---
# a comment
when all normal: kill 5

on send EnterElection 4->1 #2: say "the second"  # and one more
expect all.coordinator == 4 within 2s
expect no violation A1.1
'''

MISTAKES = """
title = "A pause makes two coordinators" => titel = "A pause makes two coordinators"
title = "A pause makes two coordinators" => title = ""
title = "A pause makes two coordinators" => title = pause
title = "A pause makes two coordinators" => title = "A pause
title = "A pause makes two coordinators" => title = "A"|title = "B"
protocol = "bully" =>
protocol = "bully" => protocol = "bulli"
protocol = "bully" => protocol = 5
protocol = "bully" => protocol = "gone.py:Mine"
protocol = "bully" => protocol = "field above token"
nodes = "1-5" => nodes = "5-1"
nodes = "1-5" => nodes = "0"
nodes = "1-5" => nodes = "65"
nodes = "1-5" => nodes = "many"
nodes = "1-5" => nodes = true
tm = "80ms" =>
tm = "80ms" => tm = "80"
tm = "80ms" => tm = "0s"
tm = "80ms" => tm = "80ms"|t = "200ms"
tp = "40ms" => tp = "soon"
latency = "20ms" => latency = 20
jitter = "10ms" => jitter = "ten"
seed = 7 => seed = "lucky"
seed = 7 => seed = -7
check_every = "400ms" => chek_every = "400ms"
check_every = "400ms" => check_every = "often"
"at_once" => "perhaps"
set = { check_every = "400ms", halting = "at_once" } => set = "check_every"
set = { check_every = "400ms", halting = "at_once" } => [set]|chek_every = "400ms"
worlds = ["simulated"] => worlds = ["simulatd"]
worlds = ["simulated"] => worlds = []
worlds = ["simulated"] => worlds = "simulated"
for = "8s" => for = "11m"
for = "8s" => for = "1"
for = "8s" => form = "8s"
--- => --
when all normal: kill 5 => when all normal: kil 5
when all normal: kill 5 => when all normal: kill 9
when all normal: kill 5 => wen all normal: kill 5
when all normal: kill 5 => when all norml: kill 5
when all normal: kill 5 => when 4.coordinater == 5: kill 5
when all normal: kill 5 => at noon: kill 5
when all normal: kill 5 => every 2s kill
when all normal: kill 5 => step 3
when all normal: kill 5 => at 10s: kill 5
when all normal: kill 5 => when 5 leads: after 9s: kill 5
when all normal: kill 5 => kill 9, 9
when all normal: kill 5 => when 9 leads: say "9"
when all normal: kill 5 => lose 1->2 130%
when all normal: kill 5 => lose 1->2 Enterelection 100%
EnterElection 4->1 #2 => EnterElecton 4->1 #2
EnterElection 4->1 #2 => EnterElection 4->9 #2
EnterElection 4->1 #2 => EnterElection 4->1 #0
say "the second" => say "the second
say "the second" => sey "the second"
expect all.coordinator == 4 within 2s => expect all.coordinator = 4 within 2s
expect all.coordinator == 4 within 2s => expect all.coordinator == 4 within soon
expect all.coordinator == 4 within 2s => expects all.coordinator == 4
expect no violation A1.1 => expect no violation A7.7
expect no violation A1.1 => expect no violation A3.1
expect no violation A1.1 => expect violation A1.1 under pauze
expect no violation A1.1 => at 2s expect violation A1.1
"""


@pytest.fixture
def right(tmp_path: Path) -> Scenario:
    """The scenario above."""
    path = tmp_path / "pause.scenario"
    path.write_text(RIGHT)
    return read_scenario(path)


def test_the_contents(right: Scenario) -> None:
    """Every key of the head, as values; the script with the line numbers of the file."""
    assert (right.name, right.title, right.source) == (
        "pause",
        "A pause makes two coordinators",
        "Garcia-Molina 1982",
    )
    assert right.shows == "What to look at,\nnodes = 3 of them."
    assert (right.protocol, right.nodes, right.timing) == ("bully", (1, 2, 3, 4, 5), Timing(80_000, 40_000))
    assert (right.link, right.seed, right.worlds) == (Link(20_000, 10_000), 7, ("simulated",))
    assert right.parameters == {"check_every_us": 400_000, "halting": "at_once"}
    assert (right.ends_us, right.first_line, right.text) == (8_000_000, 18, RIGHT)
    assert [line.line for line in right.lines] == [19, 21, 22, 23]
    assert isinstance(right.lines[0].command, NodeCommand)
    assert isinstance(right.lines[2].command, Expect)


def test_the_defaults(tmp_path: Path) -> None:
    """Five nodes, T of 200 ms, seed 1, both worlds, and the latency of lab run."""
    text = 'title = "Short"\nprotocol = "ring"\nfor = "1s"\n---\nexpect all normal\n'
    found = scenario_in(text, tmp_path / "short.scenario")
    assert (found.nodes, found.timing.t_us, found.seed) == ((1, 2, 3, 4, 5), 200_000, 1)
    assert (found.worlds, found.link, found.parameters) == (("simulated", "live"), None, {})


def test_a_protocol_file_is_relative_to_the_scenario(tmp_path: Path) -> None:
    """Also if a task runs on top of it, and wherever the scenario is run from."""
    (tmp_path / "mine.py").write_text("from lab.protocols import Bully\n\n\nclass Mine(Bully):\n    pass\n")
    for target in ("mine.py:Mine", "field above mine.py:Mine"):
        text = RIGHT.replace('"bully"', f'"{target}"')
        found = scenario_in(text, tmp_path / "own.scenario")
        assert found.protocol == target.replace("mine.py", str(tmp_path / "mine.py"))


def test_a_task_on_top_of_an_election(tmp_path: Path) -> None:
    """As in lab run: by name, and with the election in set."""
    text = RIGHT.replace('protocol = "bully"', 'protocol = "field"').replace("check_every = ", "election = ")
    text = text.replace('"400ms", halting = "at_once"', '"invitation"')
    found = scenario_in(
        text.replace("on send EnterElection", "on send Accept").replace("A1.1", "A9"), tmp_path / "task.scenario"
    )
    assert (found.protocol, found.parameters) == ("field above invitation", {"election": "invitation"})


def _mistakes(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario_in(text, Path("pause.scenario"))
    assert str(caught.value) == "\n".join(caught.value.mistakes)
    return str(caught.value)


def test_a_typo_in_every_kind_of_place(transcript: Callable[[str, str], None]) -> None:
    """File, line and column, what was got, what was expected, and the closest word."""
    texts = []
    for change in MISTAKES.strip().splitlines():
        old, _, new = change.partition(" =>")
        assert old in RIGHT
        mistakes = _mistakes(RIGHT.replace(old, new.strip().replace("|", "\n"), 1))
        assert all(re.match(r"pause\.scenario:\d+(:\d+)?: ", line) for line in mistakes.splitlines())
        texts.append(f"{change}\n{mistakes.replace(f'{Path.cwd()}/', '')}\n")
    transcript("scenario_mistakes", "\n".join(texts))


def test_all_mistakes_are_reported_together() -> None:
    """In the order of the lines, of the head and of the script."""
    text = RIGHT.replace('"1-5"', '"5-1"').replace("kill 5", "kil 5").replace("for =", "fro =")
    places = [line.split(":")[1] for line in _mistakes(text).splitlines()]
    assert places == ["1", "8", "16", "19"]


def test_an_empty_script_is_a_mistake() -> None:
    """Also one of comments only."""
    head = RIGHT.partition("---\n")[0]
    for script in ("", "# nothing yet\n"):
        assert "the script is empty" in _mistakes(f"{head}---\n{script}")


def test_without_an_end_no_time_is_after_it() -> None:
    """The missing line is the only mistake."""
    text = re.sub(r"^for = .*\n", "", RIGHT, flags=re.MULTILINE).replace("---\n", "---\nat 900s: kill 4\n", 1)
    (mistake,) = _mistakes(text).splitlines()
    assert "for" in mistake
    assert "after the end" not in mistake


def test_commands_that_choose_the_next_event_are_for_simulation_only() -> None:
    """deliver, fire and choose are refused if the scenario may be live; freeze and speed are not."""
    live = RIGHT.replace('["simulated"]', '["simulated", "live"]')
    for line in ("deliver 5->1", "fire 2", "choose 2"):
        mistakes = _mistakes(live.replace("when all normal: kill 5", line))
        assert mistakes.startswith(f"pause.scenario:19:1: {line.split()[0]} works only in simulation")
        scenario_in(RIGHT.replace("when all normal: kill 5", line), Path("pause.scenario"))
    for line in ("when all normal: freeze", "speed 0.1"):
        scenario_in(live.replace("when all normal: kill 5", line), Path("pause.scenario"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing one, a folder, a pipe (without blocking), binary data, and one as long as a recording."""
    os.mkfifo(tmp_path / "pipe.scenario")
    (tmp_path / "bytes.scenario").write_bytes(bytes(range(256)))
    (tmp_path / "long.scenario").write_text("#" * 70_000)
    for name, message in [
        ("gone.scenario", "No such file or directory; name a scenario file"),
        ("", "Is a directory; name a scenario file"),
        ("pipe.scenario", "a pipe, not a regular file; name a scenario file"),
        ("bytes.scenario", "not a text file"),
        ("long.scenario", "a scenario can have at most 64 kB"),
    ]:
        with pytest.raises(ScenarioError, match=message):
            read_scenario(tmp_path / name)


def test_only_line_feeds_end_lines() -> None:
    """Not the other line separators of Unicode, in the head and in the script."""
    text = RIGHT.replace("What to look at,", "What\u2028to\u0085look at,").replace('"the second"', '"a\u2028b"')
    for number, key, wrong in ((8, "1-5", "5-1"), (23, "expect no", "expects no")):
        assert _mistakes(text.replace(key, wrong)).startswith(f"pause.scenario:{number}:")


def test_the_separator_is_the_first_outside_of_a_string() -> None:
    """Blanks may follow it; a string that is not closed is reported."""
    for text in (
        RIGHT.replace("What to look at,", "---"),
        RIGHT.replace('"""', "'''").replace("What to look at,", '"""\n---'),
        RIGHT.replace("seed = 7", 'seed = 7  # """'),
        RIGHT.replace("---\n", "--- \t\n"),
    ):
        found = scenario_in(text, Path("pause.scenario"))
        assert found.lines[0].source == "when all normal: kill 5"
        assert text.split("\n")[found.lines[0].line - 1] == "when all normal: kill 5"
    mistakes = _mistakes(RIGHT.replace('nodes = 3 of them.\n"""', "nodes = 3 of them."))
    assert "Unterminated string" in mistakes or "Expected" in mistakes
    assert len(mistakes.splitlines()) == 1


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "pause.scenario"
    path.write_text(RIGHT, "utf-8-sig")
    assert read_scenario(path).text == RIGHT


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1" * 5_000, "too many digits"),
        ("0x" + "f" * 5_000, "too many digits"),
        ("[" * 20_000, "nested too deeply"),
        ("0x" + "f" * 30, "write a whole number"),
    ],
    ids=["digits", "hex", "nested", "large"],
)
def test_a_malicious_head_is_a_mistake(value: str, message: str) -> None:
    """Too many digits, or too much nesting."""
    assert message in _mistakes(RIGHT.replace("seed = 7", f"seed = {value}"))
