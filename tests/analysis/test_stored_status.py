"""Status and Coordinator in stable storage: logs, marks, triggers and elections show them as those of memory."""

from typing import ClassVar

import lab
from lab.analysis.marks import MarkFold
from lab.kernel import Safe, Step, procedure
from lab.protocols import Election, Status
from lab.recording.log_lines import lines_of


class Keeper(Election):
    """Node 1 leads for good: all others store that when they first start."""

    name: ClassVar[str] = "keeper"

    status: Safe[Status] = Status.DOWN
    coordinator: Safe[int | None] = None

    def started(self) -> None:
        if self.status is Status.DOWN:
            self.begin(self.join)

    @procedure
    async def join(self) -> None:
        await self.sleep(self.timing.t_us, "the others")
        self.status, self.coordinator = Status.NORMAL, 1


def test_what_is_stored_is_shown_too() -> None:
    """Node 2 is killed as it enters Normal; it is Normal from its storage when it starts again."""
    run = lab.simulate(Keeper, 3, seed=1, for_="6s", script=["on status 2 Normal kill 2", "at 3s restart 2"])
    lines = [line for number, record in enumerate(run.records) for line in lines_of(number, record)]
    shown = [(line.kind, line.text) for line in lines if line.source == 2 and line.what in ("status", "process")]
    assert [each for each in shown if each[0] in ("Normal", "killed", "started")] == [
        ("started", shown[0][1]),
        ("Normal", "Normal, coordinator 1"),
        ("killed", "killed"),
        ("started", "started (incarnation 2, process 0)"),
        ("Normal", "Normal, coordinator 1"),
    ], shown
    fold = MarkFold()
    marks = [(fold.observe(record), record) for record in run.records]
    of_steps = [(record.node, mark) for mark, record in marks if isinstance(record, Step) and mark is not None]
    assert [mark for node, mark in of_steps if node == 2] == ["status"] * 3, "Down, Normal, and Normal again"
    assert [mark for node, mark in of_steps if node == 1] == ["status", "leader"]
    assert [each.coordinator for each in run.elections] == [1, 1]
