"""Chromium without a window, driven through a pipe."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# The browser reads commands from 3 and writes answers to 4.
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for number, end in enumerate(ends, 3):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """A tab; `messages` are the errors and warnings of its console, `requests` what it loaded."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._numbers = itertools.count(1)
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the DevTools protocol."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def open(self, path: Path) -> None:
        """Shows a file."""
        self.call("Page.navigate", url=path.as_uri())
        while self.value("document.readyState") != "complete":
            pass

    def value(self, script: str) -> Any:
        """What a script returns."""
        given = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", **given)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path: Path, width: int, height: int, dark: bool = False) -> None:
        """A picture of the window as PNG."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        method = message.get("method", "")
        if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.messages.append(json.dumps(message["params"]))
        if method == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


@contextlib.contextmanager
def open_browser(folder: Path) -> Iterator[Page]:
    """A page of a new browser that keeps its files in `folder`."""
    to_browser, from_browser = os.pipe(), os.pipe()
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    flags += ["--disable-background-networking", "--no-first-run", "--remote-debugging-pipe"]
    ends = (to_browser[0], from_browser[1])
    command = [str(CHROMIUM), *flags, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(
        [sys.executable, "-c", _START, *map(str, ends), *command],
        pass_fds=ends,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for end in ends:
        os.close(end)
    try:
        yield Page(to_browser[1], from_browser[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for end in (to_browser[1], from_browser[0]):
            os.close(end)
