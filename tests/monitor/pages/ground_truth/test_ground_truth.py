"""The page of ground truth: its queue, its forms, and who may use them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries.ground_truth.case_versions import case_history, change_case, read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns

HOSTILE = "<script>alert(1)</script>"
FACT = "Staff have 30 days of leave"
RAG = {"deployment": "rag"}


def case(case_id: str, **columns: Any) -> dict[str, Any]:
    made = {"case_id": case_id, "deployment": "rag", "version": 1, "question": f"How much leave, {case_id}?"}
    made |= {
        "answer": "30 days.",
        "facts": [FACT],
        "context": [f"{HOSTILE} Staff  have 30 days\nof leave. Tea is free."],
    }
    made |= {"documents": ["files/handbook.pdf"], "status": "proposed", "confidence": 0.9, "extractor": "sentences/2"}
    made |= {"created_at": NOW, "updated_at": NOW, "updated_by": "evaluator", "source_response_id": "r-1"}
    return made | {"source_date": NOW.date()} | columns


@pytest.fixture
def filled(rows: ScoreColumns, lake: Lake) -> None:
    rows.logs("rag", {"event_id": "e-1", "response_id": "r-1", "question": "Is there tea?", "answer": f"Yes. {HOSTILE}"}
              | {"contexts": [{"text": "Tea is free", "id": "c1"}], "contexts_origin": "retrieval_stage"}
              | {"documents": ["files/handbook.pdf"]})  # fmt: skip
    rows.scores("rag", {"value": 0.5})
    like = {"signal_id": "s", "response_id": "r-1", "signal": "like", "value": 1.0, "origin": "explicit"}
    like |= {"date": NOW.date(), "signaled_at": NOW, "deployment": "rag"}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([like]))
    cases = [case("a"), case("b", confidence=0.8), case("c", status="accepted", question="Who?")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))


@pytest.fixture
def client(monitor: Monitor, filled: None) -> Iterator[TestClient]:
    monitor.refresh()
    with TestClient(create_app(monitor), follow_redirects=False) as client:
        yield client


def case_of(lake: Lake, case_id: str) -> dict[str, Any]:
    return {one["case_id"]: one for one in read_cases(lake.table(GROUND_TRUTH, "rag"))}[case_id]


def token(client: TestClient, headers: dict[str, str] | None = None) -> str:
    page = client.get("/ground-truth", params=RAG, headers=headers).text
    return re.findall(r'name="form_token" value="([^"]*)"', page)[0]


def sent(client: TestClient, path: str, **fields: Any) -> Any:
    """Fill in a form of the page and send it."""
    usual = RAG | {"case": "a", "version": "1", "form_token": token(client)}
    return client.post(f"/ground-truth/{path}", data=usual | fields)


def test_the_surest_proposed_case_is_shown_first_with_all_that_is_known(client: TestClient) -> None:
    """Its fact is marked where it stands, although the context is spaced otherwise; nothing of it is code."""
    page = client.get("/ground-truth", params=RAG)
    assert page.status_code == 200
    assert "How much leave, a?" in page.text
    assert '<mark class="fact" title="fact 1">Staff  have 30 days\nof leave</mark>' in page.text
    assert HOSTILE not in page.text
    assert "like, explicit" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    found = client.get("/ground-truth.json", params=RAG).json()
    assert found["counts"] == {"proposed": 2, "accepted": 1, "rejected": 0, "stale": 0}
    assert [one["case_id"] for one in found["cases"]] == ["a", "b"]
    assert (found["chosen"]["case_id"], found["chosen"]["missing_facts"]) == ("a", [])
    assert [one["signal"] for one in found["chosen"]["signals"]] == ["like"]


def test_a_decision_is_a_version_and_the_next_case_is_shown(client: TestClient, lake: Lake, monitor: Monitor) -> None:
    """The page that it was made on must still be true."""
    answer = sent(client, "decide", status="accepted", then="b")
    assert (answer.status_code, "case=b" in answer.headers["location"]) == (303, True)
    assert (case_of(lake, "a")["status"], case_of(lake, "a")["version"]) == ("accepted", 2)
    assert case_of(lake, "a")["updated_by"] == "somebody on the pages"
    late = sent(client, "decide", status="rejected")
    assert (late.status_code, "Nothing was changed" in late.text) == (409, True)
    assert case_of(lake, "a")["status"] == "accepted"
    monitor.audit.write()
    actions = lake.table(AUDIT).read().to_pylist()
    assert [row["detail"] for row in actions if row["action"] == "change_case"] == ["case a version 2: accepted"]


def test_the_last_change_can_be_taken_back(client: TestClient, lake: Lake) -> None:
    """As one more version, so that nothing of the history is lost; a first version has nothing before it."""
    assert sent(client, "undo").status_code == 422
    sent(client, "decide", status="rejected")
    assert sent(client, "undo", version="2").status_code == 303
    now = case_of(lake, "a")
    assert (now["status"], now["version"], now["facts"]) == ("proposed", 3, [FACT])
    assert len(case_history(lake.table(GROUND_TRUTH, "rag"), "a")) == 3


def test_an_edit_is_checked(client: TestClient, lake: Lake) -> None:
    """A fact must be copied from a context; places are found anew, and what stays the same is no new version."""
    texts = {"question": "How much leave, a?", "answer": "30 days.", "facts": FACT}
    assert sent(client, "edit", **texts).status_code == 303
    assert case_of(lake, "a")["version"] == 1
    wrong = sent(client, "edit", **texts | {"facts": "Staff have 31 days of leave"})
    assert (wrong.status_code, "stands in no context" in wrong.text) == (422, True)
    assert sent(client, "edit", **texts | {"answer": " "}).status_code == 422
    done = sent(client, "edit", **texts | {"answer": "It is 30.", "facts": f"{FACT}\r\n\r\nTea is free", "note": "why"})
    assert done.status_code == 303
    now = case_of(lake, "a")
    assert (now["answer"], now["facts"], now["note"]) == ("It is 30.", [FACT, "Tea is free"], "why")
    context = now["context"][0]
    assert [context[one["start"] : one["end"]] for one in now["citations"]] == [
        "Staff  have 30 days\nof leave", "Tea is free",
    ]  # fmt: skip


def test_an_edit_keeps_what_it_does_not_change(client: TestClient, lake: Lake) -> None:
    """Facts of several lines, ends of lines as browsers send them, and facts that were there and stand nowhere."""
    two_lines, elsewhere = "Tea is\nfree", "It was moved"
    row = case("a", version=2, answer="First.\nSecond.", facts=[two_lines, elsewhere], context=["TEA, is - free!"])
    row |= {"citations": [{"statement": "Tea costs nothing", "chunk": 0, "start": 0, "end": 14}, None]}
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([row]))
    texts = {"question": "How much leave, a?", "answer": "First.\r\nSecond.\r\n"}
    shown = client.get("/ground-truth", params=RAG | {"case": "a"}).text
    assert "Tea is free\nIt was moved" in shown
    assert sent(client, "edit", version="2", **texts, facts=f"Tea is free\r\n{elsewhere}\r\n").status_code == 303
    assert case_of(lake, "a")["version"] == 2
    assert sent(client, "edit", version="2", **texts, facts="Tea is free\r\ntea is FREE").status_code == 303
    now = case_of(lake, "a")
    assert (now["facts"], now["answer"]) == ([two_lines, "tea is FREE"], "First.\nSecond.")
    assert [(one["start"], one["end"]) for one in now["citations"]] == [(0, 14), (0, 14)]
    assert [one["statement"] for one in now["citations"]] == ["Tea costs nothing", None]
    assert sent(client, "edit", version="3", **texts, facts="...").status_code == 422


@pytest.mark.parametrize("response_id", ["chat", None])
def test_a_case_of_an_answer_whose_id_says_nothing_names_its_row(
    client: TestClient, rows: ScoreColumns, lake: Lake, response_id: str | None
) -> None:
    """A gateway sends one id for all answers, or none: the case has its own answer and what was said of that alone."""
    ids = [] if response_id is None else [response_id]
    asked = {"response_id": response_id, "response_ids": ids, "question": "Why?", "answer": "So."}
    people = [{"event_id": f"e-{who}", "chat_id": f"c-{who}", "user_id": who} for who in "abcdef"]
    rows.logs("rag", *(asked | one for one in people))
    like = {"signal": "like", "value": 1.0, "origin": "explicit", "response_id": response_id, "deployment": "rag"}
    like |= {"date": NOW.date(), "signaled_at": NOW + timedelta(hours=1)}
    said = [like | {"signal_id": f"s-{who}", "chat_id": f"c-{who}", "user_id": who} for who in "bd"]
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(said))
    made = {}
    for who in "ab":
        place = RAG | {"date": str(NOW.date()), "event_id": f"e-{who}", "form_token": token(client)}
        location = client.post("/ground-truth/make", data=place).headers["location"]
        made[who] = re.findall("case=([^&]*)", location)[0]
    assert {who: case_of(lake, one)["source_response_id"] for who, one in made.items()} == {"a": "e-a", "b": "e-b"}
    shown = {
        who: client.get("/ground-truth.json", params=RAG | {"case": one}).json()["chosen"] for who, one in made.items()
    }
    assert {who: len(one["signals"]) for who, one in shown.items()} == {"a": 0, "b": 1}


def test_an_answer_becomes_a_case_once(client: TestClient, lake: Lake) -> None:
    """Accepted, with its question, documents and contexts; the page of the answer has the form."""
    place = RAG | {"date": str(NOW.date()), "event_id": "e-1"}
    page = client.get("/answer", params=place).text
    assert "Make it an accepted case" in page
    place |= {"form_token": token(client)}
    first = client.post("/ground-truth/make", data=place)
    assert first.status_code == 303
    case_id = re.search(r"case=(\w+)", first.headers["location"])[1]  # type: ignore[index]
    made = case_of(lake, case_id)
    assert (made["question"], made["status"], made["documents"]) == (
        "Is there tea?",
        "accepted",
        ["files/handbook.pdf"],
    )
    assert (made["context"], made["context_ids"], made["source_response_id"]) == (["Tea is free"], ["c1"], "r-1")
    assert client.post("/ground-truth/make", data=place).headers["location"] == first.headers["location"]
    assert len(read_cases(lake.table(GROUND_TRUTH, "rag"))) == 4
    assert "The answer is an accepted case now" in client.get(first.headers["location"]).text
    assert client.post("/ground-truth/make", data=place | {"event_id": "nothing"}).status_code == 404


@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({}, 200, "Choose a deployment"),
        (RAG | {"status": "stale"}, 200, "There is no stale case"),
        (RAG | {"status": "all", "case": "c"}, 200, "Who?"),
        (RAG | {"status": "soon"}, 422, "A status is one of proposed, accepted, rejected, stale, all"),
        ({"deployment": "nobody"}, 404, "There is no page /ground-truth"),
    ],
)
def test_what_is_asked_for_is_explained(client: TestClient, params: dict[str, str], status: int, words: str) -> None:
    page = client.get("/ground-truth", params=params)
    assert (page.status_code, words in page.text) == (status, True)


def test_a_form_of_nothing_is_refused(client: TestClient) -> None:
    assert sent(client, "decide", status="accepted", case="nothing").status_code == 404
    assert sent(client, "decide", status="stale").status_code == 422
    assert sent(client, "decide", status="accepted", version="x").status_code == 422
    assert sent(client, "decide", status="accepted", deployment="nobody").status_code == 404


def test_rights(monitor: Monitor, filled: None, lake: Lake) -> None:
    """Without texts the list has ids alone; without the right to act, or to texts, nothing is changed."""
    groups: dict[str, Any] = {"figures": {"deployments": ["rag"], "rights": ["act"]}}
    groups |= {"on-call": {"deployments": ["rag"], "rights": ["texts", "act"]}}
    groups |= {"readers": {"deployments": ["rag"], "rights": ["texts"]}, "others": {"deployments": ["x"]}}
    monitor.refresh()
    settings = MonitorSettings.model_validate({"access": {"proxy": {"addresses": ["10.0.0.7"], "groups": groups}}})
    with TestClient(create_app(monitor, settings), client=("10.0.0.7", 5000), follow_redirects=False) as client:
        headers = {name: {"X-Forwarded-User": "ann", "X-Forwarded-Groups": name} for name in groups}
        found = client.get("/ground-truth.json", params=RAG, headers=headers["figures"]).json()
        assert ([one["question"] for one in found["cases"]], found["chosen"]) == ([None, None], None)
        assert "30 days" not in client.get("/ground-truth", params=RAG, headers=headers["figures"]).text
        assert "Accept (a)" not in client.get("/ground-truth", params=RAG, headers=headers["readers"]).text
        assert client.get("/ground-truth", params=RAG, headers=headers["others"]).status_code == 404
        for name, status in (("figures", 403), ("readers", 403), ("others", 404), ("on-call", 303)):
            data = RAG | {"case": "a", "version": "1", "status": "accepted"}
            data |= {"form_token": token(client, headers["on-call"])}
            assert client.post("/ground-truth/decide", data=data, headers=headers[name]).status_code == status
    assert (case_of(lake, "a")["version"], case_of(lake, "a")["updated_by"]) == (2, "ann")


def test_a_case_that_another_changed_is_shown_as_it_is(client: TestClient, lake: Lake) -> None:
    change_case(lake, "rag", "b", {"confidence": 0.95}, "ann", NOW + timedelta(minutes=1))
    assert client.get("/ground-truth.json", params=RAG).json()["chosen"]["case_id"] == "b"


def test_calls_of_tools_are_edited_a_line_each(client: TestClient, lake: Lake) -> None:
    """A form without the field changes none; what is no call is refused; undone they are as they were."""
    texts = {"question": "How much leave, a?", "answer": "30 days.", "facts": FACT}
    wrong = sent(client, "edit", **texts, tool_calls="get_days [1]")
    assert (wrong.status_code, "is no call of a tool" in wrong.text) == (422, True)
    assert sent(client, "edit", **texts, tool_calls='get_days {"of": "ann"}\r\n\r\nnow\r\n').status_code == 303
    calls = [{"name": "get_days", "arguments": '{"of": "ann"}'}, {"name": "now", "arguments": None}]
    assert case_of(lake, "a")["tool_calls"] == calls
    assert "get_days {&#34;of&#34;: &#34;ann&#34;}" in client.get("/ground-truth", params=RAG | {"case": "a"}).text
    assert sent(client, "edit", version="2", **texts).status_code == 303
    assert case_of(lake, "a")["version"] == 2
    assert sent(client, "undo", version="2").status_code == 303
    assert case_of(lake, "a")["tool_calls"] is None
