"""What may happen next in a global state: deliveries, timeouts, the passing of time, kills, restarts and cuts.

Nodes take no time to handle an input. How timers fire is the model of time, and says which of Garcia-Molina's
assumptions hold:

* ``synchronous``: one clock, and every message arrives within Tm. The clock moves to the next instant, when a
  timer or the deadline of a message is due, once no timer is left that is due, and no message would be late;
  at each such instant any message may arrive, up to its deadline. What lies between two instants is not tried;
  with Tm = Tp, and timeouts that are multiples of it, they are the multiples of Tm. All nine assumptions hold.
* ``prompt``: the same, but messages take no time: the clock moves on when none is on its way. Of all that may
  happen if synchronous it is that which does in a network much faster than the timeouts, and far fewer states.
* ``ordered``: one clock, on which timers fire in the order of their due times, but messages take as long as
  they like. Assumption 8 is broken: a slow network.
* ``any``: each node has a clock of its own; its next timer may fire at any moment, and moves that clock to its
  time. Assumptions 8 and 9 are broken: a slow network, and slow or paused nodes.

In all four, links are FIFO and invent and double nothing (3, 6, 7), and safe storage is safe (4). A kill may
strike any node at any moment (5), also between two messages of one step; what was sent before it still arrives.
What comes to a node that is down is lost; so where no node can come up again, it is gone at once.

A cut may come at any moment, also between two messages of one step, and be healed at any later one; it breaks
assumption 8. As in the other worlds, what is sent while it is in force is lost, and so is what would arrive then;
what is still on its way when it is healed arrives. So a cut is tried right before each message that it stops, and
its end right before each that passes by that: at any moment since the last of these it would come to the same.
"""

from typing import NamedTuple

from lab.kernel import CommandInput
from lab.worlds.explored.claimed import NOTHING, Claimed, Made
from lab.worlds.explored.cuts import WHOLE, Cuts
from lab.worlds.explored.local import LocalStates, Transition
from lab.worlds.explored.queues import EMPTY, NEVER_US, Queues
from lab.worlds.explored.states import CLAIMED, CUT, CUTS, KILLS, RESTARTS, TOLD, Move, State, Timeouts, left

__all__ = ["Moves"]

_Found = list[tuple[Move, State]]


class _Effect(NamedTuple):
    """What a step comes to: the local state after it, the (link, message) sent, the requests whose answers are
    waited for no longer, and what is claimed by it.
    """

    local: int
    sent: tuple[tuple[int, int], ...]
    released: frozenset[int]
    claims: tuple[Made, ...]


class Moves:
    """The moves over these local states and queues; ``claimed`` is what is claimed by them, ``cuts`` those that
    there may be. ``told`` are commands to nodes, given before all else that a state with some left comes to.
    """

    def __init__(
        self,
        locals_: LocalStates,
        queues: Queues,
        ids: tuple[int, ...],
        timeouts: Timeouts,
        claimed: Claimed,
        told: tuple[tuple[int, CommandInput], ...] = (),
    ) -> None:
        self.claimed = claimed
        self._locals = locals_
        self._queues = queues
        self._own_clocks = timeouts == "any"
        self._count = count = len(ids)
        self._places = {node: place for place, node in enumerate(ids)}
        self._ids = ids
        self._told = told
        self.cuts = Cuts(ids, self._link)
        self._links = range(count, count + count * count)
        self._to = [range(count + place, count + count * count, count) for place in range(count)]
        self._from = [range(count + place * count, count + place * count + count) for place in range(count)]
        self._of = [(*self._to[place], *self._from[place]) for place in range(count)]
        self._kills = [f"kill {node}" for node in ids]
        self._fires = [Move("fire", node) for node in ids]
        self._arrivals = {
            self._link(source, node): Move("deliver", node, source) for source in ids for node in ids
        }
        self._fired: dict[int, _Effect] = {}
        self._started: dict[int, _Effect] = {}
        self._delivered: dict[int, dict[int, _Effect]] = {}
        self._waited: dict[int, dict[int, int]] = {}

    def under(self, timeouts: Timeouts) -> "Moves":
        """The moves over the same local states and queues in another model of time."""
        return Moves(self._locals, self._queues, self._ids, timeouts, self.claimed)

    def first(self) -> State:
        """The state in which all nodes have just come up for the first time, one after the other."""
        down = [self._locals.stopped(node, "killed", {}, {}) for node in self._ids]
        state = left((*down, *(EMPTY for _ in self._links), 0, 0, 0, 0, WHOLE, NOTHING), 0, self._count, 0)
        for place in range(self._count):
            ((_, state),) = self._come_up(state, place)
        return state

    def steps(self, state: State) -> _Found:
        """What may happen of itself, each with the state after it; or the next command, where one is left."""
        found: _Found = []
        if state[TOLD]:
            self._tell(found, state)
            return found
        for place in range(self._count):
            due = self._locals.due_us[state[place]]
            if due is not None and (self._own_clocks or not due):
                self._fire(found, state, place)
        for link in self._links:
            if state[link]:
                self._arrive(found, self._arrivals[link], state, link)
                for commands, cut in self._turns(state, link) if state[CUTS] or state[CUT] else ():
                    move = self._arrivals[link]._replace(commands=commands)
                    self._arrive(found, move, self._turned(state, cut), link)
        if not self._own_clocks:
            self._wait(found, state)
        return found

    def strikes(self, state: State, still: bool) -> _Found:
        """Whom a kill may strike now, and who may come up again, each with the state after it; and where the world
        stands ``still``, because nothing can happen of itself, the end of the cut.
        """
        alive, views = self._locals.alive, self._locals.views
        found: _Found = []
        if state[TOLD]:
            return found
        for place in range(self._count):
            if alive[state[place]]:
                if state[KILLS]:
                    move = Move("strike", commands=(self._kills[place],))
                    found.append((move, self._killed(list(state), place)))
            elif state[RESTARTS] and views[state[place]].process == "killed":
                found += self._come_up(state, place)
        if still and state[CUT]:
            found.append((Move("strike", commands=("heal",)), tuple(self._turned(state, WHOLE))))
        return found

    # steps of nodes

    def _tell(self, found: _Found, state: State) -> None:
        node, told = self._told[-state[TOLD]]
        after, place = list(state), self._places[node]
        after[TOLD] -= 1
        if self._locals.alive[state[place]]:
            effect = self._effect(state[place], self._locals.tell(state[place], told))
            command = " ".join(("tell", str(node), told.command, *told.words))
            self._follow(found, Move("strike", node, commands=(command,)), after, place, effect)
        else:
            found.append((Move("wait"), tuple(after)))

    def _fire(self, found: _Found, state: State, node: int) -> None:
        local = state[node]
        effect = self._fired.get(local)
        if effect is None:
            effect = self._fired[local] = self._effect(local, self._locals.fire(local))
        self._follow(found, self._fires[node], list(state), node, effect)

    def _arrive(self, found: _Found, move: Move, state: State | list[int], link: int) -> None:
        queues, alive = self._queues, self._locals.alive
        source, node = divmod(link - self._count, self._count)
        local, message = state[node], queues.first[state[link]]
        after = list(state)
        after[link] = queues.rest[state[link]]
        if after[CUT] and not alive[state[source]]:
            self._narrow(after)
        if not alive[local] or self._is_cut(state, link):
            found.append((move, tuple(after)))
            return
        known = self._delivered.setdefault(local, {})
        effect = known.get(message)
        if effect is None:
            effect = known[message] = self._effect(local, self._locals.deliver(local, message))
        self._follow(found, move, after, node, effect)

    def _come_up(self, state: State, node: int) -> _Found:
        found: _Found = []
        local = state[node]
        effect = self._started.get(local)
        if effect is None:
            effect = self._started[local] = self._effect(local, self._locals.start(local))
        after = list(state)
        after[RESTARTS] -= 1
        for other in range(self._count):
            if other != node and not self._locals.alive[after[other]]:
                self._bury(after, other)
        self._follow(found, Move("restart", self._ids[node]), after, node, effect)
        return found

    def _effect(self, local: int, transition: Transition) -> _Effect:
        messages = ((number, self._queues.messages[number]) for number in transition.sent)
        sent = tuple((self._link(message.source, message.target), number) for number, message in messages)
        claims = self.claimed.made(self._locals.views[local], self._locals.views[transition.local])
        return _Effect(transition.local, sent, transition.released, claims)

    def _link(self, source: int, target: int) -> int:
        return self._count + self._places[source] * self._count + self._places[target]

    def _follow(self, found: _Found, move: Move, after: list[int], node: int, effect: _Effect) -> None:
        """The states after a step of ``node``: of the whole of it, and of what may strike within it."""
        local, sent, released, claims = effect
        after[node] = local
        if claims:
            after[CLAIMED] = self.claimed.add(after[CLAIMED], claims)
        if released:
            self._release(after, node, released)
        if not self._locals.alive[local]:
            self._bury(after, node)
        self._send(found, move, after, node, sent, 0)

    def _send(
        self, found: _Found, move: Move, after: list[int], node: int, sent: tuple[tuple[int, int], ...], begin: int
    ) -> None:
        """Send those from ``begin`` on, and try all that may strike before each."""
        for place in range(begin, len(sent)):
            link, message = sent[place]
            if after[KILLS]:
                found.append((move.struck(place, self._kills[node]), self._killed(list(after), node)))
            for commands, cut in self._turns(after, link) if after[CUTS] or after[CUT] else ():
                turned = self._turned(after, cut)
                self._put(turned, link, message)
                self._send(found, move.struck(place, *commands), turned, node, sent, place + 1)
            self._put(after, link, message)
        found.append((move, tuple(after)))

    def _put(self, after: list[int], link: int, message: int) -> None:
        if after[CUT] and self._is_cut(after, link):
            return
        if after[RESTARTS] or self._locals.alive[after[(link - self._count) % self._count]]:
            after[link] = self._queues.push(after[link], message)

    def _release(self, after: list[int], node: int, names: frozenset[int] | None) -> None:
        for link in self._of[node]:
            if after[link]:
                after[link] = self._queues.release(after[link], self._ids[node], names)

    # kills

    def _killed(self, after: list[int], node: int) -> State:
        """The state after a kill; ``after`` is changed."""
        after[KILLS] -= 1
        after[node] = self._locals.killed(after[node], bool(after[RESTARTS]))
        self._release(after, node, None)
        self._bury(after, node)
        return tuple(after)

    def _bury(self, after: list[int], node: int) -> None:
        """Of a node that is down for ever, neither what it stored matters nor what is on its way to it."""
        if after[RESTARTS]:
            return
        after[node] = self._locals.killed(after[node], False)
        for link in self._to[node]:
            after[link] = EMPTY
        if after[CUT]:
            self._narrow(after)

    # cuts

    def _turns(self, state: State | list[int], link: int) -> list[tuple[tuple[str, ...], int]]:
        """The commands that stop a message on this link now, or let it pass, each with the cut then in force."""
        heal = ("heal",) if state[CUT] else ()
        if heal and self._is_cut(state, link):
            return [(heal, WHOLE)]
        if not state[CUTS]:
            return []
        others = self.cuts.without(self._idle(state))
        return [((*heal, command), cut) for command, cut in others if link in self.cuts.stops[cut]]

    def _turned(self, state: State | list[int], cut: int) -> list[int]:
        after = list(state)
        after[CUTS] -= cut != WHOLE
        after[CUT] = cut
        return after

    def _is_cut(self, state: State | list[int], link: int) -> bool:
        return link in self.cuts.stops[state[CUT]]

    def _narrow(self, after: list[int]) -> None:
        """Let the cut be the same as all others that differ from it only where nothing can pass any more."""
        after[CUT] = self.cuts.narrowed(after[CUT], self._idle(after))

    def _idle(self, state: State | list[int]) -> frozenset[int]:
        """The links over which nothing can come any more: to the dead, and, once all has arrived, from them."""
        if state[RESTARTS]:
            return frozenset()
        dead = [place for place in range(self._count) if not self._locals.alive[state[place]]]
        return frozenset(
            link for place in dead for link in (*self._to[place], *self._from[place]) if state[link] == EMPTY
        )

    # time

    def _wait(self, found: _Found, state: State) -> None:
        """Let time pass, if it may."""
        dues_us = (self._locals.due_us[local] for local in state[: self._count])
        wait_us = min((due for due in dues_us if due is not None), default=NEVER_US)
        wait_us = min(wait_us, *(self._queues.left_us[state[link]] for link in self._links))
        if not 0 < wait_us < NEVER_US:
            return
        after = list(state)
        for place in range(self._count):
            after[place] = self._later(after[place], wait_us)
        for link in self._links:
            if after[link]:
                after[link] = self._queues.later(after[link], wait_us)
        found.append((Move("wait", us=wait_us), tuple(after)))

    def _later(self, local: int, us: int) -> int:
        if not self._locals.alive[local]:
            return local
        known = self._waited.setdefault(local, {})
        after = known.get(us)
        return known.setdefault(us, self._locals.later(local, us)) if after is None else after
