from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.browser import dump


@pytest.mark.integration
@pytest.mark.usefixtures("three_deployments")
def test_a_real_browser_shows_the_page(
    monitor: Monitor, serve: Callable[[Any], str], tmp_path: Path, strange_name: str
):
    """Chromium's own tree of the page has the regression, every deployment, the charts and the books."""
    monitor.refresh()
    page = dump(f"{serve(create_app(monitor))}/", tmp_path)
    assert "1 deployment got worse" in page
    assert "fell from 0.8" in page
    assert page.count('<th scope="row"><a') == 3
    assert html.escape(strange_name, quote=False) in page.replace("<wbr>", "")  # where a long name may break
    assert 'class="line down" d="M' in page
    assert "stored as a request" in page
