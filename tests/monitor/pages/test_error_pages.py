from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/deployments", 404, "There is no page /deployments"),
        ("/static/none.css", 404, "There is no page /static/none.css"),
        ("/deployment", 422, "The address /deployment lacks a usable name"),
        ("/%3Cscript%3Ealert(1)%3C/script%3E", 404, "There is no page /&lt;script&gt;alert(1)&lt;/script&gt;"),
    ],
)
def test_an_address_that_leads_nowhere_has_a_page(
    monitor: Monitor, get: Callable[..., httpx.Response], path: str, status: int, said: str
):
    """It says in HTML, as all pages do, what is wrong and where to go on; what the address holds is text."""
    answer = get(create_app(monitor), path)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert said in answer.text
    assert '<a href="/">All deployments</a>' in answer.text
    assert "<script" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_method_that_is_not_served_is_said(monitor: Monitor, serve: Callable[..., str]):
    """A POST to a page gets 405, with the methods that the page takes."""
    answer = httpx.post(f"{serve(create_app(monitor))}/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert "/ does not take POST" in answer.text


def test_who_is_not_known_reads_so_in_json(monitor: Monitor, get: Callable[..., httpx.Response]):
    """A script without the token gets 401 and what to send; nothing is said about what there is."""
    settings = MonitorSettings.model_validate({"access": {"token": "correct horse battery staple"}})
    for path in ("/answers.json?deployment=rag", "/nothing.json"):
        answer = get(create_app(monitor, settings), path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json() == {"status": 401, "message": "Send the token: `Authorization: Bearer <token>`"}
