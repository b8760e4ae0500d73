"""The node that stands for a program: its steps follow from the lines that the program reads and writes."""

import json
from typing import Any

import pytest
from msgspec import Raw

from lab.kernel import CommandInput, Displayed, DriverError, Fired, Message, Node, Started, Step, Timing, Wrote
from lab.protocols import LENSES, Bully, Program
from lab.protocols.lenses import BullyLens, ElectionLens, InvitationLens, RaftLens, RingLens
from lab.recording.records import decode, encode

TIMING = Timing(1000, 1000)


class Talk:
    """The node 1 of three, as a host has it: what it shows, and the lines that its program reads."""

    def __init__(self, protocol: type[Program] = Program) -> None:
        self.node = Node(protocol, 1, (1, 2, 3), TIMING)
        self.state: dict[str, Any] = {}
        self.step = self.give(Started({}, 1, 1))

    def give(self, given: Started | Message | CommandInput | Wrote) -> Step:
        self.step = self.node.step(given, 0)
        self.state.update(self.step.changed)
        program = self.node.protocol
        assert isinstance(program, Program)
        self.lines = program.take_lines()
        return self.step

    def write(self, target: str, **body: Any) -> Step:
        return self.give(Wrote(json.dumps({"src": "n1", "dest": target, "body": body})))

    def receive(self, source: int, **body: Any) -> Step:
        return self.give(Message(source, 1, 1, "Any", Raw(json.dumps(body).encode())))

    def shown(self) -> tuple[Any, Any]:
        return self.state["status"], self.state["coordinator"]


def test_a_program_is_named_before_anything_else() -> None:
    """It is Down until it has answered init."""
    talk = Talk()
    assert json.loads(talk.lines[0])["body"]["type"] == "init"
    assert talk.shown() == ("Down", None)
    talk.write("c0", type="init_ok", in_reply_to=1)
    assert talk.shown() == ("Normal", None)
    assert talk.step.sent == ()


def test_what_it_writes_is_sent() -> None:
    """With serials as of every node."""
    talk = Talk()
    steps = [talk.write("n2", type="ping"), talk.write("n3", type="ping")]
    assert [(m.source, m.target, m.serial, m.kind) for step in steps for m in step.sent] == [
        (1, 2, 1, "Ping"),
        (1, 3, 2, "Ping"),
    ]


def test_what_it_receives_is_a_line() -> None:
    """With the name of its sender, and the body as that wrote it."""
    talk = Talk()
    talk.receive(2, type="ping", msg_id=3)
    assert [json.loads(line) for line in talk.lines] == [
        {"src": "n2", "dest": "n1", "body": {"type": "ping", "msg_id": 3}}
    ]


@pytest.mark.parametrize("text", ["n9", "3", "", "somebody", "x" * 10_000])
def test_a_message_to_nobody_is_noted(text: str) -> None:
    """And the program goes on."""
    talk = Talk()
    (note,) = talk.write(text, type="ping").notes
    assert note.startswith("to nobody, as there is no ")
    assert len(talk.write("n2", type="ping").sent) == 1


def test_a_line_that_is_no_message_is_noted() -> None:
    """And the program goes on: Maelstrom would not listen to it any more."""
    talk = Talk()
    (note,) = talk.give(Wrote("Traceback (most recent call last):")).notes
    assert note.startswith("not a message: Traceback")
    assert len(talk.write("n2", type="ping").sent) == 1


def test_its_log_is_no_message() -> None:
    """Not even if it looks like one."""
    talk = Talk()
    step = talk.give(Wrote('{"src":"n1","dest":"n2","body":{}}', log=True))
    assert (step.sent, step.notes) == ((), ())


def test_lab_state_is_shown() -> None:
    """Names or numbers of nodes; whatever else it says, as text."""
    talk = Talk()
    talk.write(
        "lab", type="lab_state", status="Normal", coordinator="n3", group=["n1", 3], definition=4, term=7, x=[1]
    )
    assert talk.shown() == ("Normal", 3)
    assert (talk.state["up"], talk.state["facts"]) == ([1, 3], ["term 7", "x [1]"])
    assert talk.state["definition"] == {"version": 4, "coordinator": 3, "members": [1, 3]}
    assert talk.step.sent == ()
    talk.write("lab", type="lab_state", status="Election", coordinator=None)
    assert talk.shown() == ("Election", None)


class Leaders(Program):
    """A lens with fields of its own."""

    term: Displayed[int] = 0
    voted_for: int | None = None


def test_lab_state_sets_the_fields_of_a_lens() -> None:
    """If the value has their type; what is none of them is a fact."""
    talk = Talk(Leaders)
    talk.write("lab", type="lab_state", term=7, voted_for=2, log=[1])
    assert (talk.state["term"], talk.state["voted_for"], talk.state["facts"]) == (7, 2, ["log [1]"])
    talk.write("lab", type="lab_state", term="8", voted_for=None)
    assert (talk.state["term"], talk.state["voted_for"], talk.state["facts"]) == (7, None, [])
    assert talk.step.notes == ("lab_state: 8 is no term",)


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ({"status": "Happy"}, "lab_state: Happy is no status"),
        ({"status": 3}, "lab_state: 3 is no status"),
        ({"status": []}, "lab_state: [] is no status"),
        ({"coordinator": "n9"}, "lab_state: n9 is no coordinator"),
        ({"coordinator": [1]}, "lab_state: [1] is no coordinator"),
        ({"group": ["n1", "n9"]}, 'lab_state: ["n1","n9"] is no group'),
        ({"definition": "new"}, "lab_state: new is no definition"),
    ],
)
def test_lab_state_that_is_not_understood_is_noted(body: dict[str, Any], note: str) -> None:
    """What was said, and what it is not."""
    assert note in Talk().write("lab", type="lab_state", **body).notes


def test_a_request_by_hand() -> None:
    """It comes from a client of this node's own, with a number of its own; the answer is noted."""
    talk = Talk()
    for number in (1, 2):
        talk.give(CommandInput("rpc", ('{"type":"read",', '"key":1}')))
        (line,) = talk.lines
        assert json.loads(line) == {
            "src": "c1",
            "dest": "n1",
            "body": {"type": "read", "key": 1, "msg_id": number},
        }
    (note,) = talk.write("c1", type="read_ok", value=3, in_reply_to=2).notes
    assert note == 'to client c1: {"type":"read_ok","value":3,"in_reply_to":2}'


@pytest.mark.parametrize("words", [("read",), ("{",), ("[]",), ("{}",), ('{"type":3}',), ("[" * 9999,)])
def test_a_request_by_hand_is_json(words: tuple[str, ...]) -> None:
    """An object with a type; the refusal shows one."""
    refusal = Program.refusal("rpc", words, (1, 2), Program.Parameters())
    assert refusal == 'write the body of a request as JSON: tell 1 rpc {"type":"read","key":1}'


def test_a_node_without_a_program_has_written_nothing() -> None:
    """A driver's mistake."""
    node = Node(Bully, 1, (1, 2), TIMING)
    node.step(Started({}, 1, 1), 0)
    with pytest.raises(DriverError, match="node 1 stands for no program"):
        node.step(Wrote("hello"), 0)


def test_a_node_of_a_program_has_no_timers() -> None:
    """The program has them."""
    talk = Talk()
    assert talk.node.next_timer() is None
    with pytest.raises(DriverError):
        talk.node.step(Fired("anything"), 0)


def test_the_line_is_in_the_record() -> None:
    """A step of a program is read back as it was written."""
    talk = Talk()
    for step in (talk.write("n2", type="ping"), talk.give(Wrote("oops", log=True))):
        assert decode(encode(step)).input == step.input  # type: ignore[union-attr]
    assert b'"input":{"type":"wrote","line":"oops","log":true}' in encode(step)


# lenses


def test_raft_follows_the_leader_of_the_newest_term() -> None:
    """Terms only grow; a leader of an older term is ignored."""
    talk = Talk(RaftLens)
    talk.write("c0", type="init_ok")
    assert talk.shown() == ("Election", None)
    talk.receive(2, type="append_entries", term=3)
    assert (talk.shown(), talk.state["term"]) == (("Normal", 2), 3)
    talk.receive(3, type="append_entries", term=2)
    assert talk.shown() == ("Normal", 2)
    talk.receive(3, type="request_vote", term=4)
    assert (talk.shown(), talk.state["term"]) == (("Election", None), 4)
    talk.write("n2", type="AppendEntries", term=4)
    assert talk.shown() == ("Normal", 1)
    talk.receive(3, type="append_entries_res", term="x")
    assert talk.shown() == ("Normal", 1)


def test_raft_is_not_in_the_term_of_a_pre_vote() -> None:
    """Its sender asks whether it could win there; the leader goes on in the old term, as with a snapshot."""
    talk = Talk(RaftLens)
    talk.write("c0", type="init_ok")
    talk.receive(2, type="install_snapshot", term=3)
    assert (talk.shown(), talk.state["term"]) == (("Normal", 2), 3)
    talk.write("n3", type="request_pre_vote", term=4)
    talk.receive(3, type="pre_vote_res", term=4)
    talk.receive(2, type="append_entries", term=3)
    assert (talk.shown(), talk.state["term"]) == (("Normal", 2), 3)


def test_bully_by_the_messages_of_the_listings() -> None:
    """Election, Reorganization, Normal: as a member, and as the coordinator."""
    talk = Talk(BullyLens)
    talk.receive(3, type="enter_election")
    assert talk.shown() == ("Election", None)
    talk.receive(3, type="SetCoordinator")
    assert talk.shown() == ("Reorganization", 3)
    talk.receive(3, type="new_state")
    assert talk.shown() == ("Normal", 3)
    for kind, status in (("set_coordinator", "Reorganization"), ("new_state", "Normal")):
        talk.write("n2", type=kind)
        assert talk.shown() == (status, 1)


def test_bully_follows_only_the_leader_that_has_halted_it() -> None:
    """Of two that elect, the higher one halts the lower, whose messages may still be on their way."""
    talk = Talk(BullyLens)
    talk.receive(2, type="enter_election")
    talk.receive(3, type="enter_election")
    talk.receive(2, type="set_coordinator")
    assert talk.shown() == ("Election", None)
    talk.receive(3, type="set_coordinator")
    talk.receive(2, type="new_state")
    assert talk.shown() == ("Reorganization", 3)
    talk.receive(3, type="new_state")
    talk.receive(2, type="set_coordinator")
    assert talk.shown() == ("Normal", 3)


def test_the_ring_by_its_two_messages() -> None:
    """The highest member leads, or the one that is named; a list that names nobody is noted."""
    talk = Talk(RingLens)
    talk.write("c0", type="init_ok")
    assert talk.shown() == ("Election", None)
    talk.receive(3, type="COORDINATOR", members=["n1", 2])
    assert (talk.shown(), talk.state["up"]) == (("Normal", 2), [1, 2])
    talk.write("n2", type="election", members=[1])
    assert (talk.shown(), talk.state["up"]) == (("Election", None), [])
    unnamed: list[dict[str, Any]] = [{}, {"members": "n3"}, {"members": ["n9", None, {}]}]
    for wrong in unnamed:
        talk.receive(3, type="coordinator", **wrong)
        assert talk.shown() == ("Election", None)
    talk.write("n2", type="coordinator", coordinator="n3")
    assert talk.shown() == ("Normal", 3)


def test_invitation_by_the_messages_of_the_listings() -> None:
    """A member, then the coordinator of a group of its own; what has no group is ignored."""
    talk = Talk(InvitationLens)
    talk.write("c0", type="init_ok")
    assert talk.shown() == ("Normal", 1)
    talk.receive(3, type="invitation", group=["n3", 7])
    assert talk.shown() == ("Normal", 1), "whether it accepts is not known yet"
    talk.write("n3", type="accept", group=["n3", 7])
    assert (talk.shown(), talk.state["group"]) == (("Reorganization", 3), [3, 7])
    talk.receive(3, type="ready", group=["n3", 6])
    assert talk.shown() == ("Reorganization", 3), "that is another group"
    talk.receive(3, type="ready", group=[3, 7])
    assert talk.shown() == ("Normal", 3)
    for kind, status in (("Invitation", "Election"), ("Ready", "Normal")):
        talk.write("n2", type=kind, group=["n1", 1])
        assert (talk.shown(), talk.state["group"]) == ((status, 1), [1, 1])
    for wrong in (None, "n1", ["n1"], ["n9", 1], ["n1", "x"], [[], 2]):
        talk.write("n2", type="accept", group=wrong)
        assert talk.state["group"] == [1, 1]


def test_an_election_reports_whom_it_follows() -> None:
    """Until then it is in Election, so that nothing is judged of a node that has said nothing."""
    talk = Talk(ElectionLens)
    talk.write("c0", type="init_ok")
    assert talk.shown() == ("Election", None)
    assert ElectionLens.promises


def test_every_lens_is_a_program_by_its_name() -> None:
    """``--lens raft`` is program-raft."""
    for name, lens in LENSES.items():
        assert lens.name == name
        assert lens.is_program
        assert name == "program" or name.startswith("program-")
