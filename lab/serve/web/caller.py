"""The origin of a request: its address, whether our own page sent it, and the browser's token."""

import ipaddress

from aiohttp import web

__all__ = ["TOKEN", "address_of", "came_by_https", "is_from_our_page", "token_of"]

TOKEN = "lab"
"""The name of the cookie."""


def address_of(request: web.Request) -> str:
    """Return the client's address, also behind a proxy on this machine, which appends it to the header."""
    address = request.remote or "?"
    if _is_proxy(address):
        _, _, added = request.headers.getall("X-Forwarded-For", [""])[-1].rpartition(",")
        try:
            return str(ipaddress.ip_address(added.strip()))
        except ValueError:
            pass
    return address


def came_by_https(request: web.Request) -> bool:
    """Return whether a proxy on this machine received the request by HTTPS; the server itself has no HTTPS."""
    return _is_proxy(request.remote or "") and request.headers.get("X-Forwarded-Proto") == "https"


def is_from_our_page(request: web.Request) -> bool:
    """Return whether a page of this host sent the request; browsers set the Origin header truthfully."""
    host = request.headers.get("Host")  # ``request.host`` would do a lookup if the header is missing
    return request.headers.get("Origin") in (f"http://{host}", f"https://{host}")


def token_of(request: web.Request) -> str:
    """Return the browser's token; it may be any text."""
    return request.cookies.get(TOKEN, "")


def _is_proxy(address: str) -> bool:
    return address in ("127.0.0.1", "::1")
