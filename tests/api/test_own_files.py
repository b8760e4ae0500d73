"""The library with a user's files: what runs is what was given, and what holds was judged."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.protocols import find_protocol
from lab.worlds.simulated import execution

ROOT = Path(__file__).parents[2]
RAFT = ROOT / "lab" / "guide" / "build" / "raft.py"

PROTOCOL = """
from typing import ClassVar
from lab.protocols import Bully

class Mine(Bully):
    name: ClassVar[str] = "mine"
    note_text: ClassVar[str] = "{text}"

    def started(self) -> None:
        super().started()
        self.note(self.note_text)

{more}
"""

PROPERTIES = """
from lab.properties import invariant, GlobalState, Outcome

@invariant
def mine_holds(state: GlobalState) -> Outcome:
    \"\"\"It holds.\"\"\"
    return {outcome}
"""


def _save(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def _mine(folder: Path, text: str = "first", more: str = "") -> Path:
    return _save(folder / "mine.py", PROTOCOL.format(text=text, more=more))


def _properties(folder: Path, outcome: str) -> Path:
    return _save(folder / "props.py", PROPERTIES.format(outcome=outcome))


def _imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _notes(run: lab.Run) -> set[str]:
    return {note for record in run.records for note in getattr(record, "notes", ())}


def test_a_file_that_was_edited_is_loaded_again(tmp_path: Path) -> None:
    """As is one of properties, and one that a mistake in its declarations kept from running."""
    path = _mine(tmp_path, "before")
    assert "before" in _notes(lab.simulate(f"{path}:Mine", 3))
    _mine(tmp_path, "afterwards")
    run = lab.simulate(f"{path}:Mine", 3)
    assert _notes(run) == {"afterwards"}
    assert 'note_text: ClassVar[str] = "afterwards"' in run.header.protocol.source
    assert lab.simulate("bully", 3, properties=_properties(tmp_path, "True")).holds
    assert not lab.simulate("bully", 3, properties=_properties(tmp_path, "False")).holds
    _mine(tmp_path, "x", 'Mine.promises = ("A99",)')
    with pytest.raises(lab.UserError, match="A99"):
        lab.simulate(f"{path}:Mine", 3)
    _mine(tmp_path, "mended")
    assert _notes(lab.simulate(f"{path}:Mine", 3)) == {"mended"}


def test_a_file_that_it_imports_is_loaded_again(tmp_path: Path) -> None:
    """Once it was edited."""
    for text in ("one", "another"):
        _save(tmp_path / "words_of_mine.py", f'TEXT = "{text}"\n')
        path = _mine(tmp_path, "x", "from words_of_mine import TEXT\nMine.note_text = TEXT")
        assert _notes(lab.simulate(f"{path}:Mine", 3)) == {text}


def test_a_file_is_not_executed_in_its_package(tmp_path: Path) -> None:
    path = _mine(tmp_path, "x", "from .words import TEXT")
    with pytest.raises(lab.UserError, match=r"mine\.py:13: .*not in its package: import the files beside it by"):
        lab.simulate(f"{path}:Mine", 3)


def test_a_class_runs_or_is_refused(tmp_path: Path) -> None:
    """Nodes load it by its name from the top level of its file."""
    inner = "class Outer:\n    class Mine(Mine):\n        pass\n"
    module = _imported(_mine(tmp_path, "first", inner))
    assert _notes(lab.simulate(module.Mine, 3)) == {"first"}
    with pytest.raises(lab.UserError, match=r"Outer\.Mine is not at the top level of .*mine\.py"):
        lab.simulate(module.Outer.Mine, 3)
    earlier = module.Mine
    module.Mine = type("Mine", (earlier.__mro__[1],), {"__module__": module.__name__})
    with pytest.raises(lab.UserError, match=r"mine\.py has another Mine now"):
        lab.simulate(earlier, 3)


@pytest.mark.parametrize("how", ["class", "parameters"])
def test_a_task_runs_above_the_election_that_was_chosen(how: str, tmp_path: Path) -> None:
    """Also with properties of one's own; and such a run has branches."""
    properties = _properties(tmp_path, "True")
    if how == "class":
        run = lab.simulate(find_protocol("3pc", {"election": "ring"}), 3, properties=properties)
    else:
        run = lab.simulate("3pc", 3, parameters={"election": "ring"}, properties=properties)
    assert run.header.title == "3pc above ring"
    branch = run.branch("2s", for_="1s")
    assert branch.header.title == "3pc above ring"
    assert {each.assertion for each in branch.verdicts} >= {"A6", "mine_holds"}
    found = lab.check("3pc", runs=2, nodes=3, parameters={"election": "ring"}, properties=properties)
    assert "3pc above ring: " in str(found)


@pytest.mark.parametrize("protocol", ["bully", "3pc", f"{RAFT}:Raft"])
def test_a_run_with_properties_has_branches(protocol: str, tmp_path: Path) -> None:
    run = lab.simulate(protocol, 3, properties=_properties(tmp_path, "True"), for_="3s")
    branch = run.branch("1s", for_="1s")
    assert "mine_holds" in {each.assertion for each in branch.verdicts}
    assert branch.branch("1500ms", for_="1s").header.title == run.header.title


def test_a_recording_is_judged_by_the_properties_of_its_run(tmp_path: Path) -> None:
    """Whose file has to be named; without it, the run does not hold."""
    properties, path = _properties(tmp_path, "True"), tmp_path / "run.jsonl"
    lab.simulate("bully", 3, properties=properties).save(path)
    command = [sys.executable, "-c", f"import lab; print(lab.load({str(path)!r}).holds)"]
    assert subprocess.check_output(command, text=True) == "False\n"
    command[-1] = f"import lab; print(lab.load({str(path)!r}, properties={str(properties)!r}).holds)"
    assert subprocess.check_output(command, text=True) == "True\n"
    with pytest.raises(lab.UserError, match="protocol='ring': the recording is one of bully"):
        lab.load(path, "ring")


def test_what_was_expected_and_is_not_met_does_not_hold() -> None:
    """Nor a trigger that has no value."""
    unmet = lab.simulate("bully", 3, script="expect all.coordinator == 1 within 2s", for_="4s")
    assert not unmet.holds
    assert unmet.unmet == ("expect all.coordinator == 1 within 2s: timed out",)
    assert lab.simulate("bully", 3, script="expect all.coordinator == 3 within 2s", for_="4s").holds


def test_an_error_in_a_property_is_no_success(tmp_path: Path) -> None:
    """In a run and in a campaign, though it may be judged in some runs of that."""
    always = _properties(tmp_path, "1 / 0 == 1")
    run = lab.simulate("bully", 3, properties=always)
    assert not run.holds
    assert "ZeroDivisionError" in run.errors["mine_holds"]
    sometimes = _properties(tmp_path, "1 // (len(state.ids) < 7) == 1")
    found = lab.check("bully", runs=20, faults="kill", properties=sometimes)
    assert not found.holds
    assert "mine_holds is not judged: an error in its code: " in str(found)


def test_only_what_is_sought_counts() -> None:
    """And it has to be an assertion of the protocol."""
    for find in ("A11", "a1.1", "A6", "A1.1,A2"):
        with pytest.raises(lab.UserError, match=f"find='{find}': the assertions of bully are A1.1, "):
            lab.check("bully", runs=1, find=find)
    assert str(lab.check("bully", runs=3, faults="kill", find="A2")).startswith(
        "bully: no failure in 3 runs; A2 held ("
    )


def test_a_campaign_finds_out_that_a_protocol_is_not_deterministic(tmp_path: Path) -> None:
    """By executing some runs in two processes."""
    path = _mine(tmp_path, "x", 'Mine.note_text = str([*{"a", "b", "c", "d", "e", "f"}])')
    with pytest.raises(lab.UserError, match="not deterministic: in the run with seed 1, "):
        lab.check(f"{path}:Mine", runs=5)


def test_a_run_that_is_stopped_is_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By a full disk, or by messages that multiply."""
    monkeypatch.setattr(execution, "_RECORDS", 10)
    with pytest.raises(lab.UserError, match="the run was stopped: its messages multiply: more than"):
        lab.simulate("bully", 3, for_="2s")
    monkeypatch.undo()
    monkeypatch.setattr(execution, "LEAST_FREE_MB", 1 << 40)
    with pytest.raises(lab.UserError, match=r"the run was stopped: the disk has only .*; set TMPDIR"):
        lab.simulate("bully", 3, for_="2000s")


def test_a_list_of_one_node_is_that_node() -> None:
    assert lab.simulate("bully", [7]).header.nodes == (7,)


def test_a_duration_may_be_given_in_microseconds_and_several_values_as_a_tuple() -> None:
    assert lab.simulate("bully", 3, parameters={"check_every": 300_000}).header.protocol.settings == (
        "check_every=300ms",
    )


def test_a_recording_is_replaced_not_changed(tmp_path: Path) -> None:
    """It may be open, and mapped: its own file, too."""
    path = tmp_path / "run.jsonl"
    lab.simulate("bully", 3, for_="5s").save(path)
    old = lab.load(path)
    old.save(path)
    lab.simulate("bully", 3, for_="1s").save(path)
    assert old.at_us > 4_000_000
    assert old.holds
    assert [each.name for each in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    """They are not replaced by a file."""
    run, path, link = lab.simulate("bully", 3, for_="1s"), tmp_path / "run.jsonl", tmp_path / "link"
    link.symlink_to(path)
    run.save(link)
    assert link.is_symlink()
    assert lab.load(path).at_us == run.at_us
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reading:
        run.save(pipe)
        assert reading.communicate()[0] == path.read_bytes()
    assert pipe.is_fifo()


def test_a_time_after_the_end_is_none_of_the_run() -> None:
    run = lab.simulate("bully", 3, for_="2s")
    with pytest.raises(lab.UserError, match=r"time='20s': the run ends at 2\.000 s"):
        run.state_at("20s")
    with pytest.raises(lab.UserError, match="time=-1: expected a time"):
        run.state_at(-1)


def test_what_was_not_violated_has_no_explanation() -> None:
    run = lab.simulate("bully", 3, for_="2s")
    with pytest.raises(lab.UserError, match="there is no violation to explain"):
        run.explain(run.verdicts[0].first)


def test_a_child_that_was_forked_does_not_remove_the_recording() -> None:
    """It may end in any way."""
    command = (
        "import os, sys, lab\n"
        "run = lab.simulate('bully', 3, for_='1s')\n"
        "child = os.fork()\n"
        "if not child: sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "print(run.branch('500ms', for_='1s').at_us)\n"
    )
    assert subprocess.check_output([sys.executable, "-W", "ignore", "-c", command], text=True) == "1500000\n"


@pytest.mark.parametrize("source", ["file", "input"])
def test_a_script_may_have_workers_without_a_guard(source: str, tmp_path: Path) -> None:
    """They do not execute it again."""
    text = "import lab\nprint(lab.check('bully', runs=10, workers=2).runs)\n"
    path = _save(tmp_path / "script.py", text)
    given = {"file": [str(path)], "input": ["-"]}[source]
    done = subprocess.run(
        [sys.executable, *given],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == ("10\n", "")
