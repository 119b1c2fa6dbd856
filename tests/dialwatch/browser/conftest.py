"""Pages of the demo's lake in Chromium, driven as a person does it; and the rules of axe-core."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import DESKTOP, PHONE, WIDE
from tests.servers import needed, wait_for

AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_DEMO_SECONDS = 300
HEIGHTS = {PHONE: 844, DESKTOP: 900, WIDE: 1080}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here share one server, so one worker runs them: marked before pytest-xdist reads the groups."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("integration")
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def demo_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the demo's pages: a day of traffic with a drop in quality planted in it, all parts at work."""
    folder = tmp_path_factory.mktemp("demo")
    log = folder / "demo.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "dialwatch", "demo", "--keep", str(folder / "kept")], stdout=out, stderr=out
        )
    try:
        found = wait_for(lambda: re.search(r"^overview +(http://\S+)/$", log.read_text(), re.MULTILINE), _DEMO_SECONDS)
        yield found[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for each module: Playwright keeps an event loop running, which no test after these may find."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needed("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, demo_pages: str) -> Iterator[OpenPage]:
    """Opens a page of the demo, by its path."""
    opener = OpenPage(chromium, demo_pages)
    yield opener
    opener.close()


class OpenPage:
    """Opens pages of one server, each in a browser window of its own."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self.address = address
        self._pages: list[Page] = []

    def __call__(self, path: str, width: int = DESKTOP, *, dark: bool = False) -> Page:
        page = self._browser.new_page(
            viewport={"width": width, "height": HEIGHTS[width]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self._pages.append(page)
        page.goto(self.address + path)
        return page

    def close(self) -> None:
        """Close all windows."""
        for page in self._pages:
            page.close()


@pytest.fixture(scope="module")
def paths(demo_pages: str, chromium: Browser) -> dict[str, str]:
    """By its name the path of each kind of page, found by following links from the overview."""
    page = chromium.new_page()

    def go(path: str) -> None:
        page.goto(demo_pages + path)

    def first(start: str) -> str:
        href = page.locator(f'main a[href^="{start}"]').first.get_attribute("href")
        assert href is not None
        return href

    found = {"overview": "/?renew=false"}
    go("/")
    found["deployment"] = first("/deployment?")
    go(found["deployment"])
    found["answer"] = first("/answer?")
    found["answers"] = "/answers?" + found["deployment"].partition("?name=")[2].join(("deployment=", ""))
    found["answers of all"] = "/answers?rating=disliked"
    of_deployment = found["answers"].partition("?")[2]
    found["ground-truth"] = f"/ground-truth?{of_deployment}&status=accepted"
    found["compare"] = f"/compare?{of_deployment}&between=replays"
    found["metrics"] = "/metrics-guide"
    found["incidents"] = "/incidents"
    go(found["incidents"])
    found["incident"] = first("/incident?")
    found["no such answer"] = "/answer?response_id=none"
    found["not found"] = "/nothing"
    page.close()
    return found


@pytest.fixture(scope="session")
def axe() -> str:
    """Source of axe-core, as npm installed it."""
    if AXE.exists():
        return AXE.read_text()
    message = "axe-core is not installed: THIS TEST DID NOT RUN; make test-all installs it, with npm"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
