"""Whose request it is: where it comes from, whether a page of ours sent it, and what its browser is known by."""

import ipaddress

from aiohttp import web

__all__ = ["TOKEN", "address_of", "came_by_https", "is_from_our_page", "token_of"]

TOKEN = "lab"
"""The cookie's name."""


def address_of(request: web.Request) -> str:
    """The client's, also behind a proxy on this machine, which adds it at the end of what it was sent."""
    address = request.remote or "?"
    if _is_proxy(address):
        _, _, added = request.headers.getall("X-Forwarded-For", [""])[-1].rpartition(",")
        try:
            return str(ipaddress.ip_address(added.strip()))
        except ValueError:
            pass
    return address


def came_by_https(request: web.Request) -> bool:
    """Whether a proxy on this machine says so; here there is none."""
    return _is_proxy(request.remote or "") and request.headers.get("X-Forwarded-Proto") == "https"


def is_from_our_page(request: web.Request) -> bool:
    """Whether the page that sent it is from the host that it was sent to: a browser tells the truth about that."""
    host = request.headers.get("Host")  # not ``request.host``: where there is none, that asks the network
    return request.headers.get("Origin") in (f"http://{host}", f"https://{host}")


def token_of(request: web.Request) -> str:
    """What the browser shows; it may be anything."""
    return request.cookies.get(TOKEN, "")


def _is_proxy(address: str) -> bool:
    return address in ("127.0.0.1", "::1")
