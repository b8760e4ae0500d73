"""Usage errors of ``lab``: one line each, as in ``transcripts/usage_errors.txt``."""

import shlex
from collections.abc import Callable

import pytest

from tests.cli.invocation import SHIPPED, Lab
from tests.profile import amount

CALLS = """
run bulli
run mine
run gone.py:Mine
run diary.txt:Mine
run mine.py:Mein
run mine.py:Status
run wrong.py
run --program ./my_node -w lin-kv
run --bin ./my_node
run --program ./my_node --nemesis partition
run bully --workload txn-rw-register --model read-comitted
run bully --workload lin-kv --model serializable
run bully --model serializable
run bully --nodes 0
run bully --nodes 7-3
run bully --nodes 5,5
run bully --sim --headless --for 1s --do 'kill 5 5'
run bully --nodes 99999999999999
run bully --nodes many
run bully --t 200
run bully --t 0s
run bully --t 99999999999s
run bully --t 1s --tm 1s
run bully --tm 1s
run bully --tm 1s --tp fast
run bully --latency -1s
run bully --seed lucky
run bully --set check_every
run bully --set speed=1s
run bully --set check_every=often
run invitation --set quick_regroup=perhaps
run bully --set halting=perhaps
run bully --set without=halting,perhaps
run token --set by_itself=0s
run field --set regions=0
run field --set regions=100000
run field --set regions=many
run 2pc --set accounts=0
run 2pc --set opening=-1
run 3pc --set acounts=2
run bully --headless
run bully --json
run bully --headless --for soon
run bully --headless --for 0s
run bully --headless --for 1s --do 'kil 5'
run bully --headless --for 1s --do 'kill 9'
run bully --headless --for 1s --do 'at noon kill 5'
run invitation --headless --for 1s --do 'at 2s publsh'
run field --headless --for 1s --do 'at 2s publsh'
run bully --sim --headless --for 1s --do freeze
run bully --headless --for 1s --do 'lose all 130%'
run bully --headless --for 1s --do 'tell 5 publish'
run field --headless --for 1s --do 'publish 9'
run field --headless --for 1s --do 'tell 5 publish now'
run 2pc --headless --for 1s --do 'transfer 100 savngs checking'
run 2pc --headless --for 1s --do 'tell 1 transfer 100 savings'
run 3pc --headless --for 1s --do 'at 1s transactions 50 20/s'
run 2pc --headless --for 1s --do 'refuse 9'
run 2pc --headless --for 1s --set accounts=2 --do 'transfer 5 savings-3 checking'
run bully --headless --for 1s --do 'withdraw 350'
run bully --headless --for 1s --do 'partition 1 2 | 2 3'
run bully --headless --for 1s --do ''
run bully --headless --for 1s --record folder
run bully --headless --for 1s --record nowhere/run.jsonl
run bully --headless --for 1s --record diary.txt
run bully
replay missing.jsonl
replay folder
show empty
show binary
show diary.txt --node 1
show whole.jsonl --node 9
show whole.jsonl --node five
show whole.jsonl --only gossip
verify object.jsonl
verify escape.jsonl
verify folder
verify whole.jsonl --protocol gone.py
verify whole.jsonl --protocol invitation
history missing.jsonl
history whole.jsonl
history whole.jsonl --svg groups.png
history whole.jsonl --dot groups.pdf
history whole.jsonl --svg nowhere/groups.svg
history whole.jsonl --dot whole.jsonl
explore field
branch missing.jsonl --at 5
branch whole.jsonl --at 5
branch whole.jsonl --at 5 --headless
branch whole.jsonl --at 9999 --headless --for 1s
branch whole.jsonl --at soon --headless --for 1s
branch whole.jsonl --at 3s --headless --for 1s --do 'at 2s kill 5'
branch whole.jsonl --at 3s --headless --for 1s --do 'kill 9'
branch whole.jsonl --at 3s --headless --for 1s --record whole.jsonl
branch edited.jsonl --at 300 --headless --for 1s
branches missing.jsonl
branches diary.txt
diff whole.jsonl diary.txt
guide yours
run coordinator-die
run xyzzy
run gone.scenario
run fine.scenario
run fine.scenario --nodes 5 --headless
run fine.scenario --set check_every=1s --headless
run fine.scenario --do 'kill 5' --headless
run fine.scenario --live
run fine.scenario --sim --live
run fine.scenario --speed 2
run fine.scenario --json
run fine.scenario --headless --for 0s
scenario show xyzzy
scenario show typo.scenario
scenario check coordinator-die
scenario check folder
scenario check fine.scenario --live
scenario check fine.scenario folder2/fine.scenario
scenario check fine.scenario --runs 0
scenario check fine.scenario --keep nowhere/kept
scenario check fine.scenario --junit nowhere/report.xml
scenario check fine.scenario --junit /proc/report.xml
scenario list xyzzy
scenario show fine
run fine --headless
run coordinator-dies.scenario
run coordinator-dyes.scenario
run diary.txt --headless
run . --headless
run / --headless
run '' --headless
compare bully token
compare bully bully
compare bully bulli
compare field
compare bully --nodes 1
compare bully --runs none
compare bully --faults kill,rain
compare bully --task chess
compare bully --workers 0
compare bully --script missing.script
compare bully --script struck.script
compare bully --script remarks.script
compare bully --script step.script
compare bully --script one.script --faults kill,pause
compare bully --out bully.png
scale bulli
scale bully token
scale bully bully
scale bully --nodes 1
scale bully --nodes 3,2001
scale bully --nodes 5-9
scale bully --nodes 5,5
scale bully --t 5
scale bully --seed lucky
scale bully --out bully.png
scale bully --out nowhere/bully.svg
attach
ctl 'kill 5'
ctl kill 5
ctl 'pause 1 2,'
ctl some-run 'delay 2->3'
"""


FRESH = """
run mine.py:Mein
run bully
run bully --headless --for 1s --do 'kil 5'
run bully --headless --for 1s --record folder
show empty
branch edited.jsonl --at 300 --headless --for 1s
scenario check folder
attach
"""
"""Those of them that are called as a user calls them too: of each sort one, and a host's own refusal."""


@pytest.fixture
def littered(lab: Lab) -> Lab:
    """Return a command in a folder of misleading files."""
    (lab.folder / "folder").mkdir()
    (lab.folder / "empty").touch()
    (lab.folder / "diary.txt").write_text("Dear diary,\n")
    (lab.folder / "binary").write_bytes(bytes(range(256)))
    (lab.folder / "object.jsonl").write_text("{}\n")
    (lab.folder / "escape.jsonl").write_text('{"record":"\\u001b[2J\x1b[2J"}\n')
    (lab.folder / "mine.py").write_text("from lab.protocols import Election, Status\nclass Mine(Election): pass\n")
    (lab.folder / "wrong.py").write_text("LONGEST = \n")
    (lab.folder / "whole.jsonl").write_bytes(SHIPPED.read_bytes())
    edited = SHIPPED.read_bytes().replace(b'"status":"Normal"', b'"status":"Election"', 1)
    (lab.folder / "edited.jsonl").write_bytes(edited)
    (lab.folder / "struck.script").write_text("at 2s kill 5\non send Gossip kill 4\n")
    (lab.folder / "remarks.script").write_text("# at 2s kill 5\n\n")
    (lab.folder / "step.script").write_text("step\n")
    (lab.folder / "one.script").write_text("at 2s kill 5\n")
    fine = 'title = "Fine"\nprotocol = "bully"\nworlds = ["simulated"]\nfor = "1s"\n---\nat 500ms kill 5\n'
    (lab.folder / "folder2").mkdir()
    for place in (lab.folder, lab.folder / "folder2"):
        (place / "fine.scenario").write_text(fine)
    (lab.folder / "typo.scenario").write_text(fine.replace("kill", "kil"))
    return lab


def test_usage_errors(littered: Lab, transcript: Callable[[str, str], None]) -> None:
    """The error has what was given, what was expected, what to do; status 2, nothing is started."""
    result = []
    for line in CALLS.strip().splitlines():
        done = littered.within(*shlex.split(line))
        assert (done.status, done.out) == (2, ""), (line, done)
        assert "\x1b" not in done.err
        result.append(f"$ lab {line}\n{done.line()}\n".replace(str(littered.folder), "FOLDER"))
    transcript("usage_errors", "".join(result))
    assert not list(littered.recordings.glob("*"))


def test_usage_errors_in_fresh_processes(littered: Lab) -> None:
    """They do not depend on earlier imports or calls."""
    for line in FRESH.strip().splitlines()[:: amount(quick=3, soak=1)]:
        assert line in CALLS.splitlines()
        words = shlex.split(line)
        assert littered.fresh(*words) == littered(*words) == littered.within(*words)
