"""Recorded campaigns of lab compare, scale and explore: killed, resumed, merged; what they show and refuse."""

import json
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.cli.invocation import Lab
from tests.documents import fitting
from tests.profile import amount, sampled
from tests.waiting import wait_for

ONE_WORKER = ("--workers", "1")
COMPARE = ("compare", "bully", "ring", "--runs", "6", "--nodes", "3", "--task", "none", *ONE_WORKER)
BANK = ("compare", "2pc", "3pc", "--faults", "kill", "--runs", "3", "--nodes", "3", *ONE_WORKER)
FIELD = ("compare", "bully", "invitation", "--runs", "3", "--nodes", "3", *ONE_WORKER)
SCALE = ("scale", "bully", "ring", "--nodes", f"2,3,5,8,{amount(quick=20, soak=40)}")
EXPLORE = ("explore", "bully", "--nodes", "2-3", "--kills", "0-1", "--timeouts", "prompt,any", "--states", "4000")
KINDS = {"compare": COMPARE, "bank": BANK, "field": FIELD, "scale": SCALE, "explore": EXPLORE}
RUNS = {"compare": 6, "bank": 3, "field": 3, "scale": 10, "explore": 8}
OWN = "from lab.protocols import Bully\n\n\nclass Mine(Bully):\n    name = 'mine'\n"
MEASURED = (
    "from lab.protocols import Bully\n"
    "from lab.tasks.election_comparison import ElectionComparison\n"
    "from lab.tasks.extension import Extension\n\n\n"
    "class Own(ElectionComparison):\n    pass\n\n\n"
    "class OwnExtension(Extension):\n    comparison = Own\n\n\n"
    "class Mine(Bully):\n    name = 'mine'\n    extension = OwnExtension\n"
)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of campaigns that nothing interrupted, by kind."""
    lab = Lab(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("h"))
    for kind, words in KINDS.items():
        done = lab(*words, "--record", f"{kind}.jsonl")
        assert done.err.endswith(f" runs, all of them; see them with: lab campaign show {kind}.jsonl\n"), done
    return {kind: (lab.folder / f"{kind}.jsonl").read_bytes() for kind in KINDS}


@pytest.fixture
def kept(lab: Lab, whole: dict[str, bytes]) -> Lab:
    """Return a folder with copies of the files."""
    for kind, data in whole.items():
        (lab.folder / f"{kind}.jsonl").write_bytes(data)
    return lab


def _table(lab: Lab, name: str) -> str:
    return lab("campaign", "table", name).out


@pytest.mark.parametrize("kind", sampled([*KINDS], 5, 3))
def test_killed_at_a_drawn_moment(kept: Lab, kind: str) -> None:
    """SIGKILL after a drawn number of runs, and a line cut off: resumed, it has the table of one that was not."""
    rng = Random(f"moment of {kind}")
    moment = rng.randrange(1, RUNS[kind])
    process = kept.begin(*KINDS[kind], "--record", "killed.jsonl")
    killed = kept.folder / "killed.jsonl"
    wait_for(lambda: _lines(killed) > moment, f"{moment} runs are made", 300.0)
    _kill(process)
    data = killed.read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    killed.write_bytes(data[: rng.randrange(ends[moment - 1] + 2, ends[moment])])
    resumed = kept(KINDS[kind][0], "--resume", "killed.jsonl")
    assert resumed.status in (0, 1)
    assert "killed.jsonl: the last line was cut off, and is dropped" in resumed.err
    assert f"campaign: killed.jsonl has {RUNS[kind]} runs, all of them" in resumed.err
    assert _table(kept, "killed.jsonl") == _table(kept, f"{kind}.jsonl")
    assert _lines(killed) == RUNS[kind] + 1


@pytest.mark.parametrize("kind", sampled([*KINDS], 2))
def test_the_report_is_that_of_the_command(kept: Lab, kind: str) -> None:
    """As a document, it is what the command prints, but for real times; nothing is executed for it."""
    name = {"bank": "compare", "field": "compare", "explore": "explore-set-ups"}.get(kind, kind)
    own = fitting(name, kept(*KINDS[kind], "--json").out)
    shown = fitting(name, kept("campaign", "show", f"{kind}.jsonl", "--json").out)
    assert _untimed(shown) == _untimed(own)
    assert f"{RUNS[kind]} of {RUNS[kind]} runs in " in kept("campaign", "show", f"{kind}.jsonl").out


def _untimed(document: object) -> object:
    if isinstance(document, list):
        return [_untimed(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {name: _untimed(each) for name, each in document.items() if name != "seconds"}


def test_parts_of_a_comparison_are_merged(kept: Lab) -> None:
    """Made apart, they have the table of the whole; one that is not finished is finished after the merger."""
    for part in ("2", "1"):
        done = kept(*COMPARE, "--parts", "2", "--part", part, "--record", f"{part}.jsonl")
        assert "has 3 runs, all of them" in done.err
    lines = (kept.folder / "1.jsonl").read_bytes().splitlines(keepends=True)
    (kept.folder / "1.jsonl").write_bytes(b"".join(lines[:-1]))
    merged = kept("campaign", "merge", "1.jsonl", "2.jsonl", "--out", "merged.jsonl")
    assert merged.out == (
        "merged.jsonl: 5 runs\nthe missing runs are made with: lab compare --resume merged.jsonl\n"
    )
    seeds = [line.split(",")[1] for line in _table(kept, "merged.jsonl").splitlines()[1::2]]
    assert seeds == ["1", "2", "4", "5", "6"]
    assert kept("compare", "--resume", "merged.jsonl").status == 0
    assert _table(kept, "merged.jsonl") == _table(kept, "compare.jsonl")


def test_copies_are_merged(kept: Lab) -> None:
    """A file and a longer copy of it: the longer one, whatever the order."""
    lines = (kept.folder / "explore.jsonl").read_bytes().splitlines(keepends=True)
    (kept.folder / "copy.jsonl").write_bytes(b"".join(lines[:3]))
    assert kept("campaign", "merge", "copy.jsonl", "explore.jsonl", "--out", "merged.jsonl").status == 0
    assert _table(kept, "merged.jsonl") == _table(kept, "explore.jsonl")


def test_a_finding_of_an_exploration_is_recorded(kept: Lab) -> None:
    """From its path in the file, without another search: the recording holds, and shows the violation."""
    group = json.loads(kept("campaign", "show", "explore.jsonl", "--group", "1", "--json").out)["finding"]
    assert (group["assertion"], group["broken"], group["failure"]) == ("A1.1", [8, 9], False)
    assert group["explored"]["set_up"]["nodes"] == 2
    done = kept("campaign", "show", "explore.jsonl", "--group", "1", "--out", "found.jsonl")
    assert "replay:   lab replay found.jsonl\n" in done.out
    verified = kept("verify", "found.jsonl")
    assert verified.status == 0
    assert "excused: A1.1 under broken assumptions 8, 9" in verified.out
    direct = kept("explore", "bully", "--nodes", "2", "--kills", "0", "--timeouts", "any", "--states", "4000")
    assert direct.status == 1
    recorded = (kept.folder / "bully-A1.1-any.jsonl").read_bytes()
    assert (kept.folder / "found.jsonl").read_bytes() == recorded


def test_set_ups_are_in_order(kept: Lab) -> None:
    """The smallest first; what cannot differ is left out; a range of one is one search."""
    words = ("--nodes", "2-3", "--kills", "0-1", "--restarts", "0-1", "--timeouts", "prompt", "--json")
    document = fitting("explore-set-ups", kept("explore", "bully", *words).out)
    found = [
        (each["set_up"]["nodes"], each["set_up"]["kills"], each["set_up"]["restarts"])
        for each in document["set_ups"]
    ]
    assert found == [(2, 0, 0), (2, 1, 0), (2, 1, 1), (3, 0, 0), (3, 1, 0), (3, 1, 1)]
    one = fitting("explore", kept("explore", "bully", "--nodes", "2-2", "--timeouts", "prompt", "--json").out)
    (same,) = [each for each in document["set_ups"] if each["set_up"]["nodes"] == 2 and each["run"] == 2]
    assert (one["states"], one["depth"]) == (same["states"], same["depth"])


def test_the_smallest_of_several_set_ups_is_recorded(kept: Lab) -> None:
    """With --out, also without a file of the campaign; as JUnit there is a case for each assertion and set-up."""
    done = kept(*EXPLORE, "--out", "two.jsonl", "--junit", "report.xml")
    assert done.status == 1
    assert "recorded: two.jsonl, the shortest counterexample to A1.1 in the smallest set-up\n" in done.out
    assert kept("verify", "two.jsonl").status == 0
    report = (kept.folder / "report.xml").read_text()
    assert report.count('classname="explore.bully (2 nodes, 1 kill, prompt)"') == 10


def test_a_protocol_of_ones_own(lab: Lab) -> None:
    """No code that a file names is executed: the command is repeated, with the file."""
    (lab.folder / "mine.py").write_text(OWN)
    words = ("mine.py:Mine", "--nodes", "3")
    for kind, more in (
        ("compare", ("--runs", "2", "--task", "none", *ONE_WORKER)),
        ("scale", ()),
        ("explore", ()),
    ):
        file = f"{kind}.jsonl"
        assert lab(kind, *words, *more, "--record", file).status == 0
        refused = lab(kind, "--resume", file).refused()
        assert "no code that a recording names is executed" in refused
        assert lab(kind, *words, *more, "--resume", file).status == 0
        assert ",mine," in _table(lab, file)
    assert "no code that a recording names is executed" in lab("campaign", "show", "scale.jsonl").refused()
    assert lab("campaign", "show", "explore.jsonl").status == 0


def test_a_measurement_of_ones_own_is_not_recorded(lab: Lab) -> None:
    """Its type would have to be loaded to read it back."""
    (lab.folder / "mine.py").write_text(MEASURED)
    refused = lab("compare", "mine.py:Mine", "--task", "none", "--runs", "1", "--record", "own.jsonl").refused()
    assert refused == (
        "mine is measured by its own Own, and no code is loaded to read a recorded campaign: leave out --record, "
        "or write the runs with --table"
    )


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("compare",), "name protocols (lab compare bully ring), or a comparison to go on with (--resume FILE)"),
        (("scale",), "name a protocol (lab scale bully), or a study to go on with (--resume FILE)"),
        (("explore",), "name a protocol (lab explore bully), or a campaign to go on with (--resume FILE)"),
        (
            ("check", "--resume", "scale.jsonl"),
            "--resume scale.jsonl is a campaign of lab scale: lab scale --resume scale.jsonl",
        ),
        (
            ("compare", "--resume", "compare.jsonl", "--nodes", "4"),
            "--nodes: compare.jsonl has its plan (seed 1, 6 runs): leave the option out; or write the whole "
            "command again, with PROTOCOL",
        ),
        (
            (*COMPARE, "--seed", "2", "--resume", "compare.jsonl"),
            "--resume compare.jsonl does not fit: the seed is 1 there, and 2 here; give the options that it was "
            "begun with, or begin another campaign with --record FILE",
        ),
        (
            (*SCALE, "--seed", "2", "--resume", "scale.jsonl"),
            "--resume scale.jsonl does not fit: the seed is 1 there, and 2 here; give the options that it was "
            "begun with, or begin another campaign with --record FILE",
        ),
        (
            (*EXPLORE[:-1], "3000", "--resume", "explore.jsonl"),
            "--resume explore.jsonl does not fit: the bound of states is 4,000 there, and 3,000 here; give the "
            "options that it was begun with, or begin another campaign with --record FILE",
        ),
        (
            (*SCALE, "--record", "scale.jsonl"),
            "--record scale.jsonl exists; go on with it (--resume scale.jsonl), or name another file",
        ),
        ((*COMPARE, "--part", "1"), "--part 1: of how many? Add --parts"),
        (("explore", "bully", "--nodes", "3-2"), "--nodes 3-2: write the lower number first: 2-3"),
        (
            ("campaign", "show", "scale.jsonl", "--group", "1"),
            "--group 1: lab scale measures, and has no findings; leave it out",
        ),
        (
            ("campaign", "merge", "scale.jsonl", "explore.jsonl", "--out", "both.jsonl"),
            "scale.jsonl and explore.jsonl are not of one campaign: it is a campaign of lab scale there, and of "
            "lab explore here (there: scale.jsonl)",
        ),
    ],
)
def test_mistakes(kept: Lab, whole: dict[str, bytes], words: tuple[str, ...], output: str) -> None:
    """One line each, and no file is changed."""
    assert kept.within(*words).refused() == output
    for kind, data in whole.items():
        assert (kept.folder / f"{kind}.jsonl").read_bytes() == data
