"""A browser to try pages in: headless Chromium, driven through two pipes and no extra package.

Speaks the DevTools protocol: JSON messages, each ended by a zero byte, on the file descriptors 3
and 4 of the browser. Knows nothing of the pages.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
#: Puts the two pipes where the browser looks for them, out of each other's way, and becomes it.
START = """
import fcntl, os, sys
held = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(held[0], 3)
os.dup2(held[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
KEYS = {"Enter": 13, "Escape": 27, " ": 32, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39}


#: Begins the reason of every test that is skipped for want of a browser; `conftest` counts them.
NO_BROWSER = "no browser to open the page in"


def find_browser() -> str:
    """Return the program of a browser, that of LAPWING_BROWSER if it is set.

    The test is skipped where there is none, and fails where the variable names none.
    """
    named = os.environ.get("LAPWING_BROWSER")
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if found is None and named:
        pytest.fail(f"LAPWING_BROWSER={named} is not a program that can be run")
    if found is None:
        pytest.skip(f"{NO_BROWSER}: install one of {', '.join(NAMES)}")
    return found


class Browser:
    """One window, to be used in a ``with`` statement.

    Parameters
    ----------
    folder : Path
        Where the browser may keep its files.
    seconds : float
        How long an answer may take.

    Attributes
    ----------
    errors : list of str
        Errors on the console of the page, and exceptions that nothing caught.
    """

    def __init__(self, folder: Path, seconds: float = 60.0) -> None:
        program = find_browser()
        self.seconds = seconds
        self.errors: list[str] = []
        self._count, self._rest, self._seen = 0, b"", []
        from_us, self._write = os.pipe()
        self._read, to_us = os.pipe()
        start = [sys.executable, "-I", "-c", START, str(from_us), str(to_us)]
        with open(folder / "browser.log", "wb") as log:
            self._process = subprocess.Popen(
                [*start, program, *FLAGS, f"--user-data-dir={folder / 'user'}", "about:blank"],
                pass_fds=(from_us, to_us),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        os.close(from_us)
        os.close(to_us)
        self._session = None

    def __enter__(self) -> Self:
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable")
            self.resize(1200, 900)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- what a reader does

    def open(self, address: str) -> None:
        """Load a page and wait until it is there."""
        self._seen.clear()
        self.call("Page.navigate", url=address)
        self._wait(lambda message: message.get("method") == "Page.loadEventFired")

    def read(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, or of what it promises."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return self.read(f"document.querySelector({json.dumps(selector)}).textContent")

    def click(self, selector: str) -> None:
        """Bring an element into view and press the mouse in its middle."""
        x, y = self.read(
            f"""(() => {{
              const element = document.querySelector({json.dumps(selector)});
              element.scrollIntoView({{block: "center", behavior: "instant"}});
              const box = element.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def move(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        code = KEYS.get(key, ord(key.upper()[0]))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.call(
            "Input.dispatchKeyEvent",
            type="keyDown",
            key=key,
            windowsVirtualKeyCode=code,
            **({"text": text} if text else {}),
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """Tell the page that its reader prefers ``"light"`` or ``"dark"``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path) -> None:
        """Write the whole page as a PNG file."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    # ---- the protocol

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol and return its result."""
        self._count += 1
        number = self._count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        answer = self._wait(lambda message: message.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def close(self) -> None:
        """End the browser and all that it started."""
        for end in (self._write, self._read):
            os.close(end)  # which Chromium takes as the order to end
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # its own session, so its own group
            self._process.wait()

    def _wait(self, wanted: Any) -> dict[str, Any]:
        """Return the first message that is wanted, and keep the others."""
        end = time.monotonic() + self.seconds
        while True:
            for i, message in enumerate(self._seen):
                if wanted(message):
                    return self._seen.pop(i)
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser did not answer within {self.seconds:.0f} s")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise RuntimeError("the browser has ended: see browser.log in its folder")
            *whole, self._rest = (self._rest + data).split(b"\0")
            for text in whole:
                self._keep(json.loads(text))

    def _keep(self, message: dict[str, Any]) -> None:
        self._seen.append(message)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
