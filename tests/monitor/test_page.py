from __future__ import annotations

import html
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.app import create_app
from monitor.service import Monitor

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.mark.usefixtures("three_deployments")
def test_a_real_browser_shows_the_page(
    monitor: Monitor, serve: Callable[[Any], str], program: Callable[[str], str], tmp_path: Path, strange_name: str
):
    """Chromium's own tree of the page has the regression, every deployment, the charts and the books."""
    monitor.refresh()
    address = serve(create_app(monitor))
    command = [program("chromium"), *FLAGS, f"--user-data-dir={tmp_path / 'chromium'}", "--dump-dom", f"{address}/"]
    page = subprocess.run(command, capture_output=True, timeout=240, check=True).stdout.decode()
    assert "1 active regression" in page
    assert "REGRESSED" in page
    assert "fell from 0.8" in page
    assert page.count("<article") == 4
    assert html.escape(strange_name, quote=False) in page
    assert 'class="bars" d="M' in page
    assert 'class="line down" d="M' in page
    assert "stored as a request" in page
