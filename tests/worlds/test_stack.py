"""A task above an election, as one protocol: the election is a parameter, wherever a protocol is found by name."""

import inspect
import sys
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from msgspec import Struct

from lab.kernel import Payload, ProtocolError, Safe, on
from lab.protocols import (
    PROTOCOLS,
    TASKS,
    Algorithm,
    Bully,
    Election,
    Field,
    Ring,
    Task,
    UnknownProtocolError,
    find_protocol,
    source_of,
    stacked,
)
from lab.recording.records import Link, ProtocolInfo
from lab.tasks.bank.commit_history import decided_in
from lab.worlds.loading.config import RunConfig, branch_config, header_of
from lab.worlds.loading.settings import SettingError, parameters_of
from lab.worlds.loading.targets import (
    absolute_target,
    load_protocol,
    recorded_protocol,
    recorded_target,
)
from lab.worlds.loading.user_module import TargetError
from tests.harness import T_US, TIMING, Rig, simulated_header

ELECTIONS = [each for each in PROTOCOLS.values() if issubclass(each, Election)]
OTHERS = [each for each in PROTOCOLS.values() if not issubclass(each, Election)]
MINE = "from lab.protocols import Bully\nclass MyElection(Bully):\n    name = 'my-election'\n"
OWN_TASK = '''
from lab.protocols import ThreePhaseCommit

class MyCommit(ThreePhaseCommit):
    """Above the ring."""
    usual_election = "ring"

class Nowhere(ThreePhaseCommit):
    """The token elects nobody."""
    usual_election = "token"
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a user's election to the current folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE, "utf-8")
    return "mine.py:MyElection"


def _info(**parameters: object) -> ProtocolInfo:
    return ProtocolInfo("field", dict(parameters), "mine.py", "raise SystemExit('code out of a recording')")


@pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)
def test_a_stack_combines_both_layers(election: type[Election]) -> None:
    """The task's name; the promises, heartbeats and parameters of both; it is built once."""
    stack = stacked(Field, election)
    assert stack is stacked(Field, election)
    assert (stack.name, stack.upper_protocol, stack.__doc__) == ("field", Field, Field.__doc__)
    assert stack.promises == (*election.promises, *Field.promises)
    assert stack.relies_on == {**election.relies_on, **Field.relies_on}
    assert set(stack.heartbeats) == {*election.heartbeats, *Field.heartbeats}
    fields = {field.name: field.default for field in msgspec.structs.fields(stack.Parameters)}
    assert fields["election"] == election.name
    assert fields["regions"] == 64
    assert fields.keys() > {field.name for field in msgspec.structs.fields(election.Parameters)}


def test_the_parameters_of_an_election_keep_their_methods() -> None:
    """An election may call them."""
    for election in ELECTIONS:
        stack = stacked(Field, election)
        assert isinstance(stack.Parameters(), election.Parameters)
        assert stack.settles_within_us(TIMING, stack.Parameters(), 5) > 0


@pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)
def test_the_election_is_a_parameter(election: type[Election]) -> None:
    """As a name and parameters, as a target, and in a recording's header."""
    stack = stacked(Field, election)
    assert find_protocol("field", {"election": election.name}) is stack
    assert load_protocol(f"field above {election.name}") is stack
    header = simulated_header(stack, (1, 2, 3))
    assert (header.protocol.name, header.protocol.parameters) == ("field", {"election": election.name})
    assert recorded_protocol(header.protocol, None) is stack
    branch = branch_config(header, Path("parent.jsonl"), 3, "run", "branch.jsonl")
    assert load_protocol(branch.protocol) is stack


def test_the_default_election() -> None:
    """The header has its name."""
    stack = load_protocol("field")
    config = RunConfig("test", "field", (1, 2), TIMING, {}, Link(), 1, "", world="simulated")
    assert header_of(config, stack).protocol.parameters == {"election": "invitation"}


def test_above_an_election_of_the_users_own(mine: str) -> None:
    """Given by its file; the header has its name, and to re-execute it the file must be given again."""
    stack = load_protocol(f"field above {mine}")
    assert absolute_target(f"field above {mine}") == f"field above {Path('mine.py').resolve()}:MyElection"
    header = simulated_header(stack, (1, 2, 3))
    assert header.protocol.parameters == {"election": "my-election"}
    assert recorded_protocol(header.protocol, mine) is stack
    assert load_protocol(recorded_target(header.protocol, mine)) is stack
    with pytest.raises(TargetError, match=r"my-election \(under field\), is not built in: add --protocol"):
        recorded_protocol(header.protocol, None)
    with pytest.raises(TargetError, match=r"its protocol is other, and --protocol mine.py:MyElection is my-elec"):
        recorded_protocol(_info(election="other"), mine)
    rig = Rig((1, 2, 3), protocol=stack).started()
    assert rig.run_until_agreed() == 3


def test_no_file_that_a_recording_names_is_run(mine: str) -> None:
    """Neither to verify it nor to branch it."""
    Path("mine.py").write_text("raise SystemExit('it was run')\n", "utf-8")
    info = _info(election="./mine.py:MyElection")
    with pytest.raises(TargetError, match="is not built in"):
        recorded_protocol(info, None)
    with pytest.raises(TargetError, match="unknown protocol 'one-of-your-own'"):
        load_protocol(recorded_target(info))


@pytest.mark.parametrize("info", [_info(), _info(election="bully", regions=9)])
def test_a_recording_without_the_parameter(info: ProtocolInfo) -> None:
    """The election is the default one."""
    assert recorded_protocol(info, None).name == "field"


def test_mistakes() -> None:
    """One line: what was got, and what is known."""
    for target, message in (
        ("field above nope", "unknown protocol 'nope'; known: "),
        ("nope above bully", "'nope' does not run above an election; tasks: 3pc, e3pc, field"),
        ("field above field", "field runs above an election, and field is not one"),
        (f"field above {OTHERS[0].name}", f"field runs above an election, and {OTHERS[0].name} is not one"),
    ):
        with pytest.raises(TargetError) as caught:
            load_protocol(target)
        assert str(caught.value).startswith(message)
    with pytest.raises(
        UnknownProtocolError, match="field runs above an election, and 'nope' is not one; known: bul"
    ):
        find_protocol("field", {"election": "nope"})


def test_a_users_protocol_cannot_have_the_name_of_a_task(mine: str) -> None:
    """Its recordings would be taken for those of the built-in task."""
    Path("mine.py").write_text(MINE.replace("my-election", "field"), "utf-8")
    with pytest.raises(TargetError, match="has the name 'field', which is the name of a built-in protocol"):
        load_protocol(mine)


def test_a_task_of_the_users_own_is_above_its_usual_election(tmp_path: Path) -> None:
    """In a run and in its recording; setting another election is refused."""
    file = tmp_path / "mine.py"
    file.write_text(OWN_TASK, "utf-8")
    protocol = load_protocol(f"{file}:MyCommit")
    assert issubclass(protocol, Ring)
    assert (protocol.name, protocol.fixed_parameters) == ("my-commit", {"election": "ring"})
    rig = Rig((1, 2, 3), protocol=protocol).started()
    rig.run_until_agreed()
    rig.do("withdraw 350")
    rig.run(10 * T_US)
    assert decided_in(rig.cluster).count("committed") == 1
    info = rig.header.protocol
    assert recorded_protocol(info, f"{file}:MyCommit") is protocol
    with pytest.raises(TargetError, match=r"is not built in: add --protocol FILE\.py:MyCommit, with the path "):
        recorded_protocol(info, None)
    assert parameters_of(protocol, ["election=ring", "accounts=2"]) == {"election": "ring", "accounts": 2}
    with pytest.raises(
        SettingError,
        match="--set election=bully: my-commit runs above ring; to change that, set usual_election",
    ):
        parameters_of(protocol, ["election=bully"])
    with pytest.raises(TargetError, match="nowhere runs above an election, and token is not one"):
        load_protocol(f"{file}:Nowhere")


class _Hello(Payload, frozen=True):
    pass


class _OtherTask(Task):
    """It has a field and a message of an election's."""

    name: ClassVar[str] = "other"
    version: Safe[int] = 0


class _SetTask(Task):
    """It has a parameter of an election's."""

    name: ClassVar[str] = "set"

    class Parameters(Struct, frozen=True):
        check_every_us: int = 0

    @on(_Hello)
    def hello(self, sender: int, message: _Hello) -> None:
        pass


@pytest.mark.parametrize(
    ("task", "message"),
    [(_OtherTask, "both have version"), (_SetTask, "both have the parameter check_every_us; rename one")],
)
def test_clashing_names_are_refused(task: type[Task], message: str) -> None:
    """A field, a message, a procedure or a parameter that both have."""
    with pytest.raises(ProtocolError, match=message):
        stacked(task, Bully)


def test_the_source_is_that_of_all_layers() -> None:
    """First the election's file, whose lines keep their numbers; then the task's, each under its name."""
    file, source = source_of(stacked(Field, Ring))
    election = source_of(Ring)[1]
    assert file == "ring.py"
    assert source.startswith(election)
    named = [line for line in source[len(election) :].splitlines() if line.startswith("# ---- ")]
    assert named == ["# ---- field.py ----", "# ---- publishing.py ----"]


@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), *map(find_protocol, TASKS)], ids=lambda each: each.name)
def test_the_source_has_every_procedure(protocol: type[Algorithm]) -> None:
    """Including those of base classes: a recording has the lines where procedures wait."""
    source = source_of(protocol)[1]
    for name in protocol.procedures:
        layer = protocol if protocol.upper_protocol is None or hasattr(protocol, name) else protocol.upper_protocol
        assert inspect.getsource(getattr(layer, name)) in source


def test_every_task_has_a_name_of_its_own() -> None:
    """No protocol has the name of a task."""
    assert TASKS
    assert not TASKS.keys() & PROTOCOLS.keys()
