"""Web pages of others cannot reach the collector or the pages: on the real services."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from dialwatch.config import Settings
from dialwatch.services.collecting import collecting
from dialwatch.services.running import monitoring
from dialwatch.serving.hosts import is_own_name
from tests.collector.lines import chat_line
from tests.servers import free_port

JSON = {"Content-Type": "application/json"}
LIKE = b'{"deployment": "rag-app", "response_id": "r-1", "signal": "like"}'
OWN = ["127.0.0.1:8080", "[::1]:8080", "localhost", "LOCALHOST.", "dialwatch:8080", "dialwatch.ns.svc.cluster.local"]
STRANGE = ["evil.example.com", "evil.example.com:8080", "127.0.0.1.evil.com", "localhost.evil.com", "", "[evil"]


def serving(folder: Path, **http: Any) -> tuple[Settings, str]:
    address = f"127.0.0.1:{free_port()}"
    given = {
        "lake": {"root": str(folder)},
        "collector": {"http": {"listen": address, "commit_seconds": 0} | http},
        "monitor": {"listen": f"127.0.0.1:{free_port()}"},
    }
    return Settings.model_validate(given), f"http://{address}"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings, url = serving(tmp_path_factory.mktemp("lake"), hosts="Logs.Example.com:443")
    with collecting(settings, settings.lake.open()):
        yield url


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings, _ = serving(tmp_path_factory.mktemp("lake"))
    changed = {"hosts": ("other.example.com",), "external_url": "https://dialwatch.example.com/pages"}
    section = settings.monitor.model_copy(update=changed)
    settings = settings.model_copy(update={"monitor": section})
    with monitoring(settings, settings.lake.open()) as url:
        yield url


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; b=x", "", None]
)
@pytest.mark.parametrize("path", ["/data", "/signals"])
def test_what_any_web_page_may_send_is_refused(url: str, path: str, kind: str | None) -> None:
    """A type that browsers send without asking first, or none, is 415 and says what to send."""
    headers = {} if kind is None else {"Content-Type": kind}
    answer = httpx.post(f"{url}{path}", content=LIKE if path == "/signals" else chat_line(1), headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]
    assert "token_file" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/x-ndjson"])
def test_json_is_taken(url: str, kind: str) -> None:
    """What Vector sends with the codec json, framed as an array or a line each, and what clients of JSON send."""
    assert httpx.post(f"{url}/data", content=chat_line(1), headers={"Content-Type": kind}, timeout=60).is_success


@pytest.mark.parametrize("host", STRANGE)
def test_a_name_of_somebody_else_is_refused(url: str, pages: str, host: str) -> None:
    """A name that a stranger may own, and lead to us, is 421 and says where to add it."""
    answer = httpx.post(f"{url}/signals", content=LIKE, headers=JSON | {"Host": host})
    assert (answer.status_code, "collector.http.hosts" in answer.text) == (421, True)
    for path in ("/", "/deployment?name=x", "/static/style.css"):
        answer = httpx.get(f"{pages}{path}", headers={"Host": host})
        assert (answer.status_code, "monitor.hosts" in answer.text) == (421, True)


@pytest.mark.parametrize("host", OWN)
def test_names_that_are_ours_alone_are_known(url: str, pages: str, host: str) -> None:
    """Addresses, names without a dot and names for private use need no setting."""
    assert httpx.post(f"{url}/signals", content=LIKE, headers=JSON | {"Host": host}, timeout=60).is_success
    assert httpx.get(f"{pages}/", headers={"Host": host}).is_success


def test_names_that_are_given_are_known(url: str, pages: str) -> None:
    """Those of the settings, and that of the address that messages link to."""
    sent = JSON | {"Host": "logs.example.com:443", "Origin": "https://logs.example.com"}
    assert httpx.post(f"{url}/signals", content=LIKE, headers=sent, timeout=60).is_success
    for host in ("dialwatch.example.com", "other.example.com:8443"):
        assert httpx.get(f"{pages}/", headers={"Host": host}).is_success


@pytest.mark.parametrize("host", ["dialwatch.monitoring:9464", "Dialwatch.Example.Com", "a.example.com.:80"])
def test_what_a_refusal_says_to_add_is_taken(tmp_path: Path, host: str) -> None:
    """The name in the message, put into the setting, is then known; with the port that was asked for it is too."""
    settings, url = serving(tmp_path)
    with collecting(settings, settings.lake.open()):
        refused = httpx.get(f"{url}/signals", headers={"Host": host})
    assert refused.status_code == 421
    shown = re.search(r"as '([^']*)': if that is its name, add it to collector\.http\.hosts", refused.text)
    assert shown is not None
    assert ":" not in shown[1]
    for hosts in ([shown[1]], [host]):
        settings, url = serving(tmp_path, hosts=hosts)
        with collecting(settings, settings.lake.open()):
            assert httpx.get(f"{url}/signals", headers={"Host": host}).status_code == 405


def test_a_refused_page_names_its_host(tmp_path: Path) -> None:
    """The host that is to be added stands without scheme and port, and is then known."""
    sent = JSON | {"Origin": "https://chat.example.com:8443"}
    settings, url = serving(tmp_path)
    with collecting(settings, settings.lake.open()):
        refused = httpx.post(f"{url}/signals", content=LIKE, headers=sent)
    assert refused.status_code == 403
    assert "add 'chat.example.com' to collector.http.hosts" in refused.text
    settings, url = serving(tmp_path, hosts="chat.example.com")
    with collecting(settings, settings.lake.open()):
        assert httpx.post(f"{url}/signals", content=LIKE, headers=sent, timeout=60).is_success


def test_the_machines_own_name_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine calls itself is ours, also where it has dots; another machine's of the same domain is not."""
    monkeypatch.setattr(socket, "gethostname", lambda: "Box7.Example.org.")
    settings, url = serving(tmp_path)
    with collecting(settings, settings.lake.open()):
        asked = [httpx.get(f"{url}/signals", headers={"Host": f"{name}.example.org:80"}) for name in ("box7", "box8")]
    assert [answer.status_code for answer in asked] == [405, 421]


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        ("https://dialwatch.example.com", "is an address of a page: write its host alone"),
        (["dialwatch.example.com/"], "is an address of a page"),
        (["*.example.com"], "without wildcards"),
        ([".example.com"], "without wildcards"),
        ([""], "names no host"),
        ([" :9464"], "names no host"),
        (["a.example.com, b.example.com"], "is no name of a host"),
        (["m\u00fcller.example"], "xn--"),
        ([7], "string"),
    ],
)
def test_hosts_that_no_request_can_name_are_refused(hosts: object, says: str) -> None:
    """Both settings say which value is wrong and what to write, rather than never match."""
    given: list[dict[str, Any]] = [{"collector": {"http": {"hosts": hosts}}}, {"monitor": {"hosts": hosts}}]
    for section in given:
        with pytest.raises(ValidationError) as caught:
            Settings.model_validate({"lake": {"root": "x"}} | section)
        (error,) = caught.value.errors()
        assert says in error["msg"]
        assert "hosts" in error["loc"]


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz"])
def test_programs_may_ask_under_any_name(url: str, pages: str, path: str) -> None:
    """Metrics and health hold nobody's text, and are asked for through any name."""
    for server in (url, pages):
        assert httpx.get(f"{server}{path}", headers={"Host": "anything.example.com"}).status_code != 421


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", "http://127.0.0.1:1", "http://[evil"])
def test_a_page_of_another_site_is_refused(url: str, origin: str) -> None:
    """A request that a browser says another site's page made is 403, whatever its type; one of our own is taken."""
    answer = httpx.post(f"{url}/signals", content=LIKE, headers=JSON | {"Origin": origin})
    assert (answer.status_code, "collector.http.hosts" in answer.text) == (403, True)
    assert httpx.post(f"{url}/signals", content=LIKE, headers=JSON | {"Origin": url}, timeout=60).is_success


def test_who_has_the_token_may_use_any_name_and_type(tmp_path: Path) -> None:
    """No web page knows the token: Vector's text codec, an ingress and a proxy need no further setting."""
    settings, url = serving(tmp_path, token="a token")
    sent = {"Authorization": "Bearer a token", "Content-Type": "text/plain", "Host": "logs.example.org"}
    with collecting(settings, settings.lake.open()):
        assert httpx.post(f"{url}/data", content=chat_line(1), headers=sent, timeout=60).is_success
        del sent["Authorization"]
        assert httpx.post(f"{url}/data", content=chat_line(1), headers=sent, timeout=60).status_code == 401


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "::1", "[::1]", "dialwatch", "a.b.local", "x.internal", "x.test", "x.corp", "x.home"]
)
def test_a_stranger_cannot_own_these(host: str) -> None:
    """Addresses, names without a dot, and endings that are for private use."""
    assert is_own_name(host)


@pytest.mark.parametrize(
    "host",
    ["example.com", "local.evil.com", "evillocal.com", "127.1", "dialwatch.dev", "dialwatch.monitoring", "x.lan"],
)
def test_a_stranger_may_own_these(host: str) -> None:
    """Every other name with a dot."""
    assert not is_own_name(host)
