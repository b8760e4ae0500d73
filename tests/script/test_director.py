"""The director: each command fires once, at its trigger, in the order in which they were added."""

from msgspec import Raw

from lab.journal import Commanded, Process
from lab.kernel import Fired, Message, Step
from lab.script import Director, Scripted, parse
from tests.harness import T_US, Rig


def _director(*lines: str) -> Director:
    director = Director(lambda: 0)
    for line in lines:
        director.add(parse(line))
    return director


def _texts(commands: list[Scripted]) -> list[str]:
    return [scripted.text for scripted in commands]


def _message(kind: str, source: int = 1, target: int = 2) -> Message:
    return Message(source, target, 1, kind, Raw(b"{}"))


def test_at_an_instant() -> None:
    """What is due by now, in the order of the times; of equal times, as they were added."""
    director = _director("at 3s kill 3", "at 1s kill 1", "at 2s kill 2", "at 1s heal", "when all normal kill 5")
    assert director.next_due_us == 1_000_000
    assert director.due(999_999) == []
    assert _texts(director.due(2_500_000)) == ["kill 1", "heal", "kill 2"]
    assert director.next_due_us == 3_000_000
    assert _texts(director.due(2_500_000)) == []
    assert _texts(director.due(3_000_000)) == ["kill 3"]
    assert director.next_due_us is None


def test_on_a_message() -> None:
    """By its kind, and by its link where one is named; as it leaves or as it arrives."""
    director = _director(
        "on send NewState kill 1",
        "on deliver NewState kill 2",
        "on send NewState 1->2 kill 3",
        "on send NewState 1->3 kill 4",
        "on send Accept kill 5",
    )
    assert _texts(director.on("send", _message("NewState"))) == ["kill 1", "kill 3"]
    assert _texts(director.on("send", _message("NewState"))) == []
    assert _texts(director.on("deliver", _message("NewState"))) == ["kill 2"]
    assert _texts(director.on("send", _message("NewState", 1, 3))) == ["kill 4"]
    assert _texts(director.waiting) == ["kill 5"]


def test_a_command_that_is_given_twice_fires_twice() -> None:
    """On two messages, or at the same one, as often as it was added."""
    director = _director("on send NewState kill 1", "on send NewState kill 1")
    assert _texts(director.on("send", _message("NewState"))) == ["kill 1", "kill 1"]
    assert director.on("send", _message("NewState")) == []


def _normal(*nodes: int) -> Rig:
    rig = Rig(nodes).started()
    rig.settle()
    return rig


def test_when_all_are_normal() -> None:
    """At the first record after which it is so; a record that cannot change that is not looked at."""
    director = _director("when all normal kill 1", "when all normal heal")
    rig = _normal(1, 2)
    told = Step(5, 1, 1, Fired("check"), {"status": "Normal"})
    assert director.after(Step(5, 1, 1, Fired("check")), rig.log) == []
    assert director.after(Commanded(5, "heal", ""), rig.log) == []
    assert director.after(told, Rig((1, 2)).log) == []
    assert _texts(director.after(told, rig.log)) == ["kill 1", "heal"]
    assert director.after(told, rig.log) == []


def test_when_all_are_normal_already() -> None:
    """A command that is added then is due at once: None stands for whatever came before."""
    assert _texts(_director("when all normal heal").after(None, _normal(1, 2).log)) == ["heal"]
    assert _director("when all normal heal").after(None, Rig((1, 2)).log) == []


def test_a_process_may_make_all_normal() -> None:
    """The only one that was not is dead."""
    director = _director("when all normal heal")
    assert _texts(director.after(Process(5, 3, "killed"), _normal(1, 2).log)) == ["heal"]


def test_nothing_waits_nothing_is_due() -> None:
    """An empty director costs nothing."""
    director = _director()
    assert director.on("send", _message("NewState")) == []
    assert director.after(None, Rig((1,)).log) == []
    assert director.due(10**12) == []
    assert director.next_due_us is None


def test_in_a_run_each_fires_once_at_its_moment() -> None:
    """In the order of things: between two messages of one step too."""
    rig = Rig([1, 2, 3])
    rig.do(
        "when all normal: pause 1",
        "at 300ms resume 1",
        "on send NewState 3->1 cut 3->2",
        "on deliver NewState 3->1 heal",
    )
    rig.started()
    rig.run(20 * T_US)
    told = [record for record in rig.records if isinstance(record, Commanded)]
    assert [record.text for record in told] == [
        "on send NewState 3->1 cut 3->2",
        "on deliver NewState 3->1 heal",
        "when all normal: pause 1",
        "at 300ms resume 1",
    ] or [record.text for record in told][:2] == [
        "on send NewState 3->1 cut 3->2",
        "on deliver NewState 3->1 heal",
    ]
    assert all(record.changed for record in told)
    assert not rig.director.waiting
    (cut,) = [fault for fault in rig.cluster.lifted if fault.kind == "cut"]
    assert cut.messages == 1, "the cut came between 3's NewState to 1 and that to 2"


def test_triggers_one_after_the_other() -> None:
    """Each is looked for once the one before it has come; *after* counts from there, as does *all normal*."""
    rig = Rig([1, 2, 3], latency_us=10_000).started()
    rig.do(
        "when all normal after 300ms on send AreYouNormal 3->2 kill coordinator", "at 1s when all normal kill 2"
    )
    rig.settle()
    settled_us = rig.now_us
    rig.run_until(lambda: rig.cluster.nodes[3].process == "killed", 20 * T_US, "3 is killed")
    assert settled_us + 300_000 <= rig.now_us < settled_us + 300_000 + 2 * T_US
    (asked,) = [step for step in rig.steps if step.at_us == rig.now_us and step.sent]
    assert [message.target for message in asked.sent] == [1, 2]
    rig.run_until(lambda: rig.cluster.nodes[2].process == "killed", 20 * T_US, "2 is killed")
    assert rig.agreed() is None
    assert not rig.director.waiting


def test_a_cluster_that_is_normal_already_is_seen_at_the_next_record() -> None:
    """*when all normal* after another trigger does not wait for a change of status."""
    rig = Rig([1, 2]).started()
    rig.settle()
    rig.do("after 1s when all normal pause 1")
    rig.run(1_000_000 + 2 * T_US)
    assert rig.cluster.nodes[1].process == "paused"
