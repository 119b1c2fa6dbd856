"""The application over HTTP, and what the collector reads of its answers."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from collector.parsing import LogRecord, parse_line
from dialwatch.demo.core_line import CoreCall, core_line
from dialwatch.demo.questions import load_questions
from dialwatch.demo.rag.application import DEPLOYMENT, create_app, shipped_passages
from dialwatch.demo.rag.assistant import RagAssistant
from dialwatch.demo.rag.extraction import REFUSAL
from dialwatch.demo.rag.retrieval import CANDIDATES, RETRIEVED

PATH = f"/openai/deployments/{DEPLOYMENT}/chat/completions"
QUESTION = load_questions()[0].text
HEADERS = {"api-key": "none"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = create_app(clock=lambda: 1785742217.5, new_id=lambda: "r-1")
    with TestClient(app, headers=HEADERS) as client:
        yield client


def ask(client: TestClient, question: str = QUESTION, stream: bool = False) -> str:
    reply = client.post(PATH, json={"messages": [{"role": "user", "content": question}], "stream": stream})
    assert reply.status_code == 200, reply.text
    return reply.text


def message(client: TestClient, question: str = QUESTION) -> Any:
    return json.loads(ask(client, question))["choices"][0]["message"]


def logged(body: str, stream: bool) -> LogRecord:
    call = CoreCall(
        deployment=DEPLOYMENT,
        uri=PATH,
        started=datetime(2026, 8, 3, tzinfo=UTC),
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
        span_id="a000000000000001",
        request_body=json.dumps({"messages": [{"role": "user", "content": QUESTION}], "stream": stream}),
        response_body=body,
        # A stream whose assembly is `{}` makes the collector read the stream itself.
        assembled_response="{}" if stream else body,
    )
    record = parse_line(core_line(call))
    assert isinstance(record, LogRecord)
    return record


@pytest.mark.parametrize("stream", [False, True])
def test_the_collector_reads_contexts_from_the_stage(client: TestClient, stream: bool) -> None:
    """Its answers, streamed or not, have text, id, and contexts in rank order with id, URL and page."""
    record = logged(ask(client, stream=stream), stream)
    assert (record.response_id, record.error, record.contexts_origin) == ("r-1", None, "retrieval_stage")
    found = RagAssistant(shipped_passages()).answer(QUESTION)
    assert record.answer == found.extract.text
    read = [(row["id"], row["text"], row["url"], row["page"]) for row in record.contexts or ()]
    assert read == [
        (f"{passage.document}.{passage.chunk}", passage.text, passage.reference, passage.page)
        for passage in found.found.retrieved
    ]
    assert len(read) > 1


def test_the_answer_cites_what_it_used(client: TestClient) -> None:
    """The message's attachments are the cited passages alone, in the order of their numbers."""
    answer = message(client)
    found = RagAssistant(shipped_passages()).answer(QUESTION)
    assert [attachment["title"] for attachment in answer["custom_content"]["attachments"]] == [
        f"[{number}] {passage.name}" for number, passage in enumerate(found.cited, start=1)
    ]
    assert [attachment["data"] for attachment in answer["custom_content"]["attachments"]] == [
        passage.text for passage in found.cited
    ]
    assert "[1]" in answer["content"]


def test_stages_are_those_of_dial_rag(client: TestClient) -> None:
    """The stage that waits for the others comes first, and each has its time in its name."""
    stages = message(client)["custom_content"]["stages"]
    assert [stage["name"] for stage in stages] == ["Combined search [0.00s]", "Keywords search [0.00s]"]
    assert {stage["status"] for stage in stages} == {"completed"}
    assert [len(stage["attachments"]) for stage in stages] == [RETRIEVED, CANDIDATES]


def test_a_refusal_has_no_attachments(client: TestClient) -> None:
    """What the texts do not answer is refused in the answer's text, with status 200."""
    answer = message(client, "What is the boiling point of tungsten?")
    assert answer["content"] == REFUSAL
    assert "attachments" not in answer["custom_content"]


def test_equal_requests_get_equal_bytes(client: TestClient) -> None:
    """With the same clock and ids two applications answer the same."""
    with TestClient(create_app(clock=lambda: 1785742217.5, new_id=lambda: "r-1"), headers=HEADERS) as other:
        assert ask(other, stream=True) == ask(client, stream=True)


def test_faults_are_switched_over_http(client: TestClient) -> None:
    """What is put holds for the next answer, until it is put right; what is unknown is refused."""
    whole = message(client)["custom_content"]["stages"][0]["attachments"]
    assert client.put(f"/faults/{DEPLOYMENT}", json={"retrieval": "fewer_chunks"}).status_code == 200
    assert message(client)["custom_content"]["stages"][0]["attachments"] == whole[:1]
    assert client.get(f"/faults/{DEPLOYMENT}").json() == {"retrieval": "fewer_chunks", "generation": None}
    assert client.put(f"/faults/{DEPLOYMENT}", json={"retrieval": "worse"}).status_code == 422
    assert client.get("/faults/other").status_code == 404
    assert client.put(f"/faults/{DEPLOYMENT}", json={}).status_code == 200
    assert message(client)["custom_content"]["stages"][0]["attachments"] == whole


@pytest.mark.parametrize(
    "messages", [[], [{"role": "user", "content": " "}], [{"role": "assistant", "content": "Yes."}]]
)
def test_a_request_without_a_question_is_refused(client: TestClient, messages: list[dict[str, str]]) -> None:
    """There is nothing to answer, and the status says so."""
    assert client.post(PATH, json={"messages": messages}).status_code == 400
