"""Which assumptions are broken, by what, from when to when. Each test looks at what excuses a clash of 1 and 2."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lab.kernel import Message
from lab.recording.records import Injected, Routed
from tests.properties.recorded import WITHIN_US, Records, said


def excuses(records: Records) -> dict[int, str]:
    """What is broken now, by what a clash of 1 and 2 at this instant is excused with."""
    before = len(records.violations)
    for node in (1, 2):
        records.says(node, "Election", 0)
    records.normal(1, 1).normal(2, 2)
    clashes = [violation for violation in records.violations[before:] if violation.assertion == "A1.1"]
    assert clashes, "nobody offends"
    return {broken.assumption: broken.why for broken in clashes[-1].broken}


def rest(records: Records, us: int = 2 * WITHIN_US) -> Records:
    """All nodes agree, and time passes."""
    return records.normal(1, 1, 2, 3).after(us).fires(3)


LINK_FAULTS = [("lose", 8), ("partition", 8), ("hold", 8), ("delay", 8), ("duplicate", 3), ("reorder", 7)]


@pytest.mark.parametrize(("kind", "assumption"), LINK_FAULTS)
def test_a_fault_of_links_breaks_as_long_as_it_is_in_force(kind: str, assumption: int) -> None:
    """And until all have come to rest after it; its text is the reason."""
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
    """A second record with its number is no second fault, and does not end it."""
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


def kinds(records: Records) -> dict[int, tuple[str, ...]]:
    """Which kinds of faults what is broken now is by."""
    excuses(records)
    return {broken.assumption: broken.kinds for broken in records.violations[-1].broken}


def test_what_broke_an_assumption_is_kept_by_its_kind() -> None:
    """Of all faults that did since it held last; what is only observed is of none, and hides none."""
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
def test_a_pause_breaks_9_from_where_it_is_seen(event: str) -> None:
    """However it ends, and whoever caused it; not the command, which may have struck nothing."""
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
    """It is not in force afterwards, and shows its effect until the nodes have come to rest."""
    records = Records()
    records.process(3, "killed").fault("wipe", 4, nodes=(3, 2))
    assert excuses(records) == {}, "nothing has been wiped"
    records.process(3, "wiped").process(3, "started")
    assert excuses(records) == {4: "wipe of 3"}
    assert excuses(rest(records)) == {}


def test_a_late_message_breaks_8() -> None:
    """When it arrives, and when it should have arrived and has not; one in time does not."""
    records = Records()
    serial = records.sends(3, 1)
    assert excuses(records.after(50_000)) == {}
    assert excuses(records.after(1_000)) == {8: "a message of 3 to 1 has been on its way for 51ms"}
    records.gets(1, 3, serial)
    assert excuses(records) == {8: "a message of 3 took 51ms to 1"}
    assert excuses(rest(records)) == {}


def test_a_message_that_a_slow_node_took_too_long_over_breaks_9() -> None:
    """It may take Tm to get there, and the node Tp over it; more is not the network's fault."""
    records = Records()
    slow = records.fault("slow")
    first, second = records.sends(3, 1), records.sends(3, 1)
    for serial in (first, second):
        records.add(Routed(records.at_us, 3, serial, "delayed", by=(slow,)))
    records.after(70_000).gets(1, 3, first)
    assert excuses(records) == {}
    records.after(1_000)
    assert excuses(records) == {9: "a message of 3 to 1 has been on its way for 71ms"}
    records.lift(slow).gets(1, 3, second)
    assert excuses(records) == {9: "node 1 took 71ms over a message of 3"}
    assert excuses(rest(records)) == {}


def test_what_a_slow_node_did_not_get_breaks_8_as_ever() -> None:
    """The fault is in force, but did not touch the message; or another had it before."""
    records = Records()
    records.fault("slow")
    serial = records.sends(3, 1)
    assert excuses(records.after(51_000).gets(1, 3, serial)) == {8: "a message of 3 took 51ms to 1"}


def test_a_forged_message_breaks_3_from_where_it_is_taken_in() -> None:
    """Not the command: the node may be down, or stand still."""
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


def test_a_forged_message_is_of_no_cause() -> None:
    """What its source did before is not known to its target by it: the states of both may be there at once."""
    records = Records().normal(1, 1)
    records.says(1, "Election", 0)
    records.add(Injected(records.at_us, Message(1, 2, -1, "Say", msgspec.Raw(b"{}")))).gets(2, 1, -1)
    records.normal(2, 2)
    assert [each[:2] for each in said(records.violations)] == [("A1.1", (1, 2))]


def test_what_waits_for_a_node_that_is_down_is_not_overdue() -> None:
    """A message to a node that is dead; one to no node of the run."""
    records = Records()
    records.sends(1, 3)
    records.sends(1, 77)
    assert excuses(records.process(3, "killed").after(WITHIN_US)) == {}


@pytest.mark.parametrize("stood", [1, 3])
def test_a_message_that_waited_for_a_paused_node_is_the_pause_s_fault(stood: int) -> None:
    """Whether the receiver or the sender stood still: 9, not 8."""
    records = Records().process(stood, "paused")
    serial = records.sends(3, 1)
    records.after(400_000).process(stood, "resumed").gets(1, 3, serial)
    assert excuses(records) == {9: f"pause of {stood}"}


def test_a_late_timer_breaks_9() -> None:
    """More than Tp after its time; not if the node was paused by then, which is broken already."""
    records = Records().waits(3, 100_000).after(120_000).fires(3)
    assert excuses(records) == {}
    records = Records().waits(3, 100_000).after(120_001).fires(3)
    assert excuses(records) == {9: "node 3 was 20ms late"}
    assert excuses(rest(records)) == {}
    records = Records().waits(3, 100_000).after(50_000).process(3, "paused").after(200_000)
    assert excuses(records.process(3, "resumed").fires(3)) == {9: "pause of 3"}


ENDINGS: dict[str, Callable[[Records, int], object]] = {
    "arrives": lambda records, serial: records.gets(1, 3, serial),
    "dropped": lambda records, serial: records.add(Routed(records.at_us, 3, serial, "dropped", "down")),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_message_that_a_fault_touched_keeps_it_broken(ending: str) -> None:
    """All of its copies must be gone: the fault is over, its effect is not."""
    records = Records()
    number = records.fault("duplicate", 3)
    serial = records.sends(3, 1)
    records.add(Routed(0, 3, serial, "duplicated", by=(number,)))
    records.lift(number)
    ENDINGS[ending](records, serial)
    assert 3 in excuses(rest(records)), "one copy is still on its way"
    ENDINGS[ending](records, serial)
    assert excuses(rest(records)) == {}


def test_what_a_fault_dropped_or_a_fault_that_breaks_nothing_touched_keeps_nothing() -> None:
    """There is no effect to come."""
    records = Records()
    lossy, slow = records.fault("lose", 8), records.fault("delay")
    lost, delayed = records.sends(3, 1), records.sends(3, 2)
    records.add(Routed(0, 3, lost, "dropped", "lost", by=(lossy,)))
    records.add(Routed(0, 3, delayed, "delayed", by=(slow,)))
    records.lift(lossy).lift(slow).after(1).gets(2, 3, delayed)
    assert excuses(rest(records)) == {}


def test_no_rest_without_agreement() -> None:
    """Long after the fault, and no two agree: what broke it still counts."""
    records = Records()
    records.lift(records.fault("lose", 8)).says(3, "Election", 0).after(5 * WITHIN_US)
    assert [each for each in said(records.normal(1, 1).normal(2, 2).violations) if each[0] == "A1.1"] == [
        ("A1.1", (1, 2), [8])
    ]


def test_a_forged_message_is_an_excuse_for_who_does_not_rely_on_3() -> None:
    """A copy does such a protocol no harm; but a forged message may say anything, and what it said stays."""
    info: dict[str, Any] = {"promises": ("A3.1",), "relies_on": {"A3.1": (4,)}}
    copied = Records(**info)
    copied.fault("duplicate", 3)
    copied.grouped([1, 1], 1, 1).grouped([1, 1], 2, 2)
    assert [each[2] for each in said(copied.violations)] == [[]]
    forged = Records(**info)
    forged.add(Injected(0, Message(3, 1, -1, "Say", msgspec.Raw(b"{}")))).gets(1, 3, -1)
    forged.grouped([1, 1], 1, 1, 2, 3).after(3 * WITHIN_US).fires(3)
    forged.grouped([2, 1], 1, 1).grouped([2, 1], 2, 2)
    assert [each[2] for each in said(forged.violations)] == [[3]]
