"""A real browser: headless Chromium, driven over the DevTools protocol."""

import asyncio
import base64
import shutil
import subprocess
from pathlib import Path
from typing import Any

import aiohttp

from tests.tui.terminal_screen import wait_for_texts
from tests.waiting import WAIT_S, wait_for

__all__ = ["CHROMIUM", "Browser", "Chromium"]

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_ROWS = "[...document.querySelectorAll('.xterm-rows > div')].map(row => row.textContent).join('\\n')"
_CONDITION = """(async () => JSON.stringify({
    address: location.href, title: document.title, state: document.readyState, visible: document.visibilityState,
    rows: document.querySelectorAll('.xterm-rows > div').length, text: document.body.innerText.slice(0, 300),
    loaded: performance.getEntriesByType('resource').map(each => each.name), focus: document.activeElement.id,
    drawn: await Promise.race([new Promise(done => requestAnimationFrame(() => done(true))),
        new Promise(done => setTimeout(() => done(false), 5000))]),
}))()"""
"""What explains why a page does not show what it should, for the message of a failure."""
_KEYS = {"\r": ("Enter", 13), "\t": ("Tab", 9), "\x1b": ("Escape", 27)}


class Chromium:
    """The program, for the pages of several tests."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        self._process = subprocess.Popen(
            [
                *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
                # or it draws a page late or never that it takes to be in the background
                *("--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding"),
                *("--disable-background-timer-throttling", "--disable-dev-shm-usage"),
                *(f"--user-data-dir={profile}", "about:blank"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port_file = profile / "DevToolsActivePort"
        wait_for(
            lambda: port_file.exists() and "\n" in port_file.read_text(), "Chromium serves its protocol", WAIT_S
        )
        port, path = port_file.read_text().split()
        self.pages = f"ws://127.0.0.1:{port}/devtools/page/"
        self.whole = f"ws://127.0.0.1:{port}{path}"

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(WAIT_S)


class Browser:
    """One page with its own cookies and storage. ``requested`` holds the address of each request."""

    def __init__(self, chromium: Chromium) -> None:
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._serial = 0
        self._client = aiohttp.ClientSession(loop=self._loop)
        self._socket: aiohttp.ClientWebSocketResponse
        self._loop.run_until_complete(self._open(chromium.whole))
        self._whole: aiohttp.ClientWebSocketResponse = self._socket
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        page = self.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._loop.run_until_complete(self._open(chromium.pages + page))
        self._page = self._socket
        for domain in ("Network", "Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket = self._whole
        self.call("Target.disposeBrowserContext", browserContextId=self._context)
        for each in (self._page, self._whole):  # or a test that fails leaves them to be reported in a later one
            self._loop.run_until_complete(each.close())
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol; return its result."""
        return self._loop.run_until_complete(self._call(method, parameters))

    def grant(self, *permissions: str) -> None:
        """Grant permissions to its pages."""
        self._socket = self._whole
        self.call("Browser.grantPermissions", permissions=permissions, browserContextId=self._context)
        self._socket = self._page

    def go_to(self, address: str) -> None:
        """Open this address, and wait until it has loaded (and not the page of before, at the same address)."""
        self.call("Runtime.evaluate", expression="window.wasBefore = true")
        self.call("Page.navigate", url=address)
        self.shows("document.readyState === 'complete' && !window.wasBefore")

    def finds(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def shows(self, expression: str) -> Any:
        """Wait until the expression is true."""
        return wait_for(lambda: self.finds(expression), expression, WAIT_S, 0.05)

    def text(self) -> str:
        """Return the text in the terminal."""
        return str(self.finds(_ROWS) or "")

    def sees(self, *texts: str) -> str:
        """Wait until the terminal shows all of these at once; return its text."""
        try:
            return wait_for_texts(self.text, texts, 0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe page: {self.finds(_CONDITION)}; {self.complaints}") from None

    def type(self, keys: str) -> None:
        for key in keys:
            name, code = _KEYS.get(key, (key, ord(key.upper())))
            known = {"key": name, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", text=key, **known)
            self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def click(self, x: int, y: int) -> None:
        """Click the left button here."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window, in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def photograph(self, path: Path) -> None:
        """Save a screenshot."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    async def _open(self, address: str) -> None:
        self._socket = await self._client.ws_connect(address, max_msg_size=0)

    async def _call(self, method: str, parameters: dict[str, object]) -> dict[str, Any]:
        self._serial += 1
        await self._socket.send_json({"id": self._serial, "method": method, "params": parameters})
        async with asyncio.timeout(WAIT_S):
            while True:
                message = await self._socket.receive_json()
                if message.get("id") == self._serial:
                    assert "error" not in message, f"{method}: {message['error']}"
                    result: dict[str, Any] = message["result"]
                    return result
                self._on_message(message)

    def _on_message(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            case "Network.webSocketCreated":
                self.requested.append(message["params"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(message["params"]["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(message["params"]["entry"]["text"])
