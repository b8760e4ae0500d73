"""How the class stands just now: who is on, at which exercise, for how long without a step ahead."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lab.exercises.home import PROGRESS, Home
from lab.exercises.teacher import ClassReport, Pupil
from lab.serve.cluster import ClusterProcess
from lab.serve.house import House
from lab.serve.presence import Present

__all__ = ["Roll"]


class Roll:
    """Is called often: what was read of a student's progress is kept as long as that file is the same."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._homes: dict[str, tuple[tuple[int, int], Home]] = {}

    def report(self) -> ClassReport:
        """All students who may come in, or were here."""
        house = self._house
        points = sum(each.points for each in house.exercises.values())
        lecture = house.desk.lecture
        title = "" if lecture is None else lecture.title
        return ClassReport(house.port, tuple(self._pupils()), len(house.exercises), points, title)

    def _pupils(self) -> Iterator[Pupil]:
        house = self._house
        homes = house.folder.homes()
        on = {each.student: each for each in house.presence.all()}
        clusters = house.clusters.all()
        for name in sorted({*homes, *house.admission.names(), *on}):
            home = self._home(name, homes[name]) if name in homes else None
            yield _pupil(name, home, on.get(name), clusters.get(name), house.desk.has_keys(name))

    def _home(self, name: str, folder: Path) -> Home | None:
        try:
            found = (folder / PROGRESS).stat()
            seen = found.st_mtime_ns, found.st_ino
            if name not in self._homes or self._homes[name][0] != seen:
                self._homes[name] = seen, Home(folder, name)
        except OSError:  # none yet, or it cannot be read: the others are told of still
            self._homes.pop(name, None)
            return None
        return self._homes[name][1]


def _pupil(
    name: str, home: Home | None, session: Present | None, cluster: ClusterProcess | None, keys: bool
) -> Pupil:
    standings = [] if home is None else list(home.standings.values())
    exercise, attempt, done, tasks = "", 0, 0, 0
    stuck_s: float | None = None
    if cluster is not None and cluster.attempt is not None:
        exercise, attempt = cluster.attempt.name, cluster.attempt.attempt
        began = cluster.info.began
        doing = None if home is None else home.doing
        if doing is not None and (doing.exercise, doing.attempt) == (exercise, attempt):
            done, tasks, began = doing.done, doing.tasks, doing.since
        if not tasks or done < tasks:
            stuck_s = _ago_s(began)
    return Pupil(
        name,
        since="" if session is None else session.began,
        on_s=None if session is None else _ago_s(session.began),
        address="" if session is None else session.address,
        idle_s=0.0 if session is None else round(time.monotonic() - session.pressed_s, 1),
        exercise=exercise,
        attempt=attempt,
        done=done,
        tasks=tasks,
        stuck_s=stuck_s,
        cluster="" if cluster is None else f"{cluster.info.protocol}, {len(cluster.info.nodes)} nodes",
        socket="" if cluster is None else cluster.info.socket,
        points=sum(each.points for each in standings),
        solved=sum(bool(each.first_solved) for each in standings),
        keys=keys,
    )


def _ago_s(at: str) -> float | None:
    try:
        ago_s = (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    except (ValueError, TypeError):
        return None  # by another hand than the program's
    return max(0.0, round(ago_s, 1))  # the clock may have been put back
