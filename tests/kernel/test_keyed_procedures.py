"""Procedures that take an argument: one instance for each key."""

from lab.kernel import Fired, Payload, Protocol, Request, on, periodic, procedure
from tests.harness import Solo


class Fetched(Payload, frozen=True):
    pass


class Fetch(Request[Fetched], frozen=True):
    what: str


class Begin(Payload, frozen=True):
    what: str


class Stop(Payload, frozen=True):
    what: str


class Fetcher(Protocol):
    """Fetches several things at once."""

    got: tuple[str, ...] = ()
    rested: int = 0

    @on(Begin)
    def begun(self, sender: int, message: Begin) -> None:
        self.begin(self.fetch, key=message.what)

    @on(Stop)
    def stopped(self, sender: int, message: Stop) -> None:
        assert self.is_running(self.fetch, key=message.what)
        self.stop(self.fetch, key=message.what)
        assert not self.is_running(self.fetch, key=message.what)

    @on(Fetch)
    def asked(self, sender: int, message: Fetch) -> Fetched:
        return Fetched()

    @procedure
    async def fetch(self, what: str) -> None:
        """Ask for the thing, at most twice."""
        answer = await self.ask(1, Fetch(what), within=100)
        if answer is None:
            answer = await self.ask(3, Fetch(what), within=100)
        self.got += (what if answer else f"no {what}",)

    @periodic(lambda self: self.begun_us(self.rest) + 1000)
    async def rest(self) -> None:
        """Begin only while nothing is fetched."""
        self.rested += 1


def _begun(*what: str) -> Solo:
    solo = Solo(Fetcher)
    solo.start()
    for each in what:
        solo.hear(1, Begin(each))
    return solo


def test_one_instance_for_each_key() -> None:
    """Two run concurrently, each with its own wait; a third for the same key does not begin."""
    solo = _begun("a", "b")
    step = solo.hear(1, Begin("a"))
    assert [wait.procedure for wait in solo.waits] == ["fetch a", "fetch b"]
    assert step.sent == ()


def test_each_gets_its_own_answer_and_its_own_timer() -> None:
    """The answer to one resumes that one; the bound of the other expires only for the other."""
    solo = _begun("a")
    solo.now_us = 50
    asked = solo.hear(1, Begin("b")).sent[0]
    assert solo.node.next_timer() == (100, Fired("fetch a"))
    assert solo.reply(asked, Fetched()).changed == {"got": ["b"]}
    solo.fire_timer()
    assert [wait.peers for wait in solo.waits] == [(3,)]
    assert solo.fire_timer().changed == {"got": ["b", "no a"]}


def test_stopping_one_leaves_the_others() -> None:
    """An answer for a stopped one is late."""
    solo = _begun("a")
    asked = solo.hear(1, Begin("b")).sent[0]
    solo.hear(1, Stop("b"))
    assert [wait.procedure for wait in solo.waits] == ["fetch a"]
    assert solo.reply(asked, Fetched()).late


def test_a_periodic_procedure_waits_until_none_of_them_runs() -> None:
    """It begins only while no other procedure of its protocol runs, whatever its key."""
    solo = _begun("a")
    solo.now_us = 5000
    assert solo.node.next_timer() == (100, Fired("fetch a"))
    solo.fire_timer()
    solo.fire_timer()
    assert solo.node.next_timer() == (1000, Fired("rest"))
