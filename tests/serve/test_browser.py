"""The laboratory in a real browser: keys, mouse, size, and no requests to other hosts."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.lectures.lecture_files import write_lecture
from tests.serve.browser import CHROMIUM, Browser, Chromium
from tests.serve.conftest import Teacher
from tests.serve.lab_server import Client, Server, new_key
from tests.tui.terminal_screen import TerminalScreen
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.serve,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium"),
]

_WIDE, _SMALL = (1600, 900), (1000, 600)
_SIZE = "[innerWidth, innerHeight, document.querySelector('.xterm-screen').clientWidth]"
_ROW = (
    "[...document.querySelectorAll('.xterm-rows > div')].find(row => row.textContent.includes('The highest'))"
    ".getBoundingClientRect().y"
)
_NEXT = "\x1b[6~"
_OVER = "!document.getElementById('over').hidden"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for the tests that do not end it; its clusters end soon after their sessions."""
    with Server(tmp_path_factory.mktemp("browser") / "data", "--web", "0", "--linger", "20s") as serving:
        yield serving


@pytest.fixture
def server(shared: Server) -> Iterator[Server]:
    """A server without sessions."""
    yield shared
    wait_for(lambda: not shared.sessions(), "the sessions of the test have ended", every_s=0.05)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """A window of 1600 by 900."""
    with Browser(chromium) as opened:
        opened.resize(*_WIDE)
        yield opened


def _come_in(browser: Browser, server: Server, code: str) -> None:
    _go_in(browser, server, code)
    browser.sees("lab exercises")


def _go_in(browser: Browser, server: Server, code: str) -> None:
    browser.go_to(server.page())
    browser.shows("document.activeElement.id === 'code'")
    browser.type(f"{code}\r")


def _begin(browser: Browser) -> None:
    browser.type("one pause")
    browser.sees("teaches A1.1 (one coordinator)")
    browser.type("\r")
    browser.sees("★ 5 leads", "attempt 1", "you may: pause, resume")


def test_an_exercise_is_solved_in_a_browser(server: Server, browser: Browser) -> None:
    """With keys only; the page sends requests to the server only, and reports no errors."""
    _go_in(browser, server, "abcd-abcd-abcd-abcd")
    assert "unknown code" in browser.shows("document.querySelector('[role=alert]')?.textContent")
    _come_in(browser, server, server.invite("anna"))
    assert browser.finds("document.title") == "anna"
    assert browser.finds("document.cookie") == "", "no script sees what the browser is known by"
    _begin(browser)
    browser.type(":answer 1 only 5\r")
    browser.sees("you answered: only 5")
    browser.type("5p")
    browser.sees("5 of 5 points", "SOLVED")
    assert {urlsplit(each).netloc for each in browser.requested} == {urlsplit(server.page()).netloc}
    assert browser.complaints == ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]


@pytest.mark.soak
def test_a_lecture_is_followed_in_a_browser(
    server: Server, browser: Browser, teacher: Teacher, tmp_path: Path
) -> None:
    """It opens at log-in, goes where the teacher goes, and asks its question."""
    with teacher("lecture", str(write_lecture(tmp_path))) as giving:
        lecture = TerminalScreen(giving)
        lecture.sees("1/3  Only a text")
        _go_in(browser, server, server.invite("ida"))
        browser.sees("1/3  Only a text", "Silence proves nothing.")
        lecture.sees("1 of 1 student follow")
        lecture.type(_NEXT)
        browser.sees("2/3  The coordinator is paused", "Nobody has noticed")
        lecture.type(_NEXT)
        browser.sees("your teacher asks the class", "Who leads now?")
        browser.type("1\r")
        lecture.sees("1 answer")
        lecture.type(_NEXT)
        lecture.type(_NEXT)
        browser.sees("✓ only 5", "the answer: only 5")
        lecture.type("\r")
        lecture.type("q")
        lecture.sees("leave the lecture?")
        lecture.type("2\r")
        assert giving.status() == 0, giving.last()
        browser.sees("the lecture is over")
    browser.type("q")
    browser.sees("light or dark")
    browser.type("q")


def test_the_terminal_fills_the_window(server: Server, browser: Browser) -> None:
    """And the session has the same size."""
    _come_in(browser, server, server.invite("ben"))
    sizes = []
    for size in (_WIDE, _SMALL, _WIDE):
        browser.resize(*size)
        wait_for(lambda: browser.finds(_SIZE)[:2] == list(size), f"a window of {size}")  # noqa: B023
        wait_for(lambda: size[0] - 20 < browser.finds(_SIZE)[2] <= size[0], "a terminal as wide")  # noqa: B023
        rows = int(browser.finds("document.querySelectorAll('.xterm-rows > div').length"))
        wait_for(lambda: server.size_inside()[1] == rows, "the session has its size")  # noqa: B023
        browser.sees("light or dark")
        sizes.append(server.size_inside())
    assert sizes[0] == sizes[2]
    assert sizes[0][0] > sizes[1][0] + 50
    assert sizes[0][1] > sizes[1][1] + 10
    assert browser.finds("document.documentElement.scrollHeight <= innerHeight"), "nothing is to be scrolled"


def test_a_click_reaches_the_session(server: Server, browser: Browser) -> None:
    """A click selects a row, a second one begins the exercise. And the keyboard focus stays."""
    _come_in(browser, server, server.invite("carla"))
    browser.sees("The highest comes back")
    for _ in range(2):
        browser.click(200, int(browser.finds(_ROW)) + 5)
    browser.sees("The highest comes back", "attempt 1")
    browser.type("?")
    browser.sees("help")


@pytest.mark.parametrize("is_secure", [True, False])
def test_copied_text_is_in_the_clipboard(server: Server, browser: Browser, is_secure: bool) -> None:
    """Also over plain HTTP, where browsers offer no Clipboard API."""
    browser.grant("clipboardReadWrite", "clipboardSanitizedWrite")
    _come_in(browser, server, server.invite("dora" if is_secure else "hans"))
    browser.finds("navigator.clipboard.writeText('nothing')")
    browser.finds("window.clipboard = navigator.clipboard")
    if not is_secure:
        browser.finds("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    _begin(browser)
    browser.type("y")
    browser.shows("window.clipboard.readText().then(text => text.includes('nothing') ? '' : text)")


def test_a_reloaded_page_continues(server: Server, browser: Browser) -> None:
    """The browser is known, and the attempt continues; a second window asks which one to keep."""
    _come_in(browser, server, server.invite("emil"))
    _begin(browser)
    browser.call("Page.reload")
    browser.sees("resume attempt 1")
    browser.type("\r")
    browser.sees("★ 5 leads", "attempt 1")
    assert browser.finds("document.title") == "emil"


def test_the_end_of_a_session_is_shown(tmp_path: Path, browser: Browser) -> None:
    """Enter begins another one; if the server has gone, the page says so; after a log-out a new code is needed."""
    with Server(tmp_path / "data", "--web", "0") as server:
        _end_sessions(server, browser)


def _end_sessions(server: Server, browser: Browser) -> None:
    _come_in(browser, server, server.invite("anna"))
    browser.type("q")
    browser.shows(_OVER)
    assert browser.finds("document.getElementById('why').textContent") == "The session has ended."
    browser.type("\r")
    browser.shows(f"!({_OVER})")  # the terminal still has the text of the last session
    browser.sees("lab exercises")
    server.session().kill()
    browser.shows(_OVER)
    browser.finds("document.querySelector('summary').click()")
    browser.finds("document.querySelector('form button').click()")
    browser.shows("document.title === 'lab'")
    assert browser.finds("document.getElementById('code').value") == ""
    _come_in(browser, server, server.invite("anna"))
    server.process.kill()
    browser.shows(_OVER)
    assert "The connection was lost" in browser.finds("document.getElementById('why').textContent")
    browser.type("\r")
    browser.shows("document.getElementById('why').textContent.includes('does not answer')")


def test_a_student_logged_in_by_ssh_is_asked_in_the_browser(
    server: Server, browser: Browser, tmp_path: Path
) -> None:
    """Sessions by SSH and by browser belong to the same student."""
    key = new_key(tmp_path / "key")
    with Client(server, key, user=server.invite("finn")).terminal() as terminal:
        terminal.shows("lab exercises")
        browser.go_to(server.page())
        browser.type(f"{server.invite('finn')}\r")
        browser.sees("lab: you are already logged in, since", "Press Enter to end that session and continue here")
        browser.type("\r")
        browser.sees("lab exercises")
        terminal.shows("lab: you continued in another session")
        terminal.status()
        terminal.is_as_before()
