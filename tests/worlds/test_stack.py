"""A task above an election, as one protocol: chosen by a parameter, wherever a protocol is found by its name."""

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
from lab.worlds.config import RunConfig, branch_config, header_of
from lab.worlds.settings import SettingError, parameters_of
from lab.worlds.targets import TargetError, absolute_target, load_protocol, recorded_protocol, recorded_target
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
    """An election of the user's own, in the folder that the user is in."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE, "utf-8")
    return "mine.py:MyElection"


def _info(**parameters: object) -> ProtocolInfo:
    return ProtocolInfo("field", dict(parameters), "mine.py", "raise SystemExit('code out of a recording')")


@pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)
def test_a_stack_has_what_both_have(election: type[Election]) -> None:
    """The task's name; the promises, heartbeats and parameters of both; and it is made once."""
    stack = stacked(Field, election)
    assert stack is stacked(Field, election)
    assert (stack.name, stack.carries, stack.__doc__) == ("field", Field, Field.__doc__)
    assert stack.promises == (*election.promises, "A9")
    assert stack.relies_on == {**election.relies_on, "A9": (4,)}
    assert set(stack.heartbeats) == {*election.heartbeats, *Field.heartbeats}
    fields = {field.name: field.default for field in msgspec.structs.fields(stack.Parameters)}
    assert fields["election"] == election.name
    assert fields["regions"] == 64
    assert fields.keys() > {field.name for field in msgspec.structs.fields(election.Parameters)}


def test_the_parameters_of_an_election_keep_their_methods() -> None:
    """An election may ask them for something."""
    for election in ELECTIONS:
        stack = stacked(Field, election)
        assert isinstance(stack.Parameters(), election.Parameters)
        assert stack.settles_within_us(TIMING, stack.Parameters(), 5) > 0


@pytest.mark.parametrize("election", ELECTIONS, ids=lambda each: each.name)
def test_the_parameters_say_which_election(election: type[Election]) -> None:
    """As a name and parameters, as a target, and as a recording's header has it."""
    stack = stacked(Field, election)
    assert find_protocol("field", {"election": election.name}) is stack
    assert load_protocol(f"field above {election.name}") is stack
    header = simulated_header(stack, (1, 2, 3))
    assert (header.protocol.name, header.protocol.parameters) == ("field", {"election": election.name})
    assert recorded_protocol(header.protocol, None) is stack
    branch = branch_config(header, Path("parent.jsonl"), 3, "run", "branch.jsonl")
    assert load_protocol(branch.protocol) is stack


def test_without_a_word_it_is_the_usual_election() -> None:
    """And the header says which that is."""
    stack = load_protocol("field")
    config = RunConfig("test", "field", (1, 2), TIMING, {}, Link(), 1, "", world="simulated")
    assert header_of(config, stack).protocol.parameters == {"election": "invitation"}


def test_above_an_election_of_the_users_own(mine: str) -> None:
    """By its file; the header has its name, and to re-execute it the file has to be named again."""
    stack = load_protocol(f"field above {mine}")
    assert absolute_target(f"field above {mine}") == f"field above {Path('mine.py').resolve()}:MyElection"
    header = simulated_header(stack, (1, 2, 3))
    assert header.protocol.parameters == {"election": "my-election"}
    assert recorded_protocol(header.protocol, mine) is stack
    assert load_protocol(recorded_target(header.protocol, mine)) is stack
    with pytest.raises(TargetError, match=r"my-election, below the field, is not the program's: add --protocol"):
        recorded_protocol(header.protocol, None)
    with pytest.raises(TargetError, match=r"its protocol is other, and --protocol mine.py:MyElection is my-elec"):
        recorded_protocol(_info(election="other"), mine)
    rig = Rig((1, 2, 3), protocol=stack).started()
    assert rig.settle() == 3


def test_no_file_that_a_recording_names_is_run(mine: str) -> None:
    """Neither to verify it nor to branch it."""
    Path("mine.py").write_text("raise SystemExit('it was run')\n", "utf-8")
    info = _info(election="./mine.py:MyElection")
    with pytest.raises(TargetError, match="is not the program's"):
        recorded_protocol(info, None)
    with pytest.raises(TargetError, match="there is no protocol 'one-of-your-own'"):
        load_protocol(recorded_target(info))


@pytest.mark.parametrize("info", [_info(), _info(election="bully", regions=9)])
def test_what_a_recording_may_lack(info: ProtocolInfo) -> None:
    """The election is the usual one where it says nothing."""
    assert recorded_protocol(info, None).name == "field"


def test_mistakes_are_told() -> None:
    """In one line: what was named, what there is."""
    for target, said in (
        ("field above nope", "there is no protocol 'nope'; there is: "),
        ("nope above bully", "'nope' runs above no election; what does: 3pc, field"),
        ("field above field", "field runs above an election, and field is none"),
        (f"field above {OTHERS[0].name}", f"field runs above an election, and {OTHERS[0].name} is none"),
    ):
        with pytest.raises(TargetError) as caught:
            load_protocol(target)
        assert str(caught.value).startswith(said)
    with pytest.raises(
        UnknownProtocolError, match="field runs above an election, and 'nope' is none; there is: bul"
    ):
        find_protocol("field", {"election": "nope"})


def test_a_task_is_no_name_for_a_protocol_of_the_users_own(mine: str) -> None:
    """Or a recording of it would be taken for the program's."""
    Path("mine.py").write_text(MINE.replace("my-election", "field"), "utf-8")
    with pytest.raises(TargetError, match="has the name 'field', which is the program's own"):
        load_protocol(mine)


def test_a_task_of_the_users_own_is_above_its_usual_election(tmp_path: Path) -> None:
    """In a run and in a recording of it; another election is refused where it is to be set."""
    file = tmp_path / "mine.py"
    file.write_text(OWN_TASK, "utf-8")
    protocol = load_protocol(f"{file}:MyCommit")
    assert issubclass(protocol, Ring)
    assert (protocol.name, protocol.chosen) == ("my-commit", {"election": "ring"})
    rig = Rig((1, 2, 3), protocol=protocol).started()
    rig.settle()
    rig.do("withdraw 350")
    rig.run(10 * T_US)
    assert rig.cluster.outcomes.count("committed") == 1
    info = rig.header.protocol
    assert recorded_protocol(info, f"{file}:MyCommit") is protocol
    with pytest.raises(
        TargetError, match=r"is not the program's: add --protocol FILE\.py:MyCommit, with the path "
    ):
        recorded_protocol(info, None)
    assert parameters_of(protocol, ["election=ring", "accounts=2"]) == {"election": "ring", "accounts": 2}
    with pytest.raises(SettingError, match="--set election=bully: my-commit is above ring: set usual_election in"):
        parameters_of(protocol, ["election=bully"])
    with pytest.raises(TargetError, match="nowhere runs above an election, and token is none"):
        load_protocol(f"{file}:Nowhere")


class _Hello(Payload, frozen=True):
    """A message."""


class _OtherTask(Task):
    """It has a field and a message of an election's."""

    name: ClassVar[str] = "other"
    version: Safe[int] = 0


class _SetTask(Task):
    """It has a parameter of an election's."""

    name: ClassVar[str] = "set"

    class Parameters(Struct, frozen=True):
        """One."""

        check_every_us: int = 0

    @on(_Hello)
    def hello(self, sender: int, message: _Hello) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("task", "said"),
    [(_OtherTask, "both have version"), (_SetTask, "both have the parameter check_every_us; rename one")],
)
def test_what_both_have_is_refused(task: type[Task], said: str) -> None:
    """A field, a message, a procedure or a parameter of the same name."""
    with pytest.raises(ProtocolError, match=said):
        stacked(task, Bully)


def test_the_source_is_that_of_all_layers() -> None:
    """First the election's file, whose lines keep their numbers; then the task's, each below its name."""
    file, source = source_of(stacked(Field, Ring))
    below = source_of(Ring)[1]
    assert file == "ring.py"
    assert source.startswith(below)
    named = [line for line in source[len(below) :].splitlines() if line.startswith("# ---- ")]
    assert named == ["# ---- field.py ----", "# ---- publishing.py ----"]


@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), *map(find_protocol, TASKS)], ids=lambda each: each.name)
def test_the_source_has_every_procedure(protocol: type[Algorithm]) -> None:
    """Those of its bases too: a recording has the lines at which they waited, of which another file has others."""
    source = source_of(protocol)[1]
    for name in protocol.procedures:
        layer = protocol if protocol.carries is None or hasattr(protocol, name) else protocol.carries
        assert inspect.getsource(getattr(layer, name)) in source


def test_every_task_has_a_name_of_its_own() -> None:
    """No protocol is called like a task."""
    assert TASKS
    assert not TASKS.keys() & PROTOCOLS.keys()
