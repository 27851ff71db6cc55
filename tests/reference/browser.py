"""Real Chromium without a window, spoken to by the WebDriver protocol: no library between a test and the page."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"down": "\ue015", "enter": "\ue007", "escape": "\ue00c", "right": "\ue014", "tab": "\ue004"}


class Browser:
    def __init__(self, driver: str, session: str) -> None:
        self._session = f"{driver}/session/{session}"

    def open(self, address: str) -> None:
        _call("POST", f"{self._session}/url", {"url": address})

    def run(self, script: str, *given: Any) -> Any:
        return _call("POST", f"{self._session}/execute/sync", {"script": script, "args": list(given)})

    def click(self, selector: str) -> None:
        _call("POST", f"{self._session}/element/{self._element(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        _call("POST", f"{self._session}/element/{self._element(selector)}/value", {"text": text})

    def text(self, selector: str) -> str:
        found: str = self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        return found

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def choose(self, selector: str, value: object) -> None:
        """A value for a select or a slider, as a hand would leave it."""
        script = """const [selector, value] = arguments, field = document.querySelector(selector);
            field.value = value;
            for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, {bubbles: true}));"""
        self.run(script, selector, value)

    def wait(self, holds: Callable[[], Any], what: str, seconds: float = 20) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := holds():
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what} did not come within {seconds:g} seconds")

    def devtools(self, command: str, **given: Any) -> Any:
        return _call("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": given})

    def size(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def picture(self, path: Path) -> None:
        """The whole page."""
        page = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": page["width"], "height": page["height"], "scale": 1}
        shown = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shown["data"]))

    def complaints(self) -> list[str]:
        """What the console has said since the last time."""
        return [entry["message"] for entry in _call("POST", f"{self._session}/se/log", {"type": "browser"})]

    def _element(self, selector: str) -> str:
        found: str = _call("POST", f"{self._session}/element", {"using": "css selector", "value": selector})[_ELEMENT]
        return found

    def close(self) -> None:
        _call("DELETE", self._session)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """With a fresh profile in `folder`; skipped where Chromium is not installed."""
    chromium, program = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium chromium-driver)")
    driver = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert driver.stdout is not None
        said = next(line for line in driver.stdout if "started successfully on port" in line)
        address = f"http://127.0.0.1:{said.rstrip().rstrip('.').rsplit(' ', 1)[-1]}"
        options = {"binary": chromium, "args": [*_FLAGS, f"--user-data-dir={folder}"]}
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options}
        made = _call("POST", f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
        found = Browser(address, made["sessionId"])
        try:
            yield found
        finally:
            found.close()
    finally:
        driver.terminate()
        driver.communicate(timeout=20)


def _call(method: str, address: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(json.load(error)["value"]["message"]) from None
