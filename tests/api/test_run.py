"""A run in Python: simulated, loaded, asked, branched from, saved."""

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import lab
from lab.api.run import Run
from lab.export.excerpt import ExportError
from lab.export.tables import tables_of
from lab.protocols import Bully, Election
from lab.recording.reader import NotARecordingError
from lab.recording.records import Process
from lab.script.scope import CommandError
from lab.text import UserError
from lab.worlds.loading.user_module import TargetError
from tests.tui.recorded import SHIPPED

ROOT = Path(__file__).parents[2]
OWN = ROOT / "lab" / "guide" / "build" / "raft.py"
SERVERS = ROOT / "tests" / "roles" / "servers.py"
BALLOT = ROOT / "tests" / "properties" / "own"


@pytest.fixture(scope="module")
def run() -> Run:
    """Five nodes; the leader crashes after two seconds."""
    return lab.simulate("bully", script="at 2s kill 5")


def test_what_happened(run: Run) -> None:
    assert [(each.lost_at_us, each.coordinator) for each in run.elections] == [(None, 5), (2_000_000, 4)]
    assert {node.id: node.coordinator for node in run.state_at("4s").nodes} == {1: 4, 2: 4, 3: 4, 4: 4, 5: None}
    assert run.state_at(4_000_000) == run.state_at("4s")
    assert [(each["text"], each["touched"]) for each in run.faults] == [("kill 5", 1)]
    assert run.at_us == 10_000_000
    assert {verdict.word for verdict in run.verdicts} == {"holds"}
    assert run.holds
    assert repr(run).startswith("<Run of bully, 5 nodes, 10 s: A1.1 holds, A1.2 holds")


def test_a_run_in_which_nothing_was_judged_does_not_hold() -> None:
    """Nobody has had the time to be elected."""
    short = lab.simulate("bully", for_="1ms")
    assert {verdict.word for verdict in short.verdicts} == {"not judged"}
    assert not short.holds


def test_a_run_with_a_failure_does_not_hold() -> None:
    """That of a gap of the bully's text."""
    failed = lab.load(ROOT / "recordings" / "holes" / "bully-follows-the-dead.jsonl")
    assert not failed.holds
    assert "fails" in {verdict.word for verdict in failed.verdicts}


def test_the_same_arguments_give_the_same_run() -> None:
    one, other = (lab.simulate("ring", 4, seed=3, faults="kill,pause") for _ in range(2))
    assert one.records == other.records
    assert one.faults
    assert one.records != lab.simulate("ring", 4, seed=4, faults="kill,pause").records


def test_latency_and_jitter() -> None:
    """By default a quarter and an eighth of Tm."""
    header = lab.simulate("bully", 2, for_="1s", latency="7ms", jitter="2ms").header
    assert (header.link.latency_us, header.link.jitter_us) == (7_000, 2_000)
    usual = lab.simulate("bully", 2, for_="1s").header
    assert (usual.link.latency_us, usual.link.jitter_us) == (20_000, 10_000)


def test_tables_are_columns(run: Run) -> None:
    frames = run.frames()
    assert {table: list(columns) for table, columns in frames.items()} == {
        table: [column.name for column in columns] for table, columns in tables_of(run.header).items()
    }
    messages = frames["messages"]
    assert len({len(column) for column in messages.values()}) == 1
    assert [each["kind"] for each in run.messages] == messages["kind"]


def test_data_frames(run: Run) -> None:
    """Unknown values are missing ones, and numbers stay whole."""
    messages = run.to_pandas("messages")
    assert list(messages.columns) == [column.name for column in tables_of(run.header)["messages"]]
    assert len(messages) == len(run.messages)
    assert str(messages.dtypes["latency_us"]) == "Int64"
    lost = messages[messages.latency_us.isna()]
    assert set(lost.fate) == {each["fate"] for each in run.messages if each["latency_us"] is None} != set()
    statuses = run.to_arrow("statuses")
    assert statuses.column_names == [column.name for column in tables_of(run.header)["statuses"]]
    assert statuses.num_rows == len(run.frames()["statuses"]["node"])
    with pytest.raises(ExportError, match="no table 'message'; did you mean messages"):
        run.to_pandas("message")


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_the_extra(run: Run, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"requires {package}: pip install 'coordinator-lab\[data\]'"):
        run.to_pandas() if package == "pandas" else run.to_arrow()


def test_pictures(run: Run) -> None:
    whole, part = run.svg(), run.svg("2s", "3.5s", nodes=[3, 4, 5])
    assert whole.startswith("<?xml")
    assert len(part) < len(whole)
    assert "A1.1 holds" in run._repr_html_()
    assert "<svg" in run._repr_html_()


def test_a_picture_has_the_options_of_the_export(run: Run) -> None:
    drawn = run.svg("1.9s", theme="paper", scale="broken", title="Node 5 crashes", width="12cm")
    assert "Node 5 crashes" in drawn
    assert f'width="{round(12 * 96 / 2.54)}"' in drawn
    with pytest.raises(ValueError, match=r"theme papr: expected .* did you mean paper\?"):
        run.svg(theme="papr")
    with pytest.raises(ValueError, match="width 3cm: expected from 6cm to 200cm"):
        run.svg(width="3cm")


def test_a_line_of_the_script_may_follow_the_one_before() -> None:
    """As in a scenario: its time is counted from then."""
    run = lab.simulate("bully", nodes=3, script=("at 2s kill 3", "then after 1s: restart 3"), for_="5s")
    restarts = [each.at_us for each in run.records if isinstance(each, Process) and each.event == "started"]
    assert restarts[-1] == 3_000_000


def test_a_run_that_is_too_long_for_a_picture(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook then says so, below the verdicts."""

    def refuse(run: Run) -> str:
        raise ExportError("too many messages <here>")

    monkeypatch.setattr(Run, "svg", refuse)
    shown = run._repr_html_()
    assert "A1.1 holds" in shown
    assert shown.endswith("<p>No diagram of the whole run: too many messages &lt;here&gt;</p>")


def test_a_failure_is_explained() -> None:
    """The last line of the explanation is about the violation."""
    failed = lab.load(ROOT / "recordings" / "holes" / "bully-follows-the-dead.jsonl")
    verdict = next(each for each in failed.verdicts if each.word == "fails")
    assert failed.failures == (verdict.assertion,)
    assert verdict.first is not None
    assert failed.explain(verdict.first)[-1].record <= verdict.first.record
    assert failed.commands


def test_a_branch_has_the_same_past(run: Run) -> None:
    """And its own branches."""
    branch = run.branch("1.5s", script="at 2s kill 4", for_="5s")
    assert branch.at_us == 6_500_000
    past = [record for record in run.records[1:] if record.at_us <= 1_500_000]  # type: ignore[union-attr]
    assert branch.records[1 : len(past) + 1] == past
    assert [each["text"] for each in branch.faults] == ["kill 4"]
    assert [each["text"] for each in branch.branch("4s").faults] == ["kill 4"]


def test_a_saved_run_is_a_recording(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.jsonl")
    assert (tmp_path / "run.jsonl").read_bytes() == run._store.path.read_bytes()
    assert lab.load(tmp_path / "run.jsonl").records == run.records


def test_a_live_recording() -> None:
    shipped = lab.load(SHIPPED)
    assert shipped.header.world == "live"
    assert [verdict.word for verdict in shipped.verdicts][:2] == ["excused", "excused"]
    assert shipped.branch("3s", for_="1s").records


def test_the_temporary_folder_goes_with_the_run() -> None:
    run = lab.simulate("bully", 3, for_="1s")
    path = run._store.path
    assert path.exists()
    del run
    gc.collect()
    assert not path.parent.exists()


def test_a_protocol_of_one_s_own() -> None:
    """Its properties are judged too; after loading its recording, as well."""
    run = lab.simulate(f"{OWN}:Raft", 3)
    words = {verdict.assertion: verdict.word for verdict in run.verdicts}
    assert words["one_leader_per_term"] == "holds"
    assert run.branch("2s", for_="1s").records
    path = run._store.path
    assert {each.assertion for each in lab.load(path, f"{OWN}:Raft").verdicts} == set(words)


def test_a_class_that_is_in_no_file_is_refused() -> None:
    """As when it is typed at the prompt: nodes could not load it."""
    mine = type("Mine", (Bully,), {"__module__": "nowhere"})
    with pytest.raises(UserError, match=r"Mine is not defined in a file.*: write it to FILE\.py"):
        lab.simulate(mine, 3)


def test_a_class_is_a_protocol() -> None:
    assert lab.simulate(Bully, 3, for_="1s").records == lab.simulate("bully", 3, for_="1s").records


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"protocol": "bulli"}, TargetError, "did you mean bully?"),
        ({"nodes": [1, 1]}, UserError, "nodes='1,1': node 1 is named twice"),
        ({"t": "soon"}, UserError, "'soon' is not a duration"),
        ({"latency": "soon"}, UserError, "latency: 'soon' is not a duration"),
        ({"parameters": {"halting": "x"}}, UserError, "parameters='halting=x': write at_once or in_order"),
        ({"parameters": {"x": 1}}, UserError, "bully has no parameter 'x'"),
        ({"faults": "kil"}, UserError, "faults='kil': unknown fault 'kil'; expected kill, pause"),
        ({"script": "at 2s kil 5"}, CommandError, "'at 2s kil 5': .*did you mean 'kill'?"),
        ({"script": ["at 2s kill 9"]}, CommandError, "'at 2s kill 9': there is no node 9"),
        ({"for_": "long"}, UserError, "for_='long': 'long' is not a duration"),
        ({"for_": 2.5}, UserError, 'for_=2.5: expected a time, such as "3.5s", or whole microseconds'),
        ({"for_": -1}, UserError, "for_=-1: expected a time"),
        ({"t": None}, UserError, "t=None: expected a time"),
        ({"nodes": 3.0}, UserError, "nodes=3.0: expected a number from 1, or a list of ids"),
        ({"nodes": "1,3"}, UserError, "nodes='1,3': expected a number from 1, or a list of ids"),
        ({"nodes": []}, UserError, r"nodes=\[\]: expected a number from 1, or a list of ids"),
        ({"nodes": True}, UserError, "nodes=True: expected a whole number from 1"),
        ({"seed": 10**18}, UserError, "seed=1000000000000000000: expected a whole number from 0 to 999,"),
        ({"faults": ["kill"]}, UserError, r"faults=\['kill'\]: expected kinds"),
        ({"script": [1]}, UserError, r"script=\[1\]: expected lines of text"),
        ({"protocol": None}, UserError, "protocol=None: expected a name"),
        ({"protocol": Election}, UserError, "Election is no protocol that can run: bully, "),
        ({"parameters": [1]}, UserError, r"parameters=\[1\]: expected their values by name"),
        ({"role": "ring"}, UserError, "role='ring': expected a protocol by the nodes"),
        ({"rate": 0, "workload": "lin-kv"}, UserError, "rate=0: expected a whole number from 1 to 1,000,000"),
        ({"clients": 2}, UserError, "clients=2: they need a workload"),
        ({"clients": 0, "workload": "lin-kv"}, UserError, "clients=0: expected a whole number from 1"),
        ({"model": "serializable"}, UserError, "model='serializable': it judges transactions"),
        ({"services": "lin-kv", "workload": "lin-kv"}, UserError, "services='lin-kv': expected a list of names"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        lab.simulate(**{"protocol": "bully", **arguments})  # type: ignore[arg-type]


def test_wrong_files_and_moments(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(NotARecordingError):
        lab.load(tmp_path / "x.jsonl")
    with pytest.raises(NotARecordingError, match="cannot be opened: No such file"):
        lab.load(tmp_path / "missing.jsonl")
    with pytest.raises(CommandError, match="there is no node 9"):
        run.branch("1s", script="at 2s kill 9")


# the package


def test_importing_the_package_loads_nothing() -> None:
    """The rooms below import it, and must not load those above."""
    code = "import lab, sys; print([name for name in sys.modules if name.startswith('lab.')]); print(dir(lab))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded, names = done.stdout.splitlines()
    assert loaded == "[]"
    assert all(name in names for name in lab.__all__)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'simulat'; it has .*simulate"):
        lab.simulat  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_know_the_same_names() -> None:
    declared = (ROOT / "lab" / "__init__.pyi").read_text()
    listed = re.search(r"__all__ = (\[.*?\])", declared, re.DOTALL)
    assert listed is not None
    assert ast.literal_eval(listed[1]) == lab.__all__
    for name in lab.__all__:
        assert getattr(lab, name) is not None
        assert f"as {name}\n" in declared or f"{name}: str" in declared


def test_clients_and_the_verdict_on_their_history() -> None:
    """Stores that know nothing of each other are no store; those who ask see that."""
    run = lab.simulate(f"{SERVERS}:Separate", nodes=3, workload="lin-kv", clients=3, rate=10, for_="10s")
    assert run.workload is not None
    assert (run.workload.word, run.failures, run.holds) == ("fails", (), False)
    assert len(run.operations.operations) > 100
    alone = lab.simulate(f"{SERVERS}:AtTheLowest", nodes=3, workload="lin-kv", for_="10s", script="at 2s cut 5->2")
    assert alone.workload is not None
    assert (alone.workload.word, alone.holds) == ("holds", True)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: lab.simulate("bully", nodes=0), "nodes=0: expected a whole number from 1"),
        (lambda: lab.simulate("bully", seed=-1), "seed=-1: expected a whole number from 0"),
        (lambda: lab.check("bully", nodes=0), "nodes=0: expected a number from 1, or a range"),
        (lambda: lab.check("bully", nodes=(5, 3)), "nodes=(5, 3): expected a number from 1, or a range"),
        (lambda: lab.check("bully", runs=-5), "runs=-5: expected a whole number from 1"),
        (lambda: lab.simulate("bully", for_="1s").branch("3s"), "at='3s': the run ends at 1.000 s"),
    ],
)
def test_numbers_that_cannot_be(call: Callable[[], object], why: str) -> None:
    with pytest.raises(UserError, match=re.escape(why)):
        call()


def test_times_are_texts_or_microseconds() -> None:
    as_texts = lab.simulate("bully", nodes=3, t="100ms", latency="5ms", jitter="1ms", for_="2s")
    as_numbers = lab.simulate("bully", nodes=3, t=100_000, latency=5_000, jitter=1_000, for_=2_000_000)
    assert list(as_texts.records) == list(as_numbers.records)


def test_properties_in_a_file_of_ones_own() -> None:
    """For a run, which can be branched, for a campaign and for an exploration."""
    ballot, properties = str(BALLOT / "ballot.py"), BALLOT / "ballot_properties.py"
    run = lab.simulate(ballot, 2, for_="3s", properties=properties)
    assert {"one_chair", "rounds_stay_small"} <= {*run.failures}
    assert "one_chair" in run.branch("300ms", for_="2s").failures
    found = lab.check(ballot, runs=40, nodes=2, faults="kill", find="one_chair", properties=properties)
    assert found.finding is not None
    assert found.finding.violation.assertion == "one_chair"
    explored = lab.explore(ballot, 2, timeouts="prompt", properties=properties)
    assert "one_chair" in explored.failures


def test_a_run_without_clients_has_no_workload() -> None:
    """And is judged by its assertions."""
    run = lab.simulate("bully", nodes=3, for_="3s")
    assert (run.workload, run.operations.operations, run.holds) == (None, (), True)


def test_wrong_clients() -> None:
    """Each mistake is named as an argument."""
    with pytest.raises(UserError, match=r"workload='lin-kw': unknown workload; .*did you mean lin-kv"):
        lab.simulate("bully", workload="lin-kw")
    with pytest.raises(UserError, match="bully does not handle Read, Write, Cas"):
        lab.simulate("bully", workload="lin-kv")
