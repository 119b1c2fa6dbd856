"""Pictures of the pages for the documentation: taken in each run, and put into docs/images where that is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser import DESKTOP, PHONE
from tests.dialwatch.browser.conftest import OpenPage

IMAGES = Path(__file__).parents[3] / "docs" / "images"
PAGES = ["overview", "deployment", "answers", "answer", "incidents", "incident", "ground-truth", "compare"]


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", PAGES)
def test_a_picture(open_page: OpenPage, paths: dict[str, str], tmp_path: Path, name: str, width: int) -> None:
    """`make screenshots` renews docs/images; here the page is only seen to be drawn, and the picture to be there."""
    folder = IMAGES if os.environ.get("DIALWATCH_SCREENSHOTS") else tmp_path
    file = f"{name}-{width}.png"
    page = open_page(paths[name], width)
    page.screenshot(path=folder / file)
    assert (folder / file).stat().st_size > 10_000
    assert (IMAGES / file).exists(), "make screenshots makes it"
