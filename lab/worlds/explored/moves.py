"""The moves from a global state: deliveries, timeouts, the passing of time, kills, restarts, cuts and pauses.

Nodes take no time to handle an input. The model of time decides when timers fire, and with that, which of
Garcia-Molina's assumptions hold:

* ``synchronous``: one clock, and every message arrives within Tm. The clock moves to the next instant when a
  timer or a message's deadline is due, once no timer is left that is due and no message would be late. At each
  such instant any message may arrive, up to its deadline. Times between two instants are not tried; with Tm = Tp
  and timeouts that are multiples of it, the instants are the multiples of Tm. All nine assumptions hold.
* ``prompt``: the same, but messages take no time: the clock moves once none is in flight. Of all synchronous
  executions these are the ones of a network much faster than the timeouts, with far fewer states.
* ``ordered``: one clock, on which timers fire in the order of their due times, but messages take any time.
  Assumption 8 is broken: a slow network.
* ``any``: each node has its own clock; its next timer may fire at any moment, which moves that clock to the
  timer's time. Assumptions 8 and 9 are broken: a slow network, and slow or paused nodes.
* ``budget``: the same, but at most so many timeouts are wrong; ``lab.worlds.explored.suspicions`` defines which
  are. While none is left, a timer that would be wrong holds its node's clock back. The same assumptions are
  broken.

In all five, links are FIFO and neither invent nor duplicate messages (3, 6, 7), and stable storage works (4). A
kill may strike any node at any moment (5), also between two messages of one step; messages sent before it still
arrive. Messages to a node that is down are lost; if no node can restart, they are lost at once.

A cut may begin at any moment, also between two messages of one step, and be healed at any later one; it breaks
assumption 8. As in the other worlds, messages sent during a cut are lost, and so are messages that would arrive
during it; messages still in flight when it is healed arrive. So a cut is tried right before each message that it
stops, and healing right before each message that then passes: at any earlier moment since the last of these, the
result would be the same.

A pause may begin at any moment, also between two messages of one step, and end at any later one; it breaks
assumption 9. The paused node handles nothing: its timers do not fire, messages to it wait on their links, and the
rest of its step's messages leave when it resumes. Its clock goes on. Time passes whatever it should have done:
neither its timers nor the messages to it hold the clock back. When it resumes, a timer that has become due is
late, and so may be several; the clock stands until all of them have fired. As in the other worlds, messages come
first: the node fires no timer before it has taken in every message that should have arrived before now. Others may
still be on their way. If it is killed instead, what has not left never does, and it is restarted only after the
overdue messages are lost. A pause ends after a given time at the latest, as the messages that wait would grow
without bound. Under ``any`` and ``budget``, pauses are no moves of their own: a node that takes its time is one of
the executions.
"""

from typing import NamedTuple

from lab.kernel import CommandInput
from lab.properties.history_verdict import GivenCalls
from lab.worlds.explored.local_states import LocalStates, Transition
from lab.worlds.explored.part_changes import Parts
from lab.worlds.explored.states import (
    COMMANDS,
    CUT,
    CUTS,
    EMPTY,
    KILLS,
    MEMORIES,
    NEVER_US,
    NEXT_CALL,
    NOBODY,
    NOTHING,
    PAUSED,
    PAUSES,
    RESTARTS,
    SUSPICIONS,
    WHOLE,
    WITH_OWN_CLOCKS,
    Change,
    Cuts,
    Memories,
    Move,
    Pauses,
    Queues,
    State,
    Timeouts,
    Unsent,
    with_budget,
)

Draws = dict[int, tuple[float, ...]]
"""The random numbers that each node draws as it starts."""
Found = list[tuple[Move, State]]
"""Moves, each with the state after it."""


class _Effect(NamedTuple):
    """The effect of a step.

    ``sent`` are (link, message), ``released`` the requests whose replies are no longer waited for. ``change`` are
    the local states before and after, if a property of the history is to judge the change, ``draws`` the random
    numbers drawn.
    """

    local: int
    sent: tuple[tuple[int, int], ...]
    released: frozenset[int]
    change: Change | None
    draws: tuple[float, ...]


class _Later(dict[int, int]):
    """The local state after this much time, by local state."""

    def __init__(self, locals_: LocalStates, us: int) -> None:
        self._locals, self._us = locals_, us

    def __missing__(self, local: int) -> int:
        self[local] = after = self._locals.later(local, self._us) if self._locals.alive[local] else local
        return after


class Moves:
    """The moves over these local states and queues.

    ``memories`` numbers what properties remember, ``cuts`` the possible cuts, ``pauses`` the paused nodes.
    ``commands`` are given to nodes before any other move, as long as a state has some left. A pause lasts
    ``longest_pause_us`` at most; if that is 0, there are none. ``faults`` are the numbers of kills and cuts that
    the search begins with. ``counts_suspicions``: timeouts that are wrong need one of the suspicions left.

    The first ``members`` of the nodes are those of the cluster: no fault strikes the others. ``calls`` are the
    operations that clients among these call, each at any moment.
    """

    def __init__(
        self,
        locals_: LocalStates,
        queues: Queues,
        ids: tuple[int, ...],
        timeouts: Timeouts,
        memories: Memories,
        parts: Parts,
        commands: tuple[tuple[int, CommandInput], ...] = (),
        longest_pause_us: int = 0,
        faults: tuple[int, int] = (0, 0),
        members: int | None = None,
        calls: GivenCalls | None = None,
    ) -> None:
        self.counts_suspicions = timeouts == "budget"
        self.memories = memories
        self.parts = parts
        self.first_message = queues.first
        self._locals = locals_
        self._queues = queues
        self._time_passes = timeouts not in WITH_OWN_CLOCKS
        self._faults = faults
        self._has_pauses = longest_pause_us > 0
        self._count = count = len(ids)
        self._members = count if members is None else members
        self._calls = calls
        self.has_clients = calls is not None
        self._places = {node: place for place, node in enumerate(ids)}
        self._ids = ids
        self._commands = commands
        self.cuts = Cuts(ids[: self._members], self._link)
        self.pauses = Pauses(longest_pause_us)
        self._to = [range(count + place, count + count * count, count) for place in range(count)]
        self._from = [range(count + place * count, count + place * count + count) for place in range(count)]
        self._of = [sorted({*self._to[place], *self._from[place]}) for place in range(count)]
        self._kill_commands = [f"kill {node}" for node in ids]
        self._pause_commands = [f"pause {node}" for node in ids]
        self._resume_moves = [Move("strike", node, commands=(f"resume {node}",)) for node in ids]
        self._timer_moves = [Move("fire", node) for node in ids]
        self._call_moves = [Move("call", node) for node in ids]
        self._delivery_moves = {
            self._link(source, node): Move("deliver", node, source) for source in ids for node in ids
        }
        self._fired: dict[int, list[_Effect]] = {}
        self._called: dict[int, list[_Effect]] = {}
        self._started: dict[int, list[_Effect]] = {}
        self._delivered: dict[int, dict[int, list[_Effect]]] = {}
        self._later: dict[int, _Later] = {}

    def under(self, timeouts: Timeouts) -> "Moves":
        """Return the moves over the same local states and queues in another model of time."""
        locals_, queues, members = self._locals, self._queues, self._members
        return Moves(locals_, queues, self._ids, timeouts, self.memories, self.parts, members=members)

    def all_down(self) -> State:
        """Return the state in which no node has started yet; each of them may restart once."""
        down = [self._locals.stopped(node, "killed", {}) for node in self._ids]
        nothing = (0, 0, 0, 0, 0, 0, NOBODY, WHOLE, NOTHING)
        return with_budget((*down, *(EMPTY for _ in self._delivery_moves), *nothing), 0, self._count, 0)

    def is_down(self, state: State, place: int) -> bool:
        """Return whether the node is down."""
        return not self._locals.alive[state[place]]

    # moves of a row: a state, or one that leaves its queues and its memories open

    def command(self, row: State) -> Found:
        """Return the next command of a row that has some left, with the states after it."""
        node, command_input = self._commands[-row[COMMANDS]]
        after, place = list(row), self._places[node]
        after[COMMANDS] -= 1
        if not self._locals.alive[row[place]]:
            return [(Move("wait"), tuple(after))]
        found: Found = []
        effects = self._effects(row[place], self._locals.give_command(row[place], command_input))
        command = " ".join(("tell", str(node), command_input.command, *command_input.words))
        self._add_steps(found, Move("strike", node, commands=(command,)), after, place, effects)
        return found

    def timers(self, row: State, place: int, is_wrong: bool = False) -> Found:
        """Return the firing of the node's next timer, if it is due and not held back by overdue messages.

        If it ``is_wrong``, it takes one of the suspicions left.
        """
        local, found = row[place], Found()
        due_us = self._locals.due_us[local]
        if due_us is None or (self._time_passes and due_us) or self._is_paused(row, place):
            return found
        effects = self._fired.get(local)
        if effects is None:
            effects = self._fired[local] = self._effects(local, self._locals.fire_timer(local))
        after = list(row)
        after[SUSPICIONS] -= is_wrong
        self._add_steps(found, self._timer_moves[place], after, place, effects)
        return found

    def deliveries(self, row: State, link: int, message: int) -> Found:
        """Return the moves in which a link's first message arrives, as the network is or after a cut; or is lost.

        A message to a paused node can only be lost.
        """
        found: Found = []
        waits = self._is_paused(row, link % self._count)
        if not waits or self._is_cut(row, link):
            self._add_delivery(found, self._delivery_moves[link], row, link, message)
        for commands, cut in self._cut_changes(row, link) if row[CUTS] or row[CUT] else ():
            if not waits or link in self.cuts.stops[cut]:
                move = self._delivery_moves[link]._replace(commands=commands)
                self._add_delivery(found, move, self._with_cut(row, cut), link, message)
        return found

    def strikes(self, row: State, place: int) -> Found:
        """Return the node's kill, its pause, and the end of its pause, as far as they are possible now.

        No fault strikes a client or a service; but a client calls its next operation, if there is one left.
        """
        found: Found = []
        if not self._locals.alive[row[place]]:
            return found
        if place >= self._members:
            return self._next_call(row, place)
        if row[KILLS]:
            move = Move("strike", commands=(self._kill_commands[place],))
            found.append((move, self._killed(list(row), place)))
        pause = self.pauses.of[row[PAUSED]].get(place)
        if pause is not None:
            after = list(row)
            after[PAUSED] = self.pauses.end(row[PAUSED], place)
            self._send(found, self._resume_moves[place], after, place, pause.unsent, 0)
        elif row[PAUSES]:
            move = Move("strike", commands=(self._pause_commands[place],))
            found.append((move, self._paused(list(row), place, ())))
        return found

    def _next_call(self, row: State, place: int) -> Found:
        found: Found = []
        local, client = row[place], self._ids[place]
        if self._calls is None or client not in self._calls.clients:
            return found
        if self._calls.may_call(client, self._locals.views[local].state):
            effects = self._called.get(local)
            if effects is None:
                effects = self._called[local] = self._effects(local, self._locals.give_command(local, NEXT_CALL))
            self._add_steps(found, self._call_moves[place], list(row), place, effects)
        return found

    def restarts(self, row: State, place: int) -> Found:
        """Return the restart of the node, for each choice of its draws. It may be the last."""
        found: Found = []
        local, after = row[place], list(row)
        effects = self._started.get(local)
        if effects is None:
            effects = self._started[local] = self._effects(local, self._locals.start(local))
        after[RESTARTS] -= 1
        for other in range(self._count):
            if other != place and not self._locals.alive[after[other]]:
                self._discard_dead(after, other)
        self._add_steps(found, Move("restart", self._ids[place]), after, place, effects)
        return found

    # moves of a state

    def may_restart(self, state: State, place: int) -> bool:
        """Return whether the node was killed, and no message to it is overdue."""
        return self._locals.views[state[place]].process == "killed" and not self.has_overdue(state, place)

    def is_wrong(self, state: State, place: int) -> bool:
        """Return whether the node's next timer would give up what may still come."""
        suspicion = self._locals.suspicions[state[place]]
        kills, cuts = self._faults
        alive, places = self._locals.alive, self._places
        if suspicion.anybody:
            return state[KILLS] == kills and state[CUTS] == cuts
        if suspicion.silent:
            return state[CUTS] == cuts and all(alive[state[places[peer]]] for peer in suspicion.silent)
        return any(
            alive[state[places[peer]]] and self._is_in_flight(state, self._ids[place], peer, request)
            for peer, request in suspicion.requests
        )

    def _is_in_flight(self, state: State, node: int, peer: int, request: int) -> bool:
        """Return whether a request of the node to its peer, or the reply, is in flight."""
        has = self._queues.has
        there, back = state[self._link(node, peer)], state[self._link(peer, node)]
        return has(there, node, request) or has(back, node, request)

    def has_overdue(self, state: State, place: int) -> bool:
        """Return whether a message to this node should have arrived before now."""
        left_us = self._queues.left_us
        return self._has_pauses and any(left_us[state[link]] < 0 for link in self._to[place])

    def waits(self, state: State) -> Found:
        """Let time pass, if it may: whatever the paused nodes should do."""
        if not self._time_passes:
            return []
        due_us, left_us, count = self._locals.due_us, self._queues.left_us, self._count
        paused = self.pauses.of[state[PAUSED]]
        locals_, queues = state[:count], state[count:COMMANDS]
        if paused:
            locals_ = tuple(local for place, local in enumerate(locals_) if place not in paused)
            queues = tuple(queue for link, queue in enumerate(queues) if link % count not in paused)
        dues_us = [due for local in locals_ if (due := due_us[local]) is not None]
        wait_us = min(dues_us, default=NEVER_US)
        if wait_us:
            wait_us = min(wait_us, self.pauses.left_us[state[PAUSED]], *[left_us[queue] for queue in queues])
        if not 0 < wait_us < NEVER_US:
            return []
        later = self._later.get(wait_us)
        if later is None:
            later = self._later[wait_us] = _Later(self._locals, wait_us)
        after = [later[local] for local in state[:count]]
        after += [self._queues.later(queue, wait_us) if queue else queue for queue in state[count:COMMANDS]]
        after += state[COMMANDS:]
        if paused:
            after[PAUSED] = self.pauses.later(after[PAUSED], wait_us)
        return [(Move("wait", us=wait_us), tuple(after))]

    def heals(self, state: State) -> Found:
        """Return the healing of the cut in force, if there is one; tried where no other move is possible."""
        return [(Move("strike", commands=("heal",)), tuple(self._with_cut(state, WHOLE)))] if state[CUT] else []

    def _is_paused(self, state: State, place: int) -> bool:
        return place in self.pauses.of[state[PAUSED]]

    # steps of nodes

    def _add_delivery(self, found: Found, move: Move, row: State | list[int], link: int, message: int) -> None:
        alive = self._locals.alive
        source, node = divmod(link - self._count, self._count)
        local, after = row[node], list(row)
        after[link] = self.parts.pop(row[link])
        if after[CUT] and not alive[row[source]]:
            self._narrow_cut(after)
        if not alive[local] or self._is_cut(row, link):
            found.append((move, tuple(after)))
            return
        known = self._delivered.setdefault(local, {})
        effects = known.get(message)
        if effects is None:
            effects = known[message] = self._effects(local, self._locals.deliver(local, message))
        self._add_steps(found, move, after, node, effects)

    def _effects(self, local: int, transitions: list[Transition]) -> list[_Effect]:
        return [self._effect(local, transition) for transition in transitions]

    def _effect(self, local: int, transition: Transition) -> _Effect:
        messages = ((number, self._queues.messages[number]) for number in transition.sent)
        sent = tuple((self._link(message.source, message.target), number) for number, message in messages)
        views = self._locals.views
        change = self.memories.change(views[local], self._locals.stored(local), views[transition.local])
        return _Effect(transition.local, sent, transition.released, change, transition.draws)

    def _link(self, source: int, target: int) -> int:
        return self._count + self._places[source] * self._count + self._places[target]

    def _add_steps(self, found: Found, move: Move, after: list[int], node: int, effects: list[_Effect]) -> None:
        """Add the states after a step of ``node``, for each choice of what it draws."""
        for effect in effects[1:]:
            self._add_step(found, move._replace(draws=effect.draws), list(after), node, effect)
        first = effects[0]
        self._add_step(found, move._replace(draws=first.draws) if first.draws else move, after, node, first)

    def _add_step(self, found: Found, move: Move, after: list[int], node: int, effect: _Effect) -> None:
        """Add the states after a step of ``node``: of the whole step, and with faults within it."""
        local, sent, released, change, _ = effect
        after[node] = local
        if change is not None:
            after[MEMORIES] = self.parts.remember(after[MEMORIES], change)
        if released:
            self._release(after, node, released)
        if not self._locals.alive[local]:
            self._discard_dead(after, node)
        self._send(found, move, after, node, sent, 0)

    def _send(self, found: Found, move: Move, after: list[int], node: int, sent: Unsent, begin: int) -> None:
        """Send the messages from ``begin`` on, and try all faults that may strike before each."""
        for place in range(begin, len(sent)):
            link, message = sent[place]
            if after[KILLS] and node < self._members:
                found.append((move.with_fault(place, self._kill_commands[node]), self._killed(list(after), node)))
            if after[PAUSES] and node < self._members:
                paused = self._paused(list(after), node, sent[place:])
                found.append((move.with_fault(place, self._pause_commands[node]), paused))
            for commands, cut in self._cut_changes(after, link) if after[CUTS] or after[CUT] else ():
                turned = self._with_cut(after, cut)
                self._enqueue(turned, link, message)
                self._send(found, move.with_fault(place, *commands), turned, node, sent, place + 1)
            self._enqueue(after, link, message)
        found.append((move, tuple(after)))

    def _enqueue(self, after: list[int], link: int, message: int) -> None:
        if after[CUT] and self._is_cut(after, link):
            return
        if after[RESTARTS] or self._locals.alive[after[(link - self._count) % self._count]]:
            after[link] = self.parts.push(after[link], message)

    def _release(self, after: list[int], node: int, names: frozenset[int] | None) -> None:
        for link in self._of[node]:
            after[link] = self.parts.release(after[link], self._ids[node], names)
        if after[PAUSED]:
            after[PAUSED] = self.pauses.renamed(
                after[PAUSED], lambda message: self._queues.stale(message, self._ids[node], names)
            )

    # kills and pauses

    def _paused(self, after: list[int], node: int, unsent: Unsent) -> State:
        """Return the state after a pause; ``after`` is changed."""
        after[PAUSES] -= 1
        after[PAUSED] = self.pauses.begin(after[PAUSED], node, unsent)
        return tuple(after)

    def _killed(self, after: list[int], node: int) -> State:
        """Return the state after a kill; ``after`` is changed."""
        after[KILLS] -= 1
        if after[PAUSED]:
            after[PAUSED] = self.pauses.end(after[PAUSED], node)
        after[node] = self._locals.killed(after[node], bool(after[RESTARTS]))
        self._release(after, node, None)
        self._discard_dead(after, node)
        return tuple(after)

    def _discard_dead(self, after: list[int], node: int) -> None:
        """Discard the storage of a node that is down forever, and the messages to it: they no longer matter."""
        if after[RESTARTS]:
            return
        after[node] = self._locals.killed(after[node], False)
        for link in self._to[node]:
            after[link] = self.parts.clear(after[link])
        if after[CUT]:
            self._narrow_cut(after)

    # cuts

    def _cut_changes(self, state: State | list[int], link: int) -> list[tuple[tuple[str, ...], int]]:
        """Return the commands that now stop this link's message, or let it pass, each with the resulting cut."""
        heal = ("heal",) if state[CUT] else ()
        if heal and self._is_cut(state, link):
            return [(heal, WHOLE)]
        if not state[CUTS]:
            return []
        others = self.cuts.without(self._idle_links(state))
        return [((*heal, command), cut) for command, cut in others if link in self.cuts.stops[cut]]

    def _with_cut(self, state: State | list[int], cut: int) -> list[int]:
        after = list(state)
        after[CUTS] -= cut != WHOLE
        after[CUT] = cut
        return after

    def _is_cut(self, state: State | list[int], link: int) -> bool:
        return link in self.cuts.stops[state[CUT]]

    def _narrow_cut(self, after: list[int]) -> None:
        """Replace the cut by the one that equals it on all links that may still carry something."""
        after[CUT] = self.cuts.narrowed(after[CUT], self._idle_links(after))

    def _idle_links(self, state: State | list[int]) -> frozenset[int]:
        """Return the links that can deliver nothing more: those of nodes down forever, once empty."""
        if state[RESTARTS]:
            return frozenset()
        dead = [place for place in range(self._count) if not self._locals.alive[state[place]]]
        return frozenset(
            link for place in dead for link in (*self._to[place], *self._from[place]) if state[link] == EMPTY
        )
