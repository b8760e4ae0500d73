"""Figure 10.8: the execution of the bully algorithm, stage by stage, as the messages of a run."""

from collections.abc import Callable

from lab.kernel import Fired, Message, Received, Started, Step
from lab.protocols import Status
from tests.harness import T_US, Rig

Transcript = Callable[[str, str], None]


def _format_steps(rig: Rig, since: int) -> str:
    """Format the steps: time, node, input, changes and messages sent."""
    lines = []
    for record in rig.records[since:]:
        if isinstance(record, Step):
            cause = record.input
            if isinstance(cause, Received):
                came = rig.messages[cause.source, cause.serial]
                why = f"{came.kind} of {came.source}" + (" (timed out)" if record.late else "")
            else:
                why = f"{cause.procedure} goes on" if isinstance(cause, Fired) else "starts"
            lines.append(f"{record.at_us / 1000:5.0f} ms  {record.node}  {why}")
            shown = {
                name: value for name, value in record.changed.items() if name not in ("definition", "processing")
            }
            if shown:
                lines.append(f"{'':14}{', '.join(f'{name} = {value}' for name, value in shown.items())}")
            lines += [f"{'':14}→ {message.target} {_shown(message)}" for message in record.sent]
    return "\n".join(lines)


def _shown(message: Message) -> str:
    body = bytes(message.body).decode()
    return message.kind if body == "{}" else f"{message.kind} {body}"


def test_figure_10_8(transcript: Transcript) -> None:
    """B4-B7: node 3 of four, with 4 dead, goes through the four stages.

    It tests the nodes above, halts those below, makes itself their coordinator, and sends them the new state. At
    the cuts c1 to c4 it may conclude what the figure states.
    """
    rig = Rig([1, 2, 3, 4]).started()
    rig.run_until_agreed()
    rig.do("kill 4")
    rig.run_until(lambda: "election" in _running(rig, 3), 20 * T_US, "3 begins an election")
    since = len(rig.records) - 1
    state = rig.protocol

    rig.run_until(lambda: state(3).status is Status.ELECTION, 2 * T_US, "c1")
    assert 4 not in rig.incarnations, "c1: nobody above is Normal"
    rig.run_until(lambda: state(3).status is Status.REORGANIZATION, 2 * T_US, "c2")
    assert [state(node).status for node in (1, 2)] == [Status.ELECTION] * 2, "c2: nobody is Normal, nobody leads"
    assert not any(state(node).processing for node in (1, 2, 3))
    rig.run_until(lambda: bool(rig.sent("NewState", since=since)), 2 * T_US, "c3")
    assert [state(node).status for node in (1, 2, 3)] == [Status.REORGANIZATION] * 3
    assert [state(node).coordinator for node in (1, 2, 3)] == [3] * 3, "c3: all of Up follow 3"
    rig.run_until(lambda: state(3).status is Status.NORMAL, 2 * T_US, "c4")
    assert [state(node).status for node in (1, 2, 3)] == [Status.NORMAL] * 3
    assert len({state(node).definition for node in (1, 2, 3)}) == 1, "c4: all of Up have one Definition"
    transcript("figure_10_8", _format_steps(rig, since))


def test_figure_10_8_takes_its_four_stages_in_order() -> None:
    """B4-B7: no message of a stage is sent before the previous stage has ended."""
    rig = Rig([1, 2, 3, 4])
    rig.started(1, 2, 3).run(10 * T_US)
    sent = [kind for source, kind, _ in rig.sent() if source == 3]
    questions = [kind for kind in sent if not kind.endswith("Answer") and kind != "AreYouNormal"]
    assert questions == ["AreYouUp", *["EnterElection"] * 2, *["SetCoordinator"] * 2, *["NewState"] * 2]


def test_a_cluster_comes_up(transcript: Transcript) -> None:
    """B2: all nodes start at once; all but the highest find a higher one, which leads after four rounds."""
    rig = Rig([1, 2, 3]).started()
    assert isinstance(rig.steps[0].input, Started)
    assert rig.run_until_agreed() == 3
    assert rig.now_us == 8 * rig.header.link.latency_us
    transcript("bully_comes_up", _format_steps(rig, 0))


def _running(rig: Rig, node: int) -> list[str]:
    return [wait.procedure for wait in rig.cluster.nodes[node].waits]
