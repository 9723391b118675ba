"""A headless Chromium for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from sapwood.metrics import intervals

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",
)


class Browser:
    """Chromium that opens reports and collects what their scripts complain about."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder = driver, folder

    def open(self, html: str, *, width: int = 1280, dark: bool = False) -> None:
        """Open a report and wait until it is drawn."""
        path = self.folder / "report.html"
        path.write_text(html, encoding="utf-8")
        self.view(width, dark)
        self.visit(path.as_uri())

    def visit(self, address: str) -> None:
        self.driver.get(address)
        WebDriverWait(self.driver, 30).until(lambda _: self.run("return document.documentElement.dataset.ready"))
        assert self.run("return document.documentElement.dataset.ready") == "true", self.complaints()

    def view(self, width: int, dark: bool = False) -> None:
        """Set the width of the window and the preferred colors."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Return and forget the messages of the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(autouse=True)
def few_bootstrap_samples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are tested in test_measures; elsewhere a few samples do."""
    if request.module.__name__ != "tests.report.test_measures":
        monkeypatch.setattr(intervals, "REPLICATES", 10)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    paths = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if None in paths.values():
        pytest.fail("the tests of the report need chromium and chromedriver: `make browser` installs them, or says how")
    folder, options = tmp_path_factory.mktemp("chromium"), Options()
    options.binary_location = paths["chromium"] or ""
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(paths["chromedriver"]))
    yield Browser(driver, folder)
    driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser; at the end of the test, its console must be empty."""
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []
