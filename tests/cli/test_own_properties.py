"""Properties of a user's own: judged in runs, recordings, campaigns, exploration, scenarios and the interface."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS
from lab.tui.views.assertions_view import AssertionsView
from lab.worlds.loading.targets import load_properties, load_protocol
from tests.cli.invocation import Called, Lab
from tests.tui.seen import Seen, replay

OWN = Path(__file__).parents[1] / "properties" / "own"
RUN = ("run", "ballot.py", "--sim", "--headless", "--nodes", "3", "--seed", "1", "--for", "12s")
VIOLATIONS = {
    "rounds_stay_small": "1 is in round 5",
    "one_chair": "1 and 2 both hold first",
    "one_last_chair": "node 1 is {round 5, chair first, wants True} while node 2 is {round 5, chair first, ",
    "a_chair_is_taken_once": "first, taken by node 1 at 600ms, is taken again by node 2",
    "all_are_content": "12s after the start: it does not hold that in the end no node wants anything",
    "wishes_are_met": "1 wants a chair, since 400ms",
}


@pytest.fixture
def folder(lab: Lab) -> Path:
    """Return the working directory, with the user's files in it."""
    for name in ("ballot.py", "ballot_properties.py"):
        shutil.copy(OWN / name, lab.folder)
    return lab.folder


def _verdicts(lab: Lab, *words: str) -> dict[str, dict[str, object]]:
    done = lab(*words, "--json")
    assert done.status == 1, done
    return {each["assertion"]: each for each in json.loads(done.out)["verdicts"]}


@pytest.mark.usefixtures("folder")
def test_a_run(lab: Lab) -> None:
    """Each kind of property is violated once, with the sentence of its own or one made of the states."""
    done = lab(*RUN, "--properties", "ballot_properties.py")
    assert done.status == 1
    for name, text in VIOLATIONS.items():
        assert re.search(
            rf"^  {name} fails with all assumptions intact: {re.escape(text)}", done.out, re.MULTILINE
        )
    verdicts = _verdicts(lab, *RUN, "--properties", "ballot_properties.py")
    assert list(verdicts) == list(VIOLATIONS)
    assert {each["verdict"] for each in verdicts.values()} == {"fails"}


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        (
            "return random.random() < 1",
            "random.random is not the same in every execution: a property is judged anew",
        ),
        ("return time.time() > 0", "time.time is not the same in every execution: a property is judged anew"),
        ("return bool(open('x'))", "open() is not the same in every execution: a property is judged anew"),
        ("return SEEN.append(state.at_us) or True", "SEEN in the module is shared by all runs that are judged"),
        ("global SEEN; SEEN = [1]; return True", "SEEN in the module is shared by all runs that are judged"),
    ],
)
def test_a_verdict_is_the_same_in_every_replay(lab: Lab, line: str, mistake: str) -> None:
    """So a property reads the states that it is given, and nothing else."""
    text = f'''"""A property."""

import random
import time

from lab.properties import GlobalState, Outcome, invariant

SEEN: list[int] = []


@invariant
def lucky(state: GlobalState) -> Outcome:
    """It is lucky."""
    {line}
'''
    (lab.folder / "luck.py").write_text(text)
    done = lab("check", "bully", "--runs", "1", "--properties", "luck.py")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"lab: luck.py:14: {mistake}")


@pytest.mark.usefixtures("folder")
def test_an_assumption_of_ones_own(lab: Lab) -> None:
    """What relies on it is not owed while it does not hold; all else is."""
    done = lab(*RUN, "--properties", "ballot_properties.py", "--do", "at 1100ms kill 3")
    assert "  all_are_content holds: in the end no node wants anything (held 1 time, last at 0s; since" in done.out
    chair = next(line for line in done.out.splitlines() if line.startswith("  one_last_chair"))
    assert chair.startswith("  one_last_chair fails with all assumptions intact: ")
    back = lab(*RUN, "--properties", "ballot_properties.py", "--do", "at 1100ms kill 3", "--do", "at 2s restart 3")
    assert "all_are_content fails with all assumptions intact: 10s after the last fault: " in back.out


@pytest.mark.usefixtures("folder")
def test_a_recording_is_judged_later(lab: Lab) -> None:
    """With ``--properties``; without the file, what it was recorded with is not judged, and that is not green."""
    assert lab(*RUN, "--record", "plain.jsonl").status == 0
    assert "promises nothing" in lab("verify", "plain.jsonl", "--protocol", "ballot.py").out
    done = lab("verify", "plain.jsonl", "--protocol", "ballot.py", "--properties", "ballot_properties.py")
    assert done.status == 1
    for name, text in VIOLATIONS.items():
        assert f"  {name} fails with all assumptions intact: {text}" in done.out
        assert f"  events that led to {name} (line, seconds, event):" in done.out
    lab(*RUN, "--properties", "ballot_properties.py", "--record", "own.jsonl")
    unloaded = lab("verify", "own.jsonl", "--protocol", "ballot.py")
    assert unloaded.status == 1
    for name in VIOLATIONS:
        assert f"  {name} is not judged: its code is not loaded: name its file with " in unloaded.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_campaign_finds_it_and_shrinks_it(lab: Lab, name: str) -> None:
    words = (
        "ballot.py",
        "--properties",
        "ballot_properties.py",
        "--runs",
        "40",
        "--nodes",
        "2",
        "--faults",
        "kill",
        "--find",
        name,
    )
    done = lab("check", *words, "--workers", "1", "--out", "found.jsonl")
    assert done.status == 1
    assert re.search(rf"^ {name} +\d+ of \d+ runs? ", done.out, re.MULTILINE)
    assert "recorded: found.jsonl" in done.out
    verified = lab("verify", "found.jsonl", "--protocol", "ballot.py", "--properties", "ballot_properties.py")
    assert f"  {name} fails" in verified.out
    again = re.search(r"^again: +lab (.*)$", done.out, re.MULTILINE)
    assert again is not None
    assert "--properties" not in again[1]
    assert "'ballot.py with " in again[1]


@pytest.mark.usefixtures("folder")
def test_an_exploration(lab: Lab) -> None:
    """All are judged; a cycle of states would show a property that is never met."""
    words = ("explore", "ballot.py", "--properties", "ballot_properties.py", "--nodes", "2", "--from", "start")
    done = lab(*words, "--timeouts", "prompt")
    assert done.status == 1
    for name in VIOLATIONS:
        row = re.search(rf"^  {name} +(.*)$", done.out, re.MULTILINE)
        assert row is not None
        assert row[1].startswith("violated in "), row[0]
    assert "recorded: ballot-" in done.out


@pytest.mark.usefixtures("folder")
def test_the_assertion_whose_counterexample_is_recorded(lab: Lab) -> None:
    """The first that is violated, or the one that is wanted; of one set-up, and of several."""
    words = (
        "explore",
        "ballot.py",
        "--properties",
        "ballot_properties.py",
        "--from",
        "start",
        "--timeouts",
        "prompt",
    )
    first = lab(*words, "--nodes", "2", "--out", "first.jsonl")
    other = re.search(r"^not recorded: (\S+), .*; --find \1 chooses another$", first.out, re.MULTILINE)
    assert other is not None, first.out
    for nodes in ("2", "1-2"):
        found = lab(*words, "--nodes", nodes, "--find", "one_chair", "--out", "second.jsonl")
        assert "recorded: second.jsonl, the shortest counterexample to one_chair" in found.out
    assert (
        "--find chairs: the assertions of ballot are rounds_stay_small, "
        in lab(*words, "--find", "chairs").refused()
    )


def test_a_built_in_assumption(lab: Lab, folder: Path) -> None:
    """Named in ``relies_on``: nothing is owed once a node has failed, not even when it is back."""
    file = folder / "ballot_properties.py"
    text = file.read_text()
    assert "[everybody_is_up]" in text
    file.write_text(text.replace("[everybody_is_up]", "['no_failure_yet']"))
    words = (*RUN, "--properties", "ballot_properties.py")
    assert "all_are_content fails with all assumptions intact: 12s after the start: " in lab(*words).out
    back = lab(*words, "--do", "at 1100ms kill 3", "--do", "at 2s restart 3")
    assert "  all_are_content holds: in the end no node wants anything (held 1 time, last at 0s; since" in back.out


def test_a_scenario(lab: Lab, folder: Path) -> None:
    """``properties`` in the head; ``expect NAME`` is met only if it was judged and holds."""
    head = 'title = "Chairs"\nprotocol = "ballot.py"\nproperties = "ballot_properties.py"\nnodes = 2\n'

    def run(script: str, until: str) -> Called:
        text = f'{head}worlds = ["simulated"]\nfor = "{until}"\n---\n{script}\n'
        (folder / "chairs.scenario").write_text(text)
        return lab("run", "chairs.scenario", "--headless")

    assert run("expect rounds_stay_small", "500ms").status == 0
    unjudged = run("expect one_last_chair", "500ms")
    assert unjudged.status == 1
    assert "one_last_chair is not judged: no node was ever in the last round" in unjudged.out
    violated = run("expect violation one_chair\nexpect a_chair_is_taken_once", "700ms")
    assert violated.status == 1
    assert "expect a_chair_is_taken_once" in violated.out
    assert run("expect violation one_chair\nexpect violation a_chair_is_taken_once", "700ms").status == 0
    assert "unknown assertion one_seet" in run("expect one_seet", "500ms").err


@pytest.fixture
def loaded(lab: Lab, folder: Path) -> Iterator[Path]:
    """Return a recording, with the user's protocol loaded in this process."""
    assert lab(*RUN, "--record", "plain.jsonl").status == 0
    before = dict(ASSERTIONS), dict(ASSUMPTIONS)
    load_protocol(str(folder / "ballot.py"))
    yield folder / "plain.jsonl"
    for known, kept in zip((ASSERTIONS, ASSUMPTIONS), before, strict=True):
        known.clear()  # type: ignore[attr-defined]
        known.update(kept)  # type: ignore[attr-defined]


def test_the_interface(loaded: Path) -> None:
    """The assertions view has each with its sentence; ``v`` goes to the witness, and Enter to its states."""

    async def watch(seen: Seen) -> None:
        await seen.press("a", "end")
        text = "\n".join(seen.of("#assertions", AssertionsView).texts())
        for name in VIOLATIONS:
            assert name in text
        assert "No two nodes have the same chair".lower() in text.lower()
        await seen.press("home", "v")
        assert "wishes_are_met" in seen.text

    replay(watch, loaded, (120, 60), load_properties(str(loaded.with_name("ballot_properties.py"))))


# mistakes


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("@invariant", "@invariant()", ""),
        (
            "node.round > 4]",
            "node.raund > 4]",
            "AttributeError: the state of node 1 has no raund (its fields: round",
        ),
        (
            "    return not far or",
            "    return far and",
            "rounds_stay_small returned []: return True, False, a sentence",
        ),
        (
            "    return not far or",
            "    yield not far or",
            "rounds_stay_small yields, as only functions of @leads_to do: return True, False, a sentence",
        ),
        ('    """No node counts beyond four."""\n', "", "rounds_stay_small has no docstring: write what holds"),
        ('within="2T"', 'within="soon"', "wishes_are_met: within='soon' is no duration; write one such as '30T'"),
        (
            "[everybody_is_up]",
            "['everybody']",
            "all_are_content relies on 'everybody', and no function with @assum",
        ),
        ("[everybody_is_up]", "[99]", "99 is no assumption: write a number from 1 to 9, or a function"),
        ("def rounds_stay_small", "def raises", "raises is the name of a built-in assertion: choose another"),
        (
            "everybody_is_up",
            "no_failure_yet",
            "no_failure_yet is the name of a built-in assumption: choose another",
        ),
        (
            "def rounds_stay_small",
            "async def rounds_stay_small",
            "rounds_stay_small is a property, which never waits",
        ),
        ('@agreement(concerned="in the last round")', "@agreement", "say which nodes have to agree: @agreement("),
        ('@leads_to(within="2T")', "@leads_to", ""),
    ],
)
def test_a_mistake(lab: Lab, old: str, new: str, error: str) -> None:
    """It is named with its line; an error in a property leaves the others judged, and is not green."""
    file = lab.folder / "ballot_properties.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    done = lab(*RUN, "--properties", "ballot_properties.py")
    assert done.status == (2 if error and "AttributeError" not in error and "returned" not in error else 1), done
    assert error in done.out + done.err
    if done.status == 2:
        assert re.search(r"ballot_properties\.py:\d+: ", done.err), done.err
        assert "Traceback" not in done.err
    elif error:
        assert "rounds_stay_small is not judged: an error in its code: " in done.out
        assert "one_chair fails" in done.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            "while node.round:\n        pass\n    return None",
            r"slow.py:\d+: PropertyTooLongError: same_chairs did not return within 0\.\d s",
        ),
        (
            "return ('chairs', [node.chair])",
            r"same_chairs returned \('chairs', \[''\]\): return a key and a value, both h",
        ),
        ("return node.chair", "same_chairs returned '': return a key and a value, both hashable, or None"),
        ("return node.cheir", r"slow.py:\d+: AttributeError: the state of node \d has no cheir"),
    ],
    ids=["endless", "not hashable", "no pair", "misspelt"],
)
@pytest.mark.parametrize("command", ["run", "check", "explore", "verify"])
def test_an_agreement_that_has_no_value(lab: Lab, command: str, code: str, error: str) -> None:
    """Whatever the reason, it is named, and the command ends: with the status of a failure."""
    text = f"@agreement(concerned='up')\ndef same_chairs(node):\n    'All have the same.'\n    {code}\n"
    (lab.folder / "slow.py").write_text(f"from lab.properties import agreement\n{text}")
    words = {
        "run": RUN,
        "check": ("check", "ballot.py", "--runs", "1", "--workers", "1"),
        "explore": ("explore", "ballot.py", "--nodes", "2", "--kills", "0", "--depth", "3"),
        "verify": ("verify", "run.jsonl", "--protocol", "ballot.py"),
    }[command]
    if command == "verify":
        lab(*RUN, "--record", "run.jsonl")
    done = lab(*words, "--properties", "slow.py")
    assert done.status == 1, done
    assert "Traceback" not in done.err
    printed = " ".join((done.out + done.err).split())
    assert re.search(f"same_chairs (is )?not judged: an error in its code: .*{error}", printed), printed


def test_a_property_of_the_protocols_own_file_is_not_replaced(lab: Lab, folder: Path) -> None:
    """By one of the same name in another file, which would be judged alone."""
    own = "\n\n@invariant\ndef rounds_stay_small(state):\n    '''Few rounds.'''\n    return True\n"
    file = folder / "ballot.py"
    assert lab(*RUN, "--record", "run.jsonl").status == 0
    file.write_text(
        file.read_text().replace("from lab.protocols", "from lab.properties import invariant\nfrom lab.protocols")
        + own
    )
    both = ("--properties", "ballot_properties.py")
    error = "rounds_stay_small is declared in "
    for words in (("run", "ballot.py", "--sim"), ("check", "ballot.py", "--runs", "2")):
        assert error in lab(*words, *both).refused()
    verified = lab("verify", "run.jsonl", "--protocol", "ballot.py", *both)
    assert verified.status == 2
    assert error in verified.err


@pytest.mark.usefixtures("folder")
def test_a_file_without_properties(lab: Lab) -> None:
    assert "ballot.py declares no property" in lab(*RUN, "--properties", "ballot.py").refused()
    assert "there is no file none.py" in lab(*RUN, "--properties", "none.py").refused()
