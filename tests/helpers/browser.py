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
KEYS = {
    "Backspace": 8,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "+": 187,
    "?": 191,
}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
#: What the browser says of a promise of a page that has been left.
LEFT = ("Inspected target navigated", "Execution context was destroyed", "Cannot find context")

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
    requests : list of str
        Addresses that pages have asked for.
    """

    def __init__(self, folder: Path, seconds: float = 60.0) -> None:
        program = find_browser()
        self.seconds = seconds
        self.errors: list[str] = []
        self.requests: list[str] = []
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
        self._tab = ""

    def __enter__(self) -> Self:
        try:
            self.new_tab()
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

    def new_tab(self) -> tuple[str, str]:
        """Open an empty tab, which then is the present one, and return it."""
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._tab, self._session = target, attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(1200, 900)
        return self.tab

    @property
    def tab(self) -> tuple[str, str]:
        """The present tab."""
        return self._tab, self._session or ""

    def show_tab(self, tab: tuple[str, str]) -> None:
        """Make a tab the present one, in front of the others."""
        self._tab, self._session = tab
        self.call("Page.bringToFront")

    def close_tab(self) -> None:
        """Close the present tab; another one must be shown then."""
        target, self._session = self._tab, None
        self.call("Target.closeTarget", targetId=target)

    def reload(self) -> None:
        """Load the page again and wait until it is there."""
        self._seen.clear()
        self.call("Page.reload")
        self._wait(lambda message: message.get("method") == "Page.loadEventFired")

    def until(self, expression: str) -> Any:
        """Wait until a JavaScript expression is true, and return its value.

        An exception in it fails at once, except where the page is being left for another one.
        """
        end = time.monotonic() + self.seconds / 2
        while time.monotonic() < end:
            try:
                return self.read(
                    f"""new Promise((found, failed) => {{
                      const end = performance.now() + {1000 * (end - time.monotonic())};
                      const check = () => {{
                        let value;
                        try {{ value = {expression}; }} catch (error) {{ return failed(error); }}
                        if (value) found(value);
                        else if (performance.now() < end) setTimeout(check, 5);
                        else failed(new Error("it did not become true"));
                      }};
                      check();
                    }})"""
                )
            except RuntimeError as error:
                if not any(words in str(error) for words in LEFT):
                    raise
        raise TimeoutError(f"{expression} did not become true within {self.seconds / 2:.0f} s")

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

    def press(self, key: str, *modifiers: str, repeats: int = 0) -> None:
        """Press a key and let it go; while it is held down it repeats itself so many times.

        The modifiers are "Alt", "Control", "Meta" and "Shift".
        """
        held = sum(MODIFIERS[name] for name in modifiers)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        if held & ~MODIFIERS["Shift"]:
            text = ""  # a shortcut, which types nothing
        name = {" ": "Space"}.get(key, key)
        if key.isdecimal() or (key.isascii() and key.isalpha() and len(key) == 1):
            name = ("Digit" if key.isdecimal() else "Key") + key.upper()
        event = {
            "key": key,
            "code": name if len(name) > 1 else "",
            "modifiers": held,
            "windowsVirtualKeyCode": KEYS.get(key, ord(key.upper()[0])),
        }
        typed = {"text": text} if text else {}
        for i in range(repeats + 1):
            down = {**event, **typed, "type": "keyDown" if text else "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, autoRepeat=i > 0)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text: str) -> None:
        """Press the keys of a text, one after the other."""
        for key in text:
            self.press(key)

    def save_downloads(self, folder: Path) -> None:
        """Let pages save files in a folder."""
        session, self._session = self._session, None  # it is a setting of the whole browser
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        self._session = session

    def offline(self, is_offline: bool) -> None:
        """Cut the connection of the page to its server, or restore it."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=is_offline,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Set the size of the window, and how many points of a picture a pixel of it has."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """Tell the page that its reader prefers ``"light"`` or ``"dark"``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write the whole page as a PNG file, or what the window shows of it."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
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
        method, parameters = message.get("method"), message.get("params", {})
        if "id" in message or method == "Page.loadEventFired":
            self._seen.append(message)
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]  # the icon is what the browser asks for by itself
            if not entry.get("url", "").endswith("/favicon.ico"):
                self.errors.append(f"{entry['text']} {entry.get('url', '')}".rstrip())
