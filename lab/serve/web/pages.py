"""The two pages, and what every answer says to the browser: nothing from elsewhere, in no frame, kept nowhere."""

from html import escape
from pathlib import Path
from string import Template

from aiohttp import web

__all__ = ["STATIC_FILES", "guard", "log_in_page", "terminal_page"]

_STATIC = Path(__file__).with_name("static")
STATIC_FILES = {path.relative_to(_STATIC).as_posix(): path for path in _STATIC.rglob("*") if path.is_file()}
"""By the names under which they are served. A name is looked up here: no path is made of what a client says."""
_TEMPLATES = Path(__file__).with_name("templates")
_HEADERS = {
    # xterm.js styles what it draws by <style> elements of its own
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Server": "lab",
}


async def guard(request: web.Request, answer: web.StreamResponse) -> None:
    """Add to each answer what holds for all."""
    answer.headers.update(_HEADERS)
    is_static = request.path.startswith("/static/")
    answer.headers["Cache-Control"] = "no-cache" if is_static else "no-store"


def log_in_page(has_guests: bool, told: str = "", code: str = "", status: int = 200) -> web.Response:
    """The door. ``told`` is what is wrong with the code, which is there still."""
    guests = _read("guests") if has_guests else ""
    wrong = f'<p role="alert">{escape(told)}</p>' if told else ""
    return _page("log-in", status, wrong=wrong, code=escape(code), guests=guests)


def terminal_page(student: str) -> web.Response:
    """A window full of terminal, with this student's name as its title."""
    return _page("terminal", 200, student=escape(student))


def _page(name: str, status: int, **words: str) -> web.Response:
    text = Template(_read(name)).substitute(words)
    return web.Response(text=text, status=status, content_type="text/html")


def _read(name: str) -> str:
    return (_TEMPLATES / f"{name}.html").read_text("utf-8")
