"""Access to the pages by a token or through a proxy, asked as programs and browsers ask."""

from __future__ import annotations

import re
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from lake.spec.root_tables import AUDIT
from lake.tables.lake import Lake
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation
from tests.monitor.conftest import NOW, STRANGE_NAME

TOKEN = "correct horse battery staple"
BY_TOKEN = {"token": TOKEN}
GROUPS = {
    "search": {"deployments": ["rag-*"]},
    "platform": {"deployments": ["*"], "rights": ["texts", "act"]},
    "others": {"deployments": ["nothing-*"]},
}
BY_PROXY = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}
HTML = {"Accept": "text/html,*/*;q=0.8"}
PAGES = [
    "/",
    "/deployment?name=rag-search",
    "/deployments",
    "/incidents",
    "/incidents.json",
    "/incident?id=1",
    "/incident/acknowledge",
    "/sign-out",
    "/openapi.json",
    "//",
    "/Metrics",
    "/metrics/",
]

Client = Callable[..., TestClient]


@pytest.fixture
def client(monitor: Monitor) -> Client:
    """Gives a client of pages with these settings."""

    def make(access: object, peer: str = "10.0.0.7", **settings: Any) -> TestClient:
        app = create_app(monitor, MonitorSettings.model_validate({"access": access} | settings))
        return TestClient(app, base_url="http://pages.test", client=(peer, 5000), follow_redirects=False)

    return make


def sign_in(client: TestClient, **headers: str) -> Any:
    return client.post("/sign-in", data={"token": TOKEN, "next": "/"}, headers=headers)


def cookie_of(answer: Any) -> Any:
    (morsel,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return morsel


def user(name: str, *groups: str) -> dict[str, str]:
    return {"X-Forwarded-User": name, "X-Forwarded-Groups": ",".join(groups)}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("access", [BY_TOKEN, BY_PROXY], ids=["token", "proxy"])
def test_nothing_is_shown_to_who_is_not_known(client: Client, access: object, path: str) -> None:
    """Neither a page nor whether there is one: a program gets 401, whatever it asks for."""
    asked = client(access, "10.0.0.8")
    for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"):
        assert asked.request(method, path, headers=user("eve", "platform")).status_code == 401


@pytest.mark.parametrize("access", [None, "none", BY_TOKEN, BY_PROXY], ids=["nothing", "none", "token", "proxy"])
def test_programs_need_no_access(client: Client, monitor: Monitor, access: object) -> None:
    """Metrics, health and readiness; the last is 503 until there are figures."""
    asked = client(access, "192.0.2.1")
    assert [asked.get(path).status_code for path in ("/metrics", "/healthz", "/readyz")] == [200, 503, 503]
    monitor.refresh()
    assert [asked.get(path).status_code for path in ("/metrics", "/healthz", "/readyz")] == [200, 200, 200]
    assert asked.get("/readyz").json() == {"ready": True, "problem": None}
    monitor.lacks = lambda: "file /logs/*: no file matches"
    found = asked.get("/readyz")
    assert found.status_code == 503
    assert (found.json()["problem"] == monitor.lacks()) is (access in (None, "none"))


@pytest.mark.parametrize("access", [None, "none", BY_TOKEN, BY_PROXY], ids=["nothing", "none", "token", "proxy"])
def test_health_names_no_deployment_to_strangers(client: Client, monitor: Monitor, lake: Lake, access: object) -> None:
    """That it is bad, with its status, is for everybody; with access the words are for who may see all."""
    monitor.refresh()
    monitor._failures.add("read_scores", "secret-bot", OSError("away"))  # a store that is away for one deployment
    is_open = access in (None, "none")
    asked = client(access, "192.0.2.1").get("/healthz")
    assert bool(asked.json()["problems"]) is True
    assert ("secret-bot" in asked.text) is is_open
    headers = {"Authorization": f"Bearer {TOKEN}"} | user("ann", "platform")
    assert "secret-bot" in client(access).get("/healthz", headers=headers).text


@pytest.mark.parametrize("access", [None, "none"])
def test_without_access_everybody_sees_everything(client: Client, access: object) -> None:
    """As on loopback: there is no name, and no page to sign in."""
    page = client(access, "192.0.2.1").get("/")
    assert page.status_code == 200
    assert "Signed in" not in page.text
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert client(access).get("/sign-in").status_code == 404


def test_a_script_sends_the_token(client: Client) -> None:
    """With the token a page is there, with another one, or another scheme, it is not."""
    asked = client(BY_TOKEN)
    assert asked.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert asked.get("/", headers={"Authorization": f"bearer  {TOKEN}"}).status_code == 200
    for sent in (
        f"Bearer {TOKEN}x",
        "Bearer",
        "Bearer ",
        TOKEN,
        f"Basic {TOKEN}",
        f"Bearer {TOKEN[:-1]}",
        "Bearer \xff",
    ):
        answer = asked.get("/", headers={"Authorization": sent.encode("latin-1")})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert TOKEN not in answer.text


def test_a_person_signs_in_and_out(client: Client, monitor: Monitor, lake: Lake) -> None:
    """From the page that was asked for to the sign-in and back; after the sign-out its cookie is worth nothing."""
    monitor.refresh()
    asked = client(BY_TOKEN)
    first = asked.get("/deployment?name=a%20b", headers=HTML)
    assert first.status_code == 303
    form = asked.get(first.headers["location"], headers=HTML)
    assert form.status_code == 200
    assert 'http-equiv="refresh"' not in form.text
    (target,) = re.findall(r'name="next" value="([^"]*)"', form.text)
    answer = asked.post("/sign-in", data={"token": f" {TOKEN}\n", "next": target})
    assert (answer.status_code, answer.headers["location"]) == (303, "/deployment?name=a%20b")
    page = asked.get("/")
    assert "Signed in as <bdi>token</bdi>" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert asked.get("/sign-in?next=/deployment").headers["location"] == "/deployment"
    kept = dict(asked.cookies)
    (form_token,) = re.findall(r'name="form_token" value="([^"]*)"', page.text)
    assert asked.post("/sign-out", data={"form_token": form_token}).headers["location"] == "/sign-in"
    assert not asked.cookies
    assert asked.get("/").status_code == 401
    asked.cookies.update(kept)
    assert asked.get("/").status_code == 401
    assert monitor.audit.write()
    rows = lake.table(AUDIT).read(["who", "action", "at"]).to_pylist()
    assert rows == [{"who": "token", "action": action, "at": NOW} for action in ("sign_in", "sign_out")]


@pytest.mark.parametrize(
    ("sent", "others", "secure"),
    [
        ({}, {}, False),
        ({"X-Forwarded-Proto": "http"}, {}, False),
        ({"X-Forwarded-Proto": "https"}, {}, True),
        ({"X-Forwarded-Proto": "HTTPS, http"}, {}, True),
        ({}, {"external_url": "https://dialwatch.example.com/"}, True),
    ],
)
def test_the_cookie_is_the_browsers_alone(client: Client, sent: Any, others: Any, secure: bool) -> None:
    """No script reads it, no other site has it sent, over https it stays there, and the token is not in it."""
    morsel = cookie_of(sign_in(client(BY_TOKEN, **others), **sent))
    assert morsel["httponly"] is True
    assert morsel["samesite"].lower() == "strict"
    assert bool(morsel["secure"]) == secure
    assert (morsel["path"], morsel["domain"], morsel["max-age"]) == ("/", "", str(12 * 3600))
    assert not any(word in morsel.value for word in TOKEN.split())


@pytest.mark.parametrize(
    "given", [{"next": "/"}, {"token": ""}, {"token": TOKEN[:-1]}, {"token": "\ud800".encode("utf-8", "replace")}]
)
def test_a_wrong_token_gives_no_session(client: Client, given: Any) -> None:
    """The page says so, shows nothing of what was typed, and sets no cookie."""
    answer = client(BY_TOKEN).post("/sign-in", data=given)
    assert answer.status_code == 401
    assert "This is not the token" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "target",
    ["//evil.example.com", "https://evil.example.com", "/\\evil.example.com", "javascript:alert(1)", "", "evil",
     "/a\\b", "/\r\nSet-Cookie: a=b", "/ a", "/\t/evil.example.com", "/ä"],
)  # fmt: skip
def test_a_sign_in_leads_to_no_other_site(client: Client, target: str) -> None:
    """An address that is not of these pages becomes the overview."""
    asked = client(BY_TOKEN)
    answer = asked.post("/sign-in", data={"token": TOKEN, "next": target})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert asked.get(f"/sign-in?{urlencode({'next': target})}").headers["location"] == "/"


def test_a_link_from_another_site_opens_for_who_is_signed_in(client: Client) -> None:
    """The browser holds the strict cookie back at first: a page of ours leads on to the sign-in, which knows it."""
    asked = client(BY_TOKEN)
    page = asked.get("/deployment?name=a&b=c", headers=HTML | {"Sec-Fetch-Site": "cross-site"})
    assert page.status_code == 401
    (address,) = re.findall(r'http-equiv="refresh" content="0; url=([^"]*)"', page.text)
    sign_in(asked)
    assert asked.get(address).headers["location"] == "/deployment?name=a&b=c"


@pytest.mark.parametrize("sent", [{"a": "b"}, {"form_token": ""}, {"form_token": "0" * 64}])
def test_a_form_of_another_site_changes_nothing(client: Client, sent: dict[str, str]) -> None:
    """Without the token of the session a form is 403, and the session goes on."""
    asked = client(BY_TOKEN)
    sign_in(asked)
    assert asked.post("/sign-out", data=sent).status_code == 403
    assert asked.get("/").status_code == 200


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"token=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"a=1&" * 200, "application/x-www-form-urlencoded", 413),
        (b"token=%ff\xff&&=&a", "application/x-www-form-urlencoded; charset=x", 401),
    ],
)
def test_what_is_no_form_of_ours_is_refused(client: Client, content: bytes, kind: str, status: int) -> None:
    """Bodies of any kind and length get an answer, and no more than a little memory."""
    assert client(BY_TOKEN).post("/sign-in", content=content, headers={"Content-Type": kind}).status_code == status


def test_forms_open_the_policy_for_themselves_alone(client: Client, rows: Any, monitor: Monitor) -> None:
    """A page with a form of ours may send it to us; a name that looks like one opens nothing."""
    name = "rag-<form action=https://evil.example.com>"
    rows.logs(name, {})
    monitor.refresh()
    page = f"/deployment?{urlencode({'name': name})}"
    without_texts = client(BY_PROXY).get(page, headers=user("ann", "search"))
    assert "form-action 'none'" in without_texts.headers["content-security-policy"]
    assert "Find a complaint" not in without_texts.text
    asked = client(BY_TOKEN)
    assert "form-action 'self'" in asked.get("/sign-in").headers["content-security-policy"]
    sign_in(asked)
    assert "form-action 'self'" in asked.get(page).headers["content-security-policy"]
    assert "Find a complaint" in asked.get(page).text
    assert "form-action 'none'" in asked.get("/healthz").headers["content-security-policy"]


@pytest.mark.usefixtures("three_deployments")
def test_a_hidden_deployment_is_as_one_that_does_not_exist(client: Client, monitor: Monitor, lake: Lake) -> None:
    """Not on the overview, and its page is 404, byte for byte, as for a name that nobody has; its silence too."""
    silenced = Silence(until=NOW.replace(year=2027), deployment="gpt-4o", comment="secret plan")
    add_silence(lake, silenced, NOW)
    monitor.refresh()
    asked = client(BY_PROXY)
    own = user("ann", "search")
    overview = asked.get("/", headers=own)
    assert "rag-search" in overview.text
    assert "Signed in as <bdi>ann</bdi>" in overview.text
    assert "gpt-4o" not in overview.text
    assert "secret plan" not in overview.text
    assert "code" not in overview.text
    assert asked.get("/deployment?name=rag-search", headers=own).status_code == 200
    bodies = set()
    for name in ("gpt-4o", "gpt-5o", "_unassigned", STRANGE_NAME):
        answer = asked.get(f"/deployment?{urlencode({'name': name})}", headers=own)
        assert answer.status_code == 404
        if len(name) == len("gpt-4o"):
            bodies.add((answer.text.replace(name, "NAME"), tuple(answer.headers.items())))
    assert len(bodies) == 1
    everything = asked.get("/", headers=user("bob", "platform"))
    assert "gpt-4o" in everything.text
    assert "secret plan" in everything.text


def test_errors_name_deployments_only_to_who_may_see_all(client: Client, monitor: Monitor, rows: Any) -> None:
    """Whoever sees a part reads that something fails, and not the name of what fails."""
    rows.logs("rag-search", {})
    monitor.refresh()
    monitor._failures.problems = {"read_scores": "read_scores failed for gpt-4o"}
    asked = client(BY_PROXY)
    assert "gpt-4o" not in asked.get("/", headers=user("ann", "search")).text
    assert "A part of dialwatch does not work" in asked.get("/", headers=user("ann", "search")).text
    assert "gpt-4o" in asked.get("/", headers=user("bob", "platform")).text


def test_who_has_no_group_sees_nothing(client: Client, monitor: Monitor, rows: Any) -> None:
    """A person without a group of the settings is 403; one whose deployments have no data reads so."""
    rows.logs("rag-search", {})
    monitor.refresh()
    asked = client(BY_PROXY)
    for groups in ([], ["Platform"], ["unknown"]):
        answer = asked.get("/", headers=user("ann", *groups))
        assert answer.status_code == 403
        assert "rag-search" not in answer.text
    empty = asked.get("/", headers=user("ann", "others"))
    assert (empty.status_code, "No deployment that you may see has data" in empty.text) == (200, True)


def test_who_tries_tokens_on_and_on_waits_and_others_do_not(client: Client, monitor: Monitor, lake: Lake) -> None:
    """The form and the header are counted together, shown as a metric and in `_audit`; programs are always answered."""
    monitor.refresh()
    guessing = client(BY_TOKEN, "192.0.2.1")
    for number in range(5):
        assert guessing.post("/sign-in", data={"token": "wrong"}).status_code == 401
        assert guessing.get("/", headers={"Authorization": f"Bearer {number}"}).status_code == 401
    wrong = {"Authorization": "Bearer wrong too"}
    for refused in (guessing.post("/sign-in", data={"token": TOKEN}), guessing.get("/", headers=wrong)):
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
        assert "wait, and try again" in refused.text
    assert guessing.get("/incidents.json", headers=wrong).json()["status"] == 429
    assert guessing.get("/metrics", headers=wrong).status_code == 200
    assert sign_in(client(BY_TOKEN, "192.0.2.2")).status_code == 303
    lines = without_installation(guessing.get("/metrics").text).splitlines()
    assert 'dialwatch_refused_tokens_total{reason="wrong"} 10.0' in lines
    assert monitor.audit.write()
    rows = lake.table(AUDIT).read(["who", "action", "detail"]).to_pylist()
    assert rows[:10] == [{"who": None, "action": "wrong_sign_in", "detail": "from 192.0.2.1"}] * 10


@pytest.mark.parametrize("is_named", [True, False])
def test_people_behind_a_proxy_are_told_apart_where_it_is_named(
    client: Client, is_named: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the setting all who come through it wait for one another, and the log says so once."""
    asked = client(BY_TOKEN, "10.0.0.9", proxies=["10.0.0.0/24"] if is_named else [])
    for _ in range(10):
        asked.post("/sign-in", data={"token": "wrong"}, headers={"X-Forwarded-For": "192.0.2.2, 192.0.2.1"})
    answer = sign_in(asked, **{"X-Forwarded-For": "192.0.2.2"})
    assert answer.status_code == (303 if is_named else 429)
    assert sum("monitor.proxies" in line for line in caplog.messages) == (0 if is_named else 1)
