"""``lab mutate``: its report, its exit statuses, its options; and the session of its page in the guide."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.guide.contents import find_page
from lab.worlds.mutation.mutation_rules import RULES
from tests.cli.invocation import ROOT, Lab
from tests.profile import SOAK, amount
from tests.worlds.live import is_gone

BEACON = f"{ROOT / 'tests' / 'mutation' / 'beacon.py'}:Beacon"
WORDS = ("mutate", BEACON, "--nodes", "3", "--runs", "4", "--faults", "kill")


def test_the_report(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """The table, what has killed mutants, and survivors of each sort; the same from two workers and from one."""
    for workers in ("2", "1")[: amount(quick=1, soak=2)]:
        called = lab(*WORDS, "--workers", workers)
        assert (called.status, called.err) == (1, "")
        transcript("mutate", called.out)
    assert [*lab.folder.iterdir()] == []


def test_the_exit_status(lab: Lab) -> None:
    """0 if none survived or the score is high enough; a session without any mutant has shown nothing."""
    one = ("--runs", "2", "--workers", "1", "--no-explore")
    assert lab(*WORDS, *one, "--only", "unsafe").status == 0
    guards = (*WORDS, *one, "--only", "guard,unsafe")
    done = lab(*guards, "--at-least", "51")
    assert done.status == 1
    assert done.out.endswith("\nscore: 50 % (1 killed of 2 made); at least 51 % asked for\n")
    assert lab(*guards, "--at-least", "50").status == 0
    nothing = lab(*WORDS, *one, "--only", "min-max")
    assert nothing.status == 1
    assert nothing.out.endswith("no mutants: these rules find nothing to change\n")


def test_mutants_are_listed(lab: Lab) -> None:
    """With their numbers, which other options do not change; and the rules."""
    listed = lab.within("mutate", BEACON, "--list")
    assert listed.status == 0
    (guard,) = re.findall(
        r"^ (\d+) +beacon\.py:35 +guard +without: if message.number <= ", listed.out, re.MULTILINE
    )
    for rule in RULES:
        assert re.search(rf"^ {rule.id} +\d+ +{re.escape(rule.text)} *$", listed.out, re.MULTILINE)
    assert f"\n {guard} " in lab.within("mutate", BEACON, "--list", "--only", "guard").out


def test_the_mutants_of_some_files(lab: Lab) -> None:
    """With the numbers that they have among all."""

    def listed(*words: str) -> list[tuple[int, str]]:
        found = json.loads(lab.within("mutate", "2pc", "--list", "--json", *words).out)["mutants"]
        return [(each["number"], each["file"]) for each in found]

    files = ("bank.py", "ledger.py")
    assert listed("--files", ",".join(files)) == [each for each in listed() if each[1] in files]


def test_chosen_mutants_are_listed(lab: Lab) -> None:
    """In their order, with the numbers that they have anyway; of chosen files only."""

    def listed(*words: str) -> list[int]:
        found = json.loads(lab.within("mutate", "2pc", "--list", "--json", *words).out)["mutants"]
        return [each["number"] for each in found]

    of_file = listed("--files", "two_phase.py")
    first, second, *_, last = of_file
    assert listed("--numbers", f"{last}, {first},{second}") == [first, second, last]
    other = next(each for each in listed() if each not in of_file)
    refused = lab.within("mutate", "2pc", "--files", "two_phase.py", "--numbers", f"{first},{other}").refused()
    assert refused == f"--numbers {other}: there is no such mutant; --list lists them"


def test_one_mutant_is_shown(lab: Lab) -> None:
    """Its difference can be applied."""
    number = next(
        each["number"]
        for each in json.loads(lab.within("mutate", BEACON, "--list", "--json").out)["mutants"]
        if each["rule"] == "unsafe"
    )
    shown = lab.within("mutate", BEACON, "--show", str(number))
    assert shown.status == 0
    head, *diff = shown.out.splitlines()
    assert head.startswith(f"#{number} beacon.py:19 in Beacon (unsafe): a field is kept in memory ")
    assert diff[0] == "--- beacon.py"
    assert "-    count: Safe[int] = 0" in diff
    assert "+    count: int = 0" in diff


def test_the_original_fails(lab: Lab) -> None:
    """There is nothing to compare mutants to."""
    raft = ROOT / "lab" / "guide" / "build" / "raft.py"
    words = ("--runs", "200", "--nodes", "3", "--faults", "kill", "--workers", "1", "--only", "unsafe")
    done = lab("mutate", f"{raft}:ForgetfulRaft", *words)
    assert (done.status, done.out) == (1, "")
    assert re.match(
        r"forgetful-raft fails without any mutation: seed \d+: one_leader_per_term fails with all ", done.line()
    )


def test_a_built_in_protocol_with_properties(lab: Lab) -> None:
    """They kill mutants that no built-in assertion notices."""
    (lab.folder / "mine.py").write_text(
        "from lab.properties import LocalState, Memory, Outcome, over_history\n\n\n"
        "@over_history(noun='version', done='seen')\n"
        "def versions_grow(seen: Memory, before: LocalState, after: LocalState) -> Outcome:\n"
        '    """No version is lost."""\n'
        "    seen[after.id] = max(seen.get(after.id, 0), after.version)\n"
        "    return after.version >= seen[after.id]\n"
    )
    words = ("mutate", "bully", "--only", "unsafe", "--runs", "5", "--faults", "kill", "--workers", "1")
    without = lab(*words, "--no-explore")
    assert without.status == 1
    done = lab(*words, "--no-explore", "--properties", "mine.py")
    assert done.status == 0, done
    assert re.search(r"^ versions_grow +1 +\d", done.out, re.MULTILINE)


def test_a_property_that_raises_an_error(lab: Lab) -> None:
    """It is named, and what it would notice is not known: the status is 1, whatever the score is."""
    (lab.folder / "mine.py").write_text(
        "from lab.properties import GlobalState, Outcome, invariant\n\n\n"
        "@invariant\ndef one_holder(state: GlobalState) -> Outcome:\n"
        '    """Nobody else holds it."""\n'
        "    return not any(node.holds for node in state.nodes.values())\n"
    )
    words = ("--runs", "2", "--workers", "1", "--no-explore", "--only", "unsafe", "--properties", "mine.py")
    done = lab(*WORDS, *words)
    assert done.status == 1
    assert done.out.endswith("score: 100 % (1 killed of 1 made)\n")
    assert "one_holder" not in done.out
    assert re.match(r"one_holder is not judged: an error in its code: mine\.py:7: AttributeError: ", done.line())
    assert lab(*WORDS, *words, "--at-least", "50").status == 1


def test_systematic_crashes(lab: Lab) -> None:
    """The runs are those of ``lab check --systematic``, as many as there are; with no seed to speak of."""
    words = ("--systematic", "1", "--faults", "kill", "--nodes", "2", "--workers", "1")
    checked = json.loads(lab("check", "2pc", *words, "--json").out)
    chosen = ("--files", "two_phase.py", "--only", "comparison" if SOAK else "guard,reset", "--no-explore")
    done = lab("mutate", "2pc", *words, *chosen, "--json")
    mutated = json.loads(done.out)
    assert (mutated["systematic"], mutated["runs"]) == (1, checked["runs"])
    assert mutated["total"]["killed"] > mutated["total"]["made"] / 2
    assert all(each["runs"] <= checked["runs"] for each in mutated["mutants"])
    first = lab("mutate", "2pc", *words, *chosen, "--runs", "3")
    assert "each in at most 3 runs with up to 1 event at every point, with 2 nodes, faults: kill" in first.out


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--systematic", "0"), "--systematic 0: write a whole number, 1 or more"),
        (("--systematic", "1", "--faults", "loss"), "--faults loss: --systematic tries kill, pause, .*"),
        (("--runs", "0"), "--runs 0: write a whole number, 1 or more"),
        (("--only", "guards"), r"--only guards: write comparison, .* or unsafe; did you mean guard?"),
        (("--files", "bank.py"), "--files bank.py: write bully.py or timeout_election.py"),
        (("--numbers", "3,x"), "--numbers x: write a whole number, 1 or more"),
        (("--show", "999"), "--show 999: there is no such mutant; --list lists them"),
        (("--at-least", "101"), "--at-least 101: write a whole number, from 0 to 100"),
        (("--nodes", "7-3"), "--nodes 7-3: expected 1 to 100 nodes, the lower number first: 3-7"),
        (("--faults", "pest"), "--faults pest: unknown fault 'pest'; expected kill, .*"),
        (("--properties", "none.py"), "there is no file none.py; name one of your Python files: .*"),
        (("--set", "x=1"), "--set x=1: bully has no parameter 'x'; .*"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_usage_errors(lab: Lab, words: tuple[str, ...], output: str) -> None:
    refused = lab.within("mutate", "bully", *words).refused()
    assert re.fullmatch(output.replace("?", r"\?"), refused), refused


def test_ctrl_c_reports_what_was_tested(lab: Lab) -> None:
    """All processes end, and nothing is left in the temporary folder."""
    folder = lab.folder / "tmp"
    folder.mkdir()
    words = ("mutate", "bully", "--runs", "2", "--nodes", "3", "--faults", "kill", "--no-explore")
    called, process = lab.interrupted(
        *words, "--workers", "2", when=rb" [1-9]\d* of \d+ mutants in ", environment={"TMPDIR": str(folder)}
    )
    assert called.status == 130, called
    assert " of 4 runs" in called.err
    assert re.match(r"bully: \d+ mutants of bully.py \(\d+\), .*; stopped after \d+ of them\n", called.out)
    assert re.search(r"^score: \d+ % \(\d+ killed of \d+ made\)$", called.out, re.MULTILINE)
    assert is_gone(process, 5) == []
    assert [*folder.iterdir()] == []


def _blocks(language: str) -> list[str]:
    text = find_page("mutation").text
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return found


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_session_of_the_guide(lab: Lab) -> None:
    """The first output is complete; of the others, what the page is about. The others are run if there is time."""
    for name, text in zip(("spread.py", "spread_properties.py"), _blocks("python"), strict=True):
        (lab.folder / name).write_text(text)
    outputs = _blocks("text")
    commands = _blocks("sh")
    assert len(commands) == len(outputs) == 3
    done = [lab(*shlex.split(each)[1:], "--workers", "1") for each in commands[: amount(quick=1, soak=3)]]
    assert {each.status for each in done} == {1}
    assert _lines(done[0].out) == _lines(outputs[0])
    for called, shown in zip(done[1:], outputs[1:], strict=False):
        printed = iter(_lines(called.out))
        for line in _lines(shown):
            assert line.strip() in (each.strip() for each in printed), f"{line}\n{called.out}"


def test_the_page_explains_the_remarks_of_the_report() -> None:
    """Each remark of the table is in the source of the report."""
    source = (ROOT / "lab" / "cli" / "mutate.py").read_text("utf-8")
    remarks = re.findall(r"^\| \*([^*]+)\* \|", find_page("mutation").text, re.MULTILINE)
    assert len(remarks) == 10
    for remark in remarks:
        assert remark in source, remark


def test_an_awkward_path(lab: Lab) -> None:
    """With blanks, and a file of properties whose path is relative."""
    folder = lab.folder / "my files"
    folder.mkdir()
    for path in (ROOT / "tests" / "mutation" / "beacon.py",):
        (folder / path.name).write_text(Path(path).read_text())
    (lab.folder / "small.py").write_text(
        "from lab.properties import GlobalState, Outcome, invariant\n\n\n@invariant\n"
        "def counts_are_small(state: GlobalState) -> Outcome:\n"
        '    """No count is beyond two."""\n    return all(node.count < 3 for node in state)\n'
    )
    words = ("--nodes", "3", "--runs", "2", "--faults", "kill", "--only", "always", "--workers", "1")
    done = lab("mutate", "my files/beacon.py:Beacon", *words, "--properties", "small.py")
    assert re.search(r"^ counts_are_small +1 +1 *$", done.out, re.MULTILINE), done
