"""The web server inside the server: it listens beside SSH, in the same event loop."""

import asyncio

from aiohttp import web

from lab.serve.house import House
from lab.serve.rates import HalfOpen
from lab.serve.web.connection import Connection
from lab.serve.web.doors import LARGEST_FORM, Doors
from lab.serve.web.pages import guard

__all__ = ["Site", "open_site"]

_END_WITHIN_S = 1.0


class Site:
    """``port`` is where it listens."""

    def __init__(self, runner: web.AppRunner, listener: asyncio.Server) -> None:
        self._runner = runner
        self._listener = listener
        self.port: int = listener.sockets[0].getsockname()[1]

    def stop_listening(self) -> None:
        """Nobody new comes in."""
        self._listener.close()

    async def close(self) -> None:
        """End what is left."""
        await self._runner.cleanup()


async def open_site(house: House, address: str, port: int) -> Site:
    """Listen on this address, or on all. OSError."""
    application = web.Application(client_max_size=LARGEST_FORM)
    application.add_routes(Doors(house).routes())
    application.on_response_prepare.append(guard)
    runner = web.AppRunner(application, shutdown_timeout=_END_WITHIN_S)
    await runner.setup()
    manager = runner.server
    assert manager is not None
    at_door = HalfOpen[Connection](house.limits.half_open, house.limits.half_open_per_address)
    listener = await asyncio.get_running_loop().create_server(
        lambda: Connection(manager, house, at_door), address or None, port, backlog=128
    )
    return Site(runner, listener)
