"""ShiViz accepts the export, and draws the arrows of the run."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from lab.export.excerpt import ExportError, ExportOptions
from lab.export.traces import write_shiviz
from lab.kernel import Received, Step
from tests.export.fault_recordings import SHIPPED, exported, runs, windows
from tests.export.shiviz_rules import Event, NotTakenError, arrows_in, events_in
from tests.harness import T_US, Rig
from tests.profile import amount

_SENT = re.compile(r"(?:^|; |: )sends (\w+) #(\d+) to (\d+)")
_GOT = re.compile(r": gets (\w+) #(\d+) from (\d+)")
_HEAD = "(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})\n\n"
_Message = tuple[str, int]


def _sent(event: Event) -> list[_Message]:
    return [(event.host, int(number)) for _, number, _ in _SENT.findall(event.text)]


def _got(event: Event) -> _Message | None:
    found = _GOT.search(event.text)
    return None if found is None else (f"node{found[3]}", int(found[2]))


def _knowledge(events: list[Event]) -> dict[tuple[str, int], dict[str, int]]:
    """Return the clocks, computed from the messages sent and received in the texts."""
    clocks: dict[str, dict[str, int]] = {}
    carried: dict[_Message, dict[str, int]] = {}
    found = {}
    for event in events:
        clock = clocks.setdefault(event.host, {})
        clock[event.host] = clock.get(event.host, 0) + 1
        message = _got(event)
        for host, entry in carried.get(message, {}).items() if message is not None else ():
            clock[host] = max(clock.get(host, 0), entry)
        carried |= {sent: dict(clock) for sent in _sent(event)}
        found[event.place] = dict(clock)
    return found


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recording_is_accepted(path: Path) -> None:
    """With and without heartbeats; each clock has exactly what messages have told its node."""
    for options in (ExportOptions(), ExportOptions(heartbeats=True)):
        events = events_in(exported(write_shiviz, path, options))
        assert {event.place: event.clock for event in events} == _knowledge(events)


@given(runs(), windows())
@settings(max_examples=amount(quick=15, soak=300))
def test_any_window_of_any_run_is_accepted(
    tmp_path_factory: pytest.TempPathFactory, rig: Rig, options: ExportOptions
) -> None:
    """With all kinds of faults, any window and any nodes: messages cut by the window add no knowledge."""
    path = rig.write(tmp_path_factory.mktemp("run") / "run.jsonl")
    try:
        file = exported(write_shiviz, path, options)
    except ExportError as error:
        if "no events from" not in str(error) and "nothing was recorded" not in str(error):
            raise
        return
    events = events_in(file)
    assert {event.place: event.clock for event in events} == _knowledge(events)
    if options.nodes:
        assert {event.host for event in events} <= {f"node{node}" for node in options.nodes}


def test_every_received_message_is_an_arrow(tmp_path: Path) -> None:
    """If no message overtakes or follows another, ShiViz draws one for each step that received a message."""
    rig = Rig([1, 2]).started()
    rig.run(20 * T_US)
    events = events_in(exported(write_shiviz, rig.write(tmp_path / "run.jsonl"), ExportOptions(heartbeats=True)))
    taken = [step for step in rig.steps if isinstance(step.input, Received)]
    sent_by = {(message.source, message.serial): step for step in rig.steps for message in step.sent}
    alone = [step for step in taken if len(sent_by[step.input.source, step.input.serial].sent) == 1]  # type: ignore[union-attr]
    assert len(alone) > 10
    assert len(arrows_in(events)) >= len(alone)
    assert sum(_got(event) is not None for event in events) == len(taken)


def test_each_step_that_sends_or_receives_is_an_event(tmp_path: Path) -> None:
    """The texts have as many messages as the records, lost and duplicated ones included."""
    rig = Rig([1, 2, 3], jitter_us=30_000).started()
    rig.do("duplicate all 50%", "at 500ms: lose all 30%", "at 900ms: kill 3", "at 2s: restart 3")
    rig.run(60 * T_US)
    events = events_in(exported(write_shiviz, rig.write(tmp_path / "run.jsonl"), ExportOptions(heartbeats=True)))
    assert sum(len(_sent(event)) for event in events) == sum(len(step.sent) for step in rig.steps)
    got = [step for step in rig.steps if isinstance(step.input, Received)]
    assert sum(_got(event) is not None for event in events) == len(got)
    assert "(lost)" in "".join(event.text for event in events)
    assert sum(event.text.endswith(": killed") for event in events) == 1


def test_heartbeats_are_left_out(tmp_path: Path) -> None:
    """Unless they are asked for; a step with nothing else is no event then."""
    rig = Rig([1, 2]).started()
    rig.run(40 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    few, all_ = (
        len(events_in(exported(write_shiviz, path, ExportOptions(heartbeats=options))))
        for options in (False, True)
    )
    heartbeats = set(rig.header.protocol.heartbeats)
    steps = [step for step in rig.steps if any(message.kind in heartbeats for message in step.sent)]
    assert few < all_ - len(steps) // 2


def test_a_window_without_events_is_refused(tmp_path: Path) -> None:
    """ShiViz does not accept an empty log."""
    rig = Rig([1, 2]).started()
    rig.run(40 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    beats = rig.header.protocol.heartbeats
    silent_us = next(step.at_us for step in rig.steps[::-1] for message in step.sent if message.kind in beats)
    with pytest.raises(ExportError, match=r"no events from .* until .*: choose a longer window"):
        exported(write_shiviz, path, ExportOptions(from_us=silent_us, until_us=silent_us + 1000))


def test_foreign_text_is_never_parsed_as_a_clock(tmp_path: Path) -> None:
    """Notes and kinds may hold braces, newlines and escape codes: each event keeps one line of text."""
    rig = Rig([1, 2]).started()
    rig.run(5 * T_US)
    nasty = 'x {"node1":9}\nnode1 {"node1":1}\r\u2028\x1b[2J'
    for number, record in enumerate(rig.records):
        if isinstance(record, Step):
            messages = tuple(replace(each, kind=nasty) for each in record.sent)
            rig.records[number] = replace(record, notes=(nasty,), sent=messages)
    file = exported(write_shiviz, rig.write(tmp_path / "run.jsonl"))
    assert len(events_in(file)) > 5
    assert "\x1b" not in file


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ('a\na {"a":2}\n', "a counts"),
        ('a\na {"a":1}\nb\na {"a":3}\n', "a counts"),
        ('a\na {"a":1,"b":1}\n', "which is nowhere"),
        ('a\na {"a":1,"b":2}\nb\nb {"b":1}\n', "event 2 of b"),
        ('a\na {"b":1}\n', "its own clock"),
        ('a\nb {"b":1}\n\n', ""),
        ('a b\na {"a":1}\nx {"x":1}\nb {"b":1}\n', "taken for something else"),
        ('a\nthe host {"a":1}\n', "no events"),
        ('a\r\na {"a":1}\r\n', "CRLF"),
        ('a\na {"a":1,"b":1}\nb\nb {"b":1,"a":1}\n', "know of each other"),
        ('a\na {"a":1}\nb\nb {"b":1,"a":1}\nc\nc {"c":1,"b":1}\n', "should know"),
        ("", "no events"),
    ],
)
def test_the_checker_rejects_invalid_logs(log: str, why: str) -> None:
    """Otherwise the tests above would prove nothing."""
    if why:
        with pytest.raises(NotTakenError, match=why):
            events_in(_HEAD + log)
    else:
        events_in(_HEAD + log)
