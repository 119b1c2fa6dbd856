"""Images of questions in the service: those of the logged request, and those of DIAL's files."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collector.parsing.request.request import read_request
from evaluator.answers import CoreFiles, images
from evaluator.answers.core_files import CoreUnavailableError
from evaluator.scoring import scorer
from evaluator.service.passes import Evaluator, PassResult
from lake.tables.lake import Lake
from tests.evaluator.conversing import Talk
from tests.evaluator.judged import settings
from tests.evaluator.judges.scripted_server import Act, ScriptedServer, fails, says
from tests.evaluator.pictures import colours, data_url, png, sees_colours

NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)
METRIC = "faithfulness_claims"
Run = Callable[..., PassResult]


@pytest.fixture
def run(lake: Lake, judge: ScriptedServer, tmp_path: Path) -> Run:
    def run(
        at: datetime = NOW, is_stopping: Callable[[], bool] = lambda: False, always: Act = sees_colours, **changes: Any
    ) -> PassResult:
        judge.always = always
        given = {"metrics": [METRIC], "judge": {"images": True}} | changes
        with closing(Evaluator(lake, settings(judge.url, tmp_path, **given), lambda: at)) as evaluator:
            return evaluator.run_once(is_stopping)

    return run


def inline(data: str) -> str:
    return "inline:" + hashlib.sha256(data.encode()).hexdigest()[:32]


def asked(*parts: Any, **message: Any) -> str:
    text = {"type": "text", "text": "Which colour?"}
    return json.dumps({"messages": [{"role": "user", "content": [text, *parts]} | message]})


def logged(traffic: Any, name: str, documents: list[str], body: str | None, said: str = "red", **more: Any) -> None:
    columns = {"question": "Which colour?", "answer": f"The picture is {said}.", "documents": documents}
    traffic.log(traffic.answer(name, **columns, request_body=body, **more))


RED = data_url("red")
RED_DATA = base64.b64encode(png("red")).decode()
SOURCE = {"type": "base64", "media_type": "image/png", "data": RED_DATA}


@pytest.mark.parametrize(
    ("document", "part", "message"),
    [
        (inline(RED), {"type": "image_url", "image_url": {"url": RED}}, {}),
        (inline(RED), {"type": "input_image", "image_url": RED}, {}),
        (inline(f"data:{RED_DATA}"), {"type": "image", "source": SOURCE}, {}),
        (
            inline(RED_DATA),
            {"type": "text", "text": "x"},
            {"custom_content": {"attachments": [{"type": "image/png", "data": RED_DATA}]}},
        ),
    ],
)
@pytest.mark.parametrize(("said", "value"), [("red", 1.0), ("blue", 0.0)])
def test_an_image_in_the_request_is_shown_to_the_judge(
    run: Run, traffic: Any, judge: ScriptedServer, document: str, part: Any, message: Any, said: str, value: float
) -> None:
    """Chat completions, responses, Anthropic's messages and attachments of DIAL, as the collector names them."""
    logged(traffic, "a", ["files/india.pdf", document], asked(part, **message), said)
    run()
    assert traffic.values(METRIC) == {"a": value}
    assert colours(judge.requests[0]) == ["red"]


@pytest.mark.parametrize(
    "form",
    ["\ufeff%s", "%s\ufffd", '{"temperature":NaN,%s', '{"user":"\\ud83d",%s', "input"],
)
def test_an_image_is_found_in_every_request_that_the_collector_reads(
    run: Run, traffic: Any, judge: ScriptedServer, form: str
) -> None:
    """With a mark of the byte order, a cut character, no number, half a character, and of the Responses API."""
    body = asked({"type": "input_image", "image_url": RED})
    body = body.replace('{"messages"', '{"input"') if form == "input" else form % body.removeprefix("{" * ("," in form))
    assert read_request(body).documents == (inline(RED),)
    logged(traffic, "a", [inline(RED)], body)
    run()
    assert traffic.values(METRIC) == {"a": 1.0}


def test_an_image_among_the_files_is_read_through_core(
    run: Run, traffic: Any, judge: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot be read is null with its reason; without an address all are."""
    logged(traffic, "read", ["files/b/red.png"], None)
    logged(traffic, "gone", ["files/b/gone.png"], None, minute=1)
    monkeypatch.setattr(CoreFiles, "read", lambda _, name: RED if name == "files/b/red.png" else None)
    run()
    assert traffic.values(METRIC) == {"read": 1.0, "gone": "no_image"}
    assert len(judge.requests) == 1


@pytest.mark.parametrize(
    ("documents", "body", "value"),
    [
        ([inline(RED)], None, None),
        ([inline(RED)], '{"messages":[{"role":"user","content":[{"ty>>', None),
        ([inline("some text")], asked(), 0.0),
        (
            ["https://example.com/red"],
            asked({"type": "image_url", "image_url": {"url": "https://example.com/red"}}),
            None,
        ),
        ([inline("data:x")], asked({"type": "image_url", "image_url": {"url": "data:x"}}), None),
        ([f"files/b/{n}.png" for n in range(9)], None, None),
        (["files/india.pdf"], "{broken", 0.0),
    ],
)
def test_what_is_not_at_hand(run: Run, traffic: Any, documents: list[str], body: str | None, value: Any) -> None:
    """Another host is never asked; what is no image is no reason to leave out an answer."""
    logged(traffic, "a", documents, body)
    run()
    assert traffic.values(METRIC) == {"a": "no_image" if value is None else value}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"type": "image", "source": SOURCE | {"media_type": ["image/png"]}}, {}),
        ({}, {"custom_content": {"attachments": [{"type": ["image/png"], "data": RED_DATA}]}}),
        ({"type": "image_url", "image_url": [RED]}, {"custom_content": {"attachments": [[], {"type": {}, "data": 1}]}}),
    ],
)
def test_an_odd_request_stops_no_pass(run: Run, traffic: Any, part: Any, message: Any) -> None:
    logged(traffic, "odd", [inline("x")], asked(part, **message))
    logged(traffic, "a", [inline(RED)], asked({"type": "image_url", "image_url": {"url": RED}}), minute=1)
    assert run().failures == ()
    assert traffic.values(METRIC)["a"] == 1.0


def test_a_request_that_cannot_be_looked_through_is_no_score(
    run: Run, traffic: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the answer, and nothing of what was asked."""
    logged(traffic, "odd", [inline("x")], asked({"secret": 1}))
    logged(traffic, "a", ["files/b/red.png"], None, minute=1)
    monkeypatch.setattr(images, "objects", lambda value: value["secret"])
    monkeypatch.setattr(CoreFiles, "read", lambda *_: RED)
    assert run().failures == ()
    assert traffic.values(METRIC) == {"odd": "no_image", "a": 1.0}
    (warned,) = [one.getMessage() for one in caplog.records if one.name == images.__name__]
    assert "'event-odd'" in warned
    assert "TypeError" in warned
    assert "secret" not in warned


def test_more_images_than_are_shown_are_no_score(
    run: Run, traffic: Any, judge: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ninth may show what the answer says."""
    logged(traffic, "eight", [f"files/b/{n}.png" for n in range(8)], None)
    logged(traffic, "nine", [f"files/b/{n}.png" for n in range(9)], None, minute=1)
    monkeypatch.setattr(CoreFiles, "read", lambda *_: RED)
    run()
    assert traffic.values(METRIC) == {"eight": 1.0, "nine": "no_image"}
    assert [len(colours(request)) for request in judge.requests] == [8]


def test_a_score_that_comes_later_is_of_the_image_too(run: Run, traffic: Any, judge: ScriptedServer) -> None:
    """The endpoint refused its key; ten minutes later the judge sees what it would have seen."""
    logged(traffic, "a", [inline(RED)], asked({"type": "image_url", "image_url": {"url": RED}}))
    judge.follow(fails(401))
    run()
    assert traffic.values(METRIC) == {"a": "judge_unavailable"}
    run(NOW + timedelta(minutes=10))
    found = [row for row in traffic.scores() if row["value"] is not None]
    assert ([row["value"] for row in found], colours(judge.requests[-1])) == ([1.0], ["red"])


def test_a_judge_without_images_scores_as_before(run: Run, traffic: Any, judge: ScriptedServer) -> None:
    logged(traffic, "a", [inline(RED)], asked({"type": "image_url", "image_url": {"url": RED}}))
    run(judge={})
    assert traffic.values(METRIC) == {"a": 0.0}
    assert isinstance(judge.requests[0].body["messages"][1]["content"], str)


PHOTO = {"type": "image/png", "title": "photo.png", "data": RED_DATA}
BLUE_DATA = base64.b64encode(png("blue")).decode()


@pytest.mark.parametrize(
    ("document", "attachment", "value"),
    [
        ("photo.png", PHOTO, 1.0),
        ("photo", PHOTO | {"title": "photo", "type": "IMAGE/PNG; x=y"}, 1.0),
        ("files/b/red", {"type": "image/png", "title": "photo.png", "url": "files/b/red"}, 1.0),
        (RED, {"type": "image/png", "url": RED}, 1.0),
        ("https://example.com/red.png", {"type": "image/png", "url": "https://example.com/red.png"}, None),
        ("files/b/../red", {"type": "image/png", "url": "files/b/../red"}, None),
        ("photo.png", PHOTO | {"data": "%"}, None),
        ("plan.svg", {"type": "image/svg+xml", "title": "plan.svg", "data": "PHN2Zy8+"}, None),
        ("notes.txt", {"type": "text/plain", "title": "notes.txt", "data": "red"}, 0.0),
        ("files/b/notes", {"type": "text/plain", "url": "files/b/notes"}, 0.0),
    ],
)
def test_an_attachment_that_is_an_image_is_shown_or_is_no_score(
    run: Run, traffic: Any, monkeypatch: pytest.MonkeyPatch, document: str, attachment: Any, value: float | None
) -> None:
    """Its type says that it is one, whatever it is named by."""
    logged(traffic, "a", [document], asked(custom_content={"attachments": [attachment]}))
    monkeypatch.setattr(CoreFiles, "read", lambda _, name: RED if name == "files/b/red" else None)
    run()
    assert traffic.values(METRIC) == {"a": "no_image" if value is None else value}


@pytest.mark.parametrize(
    ("document", "part", "value"),
    [
        (
            "https://example.com/red",
            {"type": "image", "source": {"type": "url", "url": "https://example.com/red"}},
            None,
        ),
        (inline(f"data:{RED_DATA}"), {"type": "image", "source": {"type": "base64", "data": RED_DATA}}, 1.0),
        ("files/b/red", {"type": "image_url", "image_url": {"url": "files/b/red"}}, 1.0),
        (inline(RED[:-9]), {"type": "image_url", "image_url": {"url": RED[:-9]}}, None),
        (inline(RED + "*"), {"type": "image_url", "image_url": {"url": RED + "*"}}, None),
        (
            inline("data:image/svg+xml,<svg/>"),
            {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
            None,
        ),
    ],
)
def test_a_part_that_is_an_image_is_shown_or_is_no_score(
    run: Run, traffic: Any, monkeypatch: pytest.MonkeyPatch, document: str, part: Any, value: float | None
) -> None:
    logged(traffic, "a", [document], asked(part))
    monkeypatch.setattr(CoreFiles, "read", lambda _, name: RED if name == "files/b/red" else None)
    run()
    assert traffic.values(METRIC) == {"a": "no_image" if value is None else value}


def test_images_of_one_title_are_all_shown(run: Run, traffic: Any, judge: ScriptedServer) -> None:
    """Those of the user alone: an application's charts are none of the question."""
    body = json.loads(asked(custom_content={"attachments": [PHOTO, PHOTO | {"data": BLUE_DATA}, PHOTO]}))
    chart = PHOTO | {"data": base64.b64encode(png("green")).decode()}
    body["messages"].insert(0, {"role": "assistant", "content": "x", "custom_content": {"attachments": [chart]}})
    logged(traffic, "a", ["photo.png"], json.dumps(body))
    run()
    assert colours(judge.requests[0]) == ["red", "blue"]


def test_while_core_is_unavailable_a_score_is_pending(
    run: Run, traffic: Any, judge: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes once the image can be read."""

    def unavailable(*_: object) -> None:
        raise CoreUnavailableError("HTTP 503")

    logged(traffic, "a", ["files/b/red.png"], None)
    monkeypatch.setattr(CoreFiles, "read", unavailable)
    run()
    assert (traffic.values(METRIC), judge.requests) == ({"a": "judge_unavailable"}, [])
    monkeypatch.setattr(CoreFiles, "read", lambda *_: RED)
    run(NOW + timedelta(minutes=10))
    assert [row["value"] for row in traffic.scores() if row["value"] is not None] == [1.0]


PAGE = "files/b/doc.pdf#page=3"
RETRIEVAL = "application/x.aidial-rag.retrieval-response+json"


def retrieved(*attachments: Any, stage: str = "Combined search") -> str:
    stages = [{"name": stage, "attachments": list(attachments)}]
    return json.dumps({"choices": [{"message": {"content": "x", "custom_content": {"stages": stages}}}]})


def response(chunk: Any, *pages: str) -> dict[str, Any]:
    return {"type": RETRIEVAL, "data": json.dumps({"chunks": [chunk], "images": [{"data": one} for one in pages]})}


@pytest.mark.parametrize(
    ("name", "attachment", "value"),
    [
        (PAGE, {"type": "image/png", "data": RED_DATA, "reference_url": PAGE}, 1.0),
        (PAGE, {"type": "image/png", "url": "files/b/red", "reference_url": PAGE}, 1.0),
        (PAGE, {"data": f"![]({RED})", "reference_url": PAGE}, 1.0),
        ("files/b/red.png", {"title": "[1] x", "reference_url": "files/b/red.png"}, 1.0),
        (PAGE, response({"source": PAGE, "page_image_index": 1}, BLUE_DATA, RED_DATA), 1.0),
        (PAGE, response({"source": {"url": PAGE}, "page": {"image_index": 0}}, RED_DATA), 1.0),
        ("files/b/red.png", response({"attachment_url": "files/b/red.png", "source": {}}), 1.0),
        (PAGE, response({"source": PAGE, "page_image_index": 1}, BLUE_DATA), None),
        (PAGE, {"data": "[Image of the page 3]", "reference_url": PAGE}, None),
        (PAGE, {"type": "image/png", "url": "https://example.com/red.png", "reference_url": PAGE}, None),
        (PAGE, {"type": "image/png", "data": "%", "reference_url": PAGE}, None),
        (PAGE, {"type": "image/png", "data": RED_DATA, "reference_url": "files/b/other.pdf"}, None),
        (PAGE, {"data": " ", "reference_url": PAGE}, 0.0),
    ],
)
def test_an_image_that_was_retrieved_is_shown_or_is_no_score(
    run: Run,
    traffic: Any,
    judge: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    attachment: Any,
    value: float | None,
) -> None:
    """Beside chunks with a text; one without a text and an image is no reason to leave out the answer."""
    contexts = [{"text": "It is large."}, {"text": "", "url": name}]
    body = retrieved(attachment)
    logged(traffic, "a", [], None, contexts=contexts, assembled_response=body)
    monkeypatch.setattr(CoreFiles, "read", lambda _, name: RED if name.startswith("files/b/red") else None)
    run()
    assert traffic.values(METRIC) == {"a": "no_image" if value is None else value}
    assert [colours(request) for request in judge.requests] == ([["red"]] if value else [[]] if value == 0 else [])


def test_images_alone_may_be_what_was_retrieved(run: Run, traffic: Any, judge: ScriptedServer) -> None:
    """With that of the question, which comes first; without the answer's body there is no score."""
    body = retrieved({"type": "image/png", "data": BLUE_DATA, "reference_url": PAGE})
    columns: dict[str, Any] = {"contexts": [{"text": "", "url": PAGE}] * 2}
    logged(traffic, "a", [], None, "blue", assembled_response=body, **columns)
    logged(traffic, "gone", [], None, minute=1, **columns)
    shown = asked({"type": "image_url", "image_url": {"url": RED}})
    logged(traffic, "both", [inline(RED)], shown, "blue", minute=2, assembled_response=body, **columns)
    run()
    assert traffic.values(METRIC) == {"a": 1.0, "gone": "no_image", "both": 1.0}
    assert sorted(colours(request) for request in judge.requests) == [["blue"], ["red", "blue"]]


def test_without_a_judge_that_sees_images_a_chunk_without_a_text_is_left_out(run: Run, traffic: Any) -> None:
    logged(traffic, "a", [], None, contexts=[{"text": "It is large."}, {"text": "", "url": PAGE}])
    run(judge={})
    assert traffic.values(METRIC) == {"a": 0.0}


@pytest.mark.parametrize("metric", ["aspect_coherence", "conversation_completeness"])
def test_images_are_looked_for_only_where_a_metric_sees_them(
    run: Run, traffic: Any, monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    read: list[str] = []
    columns = {"documents": ["files/b/red.png"]}
    Talk(traffic, columns=columns).log(("Which colour?", "The picture is red.", 0), ("Sure?", "It is red.", 1))
    monkeypatch.setattr(CoreFiles, "read", lambda _, name: read.append(name))
    reply = says('{"sentences": [], "verdict": true, "intents": [{"intent": "It", "met": true}]}')
    for at in (NOW, NOW + timedelta(days=1)):
        run(at, metrics=[metric], always=reply)
    assert len(traffic.values(metric)) >= 1
    assert read == []


def test_few_images_are_held_at_once(run: Run, traffic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    score = scorer.score_chunk

    def counting(metrics: Any, chunk: Any) -> Any:
        held.append(sum(len(answer.images or ()) for answer in chunk.answers))
        return score(metrics, chunk)

    for number in range(9):
        logged(traffic, f"a{number}", ["files/b/red.png"], None, minute=number)
    logged(traffic, "none", [], None, minute=10)
    monkeypatch.setattr(scorer, "score_chunk", counting)
    monkeypatch.setattr(images, "_CHARACTERS_AT_ONCE", len(RED) * 2, raising=False)
    monkeypatch.setattr(CoreFiles, "read", lambda *_: RED)
    run()
    assert traffic.values(METRIC) == {f"a{number}": 1.0 for number in range(9)} | {"none": 0.0}
    assert (max(held), sum(held)) == (4, 9)


def test_no_more_images_are_read_once_the_service_stops(
    run: Run, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    for number in range(5):
        logged(traffic, f"a{number}", ["files/b/red.png"], None, minute=number)
    monkeypatch.setattr(CoreFiles, "read", lambda _, name: read.append(name) or RED)
    run(is_stopping=lambda: len(read) > 1)
    assert sorted(map(str, traffic.values(METRIC).values())) == ["1.0", "1.0", *["judge_unavailable"] * 3]
    assert len(read) == 2
