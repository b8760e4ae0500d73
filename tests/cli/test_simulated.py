"""``lab run --sim``: virtual time, determinism, and clear errors."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.kernel import Timing
from lab.recording.reader import open_recording
from lab.recording.records import End, Link
from lab.worlds.loading.config import RunConfig
from tests.cli.invocation import Lab
from tests.forked_hosts import TestHost
from tests.waiting import WAIT_S, wait_for

STORM = (
    *("--do", "at 5s kill coordinator", "--do", "at 8s restart all", "--do", "at 10s lose all 20%"),
    *("--do", "at 15s heal", "--do", "on send NewState pause 1"),
)
LINK = Link(10_000, 5_000)


def test_the_same_seed_gives_the_same_bytes(lab: Lab) -> None:
    """In two processes with different hash seeds; another seed gives other bytes."""
    for name, seed, hashed in (("a", "7", "1"), ("b", "7", "2"), ("c", "8", "1")):
        done = lab(
            *("run", "bully", "--sim", "--headless", "--for", "30s", "--seed", seed, "--record", f"{name}.jsonl"),
            *STORM,
            environment={"PYTHONHASHSEED": hashed},
        )
        assert (done.status, done.err) == (0, ""), done
    one, same, other = (Path(lab.folder / f"{name}.jsonl").read_bytes() for name in "abc")
    assert one == same
    assert one != other
    assert one.count(b"\n") > 1000
    assert lab("verify", "a.jsonl").status == 0


def test_it_ends_at_exactly_its_time(lab: Lab) -> None:
    """In virtual time; latency and jitter are such that messages are seen in flight."""
    done = lab("run", "bully", "--sim", "--headless", "--for", "10m", "--json", "--tm", "80ms", "--tp", "40ms")
    found = json.loads(done.out)
    assert (found["world"], found["duration_us"]) == ("simulated", 600_000_000)
    assert all(node["coordinator"] == 5 for node in found["nodes"].values())
    lines = open_recording(Path(found["recording"]))
    assert (lines.header.link.latency_us, lines.header.link.jitter_us) == (20_000, 10_000)
    assert lines.record(len(lines) - 1) == End(600_000_000, "its time limit was reached")
    lines.close()


def test_latency_and_jitter_options(lab: Lab) -> None:
    """One of them, or both."""
    done = lab("run", "bully", "--sim", "--headless", "--for", "1s", "--record", "a.jsonl", "--latency", "0s")
    assert done.status == 0
    header = json.loads((lab.folder / "a.jsonl").read_bytes().split(b"\n")[0])
    assert (header["world"], header["began"]) == ("simulated", "")
    assert header["link"] == {"latency_us": 0, "jitter_us": 0}


def test_many_nodes(lab: Lab) -> None:
    """More than would be possible as processes; one leads, once it has halted the others in turn."""
    done = lab("run", "bully", "--sim", "--headless", "--for", "8s", "--nodes", "100", "--json", "--seed", "1")
    nodes = json.loads(done.out)["nodes"]
    assert len(nodes) == 100
    assert {node["coordinator"] for node in nodes.values()} == {100}


def test_show_prints_the_seed_instead_of_a_date(lab: Lab) -> None:
    """A simulated run has no start date."""
    lab(
        "run", "bully", "--sim", "--headless", "--for", "1s", "--nodes", "2", "--seed", "42", "--record", "a.jsonl"
    )
    assert lab("show", "a.jsonl").out.startswith("# bully, simulated, nodes 1 2, T 200 ms, seed 42\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_early_with_a_complete_recording(lab: Lab, number: signal.Signals) -> None:
    """130, the report, and the reason in the recording."""
    path = lab.folder / "a.jsonl"
    process = lab.begin("run", "bully", "--sim", "--headless", "--for", "10000m", "--record", str(path))
    wait_for(lambda: path.exists() and path.stat().st_size > 1 << 17, "it is under way")
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (130, b"")
    assert out.startswith(b"bully, simulated, ")
    lines = open_recording(path)
    last = lines.record(len(lines) - 1)
    assert isinstance(last, End)
    assert (last.why, lines.torn) == (f"signal {number.name}", False)
    lines.close()


def test_it_can_be_controlled_from_outside(lab: Lab, hosted: RunConfig) -> None:
    """With ``lab list`` and ``lab ctl``, with several commands at once."""
    listed = lab("list").out.splitlines()[0]
    assert listed.startswith(f"{hosted.run}  bully, simulated, nodes 1-3, since 2")
    done = lab("ctl", "freeze", "speed 10", "go", "step", "deliver 1->2 NewState")
    assert (done.status, done.err) == (1, "")
    still, speed, goes, step, nothing = done.out.splitlines()
    assert (still, speed, goes) == ("time is frozen", "10x, once time is running", "time is running")
    assert re.fullmatch(r"\S+ .*(arrives|fires: \w+), at \d+\.\d{4} s", step)
    assert nothing == "no NewState is in flight from 1 to 2, nothing changed"


@pytest.fixture
def hosted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunConfig]:
    """Start a simulated run in a host, as the interface does."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    config = RunConfig(
        *("sim-1", "bully", (1, 2, 3), Timing(40_000, 20_000), {}, LINK, 1, str(lab.folder / "run.jsonl")),
        world="simulated",
    )
    host = TestHost(config)
    try:
        host.ready()
        yield config
    finally:
        host.end()
        host.close()


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--sim",), "the interface requires a terminal; without one: lab run … --headless --for 6s"),
        (("--speed", "2"), "--speed requires --sim and the interface: lab run bully --sim --speed 0.1"),
        (
            ("--sim", "--speed", "2", "--headless", "--for", "1s"),
            "--speed requires --sim and the interface: lab run bully --sim --speed 0.1",
        ),
        (
            ("--sim", "--speed", "fast"),
            "--speed fast: write virtual time per real time, from 0.01 to 1000, or max: --speed 0.1",
        ),
        (
            ("--sim", "--nodes", "65"),
            "--nodes 65 is 65 nodes; this simulated run allows 1 to 64; --sim --headless allows 1000",
        ),
        (
            ("--sim", "--nodes", "1001", "--headless", "--for", "1s"),
            "--nodes 1001 is 1001 nodes; this simulated run allows 1 to 1000",
        ),
        (("--do", "freeze"), "--do 'freeze': freeze: requires a simulated run: add --sim"),
        (
            ("--sim", "--headless", "--for", "1s", "--do", "at 1s freeze"),
            "--do 'at 1s freeze': freeze: has no effect without the interface; leave it out, or "
            "watch the run: lab run … --sim",
        ),
        (("--sim", "--do", "step"), "--do 'step': step: give it during the run, with : or lab ctl"),
    ],
)
def test_conflicting_options(lab: Lab, words: tuple[str, ...], output: str) -> None:
    """One line, and nothing is started."""
    assert lab.within("run", "bully", *words).refused() == output
    assert not list(lab.recordings.glob("*"))


@pytest.mark.live
def test_a_live_run_refuses_time_commands(lab: Lab) -> None:
    """With what to do instead."""
    with lab.start("--for", "60s", "--nodes", "2") as run:
        run.settled(2)
        assert lab("ctl", "freeze").refused() == "freeze: only in a simulated run: lab run bully --sim"
