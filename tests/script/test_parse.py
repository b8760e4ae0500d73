"""Parsing commands: every verb and trigger, error messages, and that nothing else is ever raised."""

import contextlib
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.protocols import PROTOCOLS
from lab.script import predicates as p
from lab.script import values as v
from lab.script.commands import (
    Answer,
    Cancel,
    Caption,
    Command,
    Heal,
    Inject,
    LinkFault,
    LinkSet,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    SlowDisk,
    WorldCommand,
)
from lab.script.parse import LONGEST, parse, read_script
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.scope import CommandError
from lab.script.statements import (
    After,
    At,
    BeforeMessage,
    Every,
    Expect,
    Expectation,
    ExpectThroughout,
    ExpectViolation,
    OnMessage,
    OnStatus,
    OnStore,
    Trigger,
    When,
)
from lab.script.verbs import VERBS

PIN = ("a", "b|c", "3%", "#x")
ALL = Nodes((), ("all",))
ONE_TWO = LinkSet(Nodes((1,)), Nodes((2,)))
ALL_NORMAL = p.Is("all", "normal")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("kill 5", NodeCommand("kill", Nodes((5,)))),
        ("restart 1 2", NodeCommand("restart", Nodes((1, 2)))),
        ("pause 1, 2,3", NodeCommand("pause", Nodes((1, 2, 3)))),
        ("resume all", NodeCommand("resume", ALL)),
        ("wipe coordinator 4", NodeCommand("wipe", Nodes((4,), ("coordinator",)))),
        ("delay 1->2 400ms", LinkFault("delay", ONE_TWO, 400_000)),
        ("delay 1->2 1.5s ±100ms", LinkFault("delay", ONE_TWO, 1_500_000, 100_000)),
        ("delay 1->2 1.5s +-100ms", LinkFault("delay", ONE_TWO, 1_500_000, 100_000)),
        ("lose all 30%", LinkFault("lose", LinkSet(ALL), probability=0.3)),
        ("lose 1 2 0.5%", LinkFault("lose", LinkSet(Nodes((1, 2))), probability=0.005)),
        ("cut 1<->2", LinkFault("cut", LinkSet(Nodes((1,)), Nodes((2,)), both=True))),
        ("cut 1 2->3,4", LinkFault("cut", LinkSet(Nodes((1, 2)), Nodes((3, 4))))),
        ("cut coordinator->all", LinkFault("cut", LinkSet(Nodes((), ("coordinator",)), ALL))),
        ("duplicate all 20%", LinkFault("duplicate", LinkSet(ALL), probability=0.2)),
        ("duplicate all 20% 2s", LinkFault("duplicate", LinkSet(ALL), 2_000_000, probability=0.2)),
        ("reorder 1->2 50%", LinkFault("reorder", ONE_TWO, 100_000, probability=0.5)),
        ("reorder 1->2 50% 7ms", LinkFault("reorder", ONE_TWO, 7_000, probability=0.5)),
        ("partition 1 2 | 3 4 5", Partition((Nodes((1, 2)), Nodes((3, 4, 5))))),
        ("partition 1-2 7 | 3-5", Partition((Nodes((1, 2, 7)), Nodes((3, 4, 5))))),
        ("partition 1", Partition((Nodes((1,)),))),
        ("partition 1|2|3", Partition((Nodes((1,)), Nodes((2,)), Nodes((3,))))),
        ("heal", Heal()),
        ("heal 1->2", Heal(ONE_TWO)),
        ("heal coordinator", Heal(LinkSet(Nodes((), ("coordinator",))))),
        ("kill coordinators", NodeCommand("kill", Nodes((), ("coordinators",)))),
        ("tell 5 publish", ProtocolCommandLine(Nodes((5,)), "publish")),
        (
            "tell 1, 2 coordinators pin a b|c 3% #x",
            ProtocolCommandLine(Nodes((1, 2), ("coordinators",)), "pin", PIN),
        ),
        ("cancel", Cancel()),
        ("freeze", WorldCommand("freeze")),
        ("go", WorldCommand("go")),
        ("speed 0.1", WorldCommand("speed", factor=0.1)),
        ("speed 10x", WorldCommand("speed", factor=10.0)),
        ("speed max", WorldCommand("speed", factor=None)),
        ("step", WorldCommand("step")),
        ("step 12", WorldCommand("step", count=12)),
        ("deliver 3->1", WorldCommand("deliver", source=3, node=1)),
        ("deliver 3->1 AreYouUp", WorldCommand("deliver", source=3, node=1, kind="AreYouUp")),
        ("fire 2", WorldCommand("fire", node=2)),
        ("choose 2", WorldCommand("choose", count=2)),
        ("slow 4 300ms ±1ms", Slow(Nodes((4,)), 300_000, 1_000)),
        ("slow-disk 4 5 20ms", SlowDisk(Nodes((4, 5)), 20_000)),
        ("unwrite 4 last 2", NodeCommand("unwrite", Nodes((4,)), 2)),
        ("flip all", NodeCommand("flip", ALL)),
        (
            "lose 1->2 AreYouUp NewState 30%",
            LinkFault("lose", ONE_TWO, probability=0.3, kinds=("AreYouUp", "NewState")),
        ),
        ("delay 1->2 NewState 1ms", LinkFault("delay", ONE_TWO, 1_000, kinds=("NewState",))),
        ("hold 1->2", LinkFault("hold", ONE_TWO)),
        ("hold all Accept", LinkFault("hold", LinkSet(ALL), kinds=("Accept",))),
        ("release", Heal(None, "release")),
        ("release 1->2", Heal(ONE_TWO, "release")),
        ("join 1->2", Heal(ONE_TWO, "join")),
        ("inject 1->3 AreYouUp", Inject(1, 3, "AreYouUp")),
        ('inject 1->3 Accept {"a": {"b": [1]}}', Inject(1, 3, "Accept", '{"a": {"b": [1]}}')),
        ('say "4 is # here"', Caption("say", "4 is # here")),
        ('mark "when all normal: kill 5"', Caption("mark", "when all normal: kill 5")),
    ],
)
def test_every_command(text: str, command: Command) -> None:
    """The text is kept as it was written, with single spaces."""
    spread = text if '"' in text else text.replace(" ", "  ")
    scripted = parse(f"  {spread} ")
    assert scripted.command == command
    assert scripted.trigger is None
    assert scripted.text == scripted.source == text


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("after 300ms", After(300_000)),
        ("at 2s", At(2_000_000)),
        ("at 1500us", At(1_500)),
        ("at 2m", At(120_000_000)),
        ("every 2s", Every(2_000_000)),
        ("when all normal", When(ALL_NORMAL)),
        ("on drop NewState #3", OnMessage("drop", "NewState", nth=3)),
        ("on send NewState 4->1 #2", OnMessage("send", "NewState", 4, 1, 2)),
        ("on status 4 Election", OnStatus(4, "Election")),
        ("on status any Normal", OnStatus("any", "Normal")),
        ("before send Accept 3->1", BeforeMessage("send", "Accept", 3, 1)),
        ("before deliver Accept #3", BeforeMessage("deliver", "Accept", None, None, 3)),
        ("on store 4", OnStore(4)),
        ("on store any #2", OnStore("any", 2)),
        ("on send EnterElection", OnMessage("send", "EnterElection")),
        ("on deliver NewState 4->1", OnMessage("deliver", "NewState", 4, 1)),
    ],
)
@pytest.mark.parametrize("colon", ["", ":", " :"])
def test_every_trigger(text: str, trigger: Trigger, colon: str) -> None:
    """With a colon or without; the command's own text does not include it."""
    scripted = parse(f"{text}{colon} kill 5")
    assert scripted.trigger == trigger
    assert scripted.command == NodeCommand("kill", Nodes((5,)))
    assert (scripted.text, scripted.source) == ("kill 5", f"{text}{colon} kill 5")


NORMAL_4 = p.Is(4, "normal")
ONE, TWO, THREE = map(v.Number, (1, 2, 3))


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("any leads", p.Is("any", "leads")),
        ("coordinator paused", p.Is("coordinator", "paused")),
        ("4 suspects 7", p.Suspects(4, 7)),
        ("2->3 cut", p.LinkIs(2, 3)),
        ("all.coordinator == 4", p.Compare("==", v.Attribute("all", "coordinator"), v.Number(4))),
        ("4.status != Normal", p.Compare("!=", v.Attribute(4, "status"), v.Text("Normal"))),
        ("4.normal == true", p.Compare("==", v.Attribute(4, "normal"), v.Text("true"))),
        ("groups <= 2", p.Compare("<=", v.Count("groups"), TWO)),
        ("messages(Accept) > 2", p.Compare(">", v.Count("messages", "Accept"), TWO)),
        ("flying(Accept 3->1) < 2", p.Compare("<", v.Count("flying", "Accept", 3, 1), TWO)),
        ("held(3->1) >= 2", p.Compare(">=", v.Count("held", "", 3, 1), TWO)),
        ("1 + 2 * 3 == 1", p.Compare("==", v.Arithmetic("+", ONE, v.Arithmetic("*", TWO, THREE)), ONE)),
        ("(1 + 2) * 3 == 1", p.Compare("==", v.Arithmetic("*", v.Arithmetic("+", ONE, TWO), THREE), ONE)),
        ("1 - 2 - 3 == 1", p.Compare("==", v.Arithmetic("-", v.Arithmetic("-", ONE, TWO), THREE), ONE)),
        ("not 4 normal", p.Not(NORMAL_4)),
        ("not 4 normal and 4 normal", p.And((p.Not(NORMAL_4), NORMAL_4))),
        ("not (4 normal and 4 normal)", p.Not(p.And((NORMAL_4, NORMAL_4)))),
        ("4 normal or all normal and 4 normal", p.Or((NORMAL_4, p.And((ALL_NORMAL, NORMAL_4))))),
        ("(4 normal or all normal) and 4 normal", p.And((p.Or((NORMAL_4, ALL_NORMAL)), NORMAL_4))),
        ("((4 normal))", NORMAL_4),
    ],
)
def test_every_predicate(text: str, predicate: p.Predicate) -> None:
    """*and* binds tighter than *or*; operators as in arithmetic."""
    assert parse(f"when {text}: kill 5").trigger == When(predicate)
    assert parse(f"expect always {text}").command == ExpectThroughout(predicate, always=True)


@pytest.mark.parametrize(
    ("text", "expectation"),
    [
        ("expect all normal", Expect(ALL_NORMAL)),
        ("expect all normal within 2s", Expect(ALL_NORMAL, 2_000_000)),
        ("expect always all normal", ExpectThroughout(ALL_NORMAL, always=True)),
        ("expect never all normal", ExpectThroughout(ALL_NORMAL, always=False)),
        ("expect violation A1.1", ExpectViolation("A1.1")),
        ("expect violation A1.1 under pause", ExpectViolation("A1.1", "pause")),
        ("expect violation raises", ExpectViolation("raises")),
        ("expect no violation", ExpectViolation(none=True)),
        ("expect no violation A3.1", ExpectViolation("A3.1", none=True)),
    ],
)
def test_every_expectation(text: str, expectation: Expectation) -> None:
    assert parse(text).command == expectation


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("kill 5", True),
        ("then kill 5", True),
        ("after 2s: kill 5", True),
        ("then when all normal: kill 5", True),
        ("expect all normal within 2s", True),
        ("then expect all normal", True),
        ("then expect never 4 down", True),
        ("at 2s: kill 5", False),
        ("at 2s: after 2s: kill 5", False),
        ("when all normal: kill 5", False),
        ("every 2s: kill 5", False),
        ("expect all normal", False),
        ("expect always all normal", False),
        ("expect no violation", False),
    ],
)
def test_lines_that_follow_the_line_before_them(text: str, follows: bool) -> None:
    """They begin with then or after, or have no trigger; except expectations of the whole run."""
    assert parse(text).follows is follows


def test_blanks_in_quotes_are_kept() -> None:
    """They may be part of a message."""
    text = r'inject  1->3   Foo {"a":  "b  \"  c",  "d": 1}'
    assert parse(text).text == r'inject 1->3 Foo {"a": "b  \"  c", "d": 1}'
    assert parse(parse(text).text).text == parse(text).text


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_every_example_of_a_trigger_and_an_expectation_can_be_parsed(trigger: str, expectation: str) -> None:
    assert parse(f"{TRIGGERS[trigger]}: kill 5").trigger is not None
    assert isinstance(parse(EXPECTATIONS[expectation]).command, Expectation)


def test_time_can_be_frozen_by_a_trigger() -> None:
    """So any trigger can be a breakpoint; the other commands of time are interactive."""
    scripted = parse("on send NewState 4->1: freeze")
    assert scripted.command == WorldCommand("freeze")
    assert scripted.trigger == OnMessage("send", "NewState", 4, 1)


@pytest.mark.parametrize("verb", VERBS)
def test_every_example_is_a_command(verb: str) -> None:
    assert parse(VERBS[verb].example).text.startswith(verb)
    assert VERBS[verb].usage.startswith(verb)


TYPOS = r"""
when al normal: kill 5
expct all normal
when 3 suspect 4: kill 4
expect violation A1.1 under pauze
on sent Accept: kill 4
on send accept: kill 4
on status 4 normal: kill 4
slow-disk 5
slow-dsk 5 20ms
slow-disk 5 20ms ±5ms
slowdisk 5 20ms
unwrite 5 last
unwrite 5 last 0
unwrite 5 last 101
unwrite last 2
before Accept 3->1: kill 3
before send: kill 3
before drop Accept 3->1: kill 3
before send Accept #0: kill 3
on store: kill 4
on store all: kill 4
on status 4: kill 4
on status all Normal: kill 4
on stats 4 Normal: kill 4
on status coordinator Normal: kill 5
say hello
say "unclosed
say
within 2
expect all normal within 2
expect all normal in 2s
expect all.coordinator = 6
expect all.coordinator=6
expect groups =< 2
expect groups => 2
expect groups
expect live <> 3
lose 4->1 accept 100%
lose 4->1 100
every 0s: kill 5
every: kill 5
inject 1->3 Foo {
inject 1->3
inject 1 3 AreYouUp
when normal: kill 5
when 4 normal && 3 normal: kill 5
when 4 normal || 3 normal: kill 5
when !4 normal: kill 5
when (4 normal: kill 5
when 4 normal): kill 5
when 4 is normal: kill 5
when coordinator.status == normal: kill 5
when 4.process == down: kill 5
when 4 : kill 5
when all: kill 5
when: kill 5
when all normal
when groups > 2 kil 5
when mesages(Accept) > 2: kill 5
when messages(accept) > 2: kill 5
when flying(Accept 3) > 2: kill 5
when 2->3 cutt: kill 5
when 2-3 cut: kill 5
expect alwais groups <= 2
expect nevr groups > 2
expect no violatoin
expect no
expect
then
thn kill 5
whn all normal: kill 5
after 2: kill 5
aftr 2s: kill 5
on send AreYouUp #0: kill 5
on send AreYouUp 2: kill 5
hold 3->1 Acept 5
relase
slow 4
slow 4 fast
join
choose
choose first
publish five
publsh
#1 is a comment
5
"x"
kill 5 then kill 4
kill 5: kill 4
at: kill 5
kill5
killl 5
expect all normal within 2s kill 5
expect (all normal
expect not
expect 4 suspects
expect 1 + == 2
expect all.coordinator ==
expect all. == 4
expect 4.Coordinator == 4
wait 2s
when all normal: sleep 2s kill 5
crash 5
kill -9 5
start 5
recover 5
disconnect 5
isolate 5
print "5 is down"
assert 4 leads
if all normal: kill 5
expect five leads
"""

BAD = (
    "",
    "   ",
    "kil 5",
    "kill",
    "kill five",
    "kill -5",
    "kill 5.5",
    "kill 5ms",
    "kill everyone",
    "KILL 5",
    "kill 5 and 6",
    "kill 5; heal",
    "stop 5",
    "restart nodes 5",
    "pause coordinatr",
    "resume al",
    "delay",
    "delay 1->2",
    "delay 1->2 400",
    "delay 1->2 400ms 100ms",
    "delay 1->2 -400ms",
    "delay 1=>2 400ms",
    "delay 2-3 400ms",
    "delay ->3 400ms",
    "delay 1->2 400ms ±",
    "lose 30%",
    "lose all",
    "lose all 30",
    "lose all 130%",
    "lose all thirty%",
    "cut",
    "cut 1->",
    "cut 1->2->3",
    "duplicate 1->2 101%",
    "reorder all 50% fast",
    "partition",
    "partition 1 2 |",
    "partition | 1",
    "partition 1 2 / 3 4",
    "heal everything",
    "tell",
    "tell publish",
    "tell 5",
    "tell 5 Publish",
    "tell 5 6",
    "freeze 5",
    "go on",
    "speed",
    "speed fast",
    "speed 5%",
    "speed 0",
    "speed 1001",
    "step back",
    "step 0",
    "step 1.5",
    "step 99999999999999",
    "deliver 3",
    "deliver 3<->1",
    "deliver all->1",
    "deliver 3->1 areYouUp",
    "fire",
    "fire all",
    "at 2s step",
    "at kill 5",
    "at 2 kill 5",
    "at 2s",
    "at 2s at kill 5",
    "when normal kill 5",
    "when all Normal kill 5",
    "on send kill 5",
    "on receive NewState kill 5",
    "on send newState kill 5",
    "on send NewState 1-> kill 5",
    "on send NewState 1->2",
    "kill \x1b[31m5",
    "kill 5 \u202e6",
    "töte 5",
    "?",
    "help",
    *(line.strip() for line in TYPOS.splitlines() if line.strip()),
)


def test_error_messages(transcript: Callable[[str, str], None]) -> None:
    """With the place, what was expected, and an example; without the user's control characters."""
    messages = []
    for text in BAD:
        with pytest.raises(CommandError) as caught:
            parse(text)
        assert str(caught.value).isprintable()
        messages.append(f"{text!a}\n    {caught.value}")
    transcript("command_errors", "\n".join(messages))


@pytest.mark.parametrize("text", BAD)
def test_every_error_has_a_column_or_a_reason(text: str) -> None:
    """The column is within the text or just after its end."""
    with pytest.raises(CommandError) as caught:
        parse(text)
    messages = str(caught.value)
    if messages.startswith("column "):
        assert 1 <= int(messages.split()[1].rstrip(":")) <= len(text) + 1
        assert "For example: " in messages
    else:
        reasons = (" out of range: write ", "; freeze can: ", " too short: write ", "the first one is", "or any: ")
        assert any(reason in messages for reason in reasons), messages


def test_a_line_is_repeated_every_10_ms_at_most() -> None:
    """More often, it would leave no time for anything else."""
    assert parse("every 10ms kill 5").triggers == (Every(10_000),)
    with pytest.raises(CommandError, match=r"every 9\.999ms is too often: write at least every 10ms"):
        parse("every 9999us kill 5")


def test_the_column_points_at_the_error() -> None:
    """Counted from 1, in the line as it was given."""
    with pytest.raises(CommandError, match="column 10: 'x' is not expected here"):
        parse("  kill  5x")


ELSE = "publish at when on all normal coordinator send NewState 1 2 -> <-> | ± 2s 30% 400ms , : +- 1.5 1e9s % ² ٣"
WORDS = st.sampled_from([*VERBS, *ELSE.split(" ")])


@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=12).map(" ".join), st.lists(WORDS).map("".join)))
def test_nothing_else_is_raised(text: str) -> None:
    """Any text is a command, or raises a CommandError with a printable message."""
    try:
        scripted = parse(text)
    except CommandError:
        return
    assert parse(scripted.source).command == scripted.command


@pytest.mark.parametrize(
    "text",
    [
        "kill " + "1 " * 490,
        "kill " + "9" * 990,
        "kill " * 199,
        "partition " + "1|" * 490,
        "(" * 1_000,
        "delay 1->2 " + "9" * 980 + "s",
        "delay 1->2 1." + "9" * 980 + "s",
        "x" * LONGEST,
        " " * LONGEST,
        "at " * 333,
    ],
)
def test_long_commands_are_parsed_quickly(text: str) -> None:
    """Up to the maximal length; a second would be far too long."""
    began_s = time.process_time()
    with contextlib.suppress(CommandError):
        parse(text)
    assert time.process_time() - began_s < 1.0


def test_too_long_a_command_is_refused() -> None:
    with pytest.raises(CommandError, match="a command has at most 1000 characters; this has 100000"):
        parse("x" * 100_000)


def test_an_error_names_no_coordinator_where_none_is_elected() -> None:
    with pytest.raises(CommandError, match=r"For example: pause 5$"):
        parse("pause coordinatr", PROTOCOLS["2pc"])
    with pytest.raises(CommandError, match=r"For example: pause coordinator$"):
        parse("pause coordinatr", PROTOCOLS["bully"])


@pytest.mark.parametrize(
    "text",
    ["may", '"may"', "two\nlines", "a\\", "\\n", "\\\\", '\\"', "# 2 is down", 'it "was" # so', "two  blanks"],
)
def test_an_answer_keeps_its_quotes_and_lines(text: str) -> None:
    """It is written with backslashes, and read again, from a line and from a script."""
    line = str(Answer(2, text))
    assert "\n" not in line
    assert parse(line).command == Answer(2, text)
    assert parse(parse(line).text).command == Answer(2, text)
    (statement,) = read_script(f"at 1s: {line}  # a comment")
    assert statement.command == Answer(2, text)


@pytest.mark.parametrize(
    ("line", "text"),
    [(r'answer 1 "C:\d"', r"C:\d"), ('answer 1 "ends with \\"', "ends with \\"), ('answer 1 " 4 "', "4")],
)
def test_an_answer_without_escapes_is_read_as_it_is(line: str, text: str) -> None:
    assert parse(line).command == Answer(1, text)
