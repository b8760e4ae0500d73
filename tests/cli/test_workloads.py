"""``lab run --workload`` on real programs: the page of the guide, and each workload on a node that serves it."""

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.guide.contents import find_page
from tests.cli.invocation import Lab
from tests.profile import amount

PAGE = find_page("workloads").text
SERVER = Path(__file__).parents[1] / "roles" / "server.py"
MAELSTROM = os.environ.get("LAB_MAELSTROM_DEMO", "")
"""The folder ``demo`` of a copy of Maelstrom, whose licence keeps it out of this repository."""


def _blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def _run(lab: Lab, program: str, *options: str) -> dict[str, Any]:
    done = lab("run", "--program", program, "--headless", "--json", "--t", "500ms", *options)
    found: dict[str, Any] = json.loads(done.out)
    return {**found["workload"], "status": done.status, "faults": found["faults"]}


@pytest.mark.live
def test_the_counter_of_the_page(lab: Lab) -> None:
    """Three nodes, each with a client, and seq-kv beside them."""
    counter, *_ = _blocks("python")
    path = lab.folder / "counter.py"
    path.write_text(counter)
    path.chmod(0o755)
    command, *_ = _blocks("sh")
    done = lab(*shlex.split(command.replace("--for 20s", f"--for {amount(quick=8, soak=20)}s"))[1:])
    (shown, *_) = _blocks("text")
    assert shown.strip() in done.out, done.out
    assert done.status == 0


def test_the_protocol_of_the_page(lab: Lab) -> None:
    """Its clients see what no single store would show."""
    _, forgetful, *_ = _blocks("python")
    (lab.folder / "forgetful.py").write_text(forgetful)
    command = _blocks("sh")[2]
    done = lab(*shlex.split(command)[1:])
    assert done.status == 1
    assert _blocks("text")[1].strip() in done.out


def test_a_scenario_of_a_run_whose_history_is_wrong_expects_that(lab: Lab) -> None:
    """Made from its recording, it passes: in the simulated world, whose links are those of the run."""
    _, forgetful, *_ = _blocks("python")
    (lab.folder / "forgetful.py").write_text(forgetful)
    words = ("--sim", "--headless", "--for", "6s", "--nodes", "3", "--seed", "1", "--workload", "lin-kv")
    assert lab("run", "forgetful.py", *words, "--record", "f.jsonl").status == 1
    made = lab("scenario", "from", "f.jsonl", "--protocol", "forgetful.py", "--out", "f.scenario")
    assert made.status == 0, made.err
    text = (lab.folder / "f.scenario").read_text()
    assert "expect violation lin-kv" in text
    assert "all that is promised holds" not in text
    assert lab("run", "./f.scenario", "--sim", "--headless").status == 0


def test_the_proxy_of_the_page(lab: Lab) -> None:
    """A node asks a service, and its clients see what that holds."""
    _, _, proxy, *_ = _blocks("python")
    (lab.folder / "proxy.py").write_text(proxy)
    done = lab(*shlex.split(_blocks("sh")[3])[1:])
    assert done.status == 0, done
    assert _blocks("text")[2].strip() in done.out
    assert re.search(r"lin-kv, [1-9]\d+ operations of 3 clients: [1-9]\d+ ok", done.out), done.out


def test_the_register_of_the_page(lab: Lab) -> None:
    """One coordinator decides; two, on the sides of a cut, lose what one of them has decided."""
    *_, register, _ = _blocks("python")
    (lab.folder / "register.py").write_text(register)
    *_, commands, _ = _blocks("sh")
    for command, verdict, status in zip(
        commands.splitlines(), _blocks("text")[3].splitlines(), (0, 1), strict=True
    ):
        done = lab(*shlex.split(command)[1:])
        assert verdict in done.out, done.out
        assert done.status == status
        assert "without a known outcome" in done.out


def test_the_replicated_register_of_the_page(lab: Lab) -> None:
    """A majority decides, so that nothing is lost: neither to a cut nor to a kill."""
    *_, replicated = _blocks("python")
    (lab.folder / "replicated.py").write_text(replicated)
    *_, commands = _blocks("sh")
    for command, verdict in zip(commands.splitlines(), _blocks("text")[4].splitlines(), strict=True):
        done = lab(*shlex.split(command)[1:])
        assert verdict in done.out, done.out
        assert done.status == 0


def _judged(lab: Lab, workload: str, mood: str) -> dict[str, Any]:
    program = f"{sys.executable} {SERVER} {mood} {workload}"
    options = ("--nodes", "1", "--clients", "3", "--rate", "20", "--for", f"{amount(quick=4, soak=8)}s")
    return _run(lab, program, "--workload", workload, *options)


OTHERS = [
    *(("echo", "right", "holds"), ("unique-ids", "right", "holds"), ("g-set", "right", "holds")),
    *(("pn-counter", "wrong", "fails"), ("lin-tso", "right", "holds"), ("txn-rw-register", "right", "holds")),
    *(("broadcast", "wrong", "fails"), ("pn-counter", "right", "holds"), ("lin-kv", "right", "holds")),
    ("txn-list-append", "right", "holds"),
]


@pytest.mark.soak
@pytest.mark.parametrize(("workload", "mood", "verdict"), OTHERS)
def test_the_other_workloads(lab: Lab, workload: str, mood: str, verdict: str) -> None:
    """As those below."""
    found = _judged(lab, workload, mood)
    assert (found["verdict"], found["status"]) == (verdict, 0 if verdict == "holds" else 1), found


@pytest.mark.live
@pytest.mark.parametrize(
    ("workload", "mood", "verdict"),
    [
        ("unique-ids", "wrong", "fails"),
        ("broadcast", "right", "holds"),
        ("lin-kv", "wrong", "fails"),
        ("kafka", "right", "holds"),
        ("txn-list-append", "wrong", "fails"),
    ],
)
def test_each_workload(lab: Lab, workload: str, mood: str, verdict: str) -> None:
    """A server that is right alone: one node. Wrong: it forgets every third thing that it was told."""
    found = _judged(lab, workload, mood)
    assert (found["verdict"], found["status"]) == (verdict, 0 if verdict == "holds" else 1), found
    assert found["operations"]["ok"] > 10


@pytest.mark.live
def test_faults_between_clients_and_programs(lab: Lab) -> None:
    """A node that is killed answers nobody; what its client called then has no known outcome."""
    program = f"{sys.executable} {SERVER} right"
    found = _run(
        *(
            lab,
            program,
            "--workload",
            "lin-kv",
            "--nodes",
            "1",
            "--clients",
            "2",
            "--rate",
            "20",
            "--for",
            f"{amount(quick=7, soak=14)}s",
        ),
        *("--do", "at 2s kill 1", "--do", "at 3s restart 1"),
    )
    assert found["faults"][0]["touched"] > 0
    assert found["operations"]["info"] + found["operations"]["fail"] > 0
    assert found["verdict"] == "fails", "it has forgotten all in its crash"


@pytest.mark.live
def test_a_service_that_is_not_there_is_named(lab: Lab) -> None:
    """With the option that starts it."""
    counter, *_ = _blocks("python")
    path = lab.folder / "counter.py"
    path.write_text(counter.replace('"seq-kv"', '"lww-kv"'))
    path.chmod(0o755)
    options = ("--workload", "g-counter", "--nodes", "1", "--t", "2s", "--for", "4s", "--headless")
    out = lab("run", "--program", "./counter.py", *options, "--record", "run.jsonl").out
    assert "to lww-kv, which is not there: start it with --service lww-kv" in out
    assert "to nobody, as there is no lww-kv (--service lww-kv)" in lab("show", "run.jsonl").out


@pytest.mark.live
@pytest.mark.parametrize(
    ("program", "workload", "seconds"),
    [
        ("python/echo.py", "echo", 8),
        ("python/broadcast.py", "broadcast", 12),
        ("python/raft.py", "lin-kv", 25),
        ("js/echo.js", "echo", 8),
        ("js/gossip.js", "broadcast", 12),
        ("js/crdt_gset.js", "g-set", 40),
        ("js/crdt_pn_counter.js", "pn-counter", 40),
        ("js/single_key_txn.js", "txn-list-append", 12),
        ("js/multi_key_txn.js", "txn-list-append", 12),
        ("ruby/echo.rb", "echo", 8),
        ("ruby/broadcast.rb", "broadcast", 14),
        ("ruby/g_set.rb", "g-set", 40),
        ("ruby/pn_counter.rb", "g-counter", 40),
        ("ruby/pn_counter.rb", "pn-counter", 40),
        ("ruby/raft.rb", "lin-kv", 25),
        ("ruby/datomic_list_append.rb", "txn-list-append", 14),
    ],
)
def test_maelstroms_own_nodes(lab: Lab, program: str, workload: str, seconds: int) -> None:
    """Unmodified, each is right under its workload."""
    path = _maelstrom(program)
    command = f"{sys.executable} {path}" if path.suffix == ".py" else str(path)
    found = _run(lab, command, "--workload", workload, "--nodes", "3", "--for", f"{seconds}s")
    assert (found["verdict"], found["status"]) == ("holds", 0), found


@pytest.mark.live
@pytest.mark.parametrize(("service", "verdict"), [("lin-kv", "holds"), ("lww-kv", "fails"), ("seq-kv", "fails")])
def test_maelstroms_proxy_of_a_store(lab: Lab, service: str, verdict: str) -> None:
    """As its own comment has it: with one of the weaker stores, it is not linearizable."""
    given = _maelstrom("ruby/lin_kv_proxy.rb")
    shutil.copy(given.parent / "node.rb", lab.folder)
    shutil.copy(given.parent / "promise.rb", lab.folder)
    shutil.copy(given.parent / "errors.rb", lab.folder)
    proxy = lab.folder / "proxy.rb"
    proxy.write_text(given.read_text().replace('rpc! "lin-kv"', f'rpc! "{service}"'))
    proxy.chmod(0o755)
    options = ("--service", service, "--nodes", "3", "--clients", "6", "--rate", "20", "--for", "15s")
    assert _run(lab, "./proxy.rb", "--workload", "lin-kv", *options)["verdict"] == verdict


def _maelstrom(program: str) -> Path:
    """Return one of Maelstrom's demo nodes; skip the test if they, or their language, are not here."""
    if not MAELSTROM:
        pytest.skip("LAB_MAELSTROM_DEMO names no folder with Maelstrom's demo nodes")
    if program.endswith(".rb") and shutil.which("ruby") is None:
        pytest.skip("ruby is not installed")
    return Path(MAELSTROM) / program
