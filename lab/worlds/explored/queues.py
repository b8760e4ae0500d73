"""Messages in flight, as numbers: one queue for each link; queues of the same content have one number.

A message is canonical: a request's serial is a name that does not depend on the past (``open_requests``), or STALE
if nobody waits for its reply any more, and every reply has serial 0. So messages in flight look the same if they
mean the same. Links are FIFO (rule M6), so only the first message of a queue may arrive.
"""

from msgspec.structs import replace

from lab.kernel import Message

__all__ = ["EMPTY", "NEVER_US", "STALE", "Queues"]

EMPTY = 0
STALE = -1
NEVER_US = 1 << 60


class Queues:
    """The messages and the queues met so far, by number; queue ``EMPTY`` is empty.

    A message must arrive within ``within_us`` of its sending. For each queue: ``first`` is its first message,
    ``rest`` the queue without it, ``left_us`` the time until the first is overdue.
    """

    def __init__(self, within_us: int) -> None:
        self.messages: list[Message] = []
        self.first: list[int] = [-1]
        self.rest: list[int] = [EMPTY]
        self.left_us: list[int] = [NEVER_US]
        self._within_us = within_us
        self._contents: list[tuple[tuple[int, int], ...]] = [()]
        self._numbers: dict[tuple[tuple[int, int], ...], int] = {(): EMPTY}
        self._message_numbers: dict[tuple[int, int, int, str, bytes, int], int] = {}
        self._pushed: list[dict[int, int]] = [{}]
        self._later: list[dict[int, int]] = [{}]
        self._released: list[dict[tuple[int, frozenset[int] | None], int]] = [{}]

    def number(self, message: Message) -> int:
        """Return the number of a canonical message."""
        m = message
        key = (m.source, m.target, m.serial, m.kind, bytes(m.body), m.reply_to)
        known = self._message_numbers.setdefault(key, len(self.messages))
        if known == len(self.messages):
            self.messages.append(message)
        return known

    def push(self, queue: int, message: int) -> int:
        """Return the queue with one more message, sent now."""
        known = self._pushed[queue].get(message)
        if known is None:
            known = self._number((*self._contents[queue], (message, self._within_us)))
            self._pushed[queue][message] = known
        return known

    def later(self, queue: int, us: int) -> int:
        """Return the queue after this much time."""
        if self._within_us == NEVER_US:
            return queue
        known = self._later[queue].get(us)
        if known is None:
            known = self._number(tuple((message, left_us - us) for message, left_us in self._contents[queue]))
            self._later[queue][us] = known
        return known

    def release(self, queue: int, node: int, names: frozenset[int] | None) -> int:
        """Return the queue after ``node`` stopped waiting for replies to these requests (None: to any)."""
        known = self._released[queue].get((node, names))
        if known is None:
            known = self._number(
                tuple((self._stale(number, node, names), left_us) for number, left_us in self._contents[queue])
            )
            self._released[queue][node, names] = known
        return known

    def _stale(self, number: int, node: int, names: frozenset[int] | None) -> int:
        message = self.messages[number]
        if message.source == node and message.serial > 0 and (names is None or message.serial in names):
            return self.number(replace(message, serial=STALE))
        if message.target == node and message.reply_to > 0 and (names is None or message.reply_to in names):
            return self.number(replace(message, reply_to=STALE))
        return number

    def _number(self, content: tuple[tuple[int, int], ...]) -> int:
        known = self._numbers.get(content)
        if known is None:
            rest = self._number(content[1:])  # before this one has its number
            known = self._numbers[content] = len(self._contents)
            self._contents.append(content)
            self.first.append(content[0][0])
            self.left_us.append(content[0][1])
            self.rest.append(rest)
            self._pushed.append({})
            self._later.append({})
            self._released.append({})
        return known
