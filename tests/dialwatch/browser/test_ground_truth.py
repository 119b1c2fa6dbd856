"""The queue of cases by keys, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.dialwatch.browser.conftest import OpenPage

QUEUE = "/ground-truth?deployment=support-rag"
CASE = "h2#case"


def pressed(page: Page, key: str) -> str:
    """Press a key, wait for the page that it leads to, and give the case that is shown then."""
    with page.expect_navigation():
        page.keyboard.press(key)
    return page.inner_text(CASE)


def test_cases_are_gone_through_and_decided_by_keys(open_page: OpenPage) -> None:
    """j and k go on and back, a accepts and goes on, r rejects, u takes that back, e opens the editor."""
    page = open_page(QUEUE)
    first = page.inner_text(CASE)
    second = pressed(page, "j")
    assert second != first
    assert pressed(page, "k") == first
    assert pressed(page, "a") == second
    expect(page.get_by_role("status")).to_contain_text("The change is stored")
    page.get_by_role("status").get_by_role("link").click()
    expect(page.locator(CASE)).to_contain_text(re.compile(r"accepted by"))
    assert "proposed" in pressed(page, "u")
    page.keyboard.press("e")
    expect(page.get_by_label("Question")).to_be_focused()
    page.keyboard.type("a")
    expect(page.locator(CASE)).to_contain_text("proposed")


def test_without_the_script_everything_works_by_buttons(chromium: object, demo_pages: str) -> None:
    page = chromium.new_page(java_script_enabled=False)  # type: ignore[attr-defined]
    page.goto(demo_pages + QUEUE)
    page.get_by_role("button", name="Reject (r)").click()
    expect(page.get_by_role("status")).to_contain_text("The change is stored")
    page.close()
