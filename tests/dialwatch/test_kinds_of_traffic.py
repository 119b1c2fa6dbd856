"""Every kind of traffic that DIAL carries, from Core's lines to rows: `kinds.jsonl` has a line or a trace of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import SecretStr

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.redaction import RedactionSettings
from collector.settings import CollectorSettings
from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, answers, with_late_contexts
from evaluator.metrics import compute
from lake.queries.answer_details import read_answer
from lake.queries.application_classes import seen_answers
from lake.queries.child_contexts import ChildContexts
from lake.queries.frames import answers_frame
from lake.spec.application_classes import SeenAnswers
from lake.spec.schemas import PARSED_LOGS
from lake.spec.tool_calls import LONGEST_RESULT, readable
from lake.tables.lake import Lake

FILE = Partition("file", "/logs/a.log", "a")
LINES = (Path(__file__).parents[1] / "collector/kinds.jsonl").read_bytes().splitlines()
AGENT, AGENT_ERROR, AGENT_LOOP = LINES[1:6], LINES[6:11], LINES[11:19]
ORDER = '{"id":"4711","ships":"2026-11-27","state":"packed"}'
AWAY = "Error: order service timed out"
NOW = datetime(2026, 11, 25, tzinfo=UTC)
SHIPPING = "Packed orders ship within two days [1]."


def collect(
    lake: Lake, lines: Sequence[bytes], restart: bool = False, settings: CollectorSettings | None = None
) -> None:
    """Take the lines; with `restart` each is a batch, and another collector goes on after it."""
    settings = settings or CollectorSettings()
    collector = Collector(lake, settings)
    for number, line in enumerate(lines):
        collector.add(Piece(FILE, line, number + 1, number))
        if restart:
            collector.flush()
            collector = Collector(lake, settings)
    collector.flush()


def rows(lake: Lake, *columns: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows by deployment and chat, in the order of their time."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for deployment in lake.deployments():
        table = lake.table(PARSED_LOGS, deployment).read(list({*columns, "chat_id", "requested_at"}))
        for row in table.sort_by("requested_at").to_pylist():
            found.setdefault((deployment or "", row["chat_id"] or ""), []).append(row)
    return found


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[dict[str, Any]]]:
    lake = Lake(str(tmp_path_factory.mktemp("kinds")))
    collect(lake, LINES)
    return rows(lake, *PARSED_LOGS.schema.names)


def brief(calls: list[dict[str, Any]] | None) -> list[tuple[Any, ...]] | None:
    return None if calls is None else [(call["name"], call["result"], call["is_error"]) for call in calls]


CALLS: list[tuple[str, str, list[list[tuple[Any, ...]] | None]]] = [
    ("shop-agent", "c2", [[("orders_get_order", ORDER, False), ("dial_rag", SHIPPING, False)]]),
    ("shop-agent", "c3", [[("orders_get_order", AWAY, True), ("dial_rag", SHIPPING, False)]]),
    (
        "shop-agent",
        "c3b",
        [[("orders_get_order", AWAY, True), ("dial_rag", SHIPPING, False), *[("orders_get_order", AWAY, True)] * 3]],
    ),
    ("gpt-4o", "c2", [[("orders_get_order", None, None), ("dial_rag", None, None)], []]),
    (
        "gpt-4o",
        "c3b",
        [[("orders_get_order", None, None), ("dial_rag", None, None)], *[[("orders_get_order", None, None)]] * 3, []],
    ),
    ("dial-rag", "c2", [[]]),
    ("toolsets/public/orders", "c2", [None]),
    ("deep-research", "c4", [[("web_search", "DIAL 1.46 was released in August 2026.", False)]]),
    ("gpt-4o", "c5", [[("weather", None, None)], [("weather", "-3.5 C, snow", None)]]),
    ("gpt-5", "c10", [[("weather", None, None)], [("weather", "-3.5 C, snow", None)]]),
    (
        "gpt-5",
        "c10b",
        [[("web_search", None, None), ("get", "DIAL 1.46", False), ("code_interpreter", "1", None)]],
    ),
    ("claude", "c11", [[("weather", None, None)], [("weather", "-3.5 C", False)]]),
    *[(name, chat, [[]]) for name, chat in [("o4-mini", "c1"), ("dall-e-3", "c6"), ("whisper", "c7"), ("imagen", "c6b"),
                                            ("form-app", "c13"), ("shop-agent", "c14")]],
    ("gpt-4o", "c15", [[], [], [], []]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        ("c1", {"o4-mini": ["plain"]}),
        *((chat, {"shop-agent": ["retrieves", "calls_tools"]}) for chat in ("c2", "c3", "c3b")),
        ("c4", {"deep-research": ["calls_tools"]}),
        ("c5", {"gpt-4o": ["calls_tools"]}),
        ("c6", {"dall-e-3": ["media"]}),
        ("c6b", {"imagen": ["media"]}),
        ("c7", {"whisper": ["plain"]}),
        ("c7b", {"tts": ["media"]}),
        *((chat, {"gpt-4o": ["plain"]}) for chat in ("c8", "c8b", "c15")),
        ("c9", {"statgpt": ["media"]}),
        *((chat, {"gpt-5": ["calls_tools"]}) for chat in ("c10", "c10b")),
        ("c11", {"claude": ["calls_tools"]}),
        ("c12", {"applications/public/My%20App__1.0.0": ["plain"]}),
        ("c13", {"form-app": ["plain"]}),
    ],
)
def test_an_application_with_such_traffic_has_the_class(
    tmp_path: Path, chat: str, expected: dict[str, list[str]]
) -> None:
    """Models and tools that an application calls have no answers that people saw, and so none."""
    lake = Lake(str(tmp_path))
    collect(lake, [line for line in LINES if json.loads(line, strict=False)["chat"]["id"] == chat])
    seen = {
        one: seen_answers(lake.table(PARSED_LOGS, one), NOW, ChildContexts(lake), one)
        for one in lake.deployments()
        if one is not None
    }
    counts = {name: astuple(one) for name, one in seen.items() if one.answers}
    assert {
        name: list(SeenAnswers(*(50 * number for number in of_one)).classes) for name, of_one in counts.items()
    } == expected


@pytest.mark.parametrize(("deployment", "chat", "expected"), CALLS)
def test_each_row_has_the_calls_of_tools_of_its_turn(
    kinds: dict[tuple[str, str], list[dict[str, Any]]], deployment: str, chat: str, expected: list[Any]
) -> None:
    """An entry has its whole turn with results and errors, a model's own call what it asks for, a plain model none."""
    assert [brief(row["tool_calls"]) for row in kinds[deployment, chat]] == expected


def test_a_call_has_its_id_and_its_arguments_as_json(kinds: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Arguments stay as they were written; what LangChain and servers hold as an object is written as JSON."""
    found = [(call["id"], json.loads(call["arguments"]))
             for key in (("shop-agent", "c2"), ("deep-research", "c4"), ("claude", "c11"), ("gpt-5", "c10b"))
             for call in kinds[key][-1]["tool_calls"]]  # fmt: skip
    assert found == [
        ("call_1", {"id": "4711"}), ("call_2", {"query": "shipping days"}), ("t1", {"q": "DIAL 1.46"}),
        ("tu1", {"city": "Bern"}), ("ws1", {"type": "search", "query": "DIAL news"}), ("m1", {}),
        ("ci1", {"code": "print(1)"}),
    ]  # fmt: skip


IMAGE = {"type": "image/png", "title": "Image", "size": None}
CHART = {"type": "application/vnd.plotly.v1+json", "title": "GDP", "size": None}


@pytest.mark.parametrize(
    ("deployment", "chat", "expected"),
    [
        ("dall-e-3", "c6", [IMAGE | {"url": "files/b/appdata/dall-e-3/images/a.png"},
                            {"type": "text/markdown", "title": "Revised prompt", "url": None, "size": 37}]),
        ("imagen", "c6b", [IMAGE | {"url": "files/b/appdata/imagen/b.png"}]),
        ("tts", "c7b", [{"type": "audio/mpeg", "title": "speech", "url": "files/b/s.mp3", "size": None}]),
        ("statgpt", "c9", [CHART | {"url": "files/b/gdp.json"},
                           {"type": "text/csv", "title": "gdp.csv", "url": None, "size": 24}]),
        ("dial-rag", "c2", []),
        ("o4-mini", "c1", []),
        ("toolsets/public/orders", "c2", None),
    ],
)  # fmt: skip
def test_attachments_are_what_the_answer_made(
    kinds: dict[tuple[str, str], list[dict[str, Any]]], deployment: str, chat: str, expected: Any
) -> None:
    """Chunks that it refers to are contexts; what is no answer has none."""
    assert kinds[deployment, chat][0]["attachments"] == expected


def test_documents_turns_and_tokens(kinds: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """An image in the question is a document; the turn counts what the user said; details of tokens have columns."""
    (image,) = kinds["gpt-4o", "c8"][0]["documents"]
    assert image.startswith("inline:")
    assert kinds["gpt-4o", "c8b"][0]["documents"] == ["files/b/chart.png"]
    assert [row["turn"] for row in kinds["claude", "c11"]] == [1, 1]
    assert kinds["form-app", "c13"][0]["turn"] == 2
    assert kinds["toolsets/public/orders", "c2"][0]["turn"] is None
    model = kinds["o4-mini", "c1"][0]
    assert (model["reasoning_tokens"], model["cached_tokens"]) == (80, 5)
    assert kinds["gpt-4o", "c8"][0]["reasoning_tokens"] is None


def without_state(line: bytes) -> bytes:
    """The line of an entry of an application that keeps no state in its answer."""
    members = json.loads(line)
    answer = json.loads(members["assembled_response"])
    del answer["choices"][0]["message"]["custom_content"]["state"]
    members["assembled_response"] = members["response"]["body"] = json.dumps(answer)
    return json.dumps(members).encode()


def scored_calls(lake: Lake) -> list[tuple[Any, ...]] | None:
    """The calls that the agent's answer is scored with; they are those that are shown of it."""
    tables = DeploymentTables.of(lake, "shop-agent")
    some = [answer for found in answers(tables.logs.read(ANSWER_COLUMNS)) for answer in found]
    (scored,) = with_late_contexts(tables, some)
    callees = [name for name in lake.deployments() if name != "shop-agent"]
    shown = read_answer(lake, "shop-agent", scored.date, scored.event_id, callees)
    assert shown is not None
    assert shown.row["tool_calls"] == scored.tool_calls
    return brief(scored.tool_calls)


@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("entry_at", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("trace", [AGENT, AGENT_ERROR])
def test_lines_are_joined_whichever_came_first(
    tmp_path: Path, trace: list[bytes], entry_at: int, has_state: bool, restart: bool
) -> None:
    """The same calls, each once, with errors of the tools' own rows, also where a collector starts after each line."""
    entry = trace[-1] if has_state else without_state(trace[-1])
    lines = [*trace[:entry_at], entry, *trace[entry_at:-1]]
    lake = Lake(str(tmp_path))
    collect(lake, [*lines, lines[0]], restart)
    result = (AWAY, True) if trace is AGENT_ERROR else (ORDER, False)
    assert scored_calls(lake) == [("orders_get_order", *result), ("dial_rag", SHIPPING, False)]
    if entry_at == len(trace) - 1:
        (row,) = rows(lake, "tool_calls", "tool_calls_origin")["shop-agent", "c3" if trace is AGENT_ERROR else "c2"]
        assert row["tool_calls_origin"] == ("state" if has_state else "child_call")
        assert brief(row["tool_calls"]) == scored_calls(lake)


def test_calls_of_another_trace_and_parent_are_not_joined(tmp_path: Path) -> None:
    """An answer has the errors and the turn of its own calls alone."""
    lake = Lake(str(tmp_path))
    collect(lake, [*AGENT_ERROR[:-1], without_state(AGENT[-1])])
    assert scored_calls(lake) == []


def test_the_last_model_call_has_the_whole_turn(tmp_path: Path) -> None:
    """An agent that asked again and again: the request of its last model call has all of it."""
    lake = Lake(str(tmp_path))
    collect(lake, [*AGENT_LOOP[:-1], without_state(AGENT_LOOP[-1])])
    failed = ("orders_get_order", AWAY, True)
    assert scored_calls(lake) == [failed, ("dial_rag", SHIPPING, False), failed, failed, failed]


def agent_line(history: list[dict[str, Any]]) -> bytes:
    members = json.loads(AGENT[-1])
    answer = json.loads(members["assembled_response"])
    answer["choices"][0]["message"]["custom_content"]["state"]["tool_execution_history"] = history
    members["assembled_response"] = members["response"]["body"] = json.dumps(answer)
    return json.dumps(members).encode()


def asking(number: int, arguments: str = "{}") -> dict[str, Any]:
    call = {"id": f"c{number}", "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def answering(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def test_odd_input_is_bounded_and_named_in_repairs(tmp_path: Path) -> None:
    """200 calls, 16 KiB of a result, arguments that are no JSON as they are, and no result without its call."""
    lake = Lake(str(tmp_path))
    history = [asking(0, "no JSON"), answering(0, "a" * 20_000), answering(999, "b"), *map(asking, range(1, 250))]
    collect(lake, [agent_line(history)])
    ((row,),) = rows(lake, "tool_calls", "repairs").values()
    assert len(row["tool_calls"]) == 200
    assert row["tool_calls"][0]["arguments"] == "no JSON"
    assert row["tool_calls"][0]["result"] == "a" * LONGEST_RESULT
    assert row["repairs"] == [
        "1 result of tools without a call left out", "the first 200 of 250 calls of tools were kept",
    ]  # fmt: skip


def test_a_cut_answer_says_nothing_of_its_calls(tmp_path: Path) -> None:
    """DIAL Core cuts what is too long: neither its calls nor what it made are known."""
    members = json.loads(AGENT[-1])
    members["assembled_response"], members["response"]["body"] = "", members["response"]["body"][:-9] + ">>"
    lake = Lake(str(tmp_path))
    collect(lake, [json.dumps(members).encode()])
    ((row,),) = rows(lake, "tool_calls", "attachments").values()
    assert (row["tool_calls"], row["attachments"]) == (None, None)


@pytest.mark.parametrize("has_state", [False, True])
def test_nothing_of_a_secret_is_in_a_call(tmp_path: Path, has_state: bool) -> None:
    """Calls are redacted before they are cut: half of an address at the end of 16 KiB would not be found."""
    address = "jane.doe@example.com"
    text = "a " * (LONGEST_RESULT // 2 - 4) + address
    history = [asking(0, json.dumps({"to": address})), answering(0, text)]
    messages = [{"role": "user", "content": "Write it"}, *history]
    entry = agent_line(history) if has_state else without_state(agent_line(history))
    members = json.loads(AGENT[4 - 1])
    members["request"]["body"] = json.dumps({"messages": messages})
    settings = CollectorSettings(redaction=RedactionSettings(key=SecretStr("k" * 32), patterns=["email"]))
    lake = Lake(str(tmp_path))
    collect(lake, [json.dumps(members).encode(), entry], settings=settings)
    (row,) = rows(lake, "tool_calls")["shop-agent", "c2"]
    (call,) = row["tool_calls"]
    assert json.loads(call["arguments"]).keys() == {"to"}
    assert address not in call["arguments"]
    assert "jane" not in call["result"]


def test_results_of_tools_are_contexts(tmp_path: Path) -> None:
    """With the tool as their title, a line a value; scores, exports and pages have the same."""
    lake = Lake(str(tmp_path))
    collect(lake, AGENT)
    tables = DeploymentTables.of(lake, "shop-agent")
    some = [answer for found in answers(tables.logs.read(ANSWER_COLUMNS)) for answer in found]
    (scored,) = with_late_contexts(tables, some)
    # The agent passes the chunk on that dial-rag refers to.
    chunks = ["Packed orders ship within two working days."]
    results = ["id: 4711\nships: 2026-11-27\nstate: packed", SHIPPING]
    assert scored.contexts == [*chunks, *results]
    frame = answers_frame(lake, "shop-agent")
    assert list(frame["context"][0]) == scored.contexts
    details = read_answer(lake, "shop-agent", scored.date, scored.event_id)
    assert details is not None
    assert [(one.title, one.text) for one in details.contexts][-2:] == [
        ("orders_get_order", results[0]), ("dial_rag", results[1]),
    ]  # fmt: skip


def test_results_alone_are_contexts_of_their_own_origin(tmp_path: Path) -> None:
    """A client that runs the tools, and an application that shows nothing else."""
    lake = Lake(str(tmp_path))
    collect(lake, LINES[19:22])
    frame = answers_frame(lake, "gpt-4o")
    assert [list(one) for one in frame["context"]] == [["-3.5 C, snow"]]
    assert list(frame["contexts_origin"]) == ["tool_result"]
    assert list(answers_frame(lake, "deep-research")["context"][0]) == ["DIAL 1.46 was released in August 2026."]


def test_a_right_answer_is_not_judged_by_raw_json(tmp_path: Path) -> None:
    """The specification's example: a third of the words stands in the result as it is read, none in the JSON."""
    raw, answer = ORDER, "Your order 4711 ships on Friday."
    assert kprecision(answer, raw) == 0.0
    assert kprecision(answer, readable(raw)) == pytest.approx(1 / 3, abs=0.01)


def kprecision(answer: str, context: str) -> float:
    frame = pd.DataFrame({"answer": [answer], "contexts": [[context]]}, dtype=object)
    return float(compute(frame, ["faithfulness_kprecision"]).loc[0, "faithfulness_kprecision"])
