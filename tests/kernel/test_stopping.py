"""Begin, stop and restart are exact: after ``stop`` returns, no code of the procedure can run."""

from lab.kernel import Payload, Protocol, on, procedure
from tests.harness import Solo


class Do(Payload, frozen=True):
    """Calls the method of this name."""

    what: str


class Puppet(Protocol):
    """Two procedures that note their progress, and a message that calls any method."""

    go: bool = False

    @on(Do)
    def do(self, sender: int, message: Do) -> None:
        getattr(self, message.what)()

    @procedure
    async def first(self) -> None:
        self.note("first begins")
        await self.until(lambda: self.go, "go")
        self.note("first goes on")

    @procedure
    async def second(self) -> None:
        self.note("second begins")
        await self.until(lambda: self.go, "go")
        self.note("second goes on")
        self.stop(self.first, self.third)

    @procedure
    async def third(self) -> None:
        self.note("third runs")

    @procedure
    async def tidy(self) -> None:
        try:
            await self.until(lambda: self.go, "go")
        finally:
            self.note("tidied")

    @procedure
    async def renew(self) -> None:
        self.note("renewed")
        await self.sleep(5)
        self.restart(self.renew)
        self.note("returns")

    @procedure
    async def greedy(self) -> None:
        self.begin(self.greedy)
        await self.sleep(1)

    @procedure
    async def suicidal(self) -> None:
        self.stop(self.suicidal)

    def begin_first(self) -> None:
        self.begin(self.first)

    def begin_second_and_first(self) -> None:
        self.begin(self.second)
        self.begin(self.first)

    def begin_and_stop(self) -> None:
        self.begin(self.first)
        self.stop(self.first)
        self.note(f"runs: {self.is_running(self.first)}")

    def restart_first(self) -> None:
        self.restart(self.first)

    def stop_all(self) -> None:
        self.stop(self.first, self.second, self.third)

    def begin_third_and_go(self) -> None:
        self.begin(self.third)
        self.go = True

    def begin_tidy(self) -> None:
        self.begin(self.tidy)

    def stop_tidy(self) -> None:
        self.stop(self.tidy)
        self.note("stop has returned")

    def begin_renew(self) -> None:
        self.begin(self.renew)

    def begin_greedy(self) -> None:
        self.begin(self.greedy)

    def begin_suicidal(self) -> None:
        self.begin(self.suicidal)

    def begin_handler(self) -> None:
        self.begin(self.stop_all)  # type: ignore[arg-type]


def _puppet() -> Solo:
    solo = Solo(Puppet)
    solo.start()
    return solo


def test_a_procedure_begins_in_the_step_that_begins_it() -> None:
    """The handler runs to completion; then the procedure runs until it waits."""
    solo = _puppet()
    step = solo.hear(1, Do("begin_first"))
    assert step.notes == ("first begins",)
    assert [wait.procedure for wait in solo.waits] == ["first"]


def test_beginning_a_running_procedure_does_nothing() -> None:
    """At most one instance of a procedure runs."""
    solo = _puppet()
    solo.hear(1, Do("begin_first"))
    assert solo.hear(1, Do("begin_first")).notes == ()


def test_stopped_before_it_ran_at_all() -> None:
    """A procedure that is begun and stopped within one handler never runs."""
    solo = _puppet()
    step = solo.hear(1, Do("begin_and_stop"))
    assert step.notes == ("runs: False",)
    assert solo.waits == ()


def test_stopping_a_procedure_made_ready_in_the_same_step() -> None:
    """Both conditions become true at once; the first to run stops the other, which then does not run.

    The second procedure was begun before the first, so its condition is evaluated first.
    """
    solo = _puppet()
    solo.hear(1, Do("begin_second_and_first"))
    step = solo.hear(1, Do("begin_third_and_go"))
    assert step.notes == ("third runs", "second goes on")
    assert solo.waits == ()


def test_a_ready_procedure_that_is_stopped_by_another_ready_one() -> None:
    """The answers of two requests cannot arrive at once, but a begun procedure can be stopped before it runs."""

    class Race(Protocol):
        @on(Do)
        def do(self, sender: int, message: Do) -> None:
            self.begin(self.killer)
            self.begin(self.victim)

        @procedure
        async def killer(self) -> None:
            self.stop(self.victim)
            self.note(f"victim runs: {self.is_running(self.victim)}")

        @procedure
        async def victim(self) -> None:
            self.note("victim ran")

    solo = Solo(Race)
    solo.start()
    assert solo.hear(1, Do("")).notes == ("victim runs: False",)


def test_cleanup_is_done_before_stop_returns() -> None:
    """Closing a coroutine runs its ``finally`` at once."""
    solo = _puppet()
    solo.hear(1, Do("begin_tidy"))
    assert solo.hear(1, Do("stop_tidy")).notes == ("tidied", "stop has returned")


def test_restart_begins_anew() -> None:
    """The stopped instance is gone, with its timer; the new one begins at the beginning."""
    solo = _puppet()
    solo.hear(1, Do("begin_first"))
    step = solo.hear(1, Do("restart_first"))
    assert step.notes == ("first begins",)
    assert len(solo.waits) == 1


def test_a_procedure_restarts_itself_when_it_returns() -> None:
    """The rest of the instance still runs; then its successor begins, in the same step."""
    solo = _puppet()
    solo.hear(1, Do("begin_renew"))
    step = solo.fire_timer()
    assert step.notes == ("returns", "renewed")
    assert solo.waits[0].since_us == step.at_us == 5
    assert solo.fire_timer().at_us == 10


def test_waiting_after_beginning_a_successor_fails_the_node() -> None:
    """Otherwise there would be two instances of one procedure."""
    step = _puppet().hear(1, Do("begin_greedy"))
    assert "greedy began its successor and waited: it must return first" in step.failed


def test_a_procedure_that_stops_itself_fails_the_node() -> None:
    """The error says to return instead, and has the line."""
    step = _puppet().hear(1, Do("begin_suicidal"))
    assert "suicidal cannot stop itself: return instead" in step.failed
    assert "in suicidal: self.stop(self.suicidal)" in step.failed


def test_beginning_a_plain_method_fails_the_node() -> None:
    """The error names the missing decorator."""
    step = _puppet().hear(1, Do("begin_handler"))
    assert "stop_all is not a procedure: decorate it with @procedure" in step.failed


def test_a_stopped_procedure_leaves_no_timer() -> None:
    solo = _puppet()
    solo.hear(1, Do("begin_renew"))
    assert solo.node.next_timer() is not None
    solo.node.stop("renew")
    assert solo.node.next_timer() is None
