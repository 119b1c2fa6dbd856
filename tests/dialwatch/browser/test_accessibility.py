"""Every page by the rules of axe-core, at both widths, in light and dark."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser import DESKTOP, PHONE
from tests.dialwatch.browser.conftest import OpenPage

PAGES = ["overview", "deployment", "answers", "answers of all", "answer", "incidents", "incident", "ground-truth",
         "compare", "no such answer", "not found"]  # fmt: skip


def serious(page: Page, axe: str) -> list[Any]:
    """Give the findings that keep somebody from using the page: rule and elements."""
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    return [
        (one["id"], one["impact"], [(node["target"], node["failureSummary"]) for node in one["nodes"][:3]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_finding(
    open_page: OpenPage, paths: dict[str, str], axe: str, name: str, width: int, dark: bool
) -> None:
    """No rule that axe-core calls serious or critical is broken, and nothing scrolls sideways."""
    page = open_page(paths[name], width, dark=dark)
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_an_overview_that_renews_itself_has_no_serious_finding(open_page: OpenPage, axe: str) -> None:
    """People who need more time stop it by the link at the end of the page."""
    page = open_page("/")
    assert serious(page, axe) == []
    page.get_by_role("link", name="Stop that").click()
    assert serious(page, axe) == []


def test_a_finding_would_be_seen(open_page: OpenPage, axe: str) -> None:
    """The tests above can fail: an image without a text is a finding."""
    page = open_page("/answers")
    page.evaluate("document.querySelector('main').append(new Image())")
    assert [rule for rule, _, _ in serious(page, axe)] == ["image-alt"]
