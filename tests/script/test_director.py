"""The director: each line is due once, after its triggers have fired and its predecessor is done."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from lab.kernel import Message, Step
from lab.recording.records import Captioned, Commanded, Expected, Fault, Injected, Process, Record
from lab.script.director import Director
from lab.script.parse import parse, read_script
from lab.script.statements import Statement
from lab.worlds.loading.targets import load_protocol
from tests.harness import T_US, Rig

SECOND_US = 1_000_000


def _director(*lines: str, rig: Rig | None = None, now_us: int = 0) -> Director:
    run = rig or Rig((1, 2, 3))
    run.now_us = now_us or run.now_us
    director = Director(run)
    for line in lines:
        director.add(parse(line))
    return director


def _script(text: str, rig: Rig | None = None) -> Director:
    director = _director(rig=rig)
    director.add_script(read_script(text))
    return director


def _texts(lines: list[Statement]) -> list[str]:
    return [line.text for line in lines]


def _message(kind: str, source: int = 1, target: int = 2) -> Message:
    return Message(source, target, 1, kind, Raw(b"{}"))


def _played(script: str, nodes: int = 3, us: int = 4 * SECOND_US, **more: Any) -> Rig:
    """A run of that script, to its end."""
    rig = Rig(range(1, nodes + 1), **more)
    rig.director.add_script(read_script(script))
    rig.started()
    rig.run(us)
    rig.finish()
    return rig


def _came(rig: Rig) -> list[tuple[int, str]]:
    """The lines that came, each with its number, in their order; of an expectation what became of it."""
    found = []
    for record in rig.records:
        if isinstance(record, Commanded | Captioned):
            found.append((record.line, record.text.rpartition(": ")[2]))
        elif isinstance(record, Expected):
            found.append((record.line, "met" if record.met else f"not met, {record.why}".rstrip(", ")))
    return found


def _numbers(rig: Rig) -> list[int]:
    return [number for number, _ in _came(rig)]


def _when(rig: Rig, line: int) -> int:
    """When this line was done."""
    (at_us,) = (
        record.at_us
        for record in rig.records
        if isinstance(record, Commanded | Captioned | Expected) and record.line == line
    )
    return at_us


# single lines


def test_at_a_time() -> None:
    """In the order of times; lines of the same time in the order of addition."""
    director = _director("at 3s kill 3", "at 1s kill 1", "at 2s kill 2", "at 1s heal", "when all normal kill 5")
    assert director.next_due_us == 1_000_000
    assert director.due(999_999) == []
    assert _texts(director.due(2_500_000)) == ["kill 1", "heal", "kill 2"]
    assert director.next_due_us == 3_000_000
    assert _texts(director.due(2_500_000)) == []
    assert _texts(director.due(3_000_000)) == ["kill 3"]
    assert director.next_due_us is None


def test_after_counts_from_the_time_the_line_was_added() -> None:
    """A single line has no predecessor."""
    director = _director("after 2s kill 3", now_us=5 * SECOND_US)
    assert director.next_due_us == 7 * SECOND_US


def test_every_repeats() -> None:
    """It keeps its period; after a leap of the clock it comes once."""
    director = _director("every 2s kill 3")
    assert director.due(1_999_999) == []
    assert _texts(director.due(2 * SECOND_US)) == ["kill 3"]
    assert director.next_due_us == 4 * SECOND_US
    assert _texts(director.due(11 * SECOND_US)) == ["kill 3"]
    assert director.next_due_us == 12 * SECOND_US


def test_on_a_message() -> None:
    """By its kind, and by its link if one is given; as it is sent, delivered or dropped."""
    director = _director(
        "on send NewState kill 1",
        "on deliver NewState kill 2",
        "on send NewState 1->2 kill 3",
        "on send NewState 1->3 kill 4",
        "on send Accept kill 5",
        "on drop NewState kill 6",
    )
    assert _texts(director.on_message("send", _message("NewState"))) == ["kill 1", "kill 3"]
    assert _texts(director.on_message("send", _message("NewState"))) == []
    assert _texts(director.on_message("deliver", _message("NewState"))) == ["kill 2"]
    assert _texts(director.on_message("drop", _message("NewState"))) == ["kill 6"]
    assert _texts(director.on_message("send", _message("NewState", 1, 3))) == ["kill 4"]
    assert _texts(director.on_message("send", _message("Accept"))) == ["kill 5"]


def test_the_nth_message_is_counted_from_the_start_of_the_wait() -> None:
    """Messages on other links, and earlier ones, do not count."""
    director = _director("on send NewState 1->2 #2 kill 1", "after 1s on send NewState #2 kill 2")
    assert director.on_message("send", _message("NewState")) == []
    assert director.on_message("send", _message("NewState", 3, 2)) == []
    director.due(SECOND_US)
    assert _texts(director.on_message("send", _message("NewState"))) == ["kill 1"]
    assert _texts(director.on_message("send", _message("NewState"))) == ["kill 2"]


def test_a_command_that_is_given_twice_runs_twice() -> None:
    """On two messages, or on the same one, as often as it was added."""
    director = _director("on send NewState kill 1", "on send NewState kill 1")
    assert _texts(director.on_message("send", _message("NewState"))) == ["kill 1", "kill 1"]
    assert director.on_message("send", _message("NewState")) == []


def test_a_predicate_that_holds_already_fires_at_once() -> None:
    rig = Rig((1, 2)).started()
    rig.run_until_agreed()
    assert _texts(_director("when all normal heal", rig=rig).on_record(None)) == ["heal"]
    assert _texts(_director("when all normal: when 2 leads: heal", rig=rig).on_record(None)) == ["heal"]
    assert _director("when 1 leads heal", rig=rig).on_record(None) == []


def test_a_predicate_is_not_evaluated_before_all_nodes_have_been_started() -> None:
    """Otherwise ``4 down`` would hold in every run, and an invariant would be violated at its start."""
    rig = _played("when any down: heal\nwhen live < 3: heal\nexpect always live == 3\nexpect never any down")
    assert _came(rig) == [(3, "met"), (4, "met")]


def test_on_a_status() -> None:
    """As a node enters it, even for an instant; it enters Down as its process ends."""
    rig = _played(
        "on status 1 Reorganization: heal\non status any Normal: heal\non status 3 Down: heal\n"
        "on status 1 Down: heal\nat 2s: kill 3"
    )
    assert sorted(_numbers(rig)) == [1, 2, 3, 5]
    assert _when(rig, 1) < _when(rig, 2) < _when(rig, 3) == _when(rig, 5) == 2 * SECOND_US


def test_on_drop() -> None:
    """As the network loses a message, or as it reaches a node that is down."""
    rig = _played('lose 3->1 NewState 100%\non drop NewState 3->1: say "lost"')
    assert _numbers(rig) == [1, 2]
    rig = _played('when all normal: kill 1\non drop AreYouNormal 3->1: say "nobody was there"')
    assert _numbers(rig) == [1, 2]


def test_a_line_that_is_added_late_knows_the_suspicions() -> None:
    """The requests that wait for an answer at that time count."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run_until(
        lambda: any(3 in wait.peers for view in rig.cluster.nodes.values() for wait in view.waits if view.id == 1),
        20 * T_US,
        "1 asks 3",
    )
    rig.do('when 1 suspects 3: say "it has noticed"')
    assert rig.director.needs_records
    rig.run_until(lambda: any(isinstance(record, Captioned) for record in rig.records), 3 * T_US, "1 suspects 3")


def test_an_empty_director_needs_no_records() -> None:
    director = _director()
    assert not director.needs_records
    assert director.on_message("send", _message("NewState")) == []
    assert director.on_record(None) == []
    assert director.due(10**12) == []
    assert director.next_due_us is None


def test_a_director_that_waits_only_for_the_clock_needs_no_records() -> None:
    """Nor does one whose lines have all run."""
    assert not _director("at 2s kill 5", "every 3s kill 4").needs_records
    director = _director("on send NewState kill 5")
    assert director.needs_records
    director.on_message("send", _message("NewState"))
    assert not director.needs_records


# scripts


def test_lines_follow_each_other() -> None:
    """A line that has no trigger, or begins with then or after, waits until the line before it is done."""
    rig = _played(
        "# a sequence\n"
        "when all normal: kill 3\n"
        'then when 2 leads: say "2 leads"\n'
        "restart 3\n"
        "after 500ms: kill 1\n"
        "then restart 1\n"
    )
    assert _numbers(rig) == [2, 3, 4, 5, 6]
    assert _when(rig, 2) < _when(rig, 3) == _when(rig, 4)
    assert _when(rig, 5) == _when(rig, 6) == _when(rig, 4) + 500_000


def test_lines_with_a_trigger_wait_independently() -> None:
    """From the start of the run, in any order."""
    rig = _played('at 2s: say "b"\nat 1s: say "a"\non send AreYouUp: say "0"')
    assert _numbers(rig) == [3, 2, 1]


def test_a_first_line_without_a_trigger_runs_at_once() -> None:
    """Expectations of the whole run before it do not delay it."""
    rig = _played("expect always live >= 2\nkill 1\nexpect 1 down within 1s")
    assert _came(rig) == [(2, "kill 1"), (3, "met"), (1, "met")]
    assert _when(rig, 2) == 0


def test_a_long_script_without_triggers_runs() -> None:
    """However many lines are due at the same time."""
    rig = _played("\n".join(f'say "{number}"' for number in range(500)), us=1000)
    assert len(_numbers(rig)) == 500


def test_every_after_other_triggers() -> None:
    """Its period starts after the triggers before it; the line after it runs once, after its first execution."""
    rig = _played('when all normal every 300ms: say "a"\nthen say "b"')
    assert _numbers(rig)[:4] == [1, 2, 1, 1]
    at_us = [record.at_us for record in rig.records if isinstance(record, Captioned) and record.line == 1]
    assert {later - earlier for earlier, later in pairwise(at_us)} == {300_000}


def test_a_line_waits_until_the_crash_of_its_predecessor_is_recorded() -> None:
    """For each process, even if it is restarted in between."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
    director = _script("at 1s: kill 2 3\nheal\nkill 1", rig)
    (kill,) = director.due(SECOND_US)
    director.line_started(kill, (1, 2, 3), ("killed", "failed"))
    assert director.line_done(kill, (2, 3)) == []
    assert director.needs_records
    assert director.on_record(_seen(rig, Process(2 * SECOND_US, 2, "killed"))) == []
    assert director.on_record(_seen(rig, Process(2 * SECOND_US, 2, "started", 2))) == []
    (heal,) = director.on_record(_seen(rig, Process(2 * SECOND_US, 3, "failed")))
    assert heal.text == "heal"
    director.line_started(heal, (), ())
    assert _texts(director.line_done(heal)) == ["kill 1"]


def test_process_records_during_the_execution_of_a_line_count() -> None:
    """A kill that another line undoes at once was a kill, in simulation and live."""
    rig = _played('when all normal: kill 3\nsay "after"\nwhen 3 down: restart 3')
    assert sorted(_numbers(rig)) == [1, 2, 3]


def test_a_line_triggered_by_the_record_of_a_fault() -> None:
    """The fault has its number and is in force; a line that ends it ends it."""
    rig = _played("when 1->2 cut: cut 3->1\nwhen all normal: cut 1->2", nodes=3)
    faults = [record for record in rig.records if isinstance(record, Fault)]
    assert [(fault.id, fault.text, fault.line) for fault in faults] == [(1, "cut 1->2", 2), (2, "cut 3->1", 1)]
    assert {number: rule.links for number, rule in rig.network.rules.items()} == {1: {(1, 2)}, 2: {(3, 1)}}

    rig = _played("when 1->2 cut: heal 1->2\nwhen all normal: cut 1->2", nodes=3)
    assert [(fault.id, fault.lifted) for fault in rig.records if isinstance(fault, Fault)] == [
        (1, False),
        (1, True),
    ]
    assert not rig.network.rules


@pytest.mark.parametrize("strike", ["heal", "cut 2->1"])
def test_a_line_that_ends_a_fault_which_the_current_line_is_about_to_end(strike: str) -> None:
    """Each link fault ends once."""
    rig = _played(
        f"when all normal: cut 1->2\nthen cut 2->1\nthen heal\nwhen 1->2 cut when not 1->2 cut: {strike}"
    )
    assert sorted(_numbers(rig)) == [1, 2, 3, 4]
    lifted = [record.id for record in rig.records if isinstance(record, Fault) and record.lifted]
    assert lifted == [1, 2]
    assert list(rig.network.rules) == ([] if strike == "heal" else [3])


def test_two_messages_forged_within_each_others_records() -> None:
    """Each has its own serial number."""
    rig = _played("when faults == 1: inject 1->3 AreYouUp\nwhen all normal: inject 2->3 AreYouUp")
    forged_payload = [record.message.serial for record in rig.records if isinstance(record, Injected)]
    assert sorted(forged_payload) == [-2, -1]


def _seen(rig: Rig, record: Record) -> Record:
    rig.log.append(record)
    return record


def test_a_line_sees_the_messages_that_its_predecessor_causes() -> None:
    """Of a restart and of a forged message; and the status that a kill causes."""
    rig = _played(
        """when all normal: kill 2
        then when 1.coordinator == 3 and all normal: restart 2
        then on send AreYouUp 2->3: mark "2 asks 3"
        then inject 1->3 AreYouUp
        then on deliver AreYouUp 1->3: mark "forged"
        kill 2
        then on status 2 Down: mark "dead\""""
    )
    assert sorted(_numbers(rig)) == [1, 2, 3, 4, 5, 6, 7]


def test_records_that_never_come_are_not_awaited() -> None:
    """A kill of a node that is already down; the line after it waits for its message."""
    rig = _played('kill 2\nthen when live == 2: kill 2\nthen on status 1 Normal: mark "1 is Normal"')
    assert _numbers(rig) == [1, 2, 3]


def test_a_step_that_only_stores_can_fire_a_predicate() -> None:
    """A pledge of the field is only in stable storage, and stored before the vote is sent."""
    stacked = load_protocol("field above bully")
    rig = _played('when all normal: publish\nthen when 1.pledge != none: mark "pledged"', protocol=stacked)
    pledged = next(record for record in rig.records if isinstance(record, Captioned))
    steps = [record for record in rig.records if isinstance(record, Step) and record.node == 1]
    assert pledged.at_us == next(step.at_us for step in steps if step.stored.get("pledge") is not None)


def test_a_single_line_has_no_successor() -> None:
    director = _script("at 1s: kill 2\nheal")
    director.line_started(parse("kill 2"), (), ())
    assert director.line_done(parse("kill 2")) == []
    (kill,) = director.due(SECOND_US)
    director.line_started(kill, (), ())
    assert _texts(director.line_done(kill)) == ["heal"]
    assert director.line_done(kill) == []


def test_a_line_that_becomes_due_during_the_execution_of_another() -> None:
    """Commands make records, and records make lines due: each once, and none is lost."""
    rig = _played(
        "when all normal: kill 3\n"
        "when 3 down: kill 2\n"
        'when 2 down: say "all gone but 1"\n'
        'when live == 1: say "one left"\n'
        'on status any Down: say "down"\n'
    )
    assert sorted(_numbers(rig)) == [1, 2, 3, 4, 5]


# expectations


def test_expect_within_counts_from_the_line_before_it() -> None:
    """Met as soon as it holds; then the next line starts."""
    rig = _played('when all normal: kill 3\nexpect 2 leads within 2s\nthen say "x"')
    assert _came(rig) == [(1, "kill 3"), (2, "met"), (3, "x")]
    assert _when(rig, 1) < _when(rig, 2) == _when(rig, 3) < _when(rig, 1) + 2 * SECOND_US


def test_nothing_follows_an_expectation_that_timed_out() -> None:
    """Its deadline is exact."""
    rig = _played('at 1s: kill 3\nexpect 3 leads within 700ms\nthen say "x"\nafter 1s: say "y"\nexpect all up')
    assert _came(rig) == [(1, "kill 3"), (2, "not met, timed out"), (5, "not met")]
    assert _when(rig, 2) == 1_700_000


def test_a_deadline_beyond_the_end_of_the_run() -> None:
    """It can no longer be met, and is reported so."""
    rig = _played("at 3s: kill 3\nexpect 3 leads within 700s")
    assert _came(rig)[1:] == [(2, "not met, the run ended")]


def test_an_expectation_that_holds_already_is_met_at_once() -> None:
    """At the time of the line before it."""
    rig = _played("at 2s: kill 1\nexpect 3 leads within 0s\nexpect 1 down within 1s")
    assert _came(rig) == [(1, "kill 1"), (2, "met"), (3, "met")]
    assert _when(rig, 1) == _when(rig, 3)


def test_expect_with_a_trigger_is_evaluated_at_that_time() -> None:
    """Also after then; without either it is evaluated at the end."""
    rig = _played(
        "when all normal: kill 3\nthen expect 2 leads\nat 3s: expect 2 leads\n"
        "expect all.coordinator == 2\nexpect 3 up"
    )
    assert _came(rig) == [(1, "kill 3"), (2, "not met"), (3, "met"), (4, "met"), (5, "not met")]


def test_expect_always_is_decided_when_it_is_violated_or_at_the_end() -> None:
    """Only once."""
    rig = _played(
        "at 2s: kill 3\nexpect always 3 up\nexpect never groups > 3\nexpect never 3 down\nexpect always live > 1"
    )
    assert sorted(_came(rig)) == [(1, "kill 3"), (2, "not met"), (3, "met"), (4, "not met"), (5, "met")]


def test_the_line_after_expect_always_starts_at_once() -> None:
    """Only once: the expectation itself is decided at the end."""
    rig = _played("when all normal: expect never 3 down\nthen kill 2\nexpect always 2 down")
    assert [each for each in _came(rig) if each[0] != 3] == [(2, "then kill 2"), (1, "met")]
    rig = _played('kill 2\nthen expect always 2 down\nthen kill 1\nthen say "x"')
    assert _numbers(rig) == [1, 3, 4, 2]


def test_after_the_end_nothing_waits() -> None:
    rig = _played("at 9s: kill 3\nwhen 3 down: kill 2\nthen kill 1\nexpect always 3 up\nexpect 3 up within 100s")
    assert not rig.director.needs_records
    assert rig.director.next_due_us is None


# in a run


def test_in_a_run_each_line_runs_once_at_the_right_time() -> None:
    """In order, also between two messages of one step."""
    rig = Rig([1, 2, 3])
    rig.do(
        "when all normal: pause 1",
        "at 300ms resume 1",
        "on send NewState 3->1 cut 3->2",
        "on deliver NewState 3->1 heal",
    )
    rig.started()
    rig.run(20 * T_US)
    commands = [record for record in rig.records if isinstance(record, Commanded)]
    assert [record.text for record in commands][:2] == [
        "on send NewState 3->1 cut 3->2",
        "on deliver NewState 3->1 heal",
    ]
    assert sorted(record.text for record in commands[2:]) == ["at 300ms resume 1", "when all normal: pause 1"]
    assert not rig.director.needs_records
    assert rig.director.next_due_us is None
    (cut,) = [fault for fault in rig.cluster.lifted if fault.kind == "cut"]
    assert cut.messages == 1, "the cut came between 3's NewState to 1 and that to 2"


def test_triggers_one_after_the_other() -> None:
    """The wait for each starts when the one before it has fired; *after* counts from there."""
    rig = Rig([1, 2, 3], latency_us=10_000).started()
    rig.do(
        "when all normal after 300ms on send AreYouNormal 3->2 kill coordinator", "at 1s when all normal kill 2"
    )
    rig.run_until_agreed()
    settled_us = rig.now_us
    rig.run_until(lambda: rig.cluster.nodes[3].process == "killed", 20 * T_US, "3 is killed")
    assert settled_us + 300_000 <= rig.now_us < settled_us + 300_000 + 2 * T_US
    (asked,) = [step for step in rig.steps if step.at_us == rig.now_us and step.sent]
    assert [message.target for message in asked.sent] == [1, 2]
    rig.run_until(lambda: rig.cluster.nodes[2].process == "killed", 20 * T_US, "2 is killed")
    assert rig.agreed() is None
    assert not rig.director.needs_records
    assert rig.director.next_due_us is None


def test_a_later_trigger_that_holds_already_fires_at_once() -> None:
    """*when all normal* after another trigger does not wait for a change, nor for the next record."""
    rig = Rig([1, 2]).started()
    rig.run_until_agreed()
    rig.do("at 1s when all normal pause 1")
    rig.run(SECOND_US)
    (paused,) = [record for record in rig.records if isinstance(record, Commanded)]
    assert paused.at_us == SECOND_US


@pytest.mark.parametrize("seed", range(3))
def test_two_runs_of_a_script_are_the_same(seed: int) -> None:
    """The director uses no clock and no randomness."""
    script = "when all normal: kill 3\nthen when 1 suspects 3: restart 3\nexpect all.coordinator == 3 within 3s"
    one, other = (_played(script, seed=seed, jitter_us=5_000) for _ in range(2))
    assert one.records == other.records


def test_cancel_ends_what_repeats_and_what_waits_by_hand() -> None:
    """Not the lines of the script that wait, nor expectations; afterwards there is nothing to cancel."""
    rig = Rig((1, 2, 3)).started()
    script = 'every 1s: mark "tick"\nat 4s: mark "script"\nexpect all normal within 9s'
    rig.director.add_script(read_script(script))
    by_hand = ('at 3s: mark "late"', 'when 3 down: mark "down"', 'on send NewState: mark "sent"')
    rig.run(2_500_000)
    rig.do(*by_hand, 'on status 1 Election: mark "status"', 'on store 1: mark "store"', "expect never 1 down")
    assert rig.do("cancel") == "6 lines cancelled"
    nothing = rig.control.execute(parse("cancel"))
    assert not nothing.changed
    assert nothing.text == "no line repeats, and none given by hand waits; nothing changed"
    rig.do("kill 3")
    rig.run(3 * SECOND_US)
    assert [record.text for record in rig.records if isinstance(record, Captioned)] == ["tick", "tick", "script"]
    assert [record.met for record in rig.records if isinstance(record, Expected)] == [True]


def test_a_line_that_waits_for_a_predicate_can_be_withdrawn() -> None:
    """The last such line that was added, at any of its triggers; no line of the script."""
    rig = Rig((1, 2, 3)).started()
    text = "when not 3 down: when 3 down: kill 2"
    rig.do("when 3 down: heal", text)
    director, line = rig.director, parse(text)
    assert not director.withdraw(parse("when 3 down: kill 1"))
    assert not director.withdraw(replace(line, line=1))
    assert director.withdraw(line)
    assert not director.withdraw(line)
    rig.do("kill 3")
    rig.run(SECOND_US)
    killed = [record.node for record in rig.records if isinstance(record, Process) and record.event == "killed"]
    assert killed == [3]
    assert "when 3 down: heal" in [record.text for record in rig.records if isinstance(record, Commanded)]
