"""A headless Chromium, driven through chromedriver by the WebDriver protocol (W3C): no package is needed.

`Browser` opens files, clicks, types, runs scripts, takes screenshots, and lists every request that left the page.
Debian's packages are chromium and chromium-driver (tests/setup_browser.sh).
"""

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key by which the protocol names an element
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowDown": "\ue015", "ArrowUp": "\ue013", "Tab": "\ue004"}


def missing() -> str | None:
    """Why there is no browser to test with; None if there is one."""
    for program in ("chromedriver", "chromium"):
        if shutil.which(program) is None:
            return f"no {program} on the PATH; on Debian and Ubuntu: bash tests/setup_browser.sh"
    return None


class Browser:
    """One headless Chromium with its own empty profile in `folder`."""

    def __init__(self, folder: Path, width: int = 1360, height: int = 900) -> None:
        self._log = (folder / "chromedriver.log").open("w", encoding="utf-8")
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self._log, text=True, env=_quiet(folder)
        )
        self._root = f"http://127.0.0.1:{self._port()}"
        options = {
            "args": [
                "--headless=new",
                "--no-sandbox",  # root, in a container
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--hide-scrollbars",
                "--force-device-scale-factor=1",
                f"--window-size={width},{height}",
                f"--user-data-dir={folder / 'profile'}",
            ]
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}
        self._root += f"/session/{self._call('/session', {'capabilities': {'alwaysMatch': wanted}})['sessionId']}"
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def _port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(". \n").split()[-1])
        raise RuntimeError("chromedriver did not start")

    def _call(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].partition("\n")[0]) from None

    def close(self) -> None:
        """End the browser and its driver."""
        try:
            self._call("", method="DELETE")
        finally:
            self._driver.terminate()
            self._driver.wait(30)
            self._log.close()
            if self._driver.stdout is not None:
                self._driver.stdout.close()

    def cdp(self, command: str, **parameters: Any) -> Any:
        """A command of Chromium's developer tools."""
        return self._call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path: Path, query: str = "") -> None:
        """Open a file, its address followed by `query`, and wait until it is loaded."""
        self._call("/url", {"url": path.resolve().as_uri() + (f"?{query}" if query else "")})

    def script(self, code: str, *arguments: Any) -> Any:
        """The value that a script returns; `arguments` are its ``arguments``."""
        return self._call("/execute/sync", {"script": code, "args": list(arguments)})

    def wait(self, condition: str, seconds: float = 120) -> None:
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while not self.script(f"return Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"not true within {seconds} s: {condition}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Click an element, as a person would: it must be visible and not covered."""
        element = self._call("/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._call(f"/element/{element}/click")

    def click_at(self, x: float, y: float) -> None:
        """Click a point of the page."""
        moves = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._call("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": moves}]})

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Press the button at a point of the page, move to another, and release it."""
        way = [(x, y), ((x + to_x) / 2, (y + to_y) / 2), (to_x, to_y)]
        moves = [{"type": "pointerMove", "x": round(a), "y": round(b), "duration": 20} for a, b in way]
        done = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        self._call("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": done}]})

    def keys(self, *keys: str) -> None:
        """Press keys, by name or as texts, wherever the focus is."""
        typed = "".join(KEYS.get(key, key) for key in keys)
        actions = [{"type": kind, "value": character} for character in typed for kind in ("keyDown", "keyUp")]
        self._call("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector: str) -> str:
        """The visible text of an element."""
        return str(self.script("return document.querySelector(arguments[0]).innerText", selector))

    def requests(self) -> list[str]:
        """Addresses that pages asked for since the last call, as the network log of the developer tools has them."""
        entries = self._call("/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """The messages of the console since the last call: errors of scripts, refused styles, blocked requests."""
        return [entry["message"] for entry in self._call("/se/log", {"type": "browser"})]

    def screenshot(self, path: Path) -> None:
        """Save the picture of the page as PNG."""
        path.write_bytes(base64.b64decode(self._call("/screenshot", method="GET")))

    def pdf(self) -> bytes:
        """The page as it would be printed."""
        return base64.b64decode(self._call("/print", {"background": False}))


def _quiet(folder: Path) -> dict[str, str]:
    """An environment in which the browser writes into `folder` only."""
    return {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
