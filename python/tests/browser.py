# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through the pipe of its DevTools protocol: it needs no library, no driver and no port.

The browser resolves no host name, so a page that asks for anything beyond local files fails a test instead of a server.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

AUDIT = Path(__file__).with_name("browser_audit.js").read_text(encoding="utf-8")

#: Names of the browser in the search path; the first one is Debian's.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # a sandbox needs rights that a container does not have; all pages are files of these tests
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
#: A machine that is busy with other suites starts a browser within this time.
_TIMEOUT_SECONDS = 60.0


def executable() -> str | None:
    """Returns the path of Chromium; None if the machine has none. ZONEMAP_TEST_BROWSER names another one."""
    given = os.environ.get("ZONEMAP_TEST_BROWSER")
    return given or next((found for name in _NAMES if (found := shutil.which(name))), None)


def executable_or_skip() -> str:
    """Returns the path of Chromium; without it, a test is skipped, or fails where CI=true promises a browser."""
    path = executable()
    if path is None:
        reason = "no Chromium: install it (Debian: chromium), or name a browser in ZONEMAP_TEST_BROWSER"
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@dataclass(frozen=True)
class View:
    """How a page is shown.

    Attributes:
        width: Width of the window in CSS pixels.
        scheme: "light" or "dark".
        media: "screen" or "print".
    """

    width: int = 1280
    scheme: str = "light"
    media: str = "screen"

    def __str__(self) -> str:
        return f"{self.media}-{self.scheme}-{self.width}"


@dataclass(frozen=True)
class Seen:
    """What a page did while it was loaded.

    Attributes:
        errors: Messages of the console with the level of an error, and exceptions of scripts.
        requests: Addresses that the page asked for, its own address excluded.
    """

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


class Browser:
    """A running browser with one tab."""

    def __init__(self, process: subprocess.Popen[bytes], reads: int, writes: int) -> None:
        self._process, self._reads, self._writes = process, reads, writes
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._seen, self._loaded = Seen(), False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, page: Path, view: View | None = None) -> Seen:
        """Loads a file and returns what it did."""
        self.show(view or View())
        self._seen, self._loaded = Seen(), False
        address = page.resolve().as_uri()
        self._call("Page.navigate", url=address)
        while not self._loaded:
            self._note(self._receive())
        self._call("Runtime.evaluate", expression="document.fonts.ready.then(() => 1)", awaitPromise=True)
        self._seen.requests[:] = [found for found in self._seen.requests if found != address]
        return self._seen

    def show(self, view: View) -> None:
        """Changes the size of the window, the preferred background and the medium of the page."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=view.width, height=900, deviceScaleFactor=1, mobile=False
        )
        features = [{"name": "prefers-color-scheme", "value": view.scheme}]
        self._call("Emulation.setEmulatedMedia", media=view.media, features=features)

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression in the page."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def audit(self) -> dict[str, Any]:
        """Returns the findings of ``browser_audit.js`` about the page as it is shown."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        # In a window as high as the page, every text has a point that can be looked at.
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height + 1, deviceScaleFactor=1, mobile=False
        )
        found: dict[str, Any] = self.evaluate(AUDIT)
        return found

    def screenshot(self, *, height: int | None = None) -> bytes:
        """Returns a PNG of the whole page, or of its upper part."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def press(self, key: str) -> None:
        """Presses a key that has no character."""
        codes = {"ArrowRight": 39}
        for kind in ("rawKeyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def pdf(self) -> bytes:
        """Returns the page as it is printed on A4."""
        sheet = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": False}
        return base64.b64decode(self._call("Page.printToPDF", **sheet)["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writes, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> Mapping[str, Any]:
        """Returns the next message of the browser."""
        until = time.monotonic() + _TIMEOUT_SECONDS
        while b"\0" not in self._buffer:
            ready = select.select([self._reads], [], [], max(0.0, until - time.monotonic()))[0]
            chunk = os.read(self._reads, 1 << 20) if ready else b""
            assert chunk, f"the browser gives no answer; its exit code is {self._process.poll()}"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: Mapping[str, Any]) -> None:
        """Keeps an event that belongs to what a page does."""
        parameters = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self._seen.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self._seen.errors.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "assert"):
                self._seen.errors.append(str(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                self._seen.errors.append(str(parameters["entry"]))


@contextmanager
def started(path: str, folder: Path) -> Iterator[Browser]:
    """Starts the browser ``path``, whose profile is in ``folder``, and ends it."""
    (child_reads, writes), (reads, child_writes) = os.pipe(), os.pipe()
    command = f'exec "$@" 3<&{child_reads} 4>&{child_writes}'
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", command, "bash", path, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            pass_fds=(child_reads, child_writes),
            stdout=log,
            stderr=log,
        )
    os.close(child_reads)
    os.close(child_writes)
    try:
        yield Browser(process, reads, writes)
    finally:
        os.close(writes)  # the browser ends when its pipe does
        os.close(reads)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
