"""From the overview to an answer behind an alert in two clicks, by mouse and by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import DESKTOP, PHONE
from tests.dialwatch.browser.conftest import OpenPage

_MOST_TABS = 200
DEPLOYMENT = re.compile(r"/deployment\?")
ANSWER = re.compile(r"/answer\?")


def tab_to(page: Page, start: str) -> None:
    """Press Tab until a link whose address begins with `start` has the focus."""
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href') || ''").startswith(start):
            return
    raise AssertionError(f"{_MOST_TABS} times Tab reach no link to {start}")


def expect_an_answer(page: Page) -> None:
    expect(page).to_have_url(ANSWER)
    expect(page.get_by_role("heading", name="Question", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_by_mouse(open_page: OpenPage, width: int) -> None:
    """The regression on the overview leads to its deployment, and its worst answers to their pages."""
    page = open_page("/", width)
    page.locator("main").get_by_role("link", name="hr-policies-assistant", exact=True).first.click()
    expect(page).to_have_url(DEPLOYMENT)
    page.locator('main a[href^="/answer?"]').first.click()
    expect_an_answer(page)


def test_by_keyboard(open_page: OpenPage) -> None:
    """Tab and Enter alone do it, and the focus can be seen."""
    page = open_page("/")
    tab_to(page, "/deployment?")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Enter")
    expect(page).to_have_url(DEPLOYMENT)
    tab_to(page, "/answer?")
    page.keyboard.press("Enter")
    expect_an_answer(page)
