"""Exploration of clients and of two protocols in one cluster: what is found, and that real nodes do the same."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

import lab
from lab.kernel import Payload, on, procedure
from lab.properties.history_verdict import judge_history
from lab.protocols import Algorithm, Bully
from lab.protocols.operations import Cas, CasOk, Error, Read, ReadOk, Write, WriteOk
from lab.recording.records import Header
from lab.text import UserError
from lab.worlds.campaign.exploration import SetUp, SetUpOutcome, outcome_of
from lab.worlds.explored.explorer import Explorer
from lab.worlds.loading.targets import load_protocol
from tests.explored.performed import assert_it_re_executes
from tests.profile import SOAK

GUIDE = Path(lab.__file__).with_name("guide") / "build"
REGISTER, REPLICATED = (str(GUIDE / name) for name in ("register.py", "replicated.py"))


class Register(Algorithm):
    """One node that keeps a value, and answers at once."""

    name: ClassVar[str] = "plain-register"
    value: int | None = None

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        return self.answer()

    def answer(self) -> ReadOk | Error:
        return Error(20) if self.value is None else ReadOk(self.value)

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk:
        self.value = message.value
        return WriteOk()

    @on(Cas)
    def on_cas(self, sender: int, message: Cas) -> CasOk | Error:
        if self.value is None:
            return Error(20)
        if self.value != message.expected:
            return Error(22)
        self.value = message.to
        return CasOk()


class Forgetful(Register):
    """It forgets the second write."""

    name: ClassVar[str] = "forgetful-register"
    writes: int = 0

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk:
        self.writes += 1
        return super().on_write(sender, message) if self.writes < 2 else WriteOk()


class Waiting(Payload, frozen=True):
    """A read to be answered later."""

    client: int
    handled: int


class Late(Register):
    """It answers the first read after five seconds, when its client has given up: with another value."""

    name: ClassVar[str] = "late-register"
    reads: int = 0

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        self.reads += 1
        if self.reads > 1:
            return self.answer()
        self.begin(self.answer_late, Waiting(sender, self.handled))
        return None

    @procedure
    async def answer_late(self, waiting: Waiting) -> None:
        await self.sleep(5_000_000, "the client to give up")
        self.reply(waiting.client, waiting.handled, ReadOk(7))


def explored(protocol: type[Algorithm] | str, clients: list[str], nodes: int = 1, **settings: Any) -> Any:
    given: dict[str, Any] = {"kills": 0, "timeouts": "prompt"} | settings
    return lab.explore(protocol, nodes, workload="lin-kv", clients=clients, **given)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Explorer]:
    """The searches of a test, with all that they have seen."""
    found: list[Explorer] = []

    def outcome(explorer: Explorer, set_up: SetUp) -> SetUpOutcome:
        found.append(explorer)
        return outcome_of(explorer, set_up)

    monkeypatch.setattr("lab.api.exploration.outcome_of", outcome)
    return found


def _outcomes(search: Explorer) -> set[str]:
    return {view.state["outcome"] for view in search.locals.views if "outcome" in view.state}


CLIENTS = ["write 0 1; read 0", "cas 0 1 2; read 0"]


@pytest.mark.parametrize("timeouts", ["synchronous", "prompt", pytest.param("ordered", marks=pytest.mark.soak)])
def test_a_right_register_is_right_in_all_executions(timeouts: str, searches: list[Explorer]) -> None:
    """However the operations overlap; and they do: a read returns what the other wrote, or the cas fails."""
    found = explored(Register, CLIENTS, timeouts=timeouts)
    assert found.failures == ()
    assert "no violation" in found.verdicts["lin-kv"] or found.verdicts["lin-kv"] == "holds"
    outcomes = _outcomes(*searches)
    assert {'["ReadOk",{"value":1}]', '["ReadOk",{"value":2}]', '["CasOk",{}]'} <= outcomes
    assert '["Error",{"code":20}]' in outcomes


def test_a_lost_write_is_found_in_the_shortest_way() -> None:
    """Two writes and a read, each with a call, a delivery and an answer."""
    found = explored(Forgetful, ["write 0 1; write 0 2; read 0"])
    assert found.failures == ("lin-kv",)
    assert found.count_moves_to("lin-kv") == 9
    assert explored(Forgetful, ["write 0 1; read 0"]).failures == ()


def test_the_recording_shows_the_same(tmp_path: Path) -> None:
    """Real nodes do what was found: its history is wrong, and all its steps follow when executed again."""
    found = explored(REGISTER, ["write 0 1", "read 0"], 2, pauses=1, states=1_000_000 if SOAK else 70_000)
    assert "lin-kv" in found.failures
    run = found.run
    assert run is not None
    header, *_ = records = list(run.records)
    assert isinstance(header, Header)
    assert [role.nodes for role in header.roles] == [{3: "c3", 4: "c4"}]
    verdict = judge_history(records)
    assert verdict is not None
    assert verdict.violation is not None
    assert (verdict.operations.called, verdict.operations.ok) == (2, 1)
    assert_it_re_executes(records, load_protocol(REGISTER), tmp_path / "run.jsonl")


def test_without_a_fault_the_register_keeps_its_promise() -> None:
    """The same clients, and neither a pause nor a cut: what is found is due to the pause."""
    found = explored(REGISTER, ["write 0 1", "read 0"], 2)
    assert found.failures == found.excused == ()


def test_a_late_answer_is_not_taken_for_the_next(searches: list[Explorer]) -> None:
    """A read that was given up is answered while the next one waits: 7, which was never written."""
    found = explored(Late, ["read 0; write 0 1; read 0"])
    outcomes = _outcomes(*searches)
    assert found.failures == ()
    assert '["ReadOk",{"value":1}]' in outcomes


class Busy(Register):
    """It is never there."""

    name: ClassVar[str] = "busy-register"

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        return Error(11)


def test_what_was_not_answered_is_not_judged() -> None:
    """A client that is not given anything has no history, and the exploration does not hold."""
    found = explored(Register, ["read 0"], states=2)
    assert not found.holds
    assert found.verdicts["lin-kv"].startswith("not judged: no operation was answered")
    assert explored(Busy, ["read 0"]).verdicts["lin-kv"] == "holds"


def test_no_fault_strikes_a_client(searches: list[Explorer]) -> None:
    explored(REGISTER, ["write 0 1"], 2, kills=2, states=5_000)
    moves = searches[0]._moves
    commands = {command for move in moves for command in move.commands}
    commands |= {command for move in moves for _, command in move.during}
    assert commands == {"kill 1", "kill 2"}


# two protocols


class Same(Bully):
    """Bully, under another name."""

    name: ClassVar[str] = "same-bully"


class Deaf(Bully):
    """Bully that leads at once, whoever else is there."""

    name: ClassVar[str] = "deaf-bully"

    @procedure
    async def election(self) -> None:
        self.status, self.coordinator = type(self.status).NORMAL, self.id


def test_the_same_under_another_name_has_the_same_states() -> None:
    """As many as one protocol has."""
    alone, mixed = (
        lab.explore("bully", timeouts="prompt"),
        lab.explore("bully", timeouts="prompt", role={"3": Same}),
    )
    assert (mixed.tally.states, mixed.tally.transitions) == (alone.tally.states, alone.tally.transitions)
    assert mixed.failures == mixed.excused == ()


def test_what_a_mix_violates_is_excused(tmp_path: Path) -> None:
    """As assumption 1 is broken; and the recording has both protocols."""
    found = lab.explore("bully", 2, timeouts="prompt", role={"1": Deaf}, settled=False)
    assert {"defined", "spreads"} <= {*found.excused}
    assert found.failures == ()
    assert found.run is not None
    assert [role.protocol.name for role in found.run.header.members] == ["deaf-bully"]
    assert_it_re_executes(list(found.run.records), Bully, tmp_path / "run.jsonl")


def test_a_mix_that_never_agrees_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noticed, however long its nodes go on electing."""
    monkeypatch.setattr("lab.worlds.explored.explorer._SETTLES_WITHIN_T", 200 if SOAK else 40)
    with pytest.raises(UserError, match="does not become Normal under one coordinator"):
        lab.explore("bully", 2, timeouts="prompt", role={"2": "ring"})


def test_programs_are_refused() -> None:
    with pytest.raises(UserError, match="a program cannot be explored"):
        lab.explore("bully", 2, role={"2": str(GUIDE / "nodes" / "elect.py") + " --verbose"})


def test_a_cluster_without_roles_is_explored_as_before() -> None:
    """It has as many states as the guide says."""
    assert lab.explore("bully", timeouts="synchronous").tally.states == 4_085
