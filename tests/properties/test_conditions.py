"""The broken assumptions, their causes, and times. Each test checks what excuses a conflict of 1 and 2."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lab.kernel import Message, Received, Step
from lab.recording.records import Event, Injected, Routed, Stall
from tests.properties.recorded import WITHIN_US, Records, summaries


def excuses(records: Records) -> dict[int | str, str]:
    """Return the broken assumptions that excuse a conflict of 1 and 2 now."""
    before = len(records.violations)
    for node in (1, 2):
        records.enters(node, "Election", 0)
    records.normal(1, 1).normal(2, 2)
    clashes = [violation for violation in records.violations[before:] if violation.assertion == "A1.1"]
    assert clashes, "nobody offends"
    return {broken.assumption: broken.why for broken in clashes[-1].broken}


def rest(records: Records, us: int = 2 * WITHIN_US) -> Records:
    """Let all nodes agree, and time pass."""
    return records.normal(1, 1, 2, 3).after(us).fires(3)


LINK_FAULTS = [("lose", 8), ("partition", 8), ("hold", 8), ("delay", 8), ("duplicate", 3), ("reorder", 7)]


@pytest.mark.parametrize(("kind", "assumption"), LINK_FAULTS)
def test_a_fault_of_links_breaks_as_long_as_it_is_in_force(kind: str, assumption: int) -> None:
    """And until all nodes have come to rest after it; its text is the reason."""
    records = rest(Records())
    assert excuses(records) == {}
    number = rest(records).fault(kind, assumption)
    assert excuses(rest(records)) == {assumption: f"{kind} 1"}
    assert excuses(rest(records)) == {assumption: f"{kind} 1"}, "rest does not end a fault"
    records.lift(number)
    assert excuses(records) == {assumption: f"{kind} 1"}
    assert excuses(rest(records, WITHIN_US // 2)) == {assumption: f"{kind} 1"}, "that was too short"
    assert excuses(rest(records)) == {}


def test_a_fault_may_break_several_and_be_narrowed() -> None:
    """A second record with its number is not a second fault, and does not end it."""
    records = Records()
    number = records.fault("reorder", 7, 8)
    records.add(records.records[-1])
    assert excuses(rest(records)) == {7: "reorder 1", 8: "reorder 1"}
    assert excuses(rest(records.lift(number))) == {}


def test_a_fault_within_the_bounds_breaks_nothing() -> None:
    """A short delay, a kill, a restart."""
    records = Records()
    records.fault("delay")
    records.fault("kill", nodes=(3,))
    records.process(3, "killed").process(3, "started")
    assert excuses(records) == {}


def kinds(records: Records) -> dict[int | str, tuple[str, ...]]:
    """Return the kinds of the faults that broke what is broken now."""
    excuses(records)
    return {broken.assumption: broken.kinds for broken in records.violations[-1].broken}


def test_the_kinds_of_faults_that_broke_an_assumption() -> None:
    """Of all faults since it last held; a mere observation has no kind, and hides none."""
    records = Records()
    records.gets(1, 3, records.after(51_000).sends(3, 1))
    late = records.sends(3, 1)
    records.after(51_000).gets(1, 3, late)
    assert kinds(records) == {8: ()}
    number = records.fault("cut", 8)
    records.lift(number).fault("lose", 8)
    records.process(3, "paused").process(3, "resumed")
    assert kinds(records) == {8: ("cut", "lose"), 9: ("pause",)}
    late = records.sends(2, 1)
    records.after(51_000).gets(1, 2, late)
    assert kinds(records) == {8: ("cut", "lose"), 9: ("pause",)}
    assert kinds(rest(records.lift(2))) == {}


@pytest.mark.parametrize("event", ["resumed", "killed", "failed"])
def test_a_pause_breaks_9_from_its_observation(event: str) -> None:
    """However it ends, and whatever caused it; the command alone may have no effect."""
    records = Records()
    records.fault("pause", 9, nodes=(3, 2))
    assert excuses(records) == {}, "nothing has been paused"
    records.process(3, "paused")
    assert excuses(records) == {9: "pause of 3"}
    assert excuses(records.normal(1, 1, 2).after(9 * WITHIN_US).fires(2)) == {9: "pause of 3"}, "it still stands"
    records.process(3, event)  # type: ignore[arg-type]
    assert excuses(records) == {9: "pause of 3"}
    if event == "resumed":
        records.normal(1, 3)
    records.normal(1, 1, 2).after(2 * WITHIN_US).fires(2)
    assert excuses(records) == {}, "the command names node 2 as well, which was never paused"


def test_a_wipe_is_an_event_of_an_instant() -> None:
    """It is not in force afterwards, but has effects until the nodes have come to rest."""
    records = Records()
    records.process(3, "killed").fault("wipe", 4, nodes=(3, 2))
    assert excuses(records) == {}, "nothing has been wiped"
    records.process(3, "wiped").process(3, "started")
    assert excuses(records) == {4: "wipe of 3"}
    assert excuses(rest(records)) == {}


def test_a_late_message_breaks_8() -> None:
    """When it arrives late, and when it is overdue; a message in time does not."""
    records = Records()
    serial = records.sends(3, 1)
    assert excuses(records.after(50_000)) == {}
    assert excuses(records.after(1_000)) == {8: "a message of 3 to 1 has been in flight for 51ms"}
    records.gets(1, 3, serial)
    assert excuses(records) == {8: "a message of 3 took 51ms to 1"}
    assert excuses(rest(records)) == {}


def test_a_message_handled_too_slowly_breaks_9() -> None:
    """It may take Tm in flight and Tp at the node; more is not the network's fault."""
    records = Records()
    slow = records.fault("slow")
    first, second = records.sends(3, 1), records.sends(3, 1)
    for serial in (first, second):
        records.add(Routed(records.at_us, 3, serial, "delayed", by=(slow,)))
    records.after(70_000).gets(1, 3, first)
    assert excuses(records) == {}
    records.after(1_000)
    assert excuses(records) == {9: "a message of 3 to 1 has been in flight for 71ms"}
    records.lift(slow).gets(1, 3, second)
    assert excuses(records) == {9: "node 1 took 71ms over a message of 3"}
    assert excuses(rest(records)) == {}


def test_other_messages_break_8_during_a_slow_fault() -> None:
    """The fault did not touch the message, or another fault did."""
    records = Records()
    records.fault("slow")
    serial = records.sends(3, 1)
    assert excuses(records.after(51_000).gets(1, 3, serial)) == {8: "a message of 3 took 51ms to 1"}


def test_a_forged_message_breaks_3_when_it_is_received() -> None:
    """The command alone does not: the node may be down, or paused."""
    records = Records()
    forged = Message(3, 1, -records.fault("inject", 3), "Say", msgspec.Raw(b"{}"))
    records.add(Injected(records.at_us, forged))
    assert excuses(records) == {}
    records.gets(1, 3, forged.serial)
    assert excuses(records) == {3: "a forged message of 3 to 1"}
    assert excuses(rest(records)) == {}
    records.fault("inject", 3)
    records.add(Injected(records.at_us, replace(forged, serial=-2)))
    records.add(Routed(records.at_us, 3, -2, "dropped", "down"))
    assert excuses(records) == {}


def test_a_forged_message_has_no_cause() -> None:
    """It carries no knowledge of its source: the states of both may be concurrent."""
    records = Records().normal(1, 1)
    records.enters(1, "Election", 0)
    records.add(Injected(records.at_us, Message(1, 2, -1, "Say", msgspec.Raw(b"{}")))).gets(2, 1, -1)
    records.normal(2, 2)
    assert [each[:2] for each in summaries(records.violations)] == [("A1.1", (1, 2))]


def test_messages_to_a_dead_node_are_not_overdue() -> None:
    """Nor is one to a node outside the run."""
    records = Records()
    records.sends(1, 3)
    records.sends(1, 77)
    assert excuses(records.process(3, "killed").after(WITHIN_US)) == {}


@pytest.mark.parametrize("stood", [1, 3])
def test_a_message_that_waited_for_a_paused_node_breaks_9(stood: int) -> None:
    """A pause of the receiver or of the sender: 9, not 8."""
    records = Records().process(stood, "paused")
    serial = records.sends(3, 1)
    records.after(400_000).process(stood, "resumed").gets(1, 3, serial)
    assert excuses(records) == {9: f"pause of {stood}"}


def test_a_late_timer_breaks_9() -> None:
    """More than Tp after its time; not if the node was paused then, which has broken 9 already."""
    records = Records().waits(3, 100_000).after(120_000).fires(3)
    assert excuses(records) == {}
    records = Records().waits(3, 100_000).after(120_001).fires(3)
    assert excuses(records) == {9: "node 3 was 20ms late"}
    assert excuses(rest(records)) == {}
    records = Records().waits(3, 100_000).after(50_000).process(3, "paused").after(200_000)
    assert excuses(records.process(3, "resumed").fires(3)) == {9: "pause of 3"}


def test_a_wait_that_begins_after_its_end_is_not_late() -> None:
    """A procedure may wait for the rest of a time that is over: its timer is late from then on only."""
    records = Records().after(300_000).waits(3, 100_000).after(20_000).fires(3)
    assert excuses(records) == {}
    records = Records().after(300_000).waits(3, 100_000).after(20_001).fires(3)
    assert excuses(records) == {9: "node 3 was 20ms late"}


def test_a_stall_of_a_node_breaks_9() -> None:
    """What it delays is not late: a message that waited for the node, a timer of it. It is over as a pause is."""
    records = Records().waits(3, 100_000)
    serial = records.sends(1, 3)
    records.after(400_000).add(Stall(records.at_us, 390_000, 3)).gets(3, 1, serial).fires(3)
    assert excuses(records) == {9: "node 3 was not scheduled for 390ms"}
    assert excuses(rest(records)) == {}
    records.waits(3, records.at_us + 100_000).after(200_000).fires(3)
    assert excuses(records) == {9: "node 3 was 100ms late"}, "an earlier stall explains nothing"


def test_a_stall_of_the_host_breaks_8() -> None:
    """Nothing was delivered: neither what was in flight nor what the nodes sent meanwhile is late by itself."""
    records = Records()
    serial = records.sends(1, 3)
    records.after(400_000).add(Stall(records.at_us, 390_000))
    assert excuses(records) == {8: "the machine stood still for 390ms"}
    assert excuses(records.gets(3, 1, serial)) == {8: "the machine stood still for 390ms"}
    assert excuses(rest(records)) == {}


def test_a_stall_of_the_host_within_tm_breaks_nothing() -> None:
    """Every message could still arrive in time."""
    records = Records().after(100_000)
    assert excuses(records.add(Stall(records.at_us, 50_000))) == {}
    assert 8 in excuses(records.add(Stall(records.at_us, 50_001)))


def test_a_delay_longer_than_its_stall_is_late() -> None:
    """The stall explains no more than it lasted."""
    records = Records()
    serial = records.sends(1, 3)
    records.after(400_000).add(Stall(records.at_us, 100_000)).gets(3, 1, serial)
    assert excuses(records) == {8: "a message of 1 took 400ms to 3"}


ENDINGS: dict[str, Callable[[Records, int], object]] = {
    "arrives": lambda records, serial: records.gets(1, 3, serial),
    "dropped": lambda records, serial: records.add(Routed(records.at_us, 3, serial, "dropped", "down")),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_message_that_a_fault_touched_keeps_it_broken(ending: str) -> None:
    """Until all of its copies are gone: the fault has ended, its effect has not."""
    records = Records()
    number = records.fault("duplicate", 3)
    serial = records.sends(3, 1)
    records.add(Routed(0, 3, serial, "duplicated", by=(number,)))
    records.lift(number)
    ENDINGS[ending](records, serial)
    assert 3 in excuses(rest(records)), "one copy is still on its way"
    ENDINGS[ending](records, serial)
    assert excuses(rest(records)) == {}


@pytest.mark.parametrize("first", ENDINGS)
def test_a_late_copy_breaks_3_and_not_8(first: str) -> None:
    """However the original has ended; but while it is in flight, and when it arrives, it is late itself."""
    records = Records()
    number = records.fault("duplicate", 3)
    serial = records.sends(3, 1)
    records.add(Routed(0, 3, serial, "duplicated", by=(number,), due_us=400_000))
    records.lift(number).after(30_000)
    ENDINGS[first](records, serial)
    records.after(370_000)
    assert excuses(records) == {3: "duplicate 1"}, "the copy is on its way"
    records.gets(1, 3, serial)
    assert excuses(records) == {3: "duplicate 1"}
    assert excuses(rest(records)) == {}


def test_a_late_original_breaks_8_as_its_copy_does_not() -> None:
    """The copy ends after it."""
    records = Records()
    number = records.fault("duplicate", 3)
    serial = records.sends(3, 1)
    records.add(Routed(0, 3, serial, "duplicated", by=(number,), due_us=400_000))
    records.after(60_000)
    assert excuses(records) == {3: "duplicate 1", 8: "a message of 3 to 1 has been in flight for 60ms"}
    records.gets(1, 3, serial)
    assert excuses(records) == {3: "duplicate 1", 8: "a message of 3 took 60ms to 1"}
    records.after(340_000).gets(1, 3, serial)
    assert excuses(records) == {3: "duplicate 1", 8: "a message of 3 took 60ms to 1"}


def test_dropped_messages_and_harmless_faults_keep_nothing_broken() -> None:
    """No effect is pending."""
    records = Records()
    lossy, slow = records.fault("lose", 8), records.fault("delay")
    lost, delayed = records.sends(3, 1), records.sends(3, 2)
    records.add(Routed(0, 3, lost, "dropped", "lost", by=(lossy,)))
    records.add(Routed(0, 3, delayed, "delayed", by=(slow,)))
    records.lift(lossy).lift(slow).after(1).gets(2, 3, delayed)
    assert excuses(rest(records)) == {}


def test_no_rest_without_agreement() -> None:
    """Long after the fault, without agreement, what broke the assumption still counts."""
    records = Records()
    records.lift(records.fault("lose", 8)).enters(3, "Election", 0).after(5 * WITHIN_US)
    assert [each for each in summaries(records.normal(1, 1).normal(2, 2).violations) if each[0] == "A1.1"] == [
        ("A1.1", (1, 2), [8])
    ]


def test_a_forged_message_excuses_a_protocol_that_does_not_rely_on_3() -> None:
    """Such a protocol tolerates copies; but a forged message may contain anything, and its effect stays."""
    info: dict[str, Any] = {"promises": ("A3.1",), "relies_on": {"A3.1": (4,)}}
    copied = Records(**info)
    copied.fault("duplicate", 3)
    copied.grouped([1, 1], 1, 1).grouped([1, 1], 2, 2)
    assert [each[2] for each in summaries(copied.violations)] == [[]]
    forged = Records(**info)
    forged.add(Injected(0, Message(3, 1, -1, "Say", msgspec.Raw(b"{}")))).gets(1, 3, -1)
    forged.grouped([1, 1], 1, 1, 2, 3).after(3 * WITHIN_US).fires(3)
    forged.grouped([2, 1], 1, 1).grouped([2, 1], 2, 2)
    assert [each[2] for each in summaries(forged.violations)] == [[3]]


# stable storage


@pytest.mark.parametrize(
    ("event", "why", "kind"),
    [
        ("unwritten", "lost writes of 3", "unwrite"),
        ("torn", "a torn write of 3", "tear"),
        ("flipped", "a flipped bit of 3", "flip"),
    ],
)
def test_what_is_lost_or_damaged_in_storage_breaks_4(event: Event, why: str, kind: str) -> None:
    """From its observation until the nodes have come to rest; the command alone breaks nothing."""
    records = Records()
    records.process(3, "killed").fault(kind, 4, nodes=(3, 2))
    assert excuses(records) == {}, "nothing has happened to its storage"
    records.process(3, event).process(3, "started")
    assert excuses(records) == {4: why}
    assert kinds(records) == {4: (kind,)}
    assert excuses(rest(records)) == {}


@pytest.mark.parametrize(("event", "excused"), [("unwritten", [4]), ("torn", [4]), ("flipped", [])])
def test_what_was_lost_may_show_at_any_later_time(event: Event, excused: list[int]) -> None:
    """In identifiers that storage keeps unique; a flipped bit loses nothing, as the node does not start."""
    records = Records(promises=("A2", "A5")).grouped([1, 1], 1, 1)
    records.process(1, "killed").process(1, event).process(1, "started")
    rest(rest(records)).grouped([1, 2], 1, 1).grouped([1, 1], 1, 1)
    assert [each[2] for each in summaries(records.violations) if each[0] == "A5"] == [excused]


def _writes(records: Records, node: int, target: int, received: int = 0) -> int:
    """Let the node write stable storage and send a message, because of one of 3 if given; return its serial."""
    serial = records.sends(node, target)
    step = records.records[-1]
    assert isinstance(step, Step)
    given = Received(3, received) if received else step.input
    records.records[-1] = replace(step, stored={"version": serial}, input=given)
    return serial


def test_a_slow_disk_within_Tp_breaks_nothing() -> None:
    """What a step that writes sends may take Tm and Tp; so may what waits for a node that writes."""
    records = Records()
    records.fault("slow-disk", nodes=(1,))
    written, waits = _writes(records, 1, 3), records.sends(2, 1)
    records.after(70_000).gets(3, 1, written).gets(1, 2, waits)
    assert excuses(records) == {}


def test_a_slow_disk_beyond_Tp_breaks_9() -> None:
    """It is the disk that is late, not the network; what writes nothing is the network's, as ever."""
    records = Records()
    number = records.fault("slow-disk", nodes=(1,))
    written, plain = _writes(records, 1, 3), records.sends(1, 2)
    records.after(71_000).gets(3, 1, written)
    assert excuses(records) == {
        8: "a message of 1 to 2 has been in flight for 71ms",
        9: "a message of 1 to 3 took 71ms, over a slow disk",
    }
    records.gets(2, 1, plain)
    waits = records.sends(2, 1)
    records.lift(number).after(71_000).gets(1, 2, waits)
    assert excuses(records)[9] == "node 1 took 71ms over a message of 2"
    later = _writes(rest(records), 1, 3)
    assert excuses(records.after(51_000).gets(3, 1, later)) == {8: "a message of 1 took 51ms to 3"}


def test_a_wait_and_a_write_add_up() -> None:
    """A request may wait for one write, its answer for another: from its deadline on, they have Tp together."""
    for extra_us, broken in ((0, set()), (1_000, {9})):
        records = Records()
        records.fault("slow-disk", nodes=(1,))
        asked = records.sends(3, 1)
        records.after(65_000)
        answer = _writes(records, 1, 3, asked)
        records.after(55_000 + extra_us).gets(3, 1, answer)
        assert set(excuses(records)) == broken
