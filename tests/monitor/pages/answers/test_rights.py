"""Pages of answers for readers with and without the right to read texts, and the audit log of their reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import ScoreColumns

GROUPS = {
    "readers": {"deployments": ["rag"], "rights": ["texts"]},
    "watchers": {"deployments": ["rag", "gpt-*"]},
    "others": {"deployments": ["other-*"], "rights": ["texts"]},
    "model": {"deployments": ["gpt-*"], "rights": ["texts"]},
}
ACCESS = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}
TEXTS = (
    "How long", "allowance", "gold", "How can I help", "Handbook", "handbook.pdf", "Ask your manager", "Carry over",
    "Gold? Really?", "no chunk says so", "u-77",
)  # fmt: skip
LISTS = ("/answers?deployment=rag", "/answers.json?deployment=rag", "/answers.csv?deployment=rag")


@pytest.fixture
def client(monitor: Monitor, one_answer: str) -> Iterator[TestClient]:
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    with TestClient(app, client=("10.0.0.7", 5000), follow_redirects=False) as client:
        yield client


def of(*groups: str) -> dict[str, str]:
    return {"X-Forwarded-User": "ann", "X-Forwarded-Groups": ",".join(groups)}


def test_without_the_right_one_sees_scores_and_ids(client: TestClient, one_answer: str) -> None:
    """No question, answer, context, claim, comment or raw log, on no page and in no file; scores and calls stay."""
    for path in (*LISTS, one_answer, one_answer.replace("/answer?", "/answer.json?")):
        answer = client.get(path, headers=of("watchers"))
        assert answer.status_code == 200
        assert [text for text in TEXTS if text in answer.text] == []
    page = client.get(one_answer, headers=of("watchers")).text
    assert "Texts are not shown" in page
    for kept in ("answer words found in the documents", "0.70", "disliked", "gpt-4o", "r1", "depth-1"):
        assert kept in page
    assert "Only people with the right to read the texts" in client.get(LISTS[0], headers=of("watchers")).text


def test_without_the_right_nobody_is_named(client: TestClient, rows: ScoreColumns) -> None:
    """In no column of the list, and in no file."""
    ids = {"user_id": "u-78", "project_id": "p-9", "chat_id": "c-9", "client": "bot-9"}
    rows.logs("rag", {"event_id": "e9", "response_id": "r9"} | ids)
    for path in (f"{LISTS[0]}&columns=client,user,conversation", *LISTS[1:]):
        hidden, shown = (client.get(path, headers=of(group)).text for group in ("watchers", "readers"))
        for name in ids.values():
            assert name not in hidden
            assert name in shown


@pytest.mark.parametrize("field", ["words=gold", "user=ann", "comment=gold", "client=hr"])
def test_without_the_right_words_and_users_cannot_be_searched(client: TestClient, field: str) -> None:
    """Whether an answer has a word is a part of its text, and who asked is nobody else's business."""
    for path in LISTS:
        refused = client.get(f"{path}&{field}", headers=of("watchers"))
        assert refused.status_code == 422
        assert "r1" not in refused.text
        assert client.get(f"{path}&{field}", headers=of("readers")).status_code == 200


@pytest.mark.parametrize("word", ["gold", "zebra"])
def test_without_the_right_neighbours_do_not_tell_words(client: TestClient, one_answer: str, word: str) -> None:
    """Nor does the page of an answer, whose list may be one of words."""
    of_list = urlencode({"list": f"deployment=rag&words={word}"})
    event = re.findall("event_id=[^&]*", one_answer)[0]
    refused = client.get(f"/answers/neighbour?{event}&step=next&{of_list}", headers=of("watchers"))
    assert (refused.status_code, refused.headers.get("location")) == (422, None)
    assert "neighbour" not in client.get(f"{one_answer}&{of_list}", headers=of("watchers")).text
    allowed = client.get(f"/answers/neighbour?{event}&step=next&{of_list}", headers=of("readers"))
    assert allowed.status_code == 303
    assert "/answers/neighbour" in client.get(f"{one_answer}&{of_list}", headers=of("readers")).text


def test_a_deployment_that_one_may_not_see_does_not_exist(client: TestClient, one_answer: str) -> None:
    """Its answers, their ids and its name are nowhere: the answer is that of a name that nobody has."""
    for path in (*LISTS, one_answer, "/answer?response_id=r1&deployment=rag", "/answer?response_id=r1"):
        other = client.get(path.replace("deployment=rag", "deployment=nobody"), headers=of("others"))
        hidden = client.get(path, headers=of("others"))
        assert hidden.status_code == other.status_code
        assert hidden.status_code in (404, 422)
        assert hidden.text.replace("rag", "nobody") == other.text.replace("rag", "nobody")
        assert client.get(path, headers={}).status_code == 401


def test_calls_of_deployments_that_one_may_not_see_are_not_listed(client: TestClient, one_answer: str) -> None:
    """The model behind an answer is shown to who may see the model."""
    assert "depth-1" not in client.get(one_answer, headers=of("readers")).text
    assert "depth-1" in client.get(one_answer, headers=of("readers", "watchers")).text


def test_reads_of_texts_are_noted(client: TestClient, one_answer: str, monitor: Monitor, lake: Lake) -> None:
    """Who read which answer or list; nothing of the words that were searched, and nothing where no text was shown."""
    client.get(one_answer, headers=of("watchers"))
    client.get(one_answer, headers=of("readers"))
    client.get("/answers.csv?deployment=rag&words=secret", headers=of("readers"))
    client.get("/answer?deployment=rag&date=2026-11-20&event_id=absent", headers=of("readers"))
    monitor.audit.write()
    noted = lake.table(AUDIT).read().to_pylist()
    assert [(row["who"], row["action"], row["deployment"], row["event_id"], row["detail"]) for row in noted] == [
        ("ann", "read_texts", "rag", "e1", None),
        ("ann", "read_texts", "rag", None, "list of 0 answers from 2026-11-14 to 2026-11-20"),
    ]


def test_ids_are_looked_up_where_one_may_look(client: TestClient, one_answer: str, rows: ScoreColumns) -> None:
    """Of two deployments with the id only that is found which the reader may see."""
    found = client.get("/answer?response_id=r1", headers=of("readers"))
    assert (found.status_code, found.headers["location"]) == (303, one_answer)
    both = client.get("/answer?response_id=r1", headers=of("watchers"))
    assert (both.status_code, both.text.count("<li>")) == (200, 2)


def test_errors_of_calls_are_texts_of_the_called_deployment(
    client: TestClient, one_answer: str, rows: ScoreColumns
) -> None:
    """An error may quote the prompt: so it is shown to who may read the texts of the model that failed."""
    failed = {"event_id": "e3", "trace_id": "a" * 32, "parent_span_id": "1" * 16, "span_id": "3" * 16}
    rows.logs("gpt-4o", failed | {"parent_deployment": "rag", "is_entry": False, "error": "cannot say: gold"})
    path = one_answer.replace("/answer?", "/answer.json?")
    for groups, error in ((("readers", "watchers"), None), (("readers", "model"), "cannot say: gold")):
        calls = client.get(path, headers=of(*groups)).json()["calls"]
        assert [call["error"] for call in calls if call["event_id"] == "e3"] == [error]


def test_texts_are_not_kept_by_a_browser(client: TestClient, one_answer: str) -> None:
    """Who comes after a reader who has signed out finds nothing in its cache."""
    for path in (*LISTS, one_answer, one_answer.replace("/answer?", "/answer.json?")):
        assert client.get(path, headers=of("readers")).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", [*LISTS, "/answer?deployment=rag&date=2026-11-20&event_id=e1", "/answer?response_id=r1"]
)
def test_a_lake_that_was_moved_away_is_not_an_empty_one(
    client: TestClient, one_answer: str, tmp_path: Path, path: str
) -> None:
    """The pages say that they cannot read, where an empty list would say that nobody asked."""
    (tmp_path / "lake").rename(tmp_path / "moved")
    assert client.get(path, headers=of("readers")).status_code == 503


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_a_day_of_no_answer_is_an_error_of_the_address(client: TestClient, one_answer: str, day: str) -> None:
    """Days at both ends of the calendar cannot be computed with."""
    for path in (f"/answer?deployment=rag&event_id=e1&date={day}", f"/answer?response_id=r1&since={day}"):
        assert client.get(path, headers=of("readers")).status_code == 422


def test_words_to_search_are_bounded(client: TestClient) -> None:
    """A text of 60,000 characters would be looked for in every answer."""
    refused = client.get("/answers.json", params={"deployment": "rag", "words": "x" * 10_001}, headers=of("readers"))
    assert refused.status_code == 422
