"""Two protocols in one cluster: simulated, judged, recorded, executed again, branched from."""

from pathlib import Path

import msgspec
import pytest

import lab
from lab.kernel import Step, Timing
from lab.properties.judge import Judge
from lab.protocols import Bully, Ring
from lab.recording.reader import open_recording
from lab.recording.records import Commanded, Expected, Header, Link
from lab.replay.line_trace import installed_protocol, trace_lines
from lab.replay.reexecution import reexecute
from lab.scenario.file import ScenarioError, scenario_in
from lab.scenario.from_recording import ScenarioSource, make_scenario
from lab.scenario.run_scenario import run_simulated
from lab.script.scope import CommandError
from lab.worlds.loading.config import RunConfig, header_of
from lab.worlds.loading.members import members_in
from lab.worlds.loading.settings import SettingError
from lab.worlds.loading.targets import load_protocol, recorded_protocols
from lab.worlds.loading.user_module import TargetError
from tests.profile import amount

FILE = Path(__file__).with_name("my_bully.py")
MINE = f"{FILE}:MyBully"
PROGRAM = Path(__file__).parents[1] / "programs" / "gossip.py"
FAULTS = "kill,pause,partition,delay,loss"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a cluster whose nodes 4 and 5 execute the user's version."""
    run = lab.simulate(
        "bully", 5, role={"4,5": MINE}, for_="12s", script="at 2s: kill 5\nat 6s: restart 5\nat 9s: tell 5 greet"
    )
    path = tmp_path_factory.mktemp("mixed") / "mixed.jsonl"
    run.save(path)
    return path


def _header(path: Path) -> Header:
    return open_recording(path).header


# what is recorded


def test_the_header_has_the_protocol_of_each_node(mixed: Path) -> None:
    header = _header(mixed)
    (role,) = header.members
    assert (role.nodes, role.protocol.name, role.protocol.file) == ((4, 5), "my-bully", "my_bully.py")
    assert "class MyBully(Bully):" in role.protocol.source
    assert [header.protocol_of(node).name for node in header.nodes] == [*["bully"] * 3, *["my-bully"] * 2]
    assert header.title == "bully (nodes 1-3), my-bully (nodes 4 5)"


def test_a_cluster_of_one_protocol_records_what_it_did_before() -> None:
    """Not one byte more, in the header either."""
    config = RunConfig("", "bully", (1, 2, 3), Timing(10, 1), {}, Link(), 1, "", world="simulated")
    fields = msgspec.json.decode(msgspec.json.encode(header_of(config, Bully)))
    assert [*fields][-4:] == ["nodes", "timing", "link", "seed"]


# how it runs


def test_versions_that_understand_each_other_elect_together(mixed: Path) -> None:
    run = lab.load(mixed, MINE)
    assert [each.coordinator for each in run.elections] == [5, 4, 5]
    assert run.holds
    assert not run.failures


def test_a_message_that_its_receiver_does_not_know_is_noted(mixed: Path) -> None:
    """So is one of a known kind with another payload; neither fails the node."""
    steps = [record for record in lab.load(mixed, MINE).records if isinstance(record, Step)]
    notes = {(step.node, note) for step in steps for note in step.notes}
    for node in (1, 2, 3):
        assert (node, "Greeting is not a message of this protocol") in notes
        assert any(each[0] == node and "NewState of node 5 has another payload here" in each[1] for each in notes)
    assert [step.node for step in steps if step.changed.get("greeted")] == [4]


@pytest.mark.parametrize("seed", range(1, 1 + amount(3, 100)))
def test_whatever_strikes_it_is_executed_again(seed: int, tmp_path: Path) -> None:
    """Two algorithms that do not understand each other, under drawn faults."""
    run = lab.simulate("bully", 5, role={"2": "ring", "4,5": "invitation"}, seed=seed, faults=FAULTS, for_="8s")
    run.save(tmp_path / "run.jsonl")
    store = open_recording(tmp_path / "run.jsonl")
    report = reexecute(store, Bully, store.header.protocol.source)
    assert not report.differences
    assert not report.source_differs
    assert report.steps > 50


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    for name in ("one", "other"):
        lab.simulate("ring", 4, role={"1": "bully"}, seed=3, for_="3s").save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


# how it is judged


def test_assumption_1_is_broken_throughout() -> None:
    """So what nobody promises of such a cluster is excused, and the verdict says why."""
    run = lab.simulate("bully", 5, role={"4,5": "ring"}, for_="20s")
    words = {verdict.assertion: verdict.word for verdict in run.verdicts}
    assert "fails" not in words.values()
    assert "excused" in words.values()
    violations = [verdict.first for verdict in run.verdicts if verdict.first is not None]
    for violation in violations:
        assert [(each.assumption, each.why) for each in violation.broken if each.assumption == 1] == [
            (1, "bully (nodes 1-3), ring (nodes 4 5)")
        ]


def test_the_judge_knows_it_from_the_header_on(mixed: Path) -> None:
    judge = Judge(_header(mixed))
    assert [each.assumption for each in judge.lasting] == [1]
    assert judge.ever_broken == {1}
    assert [*judge.broken_at(0)] == [1]
    for record in lab.load(mixed, MINE).records:
        judge.observe(record)
    assert 1 in judge.broken_at(judge.number)
    assert all(1 in relied for relied in judge.relies_on.values())


# what can be done with it


def test_its_source_has_to_be_loaded(mixed: Path) -> None:
    header = _header(mixed)
    assert recorded_protocols(header, MINE) is Bully
    with pytest.raises(TargetError, match=r"protocol, my-bully, is not built in: add --protocol my_bully\.py:My"):
        recorded_protocols(header, None)
    load_protocol(f"{FILE.parent / 'servers.py'}:Separate")
    with pytest.raises(TargetError, match="none of its nodes executes separate; its protocols are bully"):
        recorded_protocols(header, f"{MINE},{FILE.parent / 'servers.py'}:Separate")


def test_a_branch_goes_on_with_both(mixed: Path) -> None:
    branch = lab.load(mixed, MINE).branch("4s", script="at 5s: kill 4", for_="8s")
    assert branch.header.members == _header(mixed).members
    assert branch.elections[-1].coordinator == 3


def test_scripts_know_what_the_nodes_of_both_have() -> None:
    script = "on send Greeting 3->1: pause 1\nat 1s: tell 3 greet\nthen expect 3.greeted == 0 and 1 paused"
    run = lab.simulate("bully", 3, role={"3": MINE}, for_="4s", script=script)
    (expected,) = (record for record in run.records if isinstance(record, Expected))
    assert expected.met


def test_what_no_node_has_is_refused() -> None:
    run = lab.simulate("bully", 3, role={"3": MINE}, for_="1s", script="tell 1 greet")
    (refused,) = (record for record in run.records if isinstance(record, Commanded))
    assert (refused.refused, refused.outcome) == (True, "node 1 executes bully, which has no command greet")
    with pytest.raises(CommandError, match="no attribute colour"):
        run.branch("500ms", script="expect 3.colour == 3")
    with pytest.raises(CommandError, match="bully has no command nod; its commands are greet"):
        run.branch("500ms", script="tell 3 nod")


def test_the_executed_lines_are_those_of_the_own_source(mixed: Path) -> None:
    store = open_recording(mixed)
    header = store.header
    number, step = next(
        (number, record)
        for number, record in enumerate(store.records())
        if isinstance(record, Step) and record.changed.get("greeted")
    )
    lines = _traced(mixed, number)
    texts = header.protocol_of(step.node).source.split("\n")
    assert "        self.greeted += 1" in [texts[line - 1] for line in lines]


def _traced(path: Path, number: int) -> tuple[int, ...]:
    store = open_recording(path)
    step = store.record(number)
    assert isinstance(step, Step)
    running = trace_lines(store, number, installed_protocol(store.header.protocol_of(step.node)))
    while True:
        try:
            next(running)
        except StopIteration as end:
            found: tuple[int, ...] = end.value
            return found


# in scenarios

HEAD = """\
title = "Two versions"
protocol = "bully"
nodes = "5"
role = {role}
for = "8s"
---
"""


def test_a_scenario_has_roles(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(FILE.read_bytes())
    text = HEAD.format(role='{ "4,5" = "mine.py" }') + "at 2s: kill 5\nexpect all.coordinator == 4\n"
    report = run_simulated(scenario_in(text, tmp_path / "two.scenario"), tmp_path / "run.jsonl")
    assert report.passed
    assert _header(tmp_path / "run.jsonl").members[0].nodes == (4, 5)


@pytest.mark.parametrize(
    ("role", "error"),
    [
        ('{ "7" = "ring" }', '4:1: role = { "7" = "ring" }: there is no node 7; the nodes are 1-5'),
        ('{ "4" = "nix" }', "unknown protocol 'nix'"),
        ('"ring"', 'has the wrong type; for example: role = { "4,5" = "ring" }'),
    ],
)
def test_mistakes_in_a_head_have_their_place(role: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenario_in(HEAD.format(role=role) + "at 2s: kill 5\n", tmp_path / "two.scenario")
    assert error in str(raised.value)


def test_a_scenario_is_made_from_such_a_run(mixed: Path) -> None:
    made = make_scenario(
        ScenarioSource(mixed, MINE, mixed.parent, "Both"), shrink=False, on_progress=lambda text: None
    )
    assert 'role = { "4,5" = "' in made.text
    scenario = scenario_in(made.text, mixed.parent / "both.scenario")
    assert [(each.nodes, load_protocol(each.target).name) for each in scenario.members] == [((4, 5), "my-bully")]


# what is refused


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        (["4"], "write nodes and their protocol, such as --role 4,5=ring"),
        (["=ring"], "'' names no nodes; write their ids, as a list (4,5) or a range (4-6)"),
        (["5-4=ring"], "write the lower number first (4-5)"),
        (["4-7=ring"], "there is no node 7; the nodes are 1-5"),
        (["4,4=ring"], "node 4 is named twice"),
        (["4=ring", "3-5=token"], "node 4 has a role already"),
        (["1-5=ring"], "no node is left for bully"),
        (["4=bully"], "its protocol is bully, which the others execute, too"),
        (["4=token"], "token and bully do not do the same work"),
        (["4=field"], "field and bully do not do the same work"),
        (["4=./nothing"], "there is no such file; name a program, such as --role 4=./my_node"),
        ([f"4={FILE}:Nobody"], "has no class Nobody"),
        (["4=./nothing.py 7"], "there is no such file; name a program"),
        ([f"4={PROGRAM}"], f"of a program, give the command: --role 4=python3 {PROGRAM}"),
    ],
)
def test_a_mix_that_makes_no_sense_is_refused(texts: list[str], error: str) -> None:
    with pytest.raises(SettingError) as raised:
        members_in(texts, Bully, (1, 2, 3, 4, 5), {})
    assert str(raised.value).startswith("--role")
    assert error in str(raised.value)


def test_the_parameters_of_the_run_are_theirs_too() -> None:
    """As far as their protocol has them."""
    given = {"back_at": "the starter", "check_every_us": 5}
    assert given.keys() & {*Ring.Parameters.__struct_fields__} == {"back_at"}
    with pytest.raises(
        SettingError, match="--role 2=ring: the parameters of the run do not fit ring: Invalid enum"
    ):
        members_in(["2=ring"], Bully, (1, 2), given)
    (member,) = members_in([f"2={MINE}"], Bully, (1, 2), {"check_every_us": 5, "back_at": 1})
    assert member.parameters == {"check_every_us": 5}
