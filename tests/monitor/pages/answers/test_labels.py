"""Labels that readers give on the page of an answer: written once, read by who may, and no ratings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.queries.answer_details import read_answer
from lake.queries.ratings import IS_LABEL
from lake.queries.signals import FOLD_COLUMNS, fold_signals
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from monitor.alerting.controls.labels import Label, write_label
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns

GROUPS = {
    "judges": {"deployments": ["rag"], "rights": ["texts", "act"]},
    "blind": {"deployments": ["rag"], "rights": ["act"]},
    "readers": {"deployments": ["rag"], "rights": ["texts"]},
    "others": {"deployments": ["other-*"], "rights": ["texts", "act"]},
}
ACCESS = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}


@pytest.fixture
def client(monitor: Monitor, one_answer: str) -> Iterator[TestClient]:
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    with TestClient(app, client=("10.0.0.7", 5000), follow_redirects=False) as client:
        yield client


def of(*groups: str, user: str = "ann") -> dict[str, str]:
    return {"X-Forwarded-User": user, "X-Forwarded-Groups": ",".join(groups)}


def form_of(client: TestClient, path: str, who: dict[str, str]) -> dict[str, str]:
    """Give the hidden fields of the form of labels."""
    page = client.get(path, headers=who).text
    (form,) = re.findall(r'<form class="label".*?</form>', page, re.DOTALL)
    return dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form))


def labels_in(lake: Lake) -> list[dict[str, Any]]:
    rows = lake.table(USER_SIGNALS, "rag").read().to_pylist()
    return [row for row in rows if row["origin"] == "label"]


def test_a_label_is_a_row_with_who_and_why(client: TestClient, one_answer: str, lake: Lake, monitor: Monitor) -> None:
    """The form writes it, leads back to the answer, which shows it, and leaves a row of `_audit`."""
    form = form_of(client, one_answer, of("judges"))
    sent = client.post("/answer/label", data=form | {"label": "wrong", "comment": " Gold <b>? "}, headers=of("judges"))
    assert (sent.status_code, sent.headers["location"]) == (303, f"{one_answer}&labelled=1")
    (row,) = labels_in(lake)
    assert (row["signal"], row["value"], row["confidence"], row["user_id"]) == ("wrong", -1, 1, "ann")
    assert (row["response_id"], row["date"]) == ("r1", NOW.date())
    assert json.loads(row["details"]) == {"event_id": "e1", "comment": "Gold <b>?"}
    page = client.get(sent.headers["location"], headers=of("judges")).text
    assert "Your label is stored" in page
    assert "Gold &lt;b&gt;?" in page
    assert "user ann" in page
    assert "<dt>Label</dt><dd>wrong</dd>" in page
    monitor.audit.write()
    noted = [row for row in lake.table(AUDIT).read().to_pylist() if row["action"] == "label"]
    assert [(row["who"], row["deployment"], row["event_id"]) for row in noted] == [("ann", "rag", "e1")]


def test_a_form_that_is_sent_again_is_one_label(client: TestClient, one_answer: str, lake: Lake) -> None:
    """A double click, a retry after a lost answer, and both at once."""
    form = form_of(client, one_answer, of("judges")) | {"label": "right"}
    with ThreadPoolExecutor(3) as pool:
        sent = [pool.submit(client.post, "/answer/label", data=form, headers=of("judges")) for _ in range(3)]
        assert {one.result().status_code for one in sent} == {303}
    assert client.post("/answer/label", data=form, headers=of("judges")).status_code == 303
    assert len(labels_in(lake)) == 1
    again = form_of(client, one_answer, of("judges")) | {"label": "right"}
    client.post("/answer/label", data=again, headers=of("judges"))
    assert len(labels_in(lake)) == 2


@pytest.mark.slow
def test_of_each_person_the_last_label_counts(client: TestClient, one_answer: str, lake: Lake) -> None:
    """Somebody may change their mind, and two people may disagree; the list is filtered by it."""

    def said(user: str, word: str) -> str:
        form = form_of(client, one_answer, of("judges", user=user)) | {"label": word}
        client.post("/answer/label", data=form, headers=of("judges", user=user))
        found = client.get("/answers.json?deployment=rag", headers=of("judges")).json()["rows"]
        (label,) = (row["label"] for row in found)
        for other in ("right", "wrong", "disputed", "none"):
            listed = client.get(f"/answers.json?deployment=rag&label={other}", headers=of("judges")).json()
            assert listed["total"] == (other == label)
        return str(label)

    row = read_answer(lake, "rag", NOW.date(), "e1")
    assert row is not None
    assert row.label == "none"
    # An earlier label of ann, which the page's clock would not tell apart.
    write_label(lake, row.row, Label(True, "", "ann", "0"), NOW - timedelta(minutes=1))
    assert said("ann", "wrong") == "wrong"
    assert said("bob", "wrong") == "wrong"
    assert said("eve", "right") == "disputed"
    assert "disputed" in client.get("/answers?deployment=rag", headers=of("judges")).text
    assert "label" in client.get("/answers.csv?deployment=rag", headers=of("judges")).text.splitlines()[0]


def test_only_who_may_act_labels(client: TestClient, one_answer: str, lake: Lake) -> None:
    """Others have no form, and what they send is refused; a deployment that they may not see does not exist."""
    assert "Label this answer" not in client.get(one_answer, headers=of("readers")).text
    form = form_of(client, one_answer, of("judges")) | {"label": "right"}
    assert client.post("/answer/label", data=form, headers=of("readers")).status_code == 403
    hidden = client.post("/answer/label", data=form, headers=of("others"))
    absent = client.post("/answer/label", data=form | {"deployment": "nobody"}, headers=of("others"))
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.text == absent.text
    assert client.post("/answer/label", data=form | {"form_token": ""}, headers=of("judges")).status_code == 403
    assert labels_in(lake) == []


def test_comments_are_texts(client: TestClient, one_answer: str) -> None:
    """Who may act and not read texts labels, and sees neither comments nor who wrote them."""
    form = form_of(client, one_answer, of("blind", user="bob")) | {"label": "right", "comment": "as in the handbook"}
    assert client.post("/answer/label", data=form, headers=of("blind", user="bob")).status_code == 303
    page = client.get(one_answer, headers=of("blind", user="eve")).text
    assert "<dt>Label</dt><dd>right</dd>" in page
    assert "as in the handbook" not in page
    assert "bob" not in page


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"label": "like"}, 422),
        ({"label": ""}, 422),
        ({"label_id": ""}, 422),
        ({"label_id": "x" * 32}, 422),
        ({"comment": "x" * 10_001}, 422),
        ({"event_id": "absent"}, 404),
        ({"date": "2026-02-30"}, 422),
        ({"comment": "\ud800\x00\u202e" + "x" * 9_000}, 303),
    ],
)
def test_a_field_that_cannot_be_used_is_refused(
    client: TestClient, one_answer: str, lake: Lake, changed: dict[str, str], status: int
) -> None:
    """With a message, and nothing is written."""
    form = form_of(client, one_answer, of("judges")) | {"label": "right"} | changed
    form = {name: value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for name, value in form.items()}
    assert client.post("/answer/label", data=form, headers=of("judges")).status_code == status
    assert len(labels_in(lake)) == (status == 303)


def test_labels_are_not_counted_as_ratings(rows: ScoreColumns, monitor: Monitor, lake: Lake) -> None:
    """Neither counters nor the share of dislikes nor the detector of ratings know of them."""
    rows.logs("rag", {"event_id": "e1", "response_id": "r1"})
    answer = read_answer(lake, "rag", NOW.date(), "e1")
    assert answer is not None
    for number in range(5):
        write_label(lake, answer.row, Label(False, "", f"u{number}", "0"), NOW)
    odd = {"signal_id": "x", "response_id": "r1", "deployment": "rag", "origin": "label", "signal": "dislike"}
    odd |= {"date": NOW.date(), "signaled_at": NOW, "value": -1.0, "confidence": 1.0}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([odd]))
    rows.signals("rag", "dislike", "regenerate")
    monitor.refresh()
    assert monitor.snapshot is not None
    assert dict(monitor.snapshot.deployments["rag"].requests.signals) == {"dislike": 1, "regenerate": 1}
    labelled = read_answer(lake, "rag", NOW.date(), "e1")
    assert labelled is not None
    assert (labelled.rating, labelled.label) == ("none", "wrong")
    assert fold_signals(lake.table(USER_SIGNALS, "rag").read(FOLD_COLUMNS, IS_LABEL)) is None


@pytest.mark.parametrize("response_id", ["r1", None])
@pytest.mark.parametrize(
    ("subject", "left"),
    [(Subject(user="asker"), []), (Subject(user="ann"), ["bob"]), (Subject(user="nobody"), ["ann", "bob"])],
)
def test_an_erasure_takes_labels_of_the_answer_and_of_the_labeller(
    rows: ScoreColumns, lake: Lake, response_id: str | None, subject: Subject, left: list[str]
) -> None:
    """Who asked takes the labels of their answers along, also of one without an id; who labelled their own labels."""
    rows.logs("rag", {"event_id": "e1", "response_id": response_id, "user_id": "asker", "chat_id": "c"})
    answer = read_answer(lake, "rag", NOW.date(), "e1")
    assert answer is not None
    for who in ("ann", "bob"):
        assert write_label(lake, answer.row, Label(False, "Because.", who, "0"), NOW)
    labelled = read_answer(lake, "rag", NOW.date(), "e1")
    assert labelled is not None
    assert (labelled.label, len(labelled.signals)) == ("wrong", 2)
    erase(lake, subject, NOW)
    assert sorted(row["user_id"] for row in labels_in(lake)) == left
    assert lake.table(PARSED_LOGS, "rag").read().num_rows == (subject.user != "asker")
