"""One fall has one value and one beginning on all pages, and says what to look at."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from urllib.parse import unquote

import pyarrow.compute as pc
import pyarrow.dataset as ds
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from monitor.alerting.controls.releases import mark_release
from monitor.detect.regression import Release
from monitor.notify.texts.alert import summary
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import ACCESS, PER_HOUR, incident_id, of

SAID = (
    r"fell from 0\.94 to (\d\.\d\d) .*since .*\. "
    rf"By .* UTC: {10 * PER_HOUR} requests, {10 * PER_HOUR} answered with a refusal$"
)


def test_it_says_what_to_look_at_first_and_leads_to_the_same_questions_of_before(
    client: TestClient, monitor: Monitor, clock: Clock
) -> None:
    """The onset divides the two periods, also within its day."""
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    looks = '<dt>Look first at</dt><dd class="look">Whether retrieval still finds the right documents; then the'
    assert looks in page
    assert page.count("Whether retrieval still finds the right documents") == 1
    (link,) = re.findall('href="(/compare[^"]*)">the same questions before and since', page)
    fell = NOW - timedelta(hours=10)
    (onset,) = re.findall("onset=([^&]*)&amp;", link)
    assert abs(datetime.fromisoformat(unquote(onset)) - fell) <= timedelta(hours=1)
    assert link.endswith(f"after_until={NOW.date()}")
    assert "metric=faithfulness_kprecision" in link
    assert client.get(link.replace("&amp;", "&")).status_code == 200
    clock.advance(days=2)
    monitor.refresh()
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    (link,) = re.findall('href="(/compare[^"]*)">the same questions before and since', page)
    assert link.endswith(f"onset={onset}&amp;after_until={clock.now.date()}")


def test_the_fall_has_the_mean_of_its_alert_on_all_pages_and_that_of_now_is_called_so(
    rows: ScoreColumns, client: TestClient, monitor: Monitor, clock: Clock, lake: Lake
) -> None:
    """On the overview and on the page of the incident, as in the message that was sent. Who is affected is counted."""
    address = f"/incident?id={incident_id(monitor)}"
    (alert,) = client.get(address.replace("?", ".json?")).json()["alerts"]
    # The alert is of an hour after the fall, long before the monitor began.
    refusals = {"refusals": PER_HOUR, "answers": PER_HOUR, "refusals_before": 0, "answers_before": 200}
    assert alert["details"]["affected"] == {
        "requests": PER_HOUR, "conversations": 0, "people": 0, "refusals": refusals,
    }  # fmt: skip
    metrics = client.get("/metrics").text
    assert f'dialwatch_incident_requests{{deployment="rag-search",installation="lake"}} {PER_HOUR}.0' in metrics
    assert 'dialwatch_incident_people{deployment="rag-search",installation="lake"} 0.0' in metrics
    for hour in range(6):
        at = clock.now + timedelta(hours=hour)
        place = {"requested_at": at, "date": at.date()}
        rows.scores("rag-search", *(place | {"value": 0.0, "event_id": f"{hour} {n}"} for n in range(10)))
    clock.advance(hours=8)
    monitor.refresh()
    page = client.get(address).text
    (sentence,) = re.findall('<p class="sentence"><strong>(.*?)</strong>', page)
    (then,) = re.findall(SAID, sentence)
    assert then == f"{alert['current_mean']:.2f}"
    of_metric = re.sub(r"\. By .* refusal", "", sentence)
    assert f'<p class="what"><strong>{of_metric}</strong>' in page
    assert "scores, mean" not in page
    overview = client.get("/").text
    assert sentence in overview
    assert f"fell 0.94 to {then} since" in overview
    (whole,) = re.findall(r"fell\s+from 0\.94 to <strong>(.*?)</strong>", overview)
    assert whole == then
    assert "These means are those of the alert, by " in overview
    since = lake.table(SCORES, "rag-search").read(["value"], ds.field("requested_at") >= NOW - timedelta(hours=10))
    mean = pc.mean(since["value"]).as_py()
    by_now = f'<span class="mean">{mean:.2f}</span> <span class="quiet">by now ({then} in the alert); in 7\u00a0days:'
    assert by_now in overview
    deployment = client.get("/deployment?name=rag-search").text
    assert sentence in deployment
    assert mean < alert["current_mean"]
    assert f'data-label="Mean now">{mean:.2f}<br>' in deployment
    assert f"now (since it fell) {mean:.2f}, reference" in deployment


def test_that_most_answers_are_refusals_is_in_the_sentence(
    client: TestClient, monitor: Monitor, lake: Lake, clock: Clock
) -> None:
    """Of the incident, the overview and the message, in words that stay right also when it is over."""
    asked = f"{PER_HOUR} requests, {PER_HOUR} answered with a refusal"
    by_now = f"{10 * PER_HOUR} requests, {10 * PER_HOUR} answered with a refusal."
    said = f" By {NOW:%-d %b, %H:%M} UTC: {by_now}"
    for path in (f"/incident?id={incident_id(monitor)}", "/"):
        assert said in re.sub("</?strong>", "", client.get(path).text)
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    (link,) = re.findall('href="(/answers[^"]*)">The refusals since it began', page)
    assert "failure=refusal" in link
    listed = client.get(link.replace("&amp;", "&").replace("/answers", "/answers.json", 1)).json()
    # Nobody scores `refusal` here, and all answers of the ten hours since refuse.
    assert listed["total"] == 10 * PER_HOUR
    assert {(one["answer"], *one["failures"]) for one in listed["rows"]} == {("I do not know.", "refusal")}
    assert monitor.snapshot is not None
    told = summary(monitor.snapshot.deployments["rag-search"].changes[0])
    assert re.search(rf"\. By {NOW:%Y-%m-%d} ..:.. UTC: {asked}$", told)
    clock.advance(minutes=1)
    mark_release(lake, Release("rag-search", None, NOW - timedelta(hours=10), "meant"), clock.now)
    monitor.refresh()
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "Over. It was bad from" in page
    assert f" UTC: {asked}" in page
    assert "now refusals" not in page


def test_one_time_of_the_beginning_stands_everywhere_and_the_alert_is_when_it_was_found(
    client: TestClient, monitor: Monitor
) -> None:
    """In the sentence, the header, the times, the counts, the chart and the list; the JSON has it to the minute."""
    address = f"/incident?id={incident_id(monitor)}"
    page, found = client.get(address).text, client.get(address.replace("?", ".json?")).json()
    (began,) = re.findall(r"fell from 0\.94 to \d\.\d\d.* since (?:about )?([\w ]*, [\d:]*) UTC", page)[:1]
    began = began.replace(f" {NOW:%Y}", "")
    opened = f"{datetime.fromisoformat(found['opened_at']):%-d %b, %H:%M}"
    assert began != opened
    text = re.sub("<[^>]*>", "", page)
    year = f" {NOW:%Y},"
    text = text.replace(year, ",")
    assert f"since {began} UTC" in text
    assert f"found at {opened} UTC" in text
    assert f"{began} UTC: quality most likely began to fall" in text
    assert f"{opened} UTC: found: first alert fired" in text
    assert f"requests since {began} UTC" in text
    assert f"most likely {began}" in text
    (row,) = re.findall('<tr class="problem">.*?</tr>', client.get("/incidents").text.replace(year, ","), re.S)
    assert f'data-label="Since">{began} UTC' in row
    assert f'data-label="Found">{opened} UTC' in row


def test_the_worst_answers_of_a_deployment_have_their_questions(monitor: Monitor, lake: Lake, regression: None) -> None:
    """For who may read texts, which is noted; others see a number. Where the lake is away, all do."""
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    client = TestClient(app, client=("10.0.0.7", 5000))
    path = "/deployment?name=rag-search"
    shown, hidden = (client.get(path, headers=of(group)).text for group in ("readers", "watchers"))
    (worst, without) = (re.findall(r'<h2 id="worst">.*?</section>', page, re.DOTALL)[0] for page in (shown, hidden))
    questions = re.findall("<bdi>(How many days of leave has team .)[?]</bdi></a>, score", worst)
    assert len(questions) == len(re.findall("</a>, score", worst)) > 0
    assert "How many days" not in without
    assert "Answer 1</a>, score" in without
    monitor.audit.write()
    (row,) = lake.table(AUDIT).read().to_pylist()
    assert (row["action"], row["detail"]) == ("read_texts", f"questions of {len(questions)} answers, the worst ones")


def test_disliked_answers_with_good_scores_are_one_step_away(client: TestClient, monitor: Monitor) -> None:
    """They are never among the worst by their scores."""
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    (link,) = re.findall('href="(/answers[^"]*)">those that people disliked, the best scores first', page)
    assert "rating=disliked" in link
    assert "order=desc" in link
    assert client.get(link.replace("&amp;", "&")).status_code == 200


def test_pages_have_usual_words_for_what_the_json_has_terms_for(client: TestClient, monitor: Monitor) -> None:
    """A page of the alerting is an urgent alert; nobody has to know what an onset or a tier is."""
    paths = ("/", "/incidents", f"/incident?id={incident_id(monitor)}", "/deployment?name=rag-search")
    for path in paths:
        text = re.sub("<[^>]*>", " ", client.get(path).text)
        assert re.search("urgent", text), path
        assert not re.search(r"(?i)\b(tiers?|onset|lexical)\b", text), path
    assert client.get("/incidents.json").json()["incidents"][0]["tier"] == "page"
