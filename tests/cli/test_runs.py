"""``lab list``, ``lab ctl`` and ``lab attach``: active runs."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.invocation import Lab
from tests.documents import fitting
from tests.waiting import wait_for
from tests.worlds.live import Tail

LONG = ("--for", "60s")


def test_no_active_runs(lab: Lab) -> None:
    """The protocols are listed nevertheless."""
    done = lab("list")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("no active runs\nprotocols:\n  2pc ")
    assert json.loads(lab("list", "--json").out) == {"format": 1, "runs": [], "removed": []}
    assert lab("ctl", "kill 5").refused() == "no active runs; start one with: lab run bully"


@pytest.mark.live
def test_a_run_is_listed(lab: Lab) -> None:
    """With commands for it."""
    with lab.start(*LONG, "--nodes", "0-2") as run:
        name = run.info.run
        lines = lab("list").out.splitlines()
        assert lines[0] == f"{name}  bully, nodes 0-2, since {run.info.began}, process {run.info.pid}"
        assert lines[1].split("    ") == ["", f"lab attach {name}", f'lab ctl {name} "kill 2"']
        listed = json.loads(lab("list", "--json").out)
        assert listed["removed"] == []
        assert listed["runs"] == [
            {
                "run": name,
                "pid": run.info.pid,
                "protocol": "bully",
                "nodes": [0, 1, 2],
                "began": run.info.began,
                "recording": str(lab.recordings / f"{name}.jsonl"),
                "socket": str(lab.runtime / "lab" / name / "feed.sock"),
                "world": "live",
            }
        ]


@pytest.mark.live
def test_commands_to_nodes_by_name(lab: Lab) -> None:
    """Of the cluster, and of a service of the user's own; a mistake is answered with the names."""
    program = lab.folder / "store"
    text = Path(__file__).parents[1].joinpath("programs", "store.py").read_text("utf-8")
    program.write_text(f"#!{sys.executable}\n{text}", "utf-8")
    program.chmod(0o755)
    with lab.start(*LONG, "--nodes", "2", "--service", f"my-store={program}") as run:
        run.settled(2)
        assert lab("ctl", "kill my-store").out == "my-store killed\n"
        assert lab("ctl", run.info.run, "pause n1").out == "1 paused\n"
        assert "did you mean 'my-store'?" in lab("ctl", "kill my-stor").refused()
        assert lab("ctl", "kill n7").refused() == "there is no node n7; the nodes are 1 2 my-store"


@pytest.mark.live
def test_commands(lab: Lab) -> None:
    """0 if it changed something or is waiting, 1 if nothing changed, 2 if it is invalid."""
    with lab.start(*LONG) as run:
        run.settled(5)
        done = lab("ctl", "kill 5")
        assert (done.status, done.out, done.err) == (0, "5 killed\n", "")
        done = lab("ctl", "kill 5")
        assert (done.status, done.out, done.err) == (1, "5: already down, nothing changed\n", "")
        document = fitting("ctl", lab("ctl", "kill 5", "kill 9", "pause 4", "--json").out)
        assert document["run"] == run.info.run
        replies = [(each["command"], each["valid"], each["changed"]) for each in document["replies"]]
        assert replies == [("kill 5", True, False), ("kill 9", False, False), ("pause 4", True, True)]
        assert document["replies"][2]["text"] == "4 paused"
        assert lab("ctl", "resume 4").status == 0
        run.settled(4)
        done = lab("ctl", run.info.run, "restart 5", 'at 50s say "\x1b[31m"')
        assert (done.status, done.out) == (0, '5 restarted\nwaits: at 50s say "\\x1b[31m"\n')
        done = lab("ctl", run.info.run, "heal", "pause 1")
        assert (done.status, done.out) == (1, "no link fault is in force, nothing changed\n1 paused\n")
        assert lab("ctl", "kill 9").refused() == "there is no node 9; the nodes are 1 2 3 4 5"
        output = lab("ctl", "expect violation A1.1").refused()
        assert output.startswith(
            "a verdict is about the whole run, so it is not known yet: write this line in a scenario"
        )
        output = lab("ctl", "pause 3", "kill 5 at").refused()
        assert output.startswith(
            "'kill 5 at': column 8: 'at' is not expected here, as a line has only one command"
        )
        processes = [
            view.process for view in Tail(lab.recordings / f"{run.info.run}.jsonl").read().cluster.nodes.values()
        ]
        assert processes == ["paused", "running", "running", "running", "running"]


@pytest.mark.live
def test_hints(lab: Lab) -> None:
    """Missing quotes, and a missing command."""
    with lab.start(*LONG, "--nodes", "2") as run:
        name = run.info.run
        quotes = "is one command; put it in quotes:"
        assert lab("ctl", "kill", "2").refused() == f'kill 2 {quotes} lab ctl "kill 2"'
        assert lab("ctl", name, "kill", "2").refused() == f'kill 2 {quotes} lab ctl {name} "kill 2"'
        result = f'{name} is a run; add a command: lab ctl {name} "kill 5"'
        assert lab("ctl", name).refused() == result


@pytest.mark.live
def test_an_unknown_command(lab: Lab) -> None:
    """With or without the run's name, the error suggests one, before anything is done."""
    with lab.start(*LONG, "--nodes", "2") as run:
        run.settled(2)
        for words in (["kil 2"], ["kill 1", "kil 2"], ["kil 2", "kill 1"]):
            for named in ([], [run.info.run]):
                output = lab("ctl", *named, *words).refused()
                assert output.startswith("'kil 2': column 1: 'kil' is not expected here (did you mean 'kill'?)"), (
                    output
                )
        cluster = Tail(lab.recordings / f"{run.info.run}.jsonl").read().cluster
        assert [view.process for view in cluster.nodes.values()] == ["running", "running"]


@pytest.mark.live
def test_two_runs(lab: Lab) -> None:
    """With two runs, the name is required."""
    with lab.start(*LONG, "--nodes", "2") as first, lab.start(*LONG, "--nodes", "3") as second:
        names = sorted([first.info.run, second.info.run])
        wait_for(lambda: sorted(lab.published()) == names, "both are there")
        assert [run["run"] for run in json.loads(lab("list", "--json").out)["runs"]] == names
        second.settled(3)
        assert lab("ctl", "kill 2").refused() == f"2 runs are active; name one: {', '.join(names)}"
        assert lab("ctl", second.info.run, "kill 3").out == "3 killed\n"
        result = f"unknown run 'third'; running: {', '.join(names)}"
        assert lab("ctl", "third", "kill 3").refused() == result
        first.settled(2)


@pytest.mark.live
def test_attach_needs_a_terminal(lab: Lab) -> None:
    """With or without an active run."""
    result = 'the interface requires a terminal; without one: lab ctl "COMMAND"'
    assert lab("attach").refused() == result
    with lab.start(*LONG, "--nodes", "2") as run:
        assert lab("attach", run.info.run, "--viewer").refused() == result
