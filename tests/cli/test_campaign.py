"""Recorded campaigns: killed, interrupted, resumed, merged; what they show, and what they refuse."""

import json
import re
import shlex
import subprocess
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from lab.recording.reader import open_recording
from tests.cli.invocation import Lab
from tests.profile import SOAK, amount
from tests.waiting import wait_for

RUNS = amount(quick=6, soak=20_000)
KILLS = amount(quick=1, soak=5)
LIMIT_S = amount(quick=60, soak=36_000)
NODES = "2-3" if SOAK else "2"
FINDS = ("--nodes", NODES, "--faults", "kill,pause", "--find", "A1.1", "--workers", "2")
CAMPAIGN = ("check", "bully", "--runs", str(RUNS), *FINDS, "--keep-going")
SMALL = ("check", "bully", "--runs", "12", "--nodes", "2", "--faults", "kill,pause", "--workers", "1")
OWN = "from lab.protocols import Bully\n\n\nclass Mine(Bully):\n    name = 'mine'\n"


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of ``CAMPAIGN``, made without an interruption."""
    folder = tmp_path_factory.mktemp("whole")
    lab = Lab(folder, tmp_path_factory.mktemp("h"))
    assert lab(*CAMPAIGN, "--record", "whole.jsonl", "--out", "found.jsonl", limit_s=LIMIT_S).status == 1
    return (folder / "whole.jsonl").read_bytes()


def test_killed_at_drawn_moments(lab: Lab, whole: bytes) -> None:
    """SIGKILL, five times in ``soak``: resumed, it has the table of one that was not killed, byte for byte."""
    (lab.folder / "whole.jsonl").write_bytes(whole)
    killed = lab.folder / "killed.jsonl"
    moments = sorted(Random("moments").sample(range(1, RUNS - KILLS), KILLS))
    for number, moment in enumerate(moments):
        start = ("--resume",) if number else (*CAMPAIGN[1:], "--record")
        process = lab.begin("check", *start, killed.name, "--keep-going")
        within_s = 60.0 * (1 + moment / 100)
        wait_for(lambda: _lines(killed) > moment, f"{moment} runs are made", within_s)  # noqa: B023 - called at once
        _kill(process)
        assert moment < _lines(killed)
    resumed = lab("check", "--resume", killed.name, "--keep-going", "--out", "found.jsonl", limit_s=LIMIT_S)
    assert resumed.status == 1
    assert f"campaign: killed.jsonl has {RUNS:,} runs, all of them" in resumed.err
    assert resumed.out.startswith(f"bully: {RUNS:,} runs from seed 1 on, ")
    tables = [
        lab("campaign", "table", path.name, limit_s=LIMIT_S).out for path in (lab.folder / "whole.jsonl", killed)
    ]
    assert tables[0].count("\n") == RUNS + 1
    assert tables[0] == tables[1]


def test_two_halves(lab: Lab) -> None:
    """Made apart, and merged, they have the table of the whole, byte for byte."""
    words = (*CAMPAIGN, "--parts", "2", "--out", "found.jsonl")
    for name, part in (("whole", ()), ("one", ("--part", "1")), ("two", ("--part", "2"))):
        assert lab(*words, *part, "--record", f"{name}.jsonl", limit_s=LIMIT_S).status == 1
    assert _lines(lab.folder / "one.jsonl") == RUNS // 2 + 1
    (lab.folder / "one.jsonl").rename(lab.folder / "merged.jsonl.part")  # no file of the merge has this name
    merged = lab("campaign", "merge", "merged.jsonl.part", "two.jsonl", "--out", "merged.jsonl", limit_s=LIMIT_S)
    assert (merged.status, merged.out) == (0, f"merged.jsonl: {RUNS:,} runs\n")
    for form in ("csv", "jsonl"):
        tables = [lab("campaign", "table", f"{name}.jsonl", "--to", form).out for name in ("whole", "merged")]
        assert tables[0].count("\n") >= RUNS
        assert tables[0] == tables[1]


# distributed opens and closes its loop's sockets in threads of its own
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_on_a_cluster(lab: Lab, whole: bytes) -> None:
    """Killed, and resumed on a dask cluster, it has the table of one made by processes of this machine."""
    distributed = pytest.importorskip("distributed")
    (lab.folder / "here.jsonl").write_bytes(whole)
    (lab.folder / "there.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as local:
        address = local.scheduler_address
        resume = ("--resume", "there.jsonl", "--keep-going", "--cluster", address, "--out", "found.jsonl")
        done = lab.fresh("check", *resume)
    assert done.status == 1, done
    assert f"campaign: there.jsonl has {RUNS:,} runs, all of them" in done.err
    tables = [lab("campaign", "table", f"{name}.jsonl").out for name in ("here", "there")]
    assert tables[0].count("\n") == RUNS + 1
    assert tables[0] == tables[1]


def test_ctrl_c(lab: Lab) -> None:
    """The file has what was made, and the command that goes on with it is said; it does."""
    words = ("check", "bully", "--runs", "0", *FINDS, "--keep-going", "--record", "night.jsonl")
    called, _ = lab.interrupted(*words, when=rb"[1-9] runs in ")
    assert called.status == 130
    made = _lines(lab.folder / "night.jsonl") - 1
    assert made > 0
    remark = re.search(r"campaign: night.jsonl has (\d+) runs?; go on with: (lab check .*)\r", called.err)
    assert remark is not None, called.err
    assert int(remark[1]) == made
    assert remark[2] == "lab check --keep-going --resume night.jsonl"
    again, _ = lab.interrupted(*remark[2].split()[1:], when=rb"[1-9] runs in .*/s")
    assert again.status == 130
    assert _lines(lab.folder / "night.jsonl") - 1 > made


def test_a_torn_line(lab: Lab) -> None:
    """It is dropped with a word, and its run is made again."""
    lab(*SMALL, "--record", "small.jsonl")
    path = lab.folder / "small.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-10])
    shown = lab("campaign", "show", "small.jsonl")
    assert shown.err == "lab: small.jsonl: the last line is cut off, and was skipped\n"
    assert shown.out.startswith("bully: 11 of 12 runs ")
    resumed = lab("check", "--resume", "small.jsonl")
    assert resumed.status == 0
    assert resumed.err.startswith("lab: small.jsonl: the last line was cut off, and is dropped; its run is made ")
    assert path.read_bytes().count(b"\n") == 13


def test_the_report_is_that_of_a_campaign_at_once(lab: Lab) -> None:
    """Recorded or not, resumed or not: but for the times."""
    reports = [lab(*SMALL), lab(*SMALL, "--record", "small.jsonl"), lab(*SMALL, "--resume", "small.jsonl")]
    untimed = {re.sub(r"in [\d,.]+ s$", "", each.out, count=1, flags=re.MULTILINE) for each in reports}
    assert len(untimed) == 1
    assert reports[0].err == ""
    assert reports[1].err == reports[2].err
    assert reports[1].err.startswith("campaign: small.jsonl has 12 runs, all of them")


def test_it_stops_at_the_first_finding(lab: Lab) -> None:
    """Resumed, it reports that one again; with --keep-going it goes on after it."""
    words = ("check", "bully", "--runs", "8", *FINDS, "--out", "found.jsonl")
    first = lab(*words, "--record", "it.jsonl")
    made = _lines(lab.folder / "it.jsonl") - 1
    assert first.status == 1
    assert made < 8
    again = lab("check", "--resume", "it.jsonl", "--out", "found.jsonl")
    assert (again.status, again.out.splitlines()[1:]) == (1, first.out.splitlines()[1:])
    assert _lines(lab.folder / "it.jsonl") - 1 == made
    assert lab("check", "--resume", "it.jsonl", "--keep-going", "--out", "found.jsonl").status == 1
    assert _lines(lab.folder / "it.jsonl") - 1 == 8


def test_a_protocol_of_ones_own(lab: Lab) -> None:
    """No code that a file names is executed; a changed source is refused, with what to do."""
    own = lab.folder / "mine.py"
    own.write_text(OWN)
    words = ("check", "mine.py:Mine", "--runs", "4", "--nodes", "2", "--workers", "1")
    assert lab(*words, "--record", "own.jsonl").status == 0
    named = lab("check", "--resume", "own.jsonl").refused()
    assert "no code that a recording names is executed" in named
    assert named.endswith("so write the command that began it again, with --resume own.jsonl")
    assert lab(*words, "--resume", "own.jsonl").status == 0
    own.write_text(OWN + "    # another line\n")
    changed = lab(*words, "--resume", "own.jsonl").refused()
    assert re.search(r"does not fit: the digest of its source is \w+ there, and \w+ here; give the ", changed)
    assert lab("campaign", "show", "own.jsonl").status == 0


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("check",), "name a protocol (lab check bully), or a campaign to go on with (--resume FILE)"),
        (
            ("check", "--resume", "small.jsonl", "--seed", "2"),
            "--seed: small.jsonl has its plan (seed 1, 12 runs): leave the option out; or write the whole command "
            "again, with PROTOCOL",
        ),
        (
            (*SMALL, "--seed", "2", "--resume", "small.jsonl"),
            "--resume small.jsonl does not fit: the seed is 1 there, and 2 here; give the options that it was "
            "begun with, or begin another campaign with --record FILE",
        ),
        (
            (*SMALL, "--parts", "2", "--part", "2", "--resume", "small.jsonl"),
            "--resume small.jsonl does not fit: the number of parts is 1 there, and 2 here; the part is every one "
            "there, and 2 here; give the options that it was begun with, or begin another campaign with --record "
            "FILE",
        ),
        (
            (*SMALL, "--record", "small.jsonl"),
            "--record small.jsonl exists; go on with it (--resume small.jsonl), or name another file",
        ),
        ((*SMALL, "--record", "small.txt"), "--record small.txt: name a .jsonl file"),
        (
            (*SMALL, "--record", "a.jsonl", "--resume", "small.jsonl"),
            "--resume goes on in the file that it names: leave out --record",
        ),
        (
            (*SMALL, "--record", "a.jsonl", "--corpus", "kept"),
            "--corpus: with --record a campaign begins with nothing; leave out one of them",
        ),
        (("check", "bully", "--runs", "0", "--parts", "2"), "--parts 2: give --runs, at least as many"),
        ((*SMALL, "--part", "2"), "--part 2: of how many? Add --parts"),
        (
            ("check", "bully", "--systematic", "1", "--parts", "2"),
            "--systematic 1: its runs follow from each other; leave out --parts",
        ),
        (
            ("check", "--resume", "text.jsonl"),
            "text.jsonl: not a campaign: its first line is not whole",
        ),
        (("campaign", "show", "gone.jsonl"), "gone.jsonl: No such file or directory"),
        (("campaign", "show", "small.jsonl", "--group", "1"), "--group 1: small.jsonl: it has found nothing"),
        (("campaign", "show", "small.jsonl", "--out", "a.jsonl"), "--out a.jsonl: of which group? Add --group 1"),
        (
            ("campaign", "merge", "small.jsonl", "--out", "text.jsonl"),
            "--out text.jsonl exists already; name a new file",
        ),
        (
            ("campaign", "table", "small.jsonl", "--out", "text.jsonl"),
            "text.jsonl exists already; name another with --out, or overwrite it with --force",
        ),
        (("campaign", "table", "small.jsonl", "--to", "xml"), "--to xml: write csv, jsonl or parquet"),
    ],
)
def test_mistakes(lab: Lab, small: bytes, words: tuple[str, ...], output: str) -> None:
    """One line each, and no file is changed."""
    (lab.folder / "small.jsonl").write_bytes(small)
    (lab.folder / "text.jsonl").write_text("mine")
    assert lab.within(*words).refused() == output
    assert (lab.folder / "small.jsonl").read_bytes() == small
    assert sorted(path.name for path in lab.folder.iterdir()) == ["small.jsonl", "text.jsonl"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a small campaign that found nothing."""
    folder = tmp_path_factory.mktemp("small")
    lab = Lab(folder, tmp_path_factory.mktemp("h"))
    assert lab(*SMALL, "--record", "small.jsonl").status == 0
    return (folder / "small.jsonl").read_bytes()


@pytest.mark.parametrize("command", ["replay", "verify", "show"])
def test_a_campaign_is_no_recording_of_a_run(lab: Lab, small: bytes, command: str) -> None:
    """The error says what it is, and the command for it."""
    (lab.folder / "small.jsonl").write_bytes(small)
    assert (
        "a campaign, not a recording of a run; see: lab campaign show small.jsonl"
        in lab(command, "small.jsonl").err
    )


def test_a_group_is_recorded_on_demand(lab: Lab, whole: bytes) -> None:
    """As text and as JSON; its recording shows the violation, and is verified."""
    (lab.folder / "it.jsonl").write_bytes(whole)
    document = json.loads(lab("campaign", "show", "it.jsonl", "--json").out)
    assert (document["format"], document["planned"], document["runs"]) == (1, RUNS, RUNS)
    group = document["groups"][0]
    assert (group["assertion"], group["broken"], group["failure"]) == ("A1.1", [9], False)
    assert group["found"] == len(group["runs"]) > 1
    report = lab("campaign", "show", "it.jsonl").out
    assert re.search(rf"^ 1 +{group['found']} +A1.1 +excused: 9 broken +{group['shape']} *$", report, re.MULTILINE)
    shown = lab("campaign", "show", "it.jsonl", "--group", "1", "--out", "smallest.jsonl")
    assert shown.status == 0
    for command in group["smallest"]["commands"]:
        assert f"    {command}\n" in shown.out
    with closing(open_recording(lab.folder / "smallest.jsonl")) as lines:
        assert list(lines.header.nodes) == group["smallest"]["nodes"]
    verified = lab("verify", "smallest.jsonl")
    assert "A1.1" in verified.out
    again = next(line for line in shown.out.splitlines() if line.startswith("again:"))
    assert "--script smallest.script" in again


def test_a_finding_of_ones_own_protocol_is_recorded_by_the_command_that_is_printed(lab: Lab) -> None:
    """It names the file, as no code that a recording names is executed."""
    code = (
        "from lab.protocols import Bully\nclass Wrong(Bully):\n    def started(self):\n        raise ValueError\n"
    )
    (lab.folder / "wrong.py").write_text(code)
    campaign = ("--runs", "2", "--nodes", "3", "--keep-going", "--workers", "1")
    lab("check", "wrong.py", *campaign, "--record", "own.jsonl")
    shown = lab("campaign", "show", "own.jsonl", "--plain").out.splitlines()[-1]
    program, *words = shlex.split(shown.partition(": ")[2])
    assert program == "lab"
    assert lab("campaign", "show", "own.jsonl", "--group", "1", "--out", "x.jsonl").status == 2
    assert "replay:   lab replay found.jsonl\n" in lab(*words).out
