"""Figure 10.9: the execution of the invitation algorithm, as the messages of a simulated run."""

from collections.abc import Callable, Sequence

import msgspec

from lab.kernel import Fired, Message, Received, Step
from lab.protocols import InvitationElection, Status
from tests.harness import T_US, TIMING, Rig
from tests.papers import figure_10_9
from tests.papers.figure_10_9 import CHECK_T, HEARTBEATS, NODES

Transcript = Callable[[str, str], None]


def _at_the_start() -> Rig:
    rig = Rig(
        NODES,
        protocol=InvitationElection,
        parameters=InvitationElection.Parameters(check_every_us=CHECK_T * T_US),
    )
    for line in figure_10_9.script(TIMING):
        rig.do(line if line.startswith("at") else f"at 0s {line}")
    rig.started()
    rig.run_until(lambda: bool(_checks_of(rig, 1)), 60 * T_US, "1's Check")
    return rig


def _checks_of(rig: Rig, node: int) -> list[Step]:
    return [step for step in rig.steps if step.node == node and _sends(step, "AreYouCoordinator")]


def _sends(step: Step, kind: str) -> bool:
    return any(message.kind == kind for message in step.sent)


def _format_steps(rig: Rig, steps: Sequence[Step]) -> str:
    """Format every step that sent anything but heartbeats, or changed the state."""
    lines = []
    for step in steps:
        sent = [message for message in step.sent if message.kind not in HEARTBEATS]
        shown = {
            name: step.changed[name]
            for name in ("status", "coordinator", "group", "up", "others")
            if name in step.changed
        }
        if sent or shown:
            lines.append(f"{step.at_us / 1000:5.0f} ms  {step.node}  {_why(rig, step)}")
            if shown:
                lines.append(f"{'':15}{', '.join(f'{name} = {value}' for name, value in shown.items())}")
            lines += [f"{'':15}→ {message.target} {_shown(message)}" for message in sent]
    return "\n".join(lines)


def _why(rig: Rig, step: Step) -> str:
    match step.input:
        case Received(source, serial):
            return f"{rig.messages[source, serial].kind} of {source}"
        case Fired(procedure):
            return f"{procedure} goes on"
    return "starts"


def _shown(message: Message) -> str:
    body = {
        name: value["members"] if name == "definition" else value
        for name, value in msgspec.json.decode(message.body).items()
        if name != "report"
    }
    return f"{message.kind} {msgspec.json.encode(body).decode()}" if body else message.kind


def test_figure_10_9(transcript: Transcript) -> None:
    """I5, I6: 1 leads itself, 2 itself, 3 leads 4 and 5; 1 has found 2 and 3, and merges.

    2 accepts, and 3 forwards the invitation; after the time for Accepts all who accepted are in Up and get Ready.
    """
    rig = _at_the_start()
    nodes = {node: rig.protocol(node) for node in NODES}
    assert {node: each.coordinator for node, each in nodes.items()} == {1: 1, 2: 2, 3: 3, 4: 3, 5: 3}
    assert {each.status for each in nodes.values()} == {Status.NORMAL}
    since = len(rig.steps) - 1

    rig.run_until(lambda: nodes[1].status is Status.ELECTION, 12 * T_US, "1 merges")
    assert nodes[1].up == frozenset()
    group = nodes[1].group
    rig.run_until(lambda: nodes[1].status is Status.REORGANIZATION, 2 * T_US, "the time for Accepts is over")
    assert nodes[1].up == {2, 3, 4, 5}
    assert {nodes[node].status for node in (2, 3, 4, 5)} == {Status.REORGANIZATION}, "for they accepted explicitly"
    rig.run_until(lambda: nodes[1].status is Status.NORMAL, T_US, "all have answered")
    assert {(each.status, each.coordinator, each.group) for each in nodes.values()} == {
        (Status.NORMAL, 1, group)
    }, "every processor in Up has accepted the group, and normal processing can resume"
    assert len({each.definition for each in nodes.values()}) == 1

    steps = rig.steps[since:]
    figure_10_9.assert_phases(steps, T_US)
    transcript("figure_10_9", _format_steps(rig, steps))
