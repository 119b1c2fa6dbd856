"""The zone of a setting, on every page that has times."""

from __future__ import annotations

import re
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from lake.spec.heartbeat import Heartbeat
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns

pytestmark = pytest.mark.slow

LAGOS = "Africa/Lagos"
"""Its clocks are an hour ahead of UTC all the year."""
ADDRESSES = (
    "/",
    "/?days=90",
    "/deployment?name=rag-search",
    "/deployment?name=rag-search&days=1",
    "/deployment?name=rag-search&days=90",
    "/incidents",
    "/incident?id={incident}",
    "/answers?deployment=rag-search&since=2026-11-19&until=2026-11-20",
    "/answer?deployment=rag&date=2026-11-20&event_id=e1",
    "/answer?response_id=twice",
)
# Fields that take a time or a day of UTC, the period of the search, what is left of a day's budget, and commands.
_IN_UTC = re.compile(r"<label>[^<]*\(UTC\)|\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d \(UTC\)|today \(UTC\)|<code>.*?</code>")
# The morning of another zone is at another time.
_MORNING = re.compile(r'<li><label><input type="radio" name="length" value="morning".*?</li>', re.DOTALL)
_TICK = re.compile(r'<text class="time.*?</text>')
_TIME = re.compile(r"\b\d\d:\d\d(?::\d\d)?+(?! WAT\b).{0,20}")


@pytest.fixture
def many_times(three_deployments: None, one_answer: str, rows: ScoreColumns, lake: Lake, clock: Clock) -> Monitor:
    """A monitor that has seen what puts times on pages: alerts, a silence, failures, an answer with all there is."""
    rows.logs("rag", {"event_id": "t1", "response_id": "twice"}, {"event_id": "t2", "response_id": "twice"})
    add_silence(lake, Silence(deployment="rag", until=NOW + timedelta(hours=3), comment="known"), NOW)
    own = [
        Heartbeat(ServicePart.COLLECTOR, "host", NOW, NOW, ServiceState.RUNNING, last_success=NOW, last_error=NOW),
        Heartbeat(
            ServicePart.EVALUATOR, "host", NOW, NOW, ServiceState.FAILING, error="not since 2026-11-20 11:00 UTC"
        ),
    ]
    settings = MonitorSettings.model_validate({"regression": {"reference_observations": 100}})
    monitor = Monitor(lake, settings, clock, {"strict": 5.0}, own_parts=lambda: own)
    monitor.refresh()
    return monitor


def addresses(monitor: Monitor) -> list[str]:
    assert monitor.snapshot is not None
    (incident,) = monitor.snapshot.deployments["rag-search"].incidents
    return [address.format(incident=incident.incident_id) for address in ADDRESSES]


def pages(monitor: Monitor, zone: str) -> TestClient:
    return TestClient(create_app(monitor, MonitorSettings.model_validate({"time_zone": zone})))


def words(page: str) -> str:
    return re.sub(r"<[^>]*>", " ", _IN_UTC.sub("", _TICK.sub("", _MORNING.sub("", page)))).replace("&nbsp;", " ")


def test_every_time_on_every_page_is_of_the_zone(many_times: Monitor) -> None:
    """Each is an hour later than UTC and says so; UTC stands only at what is of UTC."""
    for address in addresses(many_times):
        page = pages(many_times, LAGOS).get(address)
        assert page.status_code == 200, address
        text = words(page.text)
        assert "WAT" in text, address
        assert not re.findall(r".{30}\bUTC\b", text), address
        assert not _TIME.findall(text), address


def test_a_zone_differs_from_utc_in_its_times_alone(many_times: Monitor) -> None:
    """The same page, with other times: those of UTC, moved by the zone's distance."""

    def moved(found: re.Match[str]) -> str:
        minutes = int(found[1]) * 60 + int(found[2]) + 60
        return f"{minutes // 60 % 24:02}:{minutes % 60:02}{found[3]} WAT"

    for address in addresses(many_times):
        utc, lagos = (words(pages(many_times, zone).get(address).text) for zone in ("UTC", LAGOS))
        expected = re.sub(r"\b(\d\d):(\d\d)((?::\d\d)?) UTC\b", moved, utc).replace("Times are UTC", "")
        dates = re.compile(r"\b\d+ (?:Oct|Nov|Dec)\b|2026-\d\d-\d\d")
        times_of = [dates.sub("", text.replace("Times are of Africa/Lagos", "")) for text in (expected, lagos)]
        assert times_of[0] == times_of[1], address


def test_a_zone_without_an_abbreviation(many_times: Monitor) -> None:
    """It is named by its distance from UTC, on the page and in what is read out of a chart."""
    page = pages(many_times, "Asia/Kathmandu").get("/deployment?name=rag-search&days=1").text
    assert "20 Nov 2026, 17:45 UTC+05:45</time>" in page
    assert re.search(
        r'<title id="metric-1-title">.*? 19 Nov, 17:45 UTC\+05:45 to 20 Nov, 18:45 UTC\+05:45</title>', page
    )
    assert "Times are of Asia/Kathmandu." in page
    assert re.search(r'<text class="time[^>]*>21:00</text>', page)
    assert re.search(r'<text class="time[^>]*>20 Nov</text>', page)


def test_json_and_csv_stay_as_they_are(many_times: Monitor) -> None:
    """What programs read does not depend on who looks at the pages."""
    for address in (
        "/overview.json",
        "/deployment.json?name=rag-search",
        "/incidents.json",
        addresses(many_times)[6].replace("/incident", "/incident.json"),
        "/answers.json?deployment=rag-search&since=2026-11-19&until=2026-11-20",
        "/answers.csv?deployment=rag-search&since=2026-11-19&until=2026-11-20",
        "/answer.json?deployment=rag&date=2026-11-20&event_id=e1",
    ):
        utc, kathmandu = (pages(many_times, zone).get(address) for zone in ("UTC", "Asia/Kathmandu"))
        assert utc.status_code == 200, address
        assert utc.content == kathmandu.content, address
        assert b"2026-11-" in utc.content, address


@pytest.mark.parametrize("name", ["Europe/Berlim", "CEST", "Europe", "../zone", "/etc/localtime", "", 2, None, "x\0y"])
def test_what_is_no_zone_is_refused(name: object) -> None:
    """The message has the value and what would be right."""
    with pytest.raises(ValidationError) as refused:
        MonitorSettings.model_validate({"time_zone": name})
    assert f"{name!r} is no time zone: give a name like Europe/Berlin" in str(refused.value)


def test_without_the_setting_it_is_utc() -> None:
    """As it was; and settings that were read can be read again."""
    assert MonitorSettings().time_zone == ZoneInfo("UTC")
    chosen = MonitorSettings.model_validate({"time_zone": "Asia/Kathmandu"})
    assert MonitorSettings.model_validate(chosen.model_dump()) == chosen
    assert MonitorSettings.model_validate_json(chosen.model_dump_json()) == chosen
