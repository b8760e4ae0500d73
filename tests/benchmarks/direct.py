"""The baseline for messages through the host: one trio TCP connection between two processes.

``python -m tests.benchmarks.direct`` is the other process: it prints its port, and sends every line back.
"""

import subprocess
import sys
import time

import trio

__all__ = ["direct_round_trips_us"]

LINE = b'{"source":1,"target":2,"serial":12345,"kind":"Ping","body":{}}\n'


def direct_round_trips_us(count: int) -> list[float]:
    """Return the time of each of ``count`` round trips."""
    other = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.direct"], stdout=subprocess.PIPE)
    with other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        try:
            return trio.run(_ask, port, count)
        finally:
            other.kill()


async def _ask(port: int, count: int) -> list[float]:
    times = []
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        for _ in range(count):
            began = time.perf_counter_ns()
            await stream.send_all(LINE)
            got = b""
            while not got.endswith(b"\n"):
                got += await stream.receive_some(4096)
            times.append((time.perf_counter_ns() - began) / 1000)
    return times


async def _main() -> None:
    async def serve(stream: trio.SocketStream) -> None:
        rest = b""
        async for data in stream:
            *lines, rest = (rest + bytes(data)).split(b"\n")
            for line in lines:
                await stream.send_all(line + b"\n")

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    print(listener.socket.getsockname()[1], flush=True)
    await trio.serve_listeners(serve, [listener])


if __name__ == "__main__":
    trio.run(_main)
