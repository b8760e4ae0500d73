"""The server's admin socket, which only its user can open: the state of the class, and the teacher's requests.

What a request holds (a lecture, control of a cluster) ends with its connection.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.assessment import State
from lab.exercises.attempts import PROGRESS, StudentFolder
from lab.exercises.teacher import ClassReport, ServerAdminError, Student
from lab.serve.admin_client import ADMIN_SOCKET
from lab.serve.admin_requests import (
    AdminReply,
    AdminRequest,
    ArchiveStudent,
    AskQuestion,
    BeginLecture,
    CloseVote,
    EndLecture,
    EraseStudent,
    GetReport,
    GetTally,
    NotifyStudents,
    RecordRequest,
    RemoveStudent,
    ShowPosition,
    TakeControl,
)
from lab.serve.cluster_pool import ClusterProcess
from lab.serve.server_context import ActiveSession, ServerContext
from lab.serve.student_lists import ERASED, REMOVED
from lab.text import UserError
from lab.worlds.json_lines import LONGEST_LINE, answer_requests

_MISUNDERSTOOD = AdminReply("the server runs another version and does not understand this request; restart it")


class ClassList:
    """Builds reports; it caches each student's progress until the file changes, because it is called often."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._folders: dict[str, tuple[tuple[int, int], StudentFolder]] = {}

    def report(self) -> ClassReport:
        """Report on all students who may log in, or have."""
        context = self._context
        exercises = [each for each in context.exercises.values() if each.is_on_server]
        points = sum(each.points for each in exercises)
        lecture = context.hub.lecture
        title = "" if lecture is None else lecture.title
        return ClassReport(context.port, tuple(self._students()), len(exercises), points, title)

    def _students(self) -> Iterator[Student]:
        context = self._context
        paths = context.folder.student_paths()
        on = {each.student: each for each in context.presence.all()}
        clusters = context.clusters.all()
        removed = context.admission.removed.names()
        for name in sorted({*paths, *context.admission.names(), *on, *removed}):
            folder = self._student_folder(name, paths[name]) if name in paths else None
            student = _build_student(name, folder, on.get(name), clusters.get(name))
            yield replace(
                student,
                keys=context.hub.has_control(name),
                unread=self._unread_comments(name),
                removed=name in removed,
            )

    def _unread_comments(self, student: str) -> int:
        with suppress(ServerAdminError):  # the teacher's next comment reports it
            return sum(not comment.read for comment in self._context.comments.of(student))
        return 0

    def _student_folder(self, name: str, folder: Path) -> StudentFolder | None:
        try:
            found = (folder / PROGRESS).stat()
            seen = found.st_mtime_ns, found.st_ino
            if name not in self._folders or self._folders[name][0] != seen:
                self._folders[name] = seen, StudentFolder(folder, name)
        except OSError:  # missing or unreadable: the report goes on without it
            self._folders.pop(name, None)
            return None
        return self._folders[name][1]


def _build_student(
    name: str,
    folder: StudentFolder | None,
    session: ActiveSession | None,
    cluster: ClusterProcess | None,
) -> Student:
    progress = [] if folder is None else list(folder.all_progress.values())
    exercise, attempt, done, tasks = "", 0, 0, 0
    stuck_s: float | None = None
    states: tuple[State, ...] = ()
    current = None if folder is None else folder.current
    if cluster is not None and cluster.attempt is not None:
        exercise, attempt = cluster.attempt.name, cluster.attempt.attempt
        began = cluster.info.began
        if current is not None and (current.exercise, current.attempt) == (exercise, attempt):
            done, tasks, began, states = current.done, current.tasks, current.since, current.states
        if not tasks or done < tasks:
            stuck_s = _ago_s(began)
    return Student(
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
        points=sum(each.points for each in progress),
        solved=sum(bool(each.first_solved) for each in progress),
        states=states,
        latest="" if current is None else current.exercise,
        latest_attempt=0 if current is None else current.attempt,
    )


def _ago_s(at: str) -> float | None:
    try:
        ago_s = (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    except (ValueError, TypeError):
        return None  # the file was edited
    return max(0.0, round(ago_s, 1))  # the clock may have been set back


async def serve_admin(sockets: Path, context: ServerContext) -> asyncio.Server:
    """Listen until the returned server is closed."""
    class_list = ClassList(context)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError), ExitStack() as held:  # the server ends: asyncio would print it

            async def answer(request: AdminRequest) -> AdminReply:
                try:
                    if isinstance(request, RecordRequest):
                        return AdminReply(text=await change_records(context, request))
                    return _handle_request(context, class_list, request, held)
                except UserError as error:
                    return AdminReply(str(error))
                except OSError as error:
                    return AdminReply(f"the server cannot do that now: {error}")

            await answer_requests(reader, writer, AdminRequest, answer, _MISUNDERSTOOD)

    path = sockets / ADMIN_SOCKET
    server = await asyncio.start_unix_server(serve, path, limit=LONGEST_LINE)
    os.chmod(path, 0o600)
    return server


async def change_records(context: ServerContext, request: RecordRequest) -> str:
    """Carry out a request about one student; end the sessions of one who is removed or erased first."""
    student, listed = request.student, context.admission.names()
    if isinstance(request, EraseStudent):
        context.records.apply(RemoveStudent(student), listed)
        await context.end_sessions(student, ERASED)
    match request:
        case ArchiveStudent():  # all recordings are read
            return await asyncio.to_thread(context.records.apply, request, listed)
        case EraseStudent():  # the whole log is rewritten
            async with context.sealer.lock:
                text = await asyncio.to_thread(context.records.apply, request, listed)
        case _:
            text = context.records.apply(request, listed)
    if isinstance(request, RemoveStudent):
        await context.end_sessions(student, REMOVED)
    if isinstance(request, EraseStudent):
        context.admission.browsers.forget_student(student)
    context.hub.renew_notices(student)
    return text


def _handle_request(
    context: ServerContext, class_list: ClassList, request: AdminRequest, held: ExitStack
) -> AdminReply:
    hub = context.hub
    match request:
        case GetReport():
            return AdminReply(report=class_list.report())
        case NotifyStudents(students, text):
            return AdminReply(notified=hub.notify(students, text))
        case TakeControl(student):
            run = context.clusters.running(student)
            held.enter_context(hub.control_of(student, "" if run is None else run.recording))
        case BeginLecture(socket, title, folder):
            held.enter_context(hub.lecture_on(socket, title, folder))
        case ShowPosition(position):
            return AdminReply(audience=hub.show_position(position))
        case EndLecture():
            hub.end_lecture()
        case AskQuestion(text, options, step, answer, explanation):
            hub.ask(text, options, step, answer, explanation)
        case GetTally():
            return AdminReply(tally=hub.tally())
        case CloseVote():
            return AdminReply(tally=hub.close_vote())
    return AdminReply()
