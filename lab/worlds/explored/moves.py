"""What may happen next in a global state: deliveries, timeouts, the passing of time, kills and restarts.

A global state is a tuple of numbers: the local state of each node, the queue of each link, and how many kills
and restarts are left. Nodes take no time to handle an input. How timers fire is the model of time, and says
which of Garcia-Molina's assumptions hold:

* ``synchronous``: one clock, and every message arrives within Tm. The clock moves to the next instant, when a
  timer or the deadline of a message is due, once no timer is left that is due, and no message would be late;
  at each such instant any message may arrive, up to its deadline. What lies between two instants is not tried;
  with Tm = Tp, and timeouts that are multiples of it, they are the multiples of Tm. All nine assumptions hold.
* ``ordered``: one clock, on which timers fire in the order of their due times, but messages take as long as
  they like. Assumption 8 is broken: a slow network.
* ``any``: each node has a clock of its own; its next timer may fire at any moment, and moves that clock to its
  time. Assumptions 8 and 9 are broken: a slow network, and slow or paused nodes.

In all three, links are FIFO and lose, invent and double nothing (3, 6, 7), and safe storage is safe (4). A kill
may strike any node at any moment (5), also between two messages of one step; what was sent before it still
arrives. What comes to a node that is down is lost; so where no node can come up again, it is gone at once.

A move is told by a number: minus the time that passes; or a place in the global state (a node's: its timer
fires; a link's: its first message arrives), or beyond these the nodes again, to be killed, and restarted; and
so many strides more, less one, as messages of the step go out before a kill ends it. ``Move`` spells it out.
"""

from typing import Literal, NamedTuple

from lab.worlds.explored.local import LocalStates, Transition
from lab.worlds.explored.queues import EMPTY, NEVER_US, Queues

__all__ = ["Move", "Moves", "State", "Timeouts"]

Timeouts = Literal["synchronous", "ordered", "any"]
State = tuple[int, ...]
_Effect = tuple[int, tuple[tuple[int, int], ...], frozenset[int]]
_Found = list[tuple[int, State]]

_KILLS, _RESTARTS = -2, -1


class Move(NamedTuple):
    """What happens. ``node`` is whom it happens to, ``source`` where a message comes from, both as places; ``us``
    the time that passes. ``sent`` is how many messages of the step go out before a kill; None: no kill.
    """

    what: Literal["fire", "deliver", "kill", "restart", "wait"]
    node: int = 0
    source: int = 0
    us: int = 0
    sent: int | None = None


class Moves:
    """The moves over these local states and queues."""

    def __init__(self, locals_: LocalStates, queues: Queues, ids: tuple[int, ...], timeouts: Timeouts) -> None:
        self._locals = locals_
        self._queues = queues
        self._own_clocks = timeouts == "any"
        self._count = count = len(ids)
        self._places = {node: place for place, node in enumerate(ids)}
        self._ids = ids
        self._links = range(count, count + count * count)
        self._to = [range(count + place, count + count * count, count) for place in range(count)]
        self._from = [range(count + place * count, count + place * count + count) for place in range(count)]
        self._of = [(*self._to[place], *self._from[place]) for place in range(count)]
        self._kill = count + count * count + 2
        self._restart = self._kill + count
        self._stride = self._restart + count
        self._fired: dict[int, _Effect] = {}
        self._started: dict[int, _Effect] = {}
        self._delivered: dict[int, dict[int, _Effect]] = {}
        self._waited: dict[int, dict[int, int]] = {}

    def describe(self, number: int) -> Move:
        """What a move's number stands for."""
        if number < 0:
            return Move("wait", us=-number)
        strides, place = divmod(number, self._stride)
        sent = strides - 1 if strides else None
        if place >= self._restart:
            return Move("restart", place - self._restart, sent=sent)
        if place >= self._kill:
            return Move("kill", place - self._kill)
        if place >= self._count:
            source, node = divmod(place - self._count, self._count)
            return Move("deliver", node, source, sent=sent)
        return Move("fire", place, sent=sent)

    def under(self, timeouts: Timeouts) -> "Moves":
        """The moves over the same local states and queues in another model of time."""
        return Moves(self._locals, self._queues, self._ids, timeouts)

    def first(self) -> State:
        """The state in which all nodes have just come up for the first time, one after the other."""
        down = [self._locals.stopped(node, "killed", {}) for node in self._ids]
        state: State = (*down, *(EMPTY for _ in self._links), 0, self._count)
        for place in range(self._count):
            ((_, state),) = self._come_up(state, place)
        return state

    def steps(self, state: State) -> _Found:
        """What may happen of itself, each with the state after it."""
        locals_, queues = self._locals, self._queues
        alive, due_us, first = locals_.alive, locals_.due_us, queues.first
        found: _Found = []
        for place in range(self._count):
            local = state[place]
            due = due_us[local]
            if due is not None and (self._own_clocks or not due):
                effect = self._fired.get(local) or self._fired.setdefault(local, self._effect(locals_.fire(local)))
                self._follow(found, place, list(state), place, effect)
        for place in self._links:
            queue = state[place]
            if not queue:
                continue
            node = (place - self._count) % self._count
            local = state[node]
            after = list(state)
            after[place] = queues.rest[queue]
            if alive[local]:
                known = self._delivered.get(local) or self._delivered.setdefault(local, {})
                effect = known.get(first[queue]) or known.setdefault(
                    first[queue], self._effect(locals_.deliver(local, first[queue]))
                )
                self._follow(found, place, after, node, effect)
            else:
                found.append((place, tuple(after)))
        if not self._own_clocks:
            self._wait(found, state)
        return found

    def strikes(self, state: State) -> _Found:
        """Whom a kill may strike now, and who may come up again, each with the state after it."""
        alive, views = self._locals.alive, self._locals.views
        found: _Found = []
        for place in range(self._count):
            if alive[state[place]]:
                if state[_KILLS]:
                    found.append((self._kill + place, self._killed(list(state), place)))
            elif state[_RESTARTS] and views[state[place]].process == "killed":
                found += self._come_up(state, place)
        return found

    def _effect(self, transition: Transition) -> _Effect:
        sent = tuple((self._slot(message), message) for message in transition.sent)
        return transition.local, sent, transition.released

    def _slot(self, number: int) -> int:
        message = self._queues.messages[number]
        return self._count + self._places[message.source] * self._count + self._places[message.target]

    def _follow(self, found: _Found, number: int, after: list[int], node: int, effect: _Effect) -> None:
        """The states after a step of ``node``: the whole of it, and, while kills are left, each part of it."""
        local, sent, released = effect
        queues, alive = self._queues, self._locals.alive
        after[node] = local
        if released:
            for link in self._of[node]:
                if after[link]:
                    after[link] = queues.release(after[link], self._ids[node], released)
        if not alive[local]:
            self._bury(after, node)
        for slot, message in sent:
            if after[_KILLS]:
                number += self._stride
                found.append((number, self._killed(list(after), node)))
            if after[_RESTARTS] or alive[after[(slot - self._count) % self._count]]:
                after[slot] = queues.push(after[slot], message)
        found.append((number % self._stride, tuple(after)))

    def _killed(self, after: list[int], node: int) -> State:
        """The state after a kill; ``after`` is changed."""
        after[_KILLS] -= 1
        after[node] = self._locals.killed(after[node], bool(after[_RESTARTS]))
        for link in self._of[node]:
            if after[link]:
                after[link] = self._queues.release(after[link], self._ids[node], None)
        self._bury(after, node)
        return tuple(after)

    def _bury(self, after: list[int], node: int) -> None:
        """Of a node that is down for ever, neither what it stored matters nor what is on its way to it."""
        if after[_RESTARTS]:
            return
        after[node] = self._locals.killed(after[node], False)
        for link in self._to[node]:
            after[link] = EMPTY

    def _come_up(self, state: State, node: int) -> _Found:
        found: _Found = []
        local = state[node]
        effect = self._started.get(local) or self._started.setdefault(
            local, self._effect(self._locals.start(local))
        )
        after = list(state)
        after[_RESTARTS] -= 1
        for other in range(self._count):
            if other != node and not self._locals.alive[after[other]]:
                self._bury(after, other)
        self._follow(found, self._restart + node, after, node, effect)
        return found

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
        found.append((-wait_us, tuple(after)))

    def _later(self, local: int, us: int) -> int:
        if not self._locals.alive[local]:
            return local
        known = self._waited.get(local) or self._waited.setdefault(local, {})
        after = known.get(us)
        return known.setdefault(us, self._locals.later(local, us)) if after is None else after
