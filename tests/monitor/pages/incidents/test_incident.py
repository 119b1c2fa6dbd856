"""Page of an incident: what it says, in which order, and the same as JSON."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.controls.releases import mark_release
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.detect.regression import Release
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import BAD, GOOD, HOURS, METRIC, PER_HOUR, dislike, incident_id


def test_it_says_state_text_sureness_chart_answers_and_log_in_this_order(client: TestClient, monitor: Monitor) -> None:
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    parts = (
        "rag-search: “answer words found in the documents” fell", "Bad for", "Nobody has acknowledged it",
        "Silence for 1 hour", "Who, by now", "Look first at", "Worst answers since", "In the users' words",
        'id="chart"', "The change began", "What happened, and how sure that is",
        "Steady quality raises an alert", "The evidence is", "Scores before and since", 'id="act-acknowledge"',
        'id="act-silence"', 'action="/incident/release"', 'id="log"', "opened", "Earlier incidents",
        "Open now in other deployments",
    )  # fmt: skip
    places = [page.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert 'http-equiv="refresh"' not in page
    assert "<script" not in page


def test_the_worst_answers_stand_beside_good_earlier_ones(client: TestClient, monitor: Monitor) -> None:
    """Each worst one is of after the onset, each other one of before it, good, and to a like question."""
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()
    onset, pairs = found["alerts"][0]["since"], found["evidence"]["worst"]
    assert len(pairs) == len({pair["worst"]["question"] for pair in pairs}) == 10
    assert [pair["worst"]["value"] for pair in pairs] == pytest.approx([0.3 + 0.01 * number for number in range(10)])
    for pair in pairs:
        assert pair["worst"]["answer"] == BAD
        assert pair["earlier"]["value"] > 0.9
        assert pair["earlier"]["answer"] == GOOD
        assert pair["earlier"]["requested_at"] < onset <= pair["worst"]["requested_at"]
        assert pair["percent"] > 60
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    links = re.findall(r'<a href="(/answer\?[^"]*)"', page)
    assert len(links) == 20
    assert client.get(links[0].replace("&amp;", "&")).status_code == 200


@pytest.mark.slow
def test_the_newest_comments_on_dislikes_stand_on_it(client: TestClient, monitor: Monitor) -> None:
    """The newest first, five at most; not those of likes, of before the onset, or without a word."""
    for number in range(7):
        dislike(monitor, number, f"wrong leave {number}", response_id=f"answer-2-{number}")
    dislike(monitor, 8, "all is well", signal="like")
    dislike(monitor, 9, "an old complaint", hours=20)
    dislike(monitor, 10, "  ")
    dislike(monitor, 11, "", details="[")
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()["comments"]
    assert [one["text"] for one in found] == [f"wrong leave {number}" for number in (6, 5, 4, 3, 2)]
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "What people wrote since" in page
    assert "</a> to “<bdi>How many days of leave has team 6?</bdi>”" in page
    (link,) = re.findall(
        r'wrong leave 6</strong> <span class="quiet">on <a href="(/answer\?[^"]*)">the answer of 20 Nov, [^<]*</a> to ',
        page,
    )
    answer = client.get(link.replace("&amp;", "&"), follow_redirects=True)
    assert BAD in answer.text


def test_one_that_recovers_says_since_when(
    rows: ScoreColumns, client: TestClient, monitor: Monitor, clock: Clock
) -> None:
    """Answers are good again, not yet for long enough that the incident is over; then they are bad again."""
    address = f"/incident.json?id={incident_id(monitor)}"

    def seen_after(hours: range, value: float) -> dict[str, Any]:
        at = [NOW + timedelta(hours=hour, minutes=3 * number) for hour in hours for number in range(20)]
        scored = ({"event_id": str(one), "requested_at": one, "date": one.date(), "value": value} for one in at)
        rows.scores("rag-search", *scored)
        clock.now = NOW + timedelta(hours=hours.stop)
        monitor.refresh()
        found: dict[str, Any] = client.get(address).json()
        return found

    assert client.get(address).json()["recovering_since"] is None
    good = seen_after(range(6), 0.94)
    assert good["open"]
    assert NOW <= datetime.fromisoformat(good["recovering_since"]) < NOW + timedelta(hours=6)
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "recovering since" in page
    assert "most of the fall is gone: it recovers" in page
    assert "recovering" in client.get("/incidents").text
    assert monitor.snapshot is not None
    monitor.acknowledge(monitor.snapshot.deployments["rag-search"].incidents[0], "ada", "known")
    assert client.get(address).json()["recovering_since"] == good["recovering_since"]
    assert seen_after(range(6, 18), 0.34)["recovering_since"] is None


def test_the_worst_answers_say_why(rows: ScoreColumns, client: TestClient, monitor: Monitor, lake: Lake) -> None:
    """The missed fact, words and claims that no context has; of two answers to one question the worse one alone."""
    at = NOW - timedelta(hours=1)
    asked = {"requested_at": at, "date": at.date()}
    places = [{"event_id": one, "response_id": f"id-of-{one}"} | asked for one in ("why", "again", "bare")]
    answer = f"It is paid in gold [1], and in oil.{' So it is.' * 60} Silver."
    questions = ["Who PAYS the rent?", "who pays the rent", "Where is it?"]
    rows.logs(
        "rag-search", *(one | {"question": text, "answer": answer} for one, text in zip(places, questions, strict=True))
    )
    claims = [{"fact": f"Claim {n}.", "contexts": [], "verdict": "N", "sentence": 1} for n in range(5)]
    claims += [{"fact": "It is free.", "contexts": [0], "verdict": "C", "sentence": 1}]
    details = {
        "faithfulness_kprecision": {
            "unsupported": [[14, 22], [31, 34], [len(answer) - 7, len(answer) - 1]],
            "more_unsupported": 4,
        },
        "facts_recall": {"facts_ranks": [0, -1], "facts_places": [[0, 3], None], "case_id": "case-1"},
        "faithful": {"facts": [*claims, {"fact": "Good.", "contexts": [0], "verdict": "S", "sentence": 1}]},
        "context_present": {},
    }
    scored = [
        places[0] | {"metric": metric, "value": 0.0, "score_id": metric, "details": json.dumps(said)}
        for metric, said in details.items()
    ]
    rows.scores("rag-search", *scored, *(one | {"value": 0.01, "score_id": one["event_id"]} for one in places[1:]))
    case = {"case_id": "case-1", "deployment": "rag-search", "facts": ["paid", "the tenant <b>pays</b>"]}
    lake.table(GROUND_TRUTH, "rag-search").append(GROUND_TRUTH.rows([case | {"updated_at": NOW - timedelta(days=1)}]))
    pairs = client.get(f"/incident.json?id={incident_id(monitor)}").json()["evidence"]["worst"]
    # Refusals stand between others.
    assert [pair["worst"]["question"] for pair in pairs][:4:2] == ["Who PAYS the rent?", "Where is it?"]
    assert len(pairs) == 10
    assert [tuple(one.values()) for one in pairs[0]["worst"]["reasons"]] == [
        ("no_context", [], 0),
        ("missed_fact", ["the tenant <b>pays</b>"], 0),
        ("unsupported", ["gold", "oil", "Silver"], 4),
        ("denied_claim", ["It is free."], 0),
        ("claim", ["Claim 0.", "Claim 1.", "Claim 2."], 2),
    ]
    assert pairs[2]["worst"]["reasons"] == []
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    for said in (
        "the tenant &lt;b&gt;pays",
        "and 4 more",
        "“<bdi>oil</bdi>”",
        "No document was found for the question",
        "Claim that the contexts contradict",
    ):
        assert said in page
    assert "id-of-" not in page
    assert "again" not in [pair["worst"]["event_id"] for pair in pairs]


def test_no_earlier_answer_to_a_like_question_is_said(rows: ScoreColumns, client: TestClient, monitor: Monitor) -> None:
    at = NOW - timedelta(hours=1)
    place = {"event_id": "other", "response_id": "other", "requested_at": at, "date": at.date()}
    rows.logs("rag-search", place | {"question": "Wer zahlt die Miete?", "answer": "x"})
    rows.scores("rag-search", place | {"value": 0.0, "score_id": "other"})
    (first, *_) = client.get(f"/incident.json?id={incident_id(monitor)}").json()["evidence"]["worst"]
    assert (first["worst"]["question"], first["earlier"]) == ("Wer zahlt die Miete?", None)
    assert (
        "there is no good earlier answer to a similar question"
        in client.get(f"/incident?id={incident_id(monitor)}").text
    )


def test_the_distribution_is_of_both_sides_of_the_onset(client: TestClient, monitor: Monitor) -> None:
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()
    evidence = found["evidence"]
    assert evidence["before"]["mean"] == pytest.approx(0.945)
    assert evidence["after"]["mean"] == pytest.approx(0.345)
    assert evidence["before"]["scores"] + evidence["after"]["scores"] == HOURS * PER_HOUR
    counts = evidence["histogram"]["before"]["counts"]
    assert sum(counts[18:]) == evidence["before"]["scores"]


def test_the_chart_has_reference_onset_releases_and_silences(
    lake: Lake, monitor: Monitor, clock: Clock, regression: None
) -> None:
    silence = Silence(deployment="rag-search", until=NOW + timedelta(hours=1), comment="rebuild")
    add_silence(lake, silence, NOW - timedelta(hours=2))
    add_silence(lake, Silence(deployment="other", until=NOW + timedelta(hours=1), comment="of others"), NOW)
    mark_release(lake, Release("rag-search", "other_metric", NOW - timedelta(hours=40), "of another metric"), NOW)
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "reference 0.94" in page
    assert 'class="onset"' in page
    assert "rebuild" in page
    assert "of others" not in page
    assert "of another metric" not in page


def test_what_was_sent_to_whom_is_in_the_log(lake: Lake, client: TestClient, monitor: Monitor) -> None:
    """A receiver that could not be told stands at the top, too."""
    assert monitor.snapshot is not None
    change = monitor.snapshot.deployments["rag-search"].changes[0]
    row = {"alert_id": change.alert_id, "deployment": "rag-search", "metric": change.key.metric}
    row |= {"delivery_of": change.change_id, "metric_version": "1", "changed_at": NOW}
    sent = [
        row | {"change_id": "1", "change": AlertEvent.DELIVERED, "reason": "ok", "details": '{"receiver": "team"}'},
        row | {"change_id": "2", "change": AlertEvent.UNDELIVERABLE, "details": '{"receiver": "pager"}'},
        row | {"change_id": "3", "alert_id": "another", "change": AlertEvent.DELIVERED, "details": "{}"},
    ]
    lake.table(ALERTS, "rag-search").append(ALERTS.rows(sent))
    path = f"id={incident_id(monitor)}"
    events = [row["event"] for row in client.get(f"/incident.json?{path}").json()["log"]]
    assert sorted(events) == ["could not be sent to pager", "opened", "sent to team"]
    page = client.get(f"/incident?{path}").text
    assert page.index("no message reached pager") < page.index("What happened")


def test_without_the_lake_the_page_says_what_the_snapshot_knows(
    client: TestClient, monitor: Monitor, tmp_path: Path
) -> None:
    """Who was woken while the store is away sees the state; a script is told that not all is there."""
    path = f"id={incident_id(monitor)}"
    folder = tmp_path / "lake"
    for table in folder.rglob("scores"):
        for file in table.rglob("*.parquet"):
            file.unlink()
    page = client.get(f"/incident?{path}")
    assert page.status_code == 200
    assert "Not all is shown" in page.text
    assert "Bad for " in page.text
    assert client.get(f"/incident.json?{path}").status_code == 503


def test_a_limit_has_a_chart_and_no_scores(rows: ScoreColumns, monitor: Monitor, clock: Clock) -> None:
    rows.logs("rag", *({"event_id": f"a{n}", "requested_at": NOW - timedelta(hours=3, seconds=n)} for n in range(60)))
    rows.logs(
        "rag",
        *({"event_id": f"b{n}", "requested_at": NOW - timedelta(seconds=n), "status": 503} for n in range(60)),
    )
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/incident?id={incident_id(monitor, 'rag')}")
        assert page.status_code == 200
        assert "share of failed requests" in page.text
        assert "A limit was exceeded" in page.text
        assert "Accept the new level" not in page.text
        found = client.get(f"/incident.json?id={incident_id(monitor, 'rag')}").json()
        assert found["evidence"] is None
        # Those of the hour before its alert, which it counts; the newest is of the present instant.
        assert found["affected"]["requests"] == 59


@pytest.mark.parametrize(
    ("path", "status"),
    [("/incident", 422), ("/incident?id=", 422), ("/incident?id=nothing", 404), ("/incident.json?id=%00", 404)],
)
def test_an_unknown_incident_is_not_found(client: TestClient, path: str, status: int) -> None:
    assert client.get(path).status_code == status


def test_a_silence_of_all_metrics_may_be_named_by_any_query(client: TestClient, monitor: Monitor) -> None:
    """What a query says was done is shown only if the lake has it."""
    path = f"/incident?id={incident_id(monitor)}"
    for more in ("&silenced=7", "&silenced=%F0", "&released=99999999999", "&acknowledged=1", "&metric=unknown"):
        page = client.get(path + more)
        assert page.status_code == 200
        assert 'role="status"' not in page.text


def test_the_times_stand_in_their_order(client: TestClient, monitor: Monitor) -> None:
    """The fall is before the alert, and each time says what it is of."""
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    (listed,) = re.findall(r'<ul class="moments">(.*?)</ul>', page, re.DOTALL)
    times = re.findall(r'datetime="([^"]*)"', listed)
    assert len(times) >= 2
    assert times == sorted(times)
    assert listed.index("quality most likely began to fall") < listed.index("first alert fired")
    assert "Its means are those of" in page
    assert "Here each score counts once" in page


def test_an_answer_leads_back_to_its_incident_and_to_no_other_place(client: TestClient, monitor: Monitor) -> None:
    mine = incident_id(monitor)
    page = client.get(f"/incident?id={mine}").text
    first = re.findall(r'<a href="(/answer\?[^"]*)"', page)[0].replace("&amp;", "&")
    (back,) = re.findall(r'<a href="([^"]*)">Back to the incident</a>', client.get(first).text)
    assert back == f"/incident?id={mine}"
    for foreign in ("https://example.com", "//example.com", "absent"):
        forged = client.get(first.replace(f"incident={mine}", f"incident={foreign}"))
        assert forged.status_code == 200
        assert "Back to the incident" not in forged.text


def test_alertmanager_is_named_only_where_it_is_configured(client: TestClient, monitor: Monitor) -> None:
    forms = client.get(f"/incident?id={incident_id(monitor)}").text.partition('id="act"')[2]
    assert "Others see here that you look after it." in forms
    assert "Alertmanager" not in forms


def test_an_alert_in_the_deployments_chart_leads_to_the_incident(client: TestClient, monitor: Monitor) -> None:
    page = client.get("/deployment?name=rag-search").text
    address = f"/incident?id={incident_id(monitor)}"
    assert re.search(rf'<td><a href="{re.escape(address)}">(urgent alert|warning)</a>', page)


def test_segments_say_of_how_many_conversations_they_are(rows: ScoreColumns, monitor: Monitor) -> None:
    """Shares and means of them are of these conversations, from the reference and since the drop."""
    scores = []
    for left in range(60, 0, -1):
        for number in range(20):
            at, language = NOW - timedelta(hours=left) + timedelta(minutes=3 * number), ("de", "en")[number % 2]
            value = 0.6 if language == "en" else 0.3 if left <= 12 else 0.9
            segment = json.dumps({"language": language})
            scores.append({"requested_at": at, "date": at.date(), "value": value, "segment": segment})
    rows.scores("rag-search", *scores)
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/incident?id={incident_id(monitor)}").text
    told = r"of the [\d,]{3,} conversations of the reference, and of the latest \d+ conversations from the drop"
    assert re.search(told, " ".join(page.split()))


def test_what_is_not_decisive_is_folded(rows: ScoreColumns, client: TestClient, monitor: Monitor) -> None:
    """Three worst answers are open, each beside an earlier one; the others and long texts are folded."""
    at = NOW - timedelta(hours=1)
    place = {"event_id": "long", "response_id": "long", "requested_at": at, "date": at.date()}
    rows.logs("rag-search", place | {"question": "How many days of leave has team 9?", "answer": "So long. " * 30})
    rows.scores("rag-search", place | {"value": 0.0, "score_id": "long"})
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    worst = page[page.index('<h2 id="worst">') : page.index('<h2 id="act">')]
    assert "<details><summary>7 more of the worst answers</summary>" in worst
    assert worst.index("7 more of the worst") < worst.index('<ol class="pairs" start="4">')
    assert re.search(
        r'<details class="whole-answer"><summary dir="auto">So long\. .*<p class="said answered"', worst, re.S
    )
    first = worst.index("7 more of the worst")
    # Beside the first one the earlier answer stands open.
    assert worst[:first].count("<details open><summary>Before it, ") == 1
    assert worst[:first].count("<summary>Before it, ") == 3
    assert worst[first:].count("<details><summary>Before it, ") == worst[first:].count("Before it, ") == 7
    silence = page[page.index('id="act-silence"') : page.index("For how long")]
    whole, single = silence.split("<details><summary>Only one metric or limit</summary>")
    assert 'value="" checked' in whole
    assert f'value="{METRIC}"' not in whole
    assert f'value="{METRIC}"' in single
    assert "<details><summary>The message on" in page
    assert page.count("<details open") == 1
