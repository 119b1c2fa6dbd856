"""Lists by keys, wide screens and paper, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import DESKTOP, PHONE, WIDE
from tests.dialwatch.browser.conftest import OpenPage

LISTS = ["overview", "answers", "incidents"]
PAGES = [*LISTS, "deployment", "answer", "incident", "ground-truth", "compare"]


def focused(page: Page) -> str | None:
    """Give the address of the link that has the focus."""
    address: str | None = page.evaluate("document.activeElement.href ?? null")
    return address


@pytest.mark.parametrize("name", LISTS)
def test_rows_are_gone_through_and_opened_by_keys(open_page: OpenPage, paths: dict[str, str], name: str) -> None:
    """j and k go down and up and stop at the ends, enter opens the row, and the way back leads to the same row."""
    page = open_page(paths[name])
    links = [one.evaluate("one => one.href") for one in page.locator("[data-rows] > tbody > tr > th a").all()]
    page.keyboard.press("k")
    assert focused(page) == links[0]
    page.keyboard.press("k")
    assert focused(page) == links[0]
    for _ in links:
        page.keyboard.press("j")
    assert focused(page) == links[-1]
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.split("#")[0] == links[-1].split("#")[0]
    page.goto(open_page.address + paths[name])
    assert focused(page) == links[-1]


def test_help_is_shown_by_a_key_and_fields_take_every_letter(open_page: OpenPage, paths: dict[str, str]) -> None:
    """Nothing else happens while it is open; Esc and its button close it, and in a field j, k and ? are letters."""
    page = open_page(paths["overview"])
    expect(page.get_by_text("Press ? for the keys of this page")).to_be_visible()
    help_ = page.get_by_role("dialog", name="Keys")
    page.keyboard.press("?")
    expect(help_).to_be_visible()
    page.keyboard.press("j")
    expect(help_.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(help_).to_be_hidden()
    page.keyboard.press("?")
    help_.get_by_role("button", name="Close").click()
    expect(help_).to_be_hidden()
    field = page.get_by_label("Name contains")
    field.focus()
    page.keyboard.type("j?k")
    expect(field).to_have_value("j?k")
    expect(help_).to_be_hidden()


def test_a_page_without_its_script_says_nothing_of_keys(chromium: object, demo_pages: str) -> None:
    page = chromium.new_page(java_script_enabled=False)  # type: ignore[attr-defined]
    page.goto(demo_pages + "/incidents")
    expect(page.get_by_text("Press ? for the keys")).to_be_hidden()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.close()


def test_the_overview_renews_itself_only_where_nobody_types_or_reads_what_is_unfolded(
    chromium: Browser, demo_pages: str
) -> None:
    """It goes on when the field is left as it was, and when what was unfolded is folded."""
    page = chromium.new_page()
    page.clock.install()
    page.goto(demo_pages + "/")

    def renews() -> None:
        with page.expect_event("load"):
            page.clock.run_for(16_000)

    def stays() -> None:
        page.evaluate("document.title = 'not renewed'")
        page.clock.run_for(32_000)
        page.wait_for_timeout(1_000)
        assert page.title() == "not renewed"

    field, summary = page.get_by_label("Name contains"), page.locator("main details > summary").first
    renews()
    field.fill("hr")
    stays()
    field.fill("")
    field.blur()
    summary.click()
    stays()
    summary.click()
    renews()
    page.goto(demo_pages + "/?renew=false")
    stays()
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_wide_screen_is_used(open_page: OpenPage, paths: dict[str, str], name: str) -> None:
    """Panels get wider, lines of text stay readable, and nothing scrolls sideways."""
    widths = []
    for width in (DESKTOP, WIDE):
        page = open_page(paths[name], width)
        widths.append(page.evaluate("document.querySelector('main').clientWidth"))
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert widths[1] > 1.4 * widths[0]
    measure = "[...document.querySelectorAll('main > section > p, .quiet, .sentence, .text')].map(p => p.clientWidth)"
    assert max(page.evaluate(measure), default=0) < 1_300


def test_the_search_of_answers_is_folded_where_it_found_some(open_page: OpenPage, paths: dict[str, str]) -> None:
    """On a phone also all answers; one press opens it. Where nothing is searched yet it is open.

    A wide page of all answers shows the whole form.
    """
    for width, path, is_open in ((PHONE, paths["answers"], False), (PHONE, "/answers", True)):
        page = open_page(path, width)
        field, summary = page.get_by_label("Words of a comment"), page.locator(".fold > summary")
        assert field.is_visible() is is_open
        summary.click()
        assert field.is_visible() is not is_open
    page = open_page(paths["answers"], DESKTOP)
    expect(page.get_by_label("Words of a comment")).to_be_visible()
    expect(page.locator(".fold > summary")).to_be_hidden()
    page = open_page("/answers?words=know", DESKTOP)
    expect(page.get_by_label("Words of a comment")).to_be_hidden()
    expect(page.locator(".fold > summary")).to_be_visible()


@pytest.mark.parametrize("name", PAGES)
def test_paper_has_what_is_read_and_nothing_to_press(open_page: OpenPage, paths: dict[str, str], name: str) -> None:
    """No navigation, form or button; what is folded is open; black on white also where the screen is dark."""
    page = open_page(paths[name], dark=True)
    page.emulate_media(media="print", color_scheme="dark")
    for role in ("navigation", "button", "textbox", "combobox"):
        assert page.get_by_role(role).count() == 0  # type: ignore[arg-type]
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    folded = page.locator("main details:not([open], form *):not(:has(> pre)):not(:has(form)) > :not(summary)")
    for one in folded.all()[:10]:
        expect(one).to_be_visible()
    strokes = page.evaluate("[...document.querySelectorAll('svg .line')].map(line => getComputedStyle(line).stroke)")
    assert set(strokes) <= {"rgb(0, 0, 0)"}
    assert len(page.pdf(format="A4")) > 5_000
