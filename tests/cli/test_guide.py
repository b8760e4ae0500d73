"""The guide: it can be read, and what it says of its protocol is true, of the very lines that are in it."""

import random
import re
import shlex
import signal
from pathlib import Path

import pytest

from lab.analysis.elections import agreed_coordinator
from lab.guide.contents import SECTIONS, all_pages, find_page
from lab.kernel import Node, Protocol
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm, Election
from lab.recording.records import Process
from lab.worlds.loading.targets import load_protocol
from tests.cli.invocation import Lab
from tests.harness import T_US, TM_US, Rig
from tests.profile import amount
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import Tail

MOST = amount(quick=30, soak=300)
"""How many random schedules the second version bears."""
PAGE = find_page("your-own-protocol").text
*CODE, VOTING = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CALLS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.split("\n")
]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """``my_election.py``, with all of the page's code."""
    path = tmp_path / "my_election.py"
    path.write_text("\n\n".join(CODE), "utf-8")
    return path


def _judged(rig: Rig) -> list[Violation]:
    judge = Judge(rig.header)
    for record in rig.records:
        judge.observe(record)
    return judge.violations


def _violations(protocol: type[Algorithm], seed: int) -> list[Violation]:
    """Three to six nodes, killed and restarted at random, often within an election; then long enough to agree."""
    chance = random.Random(seed)
    rig = Rig(range(1, 4 + seed % 4), protocol=protocol, latency_us=TM_US // 2, jitter_us=TM_US // 2, seed=seed)
    rig.started()
    for _ in range(14):
        rig.run(chance.randrange(1, chance.choice([T_US // 5, T_US, 12 * T_US])))
        node = chance.choice(rig.ids)
        if not rig.kill(node):
            rig.restart(node)
    rig.restart(1)
    rig.run(40 * T_US)
    assert rig.agreed() is not None
    return _judged(rig)


def test_the_first_version_works_until_it_is_looked_at(mine: Path) -> None:
    """The highest leads, the next one after its death, and the highest again when it is back."""
    rig = Rig(range(1, 6), protocol=load_protocol(f"{mine}:MyElection")).started()
    assert rig.run_until_agreed() == 5
    for command, leader in (("kill 5", 4), ("restart 5", 5), ("kill 4 5", 3)):
        rig.do(command)
        rig.run_until(lambda leader=leader: rig.agreed() == leader, 20 * T_US, f"{leader} leads")  # type: ignore[misc]


def test_the_flaw_of_the_first_version(mine: Path) -> None:
    """The highest comes back, and leads while the others still follow the one that led in the meantime."""
    rig = Rig(range(1, 4), protocol=load_protocol(f"{mine}:MyElection")).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run_until(lambda: rig.agreed() == 2, 20 * T_US, "2 leads")
    assert not _judged(rig)
    rig.do("restart 3")
    rig.run_until(lambda: rig.agreed() == 3, 20 * T_US, "3 leads")
    found = _judged(rig)
    assert {(violation.assertion, violation.is_failure) for violation in found} == {("A1.1", True)}
    assert {state.text for state in found[0].states} == {"Normal under 3", "Normal under 2"}


def test_random_schedules_find_the_flaw_and_only_that(mine: Path) -> None:
    """In the first version, in most runs; never in the second."""
    found = [_violations(load_protocol(f"{mine}:MyElection"), seed) for seed in range(20)]
    assert sum(map(bool, found)) > 10
    assert {violation.assertion for each in found for violation in each} == {"A1.1"}
    careful = load_protocol(f"{mine}:MyCarefulElection")
    assert careful.name == "my-careful-election"
    assert [_violations(careful, seed) for seed in range(MOST)] == [[]] * MOST


def test_a_pause_is_more_than_it_can_bear(mine: Path) -> None:
    """Two coordinators, excused: assumption 9 is broken."""
    rig = Rig(range(1, 4), protocol=load_protocol(f"{mine}:MyCarefulElection")).started()
    rig.run_until_agreed()
    rig.do("pause 3")
    rig.run(20 * T_US)
    found = _judged(rig)
    assert {violation.assertion for violation in found} == {"A1.1"}
    assert [broken.assumption for broken in found[0].broken] == [9]


def test_what_the_tables_name_is_there() -> None:
    """Every call of a node's own that the page writes."""
    names = set(re.findall(r"`(?:\w+ = )?(?:await )?self\.(\w+)", PAGE)) | set(re.findall(r"self\.(\w+)", PAGE))
    own = {name for code in CODE for name in re.findall(r"def (\w+)", code)}
    offered = set(dir(Election)) | set(Protocol.__annotations__)
    assert names - own <= offered | {"cluster"}, "that of an analysis"
    assert len(names & set(dir(Node))) > 5


def test_the_list_of_pages(lab: Lab) -> None:
    """Without a page: the sections, and the name and title of each page."""
    done = lab("guide")
    assert (done.status, done.err) == (0, "")
    for section in SECTIONS:
        assert section.title in done.out.splitlines()
    listed = re.findall(r"^  lab guide (\S+) +(\S.*)$", done.out, re.MULTILINE)
    assert listed == [(page.name, page.title) for page in all_pages()]


def test_a_page_is_printed_as_it_is_written(lab: Lab) -> None:
    """Where there is no terminal, or with --plain."""
    assert lab("guide", "your-own-protocol").out == PAGE == lab("guide", "your-own-protocol", "--plain").out
    assert lab.within("guide", "yours").refused().startswith("unknown page 'yours'")
    assert "did you mean scenarios?" in lab.within("guide", "scenario").refused()


def test_a_search_lists_lines_below_their_headings(lab: Lab) -> None:
    done = lab("guide", "--search", "forced write")
    assert done.status == 0
    assert "lab guide glossary: Atomic commit" in done.out.splitlines()
    assert lab("guide", "--search", "xyzzy").status == 1
    assert "give one of" in lab.within("guide", "faults", "--search", "pause").refused()


def test_the_guide_as_a_site(lab: Lab) -> None:
    done = lab("guide", "--html", "site")
    assert (done.status, done.err) == (0, "")
    assert f"wrote {len(list(all_pages()))} pages: open site/index.html" in done.out
    assert (lab.folder / "site" / "your-own-protocol.html").exists()
    (lab.folder / "notes").mkdir()
    (lab.folder / "notes" / "mine.txt").write_text("mine", "utf-8")
    assert "name a new one" in lab.within("guide", "--html", "notes").refused()


def test_the_calls_that_the_page_makes_exist(lab: Lab) -> None:
    """Every command and option of its ``sh`` blocks is in the help."""
    calls = [shlex.split(line) for line in CALLS if line]
    assert len(calls) > 5
    for command in {words[1] for words in calls}:
        options = {word for words in calls if words[1] == command for word in words if word.startswith("--")}
        text = lab(command, "--help").out
        assert options <= set(re.findall(r"--[\w-]+", text)), command


def _call(beginning: str) -> list[str]:
    """The words after ``lab`` of the one call in the page that begins so."""
    (call,) = [line for line in CALLS if line.startswith(f"lab {beginning}")]
    return shlex.split(call)[1:]


def test_the_flaw_is_found_as_the_page_shows(lab: Lab, mine: Path) -> None:
    """The campaign finds it, in the words that the page shows; its recording can be verified, as the page does."""
    mine.write_text("\n\n".join(CODE[:-1]), "utf-8")
    done = lab(*_call("check my_election.py --runs"))
    assert done.status == 1, done
    (sample,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert set(sample.splitlines()) <= set(done.out.splitlines()), done.out
    mine.write_text("\n\n".join(CODE), "utf-8")
    done = lab(*_call("verify"))
    assert (done.status, done.err) == (1, "")
    assert ": as recorded; " in done.out
    assert "A1.1 fails" in done.out
    assert "the source of my-election differs from the recorded one" in done.out


def test_nothing_is_found_in_the_second_version(lab: Lab, mine: Path) -> None:
    """Not by fewer runs than in the page; a pause breaks it, outside its promise."""
    assert mine.exists()
    done = lab(*_call("check my_election.py:MyCarefulElection --runs 1000 --faults kill,pause"))
    assert done.status == 1, done
    assert "excused: A1.1 under broken assumption 9" in done.out
    runs = str(amount(quick=6, soak=100))
    done = lab("check", "my_election.py:MyCarefulElection", "--runs", runs, "--faults", "kill", "--workers", "1")
    assert (done.status, done.err) == (0, ""), done


def test_the_second_version_heals(lab: Lab, mine: Path) -> None:
    """After the pauses of seed 3 two lead, each followed by somebody; in the end there is one again."""
    assert mine.exists()
    words = ("--faults", "kill,pause", "--seed", "3", "--runs", "10", "--workers", "1")
    done = lab("check", "my_election.py:MyCarefulElection", *words)
    assert (done.status, done.err) == (0, ""), done
    assert re.search(r"^ A2 +(\d+) of \1 runs +\d+ agreements +none ", done.out, re.MULTILINE)
    assert re.search(r"^ A1\.1 +(\d+) of \1 runs +[\d,]+ states +\d+ +excused", done.out, re.MULTILINE)


def test_the_run_of_the_page(lab: Lab, mine: Path) -> None:
    """In simulation, as it is written otherwise; the first version alone needs no class's name."""
    mine.write_text("\n\n".join(CODE[:-1]), "utf-8")
    done = lab(*_call("run my_election.py --headless"), "--sim")
    assert done.status == 1, done
    assert done.line().startswith("A1.1 fails with all assumptions intact"), done
    assert "A1.1 fails" in done.out
    assert done.out.startswith("my-election, simulated, 6s\n")
    assert len(re.findall(r"Normal under 5$", done.out, re.MULTILINE)) == 5


@pytest.mark.live
def test_the_run_of_the_page_on_processes(lab: Lab, mine: Path) -> None:
    """However long it takes: it is ended once 5 leads again."""
    mine.write_text("\n\n".join(CODE[:-1]), "utf-8")
    words = ["60s" if word == "6s" else word for word in _call("run my_election.py --headless")]
    run = lab.begin(*words, "--record", "run.jsonl")
    path = lab.folder / "run.jsonl"
    wait_for(lambda: path.exists() and b"\n" in path.read_bytes(), "the recording has begun")
    tail = Tail(path)

    def is_over() -> bool:
        tail.read()
        changes = [each for each in tail.of(Process) if each.node == 5]
        return len(changes) > 2 and agreed_coordinator(tail.cluster.nodes) == 5

    wait_for(is_over, "5 leads again")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=WAIT_S)
    assert run.returncode == 130, err
    first, second = err.decode().splitlines()
    assert first.startswith("lab: A1.1 fails with all assumptions intact")
    assert re.fullmatch(r"lab: it ended at [\d.]+ s: .*", second)
    assert b"A1.1 fails" in out


def test_the_view_of_the_page(lab: Lab, tmp_path: Path) -> None:
    """The last example is a file of its own, and all that it brings is there."""
    (tmp_path / "my_voting.py").write_text(VOTING, "utf-8")
    words = ("my_voting.py", "--sim", "--headless", "--for", "1s", "--nodes", "3", "--record", "run.jsonl")
    run = lab("run", *words, "--do", "expect all_votes == 0 and not any popular")
    assert run.status == 0, run
    assert "  0 votes\n" in run.out, run
    shown = lab("show", "run.jsonl", "--view", "votes", "--protocol", "my_voting.py:Voting")
    assert shown.out.splitlines()[2:] == [f"node {node} has 0 votes" for node in (1, 2, 3)], shown
