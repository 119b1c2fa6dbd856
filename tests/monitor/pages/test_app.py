from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import numpy as np
import pytest

from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.notify.texts.alert import description, summary
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)

Open = Callable[..., httpx.Response]


@pytest.fixture
def open_page(monitor: Monitor, get: Callable[..., httpx.Response]) -> Open:
    app = create_app(monitor)
    return lambda path, **headers: get(app, path, **headers)


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("br", False),
        ("", False),
        ("gzip;q=0", False),
        ("gzipped", False),
    ],
)
def test_metrics_are_packed_for_who_takes_that(open_page: Open, monitor: Monitor, accepted: str, packed: bool):
    """As Prometheus asks; for others they come as they are, and a cache keeps them apart."""
    monitor.refresh()
    answer = open_page("/metrics", **{"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == ("gzip" if packed else None)
    assert "Accept-Encoding" in answer.headers["vary"]
    assert answer.text.startswith("# HELP dialwatch_build_info")


def test_metrics_come_in_the_format_that_is_asked_for(open_page: Open, monitor: Monitor):
    """OpenMetrics for who accepts it, the classic text for everyone else, whatever the header says."""
    monitor.refresh()
    modern = open_page("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert modern.headers["content-type"].startswith("application/openmetrics-text")
    assert modern.text.endswith("# EOF\n")
    odd = [f"application/openmetrics-text;version={version}" for version in ("x", "9.x", "9.9.9", "1" * 5000)]
    for accept in ("text/plain", "*/*", "", *odd, "text/plain;version=1.x"):
        classic = open_page("/metrics", Accept=accept)
        assert classic.status_code == 200
        assert classic.headers["content-type"].startswith("text/plain")
        assert "# EOF" not in classic.text


def test_health_is_503_until_the_lake_was_read(open_page: Open, monitor: Monitor, clock: Any):
    """The status code is for machines, the words are for people."""
    early = open_page("/healthz")
    assert early.status_code == 503
    assert early.json()["problems"] == ["The lake has not been read yet."]
    monitor.refresh()
    clock.advance(seconds=3)
    fresh = open_page("/healthz")
    assert fresh.status_code == 200
    expected = {"healthy": True, "last_refresh_age_seconds": 3.0, "problems": [], "is_fresh": True, "parts": []}
    assert fresh.json() == expected
    clock.advance(minutes=5)
    stale = open_page("/healthz")
    assert stale.status_code == 503
    assert "5 minutes ago" in stale.json()["problems"][0]


@pytest.mark.usefixtures("three_deployments")
def test_the_page_says_what_got_worse(open_page: Open, monitor: Monitor):
    """The regression stands at the top in words, its deployment first, then the others and the books."""
    monitor.refresh()
    text = open_page("/").text
    assert "1 deployment got worse" in text
    assert (
        text.index("1 deployment got worse")
        < text.index('rag-search"><bdi>rag-search</bdi></a></th>')
        < text.index("gpt-4o</bdi></a></th>")
    )
    assert "REGRESSED" in open_page("/deployment?name=rag-search").text
    assert "learning" in text
    assert "3,014 log lines" in text
    assert "not json" in text


@pytest.mark.usefixtures("three_deployments")
def test_the_page_of_an_alert_says_what_got_worse_too(open_page: Open, monitor: Monitor):
    """Its link leads to the deployment: the same words stand there, and whether the alert is a warning or a page."""
    monitor.refresh()
    sentence = re.compile(r"<section class=\"notice regressed\".*?</section>", re.DOTALL)
    to_itself = re.compile(r' · <a href="/deployment[^"]*">Deployment.*?</a>')
    (shown,) = sentence.findall(open_page("/").text)
    page = open_page("/deployment?name=rag-search").text
    assert to_itself.search(shown)
    assert sentence.findall(page) == [to_itself.sub("", shown).replace("1 deployment got", "1 metric got")]
    assert re.findall(r'>firing</span><br><span class="quiet">(\w+)</span>', page) == ["urgent"]
    assert not sentence.findall(open_page("/deployment?name=gpt-4o").text)


def test_names_cannot_write_html(open_page: Open, monitor: Monitor, rows: Any):
    """A deployment, metric, signal or reason that looks like HTML is shown as text."""
    attack = '"><script>alert(1)</script>'
    rows.logs(attack, {})
    rows.signals(attack, attack)
    rows.scores(attack, {"metric": attack, "value": 0.5, "judge": attack, "metric_version": attack})
    rows.rejected(attack)
    monitor.refresh()
    page = open_page("/")
    assert "<script" not in page.text.replace('<script src="/static/keys.js" defer></script>', "")
    assert "&lt;script&gt;" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].endswith("; script-src 'self'")


def test_an_empty_lake_has_a_page_too(open_page: Open, monitor: Monitor):
    """Before and after the first refresh of an empty lake the page says what it waits for."""
    assert "Reading the lake" in open_page("/").text
    monitor.refresh()
    assert "Nothing has arrived yet" in open_page("/").text


def test_what_cannot_be_read_is_said_on_the_page(open_page: Open, monitor: Monitor, rows: Any, clock: Any):
    """Old figures are still shown, under a warning."""
    rows.logs("a", {})
    monitor.refresh()
    clock.advance(hours=1)
    text = open_page("/").text
    assert "These figures may be old" in text
    assert "<bdi>a</bdi>" in text


def test_the_page_needs_nothing_from_elsewhere(open_page: Open, monitor: Monitor):
    """No script but ours, no foreign address; style and icon are served here."""
    monitor.refresh()
    text = open_page("/").text
    assert "<script" not in text.replace('<script src="/static/keys.js" defer></script>', "")
    assert "://" not in text
    assert open_page("/static/dialwatch.css").headers["content-type"].startswith("text/css")
    assert open_page("/static/icon.svg").status_code == 200


def languages(rows: Any, hours: int, share_of_german: Callable[[int], float], mean_of_german: Callable[[int], float]):
    random = np.random.default_rng(1)
    found = []
    for left in range(hours, 0, -1):
        for minute in range(0, 60, 3):
            german = random.uniform() < share_of_german(left)
            value = float(np.clip(random.normal(mean_of_german(left) if german else 0.85, 0.1), 0, 1))
            at = NOW - timedelta(hours=left) + timedelta(minutes=minute)
            segment = f'{{"language":"{"de" if german else "en"}"}}'
            found.append({"requested_at": at, "date": at.date(), "value": value, "segment": segment})
    rows.scores("rag", *found)


def test_the_page_names_the_segment_that_fell(open_page: Open, monitor: Monitor, rows: Any, lake: Lake):
    """German answers fell nine days after the start: the page says so beside the whole, and so does the alert."""
    languages(rows, 240, lambda left: 0.3, lambda left: 0.3 if left <= 12 else 0.65)
    monitor.refresh()
    page = open_page("/").text
    assert "1 deployment got worse" in page
    assert re.search(r"Most in <bdi>language de</bdi>: from 0\.6\d to 0\.[23]\d\.", page)
    (change, *_) = AlertStore(lake).active()
    assert "Most in: language de" in description(change, "")


def test_a_segment_that_fell_behind_a_better_mix_is_shown_as_a_fall(
    open_page: Open, monitor: Monitor, rows: Any, lake: Lake
):
    """German falls and becomes rare, so that the mean of all rises: page and alert still say that it fell."""
    languages(rows, 240, lambda left: 0.06 if left <= 30 else 0.5, lambda left: 0.1 if left <= 30 else 0.65)
    monitor.refresh()
    page = " ".join(open_page("/").text.split())
    assert re.search(r"fell in a part of the traffic; that of all went from 0\.7\d to <strong>0\.(7[5-9]|8\d)", page)
    (change, *_) = AlertStore(lake).active()
    assert re.search(r"fell from 0\.6\d to 0\.[01]\d in a part of the traffic, language de, since", summary(change))


def test_a_limit_with_too_few_requests_is_not_said_to_be_kept(open_page: Open, monitor: Monitor, rows: Any):
    """Of ten requests no share is taken, and of what no metric measures none ever: the page says which."""
    rows.logs("rag", *[{}] * 10)
    rows.scores("rag", {"metric": "refusal", "value": 0.0})
    monitor.refresh()
    page = open_page("/deployment?name=rag").text
    assert re.search(r"Share of refusals</th>\s.*\s.*\s.*too few for a share", page)
    assert re.search(
        r"Answers without a score</th>\s.*\s.*\s.*not watched</span> <span class=\"quiet\">as no judge",
        page,
    )
    metrics = without_installation(open_page("/metrics").text)
    assert 'dialwatch_unjudged_floors{floor="errors"} 1.0' in metrics
    assert "dialwatch_floor_share{" not in metrics
    assert "kept" not in page


def test_another_mix_of_traffic_is_shown_and_no_regression(
    open_page: Open, monitor: Monitor, rows: Any, get: Callable[..., httpx.Response]
):
    """German goes from a third to nine tenths: no alarm, but the page and a gauge say what that does to the mean."""
    languages(rows, 120, lambda left: 0.9 if left <= 12 else 0.3, lambda left: 0.65)
    monitor.refresh()
    assert "No active regression" in open_page("/").text
    assert re.search(r"another mix of traffic: -0\.1", open_page("/deployment?name=rag").text)
    detailed = get(
        create_app(monitor, MonitorSettings.model_validate({"exporter": {"detail": "all"}})), "/metrics"
    ).text
    assert re.search(r'dialwatch_score_mix_change\{.*deployment="rag",.*\} -0\.1', detailed)


def test_the_pages_say_until_when_alerts_are_silenced(
    open_page: Open, monitor: Monitor, lake: Lake, rows: Any, clock: Any
):
    """The overview all silences that hold, a deployment's page its own; a comment is text, whatever it holds."""
    rows.logs("rag", {})
    soon, late = clock.now + timedelta(hours=3), datetime(2126, 12, 1, 7, tzinfo=UTC)
    add_silence(lake, Silence(deployment="rag", until=soon, comment="<b>known</b>"), clock.now)
    add_silence(lake, Silence(metric="no_data", until=soon), clock.now)
    add_silence(lake, Silence(deployment="other", until=late), clock.now)
    monitor.refresh()
    overview, own = (open_page(path).text for path in ("/", "/deployment?name=rag"))
    assert "of <bdi>other</bdi> are silenced until 1 Dec 2126, 07:00 UTC" in overview
    assert "<bdi>other</bdi>" not in own
    for page in (overview, own):
        assert "until 20 Nov 2026, 15:00 UTC: <bdi>&lt;b&gt;known&lt;/b&gt;</bdi>" in page
        assert "Alerts on “no requests” of every deployment are silenced" in page
    clock.advance(hours=4)
    monitor.refresh()
    assert "silenced" not in open_page("/deployment?name=rag").text


def test_an_attribute_with_too_many_values_is_shown_with_what_to_do(open_page: Open, monitor: Monitor, rows: Any):
    """A column of segment_by with a value for each conversation is named, with how many are not distinguished."""
    random = np.random.default_rng(1)
    times = [NOW - timedelta(hours=48) + timedelta(minutes=3 * number) for number in range(940)]
    values = random.uniform(0.5, 1, len(times)).tolist()
    classes = [f'{{"language":"{number}"}}' for number in range(len(times))]
    rows.scores(
        "rag",
        *(
            {"requested_at": at, "date": at.date(), "value": value, "segment": segment}
            for at, value, segment in zip(times, values, classes, strict=True)
        ),
    )
    monitor.refresh()
    page = " ".join(open_page("/deployment?name=rag").text.split())
    assert re.search("language has too many values for segment_by, take it out: those of 4[0-4]0 conversations", page)


@pytest.mark.parametrize("path", ["/healthz", "/static/icon.svg", "/nothing"])
def test_every_answer_has_the_headers_that_protect_it(open_page: Open, path: str):
    """A page, a file, an answer to a program and an error alike."""
    headers = open_page(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-cache", "no-store")
