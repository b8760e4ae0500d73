"""The web server, which listens beside SSH in the same event loop."""

import asyncio

from aiohttp import web

from lab.serve.rates import HalfOpen
from lab.serve.server_context import ServerContext
from lab.serve.web.browser_connection import BrowserConnection
from lab.serve.web.pages import guard
from lab.serve.web.routes import LARGEST_FORM, Routes

__all__ = ["Site", "open_site"]

_END_WITHIN_S = 1.0


class Site:
    """A web server; ``port`` is where it listens."""

    def __init__(self, runner: web.AppRunner, listener: asyncio.Server) -> None:
        self._runner = runner
        self._listener = listener
        self.port: int = listener.sockets[0].getsockname()[1]

    def stop_listening(self) -> None:
        """Accept no new connections."""
        self._listener.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._runner.cleanup()


async def open_site(context: ServerContext, address: str, port: int) -> Site:
    """Listen on this address, or on all if it is empty. Raises OSError."""
    application = web.Application(client_max_size=LARGEST_FORM)
    application.add_routes(Routes(context).routes())
    application.on_response_prepare.append(guard)
    runner = web.AppRunner(application, shutdown_timeout=_END_WITHIN_S)
    await runner.setup()
    manager = runner.server
    assert manager is not None
    half_open = HalfOpen[BrowserConnection](context.limits.half_open, context.limits.half_open_per_address)
    listener = await asyncio.get_running_loop().create_server(
        lambda: BrowserConnection(manager, context, half_open), address or None, port, backlog=128
    )
    return Site(runner, listener)
