"""The two pages, and the headers of all responses: no foreign content, no frames, no caching."""

from html import escape
from pathlib import Path
from string import Template

from aiohttp import web

__all__ = ["STATIC_FILES", "guard", "log_in_page", "terminal_page"]

_STATIC = Path(__file__).with_name("static")
STATIC_FILES = {path.relative_to(_STATIC).as_posix(): path for path in _STATIC.rglob("*") if path.is_file()}
"""Files by the name under which they are served. Names are looked up here; no path is built from a request."""
_TEMPLATES = Path(__file__).with_name("templates")
_HEADERS = {
    # xterm.js adds <style> elements of its own
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Server": "lab",
}


async def guard(request: web.Request, answer: web.StreamResponse) -> None:
    """Add the headers of all responses."""
    answer.headers.update(_HEADERS)
    is_static = request.path.startswith("/static/")
    answer.headers["Cache-Control"] = "no-cache" if is_static else "no-store"


def log_in_page(has_guests: bool, error: str = "", code: str = "", status: int = 200) -> web.Response:
    """Build the log-in page. ``error`` says what is wrong with ``code``, which the form keeps."""
    guests = _read("guests") if has_guests else ""
    wrong = f'<p role="alert">{escape(error)}</p>' if error else ""
    return _page("log-in", status, wrong=wrong, code=escape(code), guests=guests)


def terminal_page(student: str) -> web.Response:
    """Build the page with the terminal; this student's name is its title."""
    return _page("terminal", 200, student=escape(student))


def _page(name: str, status: int, **words: str) -> web.Response:
    text = Template(_read(name)).substitute(words)
    return web.Response(text=text, status=status, content_type="text/html")


def _read(name: str) -> str:
    return (_TEMPLATES / f"{name}.html").read_text("utf-8")
