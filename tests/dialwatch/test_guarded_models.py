"""Applications whose model stands behind an interceptor: from Core's lines to the contexts that are scored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, answers, with_late_contexts
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

FILE = Partition("file", "/logs/a.log", "a")
REAL = (Path(__file__).parents[1] / "collector/parsing/core_018.jsonl").read_bytes().splitlines()
EMBEDDING, GUARDED_MODEL, RAG = REAL[2:5]


def collect(lake: Lake, lines: Sequence[bytes], batches: Sequence[bool]) -> None:
    """Take the lines; a batch ends, and another collector goes on, after each that is marked."""
    collector = Collector(lake, CollectorSettings())
    for number, (line, ends) in enumerate(zip(lines, batches, strict=True)):
        collector.add(Piece(FILE, line, number + 1, number))
        if ends:
            collector.flush()
            collector = Collector(lake, CollectorSettings())
    collector.flush()


def contexts(lake: Lake, deployment: str) -> dict[str, list[str]]:
    """Contexts that the answers of a deployment are scored with, by answer; none where there are none."""
    tables = DeploymentTables.of(lake, deployment)
    some = [answer for found in answers(tables.logs.read(ANSWER_COLUMNS)) for answer in found]
    return {answer.text or "": answer.contexts or [] for answer in with_late_contexts(tables, some)}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("batches", [(False, False, False), (True, True, True)])
def test_the_contexts_of_a_real_core_s_lines_are_found(
    tmp_path: Path, order: Sequence[int], batches: list[bool]
) -> None:
    """Lines of Core 0.18, whose parent of the guarded model is named as Core 0.25 names it, in any order."""
    assert b'"parent_deployment":"gpt-guarded"' in GUARDED_MODEL
    named = GUARDED_MODEL.replace(b'"parent_deployment":"gpt-guarded"', b'"parent_deployment":"rag"')
    lake = Lake(str(tmp_path))
    collect(lake, [(EMBEDDING, named, RAG)[place] for place in order], batches)
    assert contexts(lake, "rag") == {"by guarded model": ["Chunk 0 of 0", "Chunk 1 of 0"]}


def test_core_018_does_not_name_the_parent(tmp_path: Path) -> None:
    """It writes the guarded model itself as its parent: these contexts stay unknown, and no answer gets others."""
    lake = Lake(str(tmp_path))
    collect(lake, [EMBEDDING, GUARDED_MODEL, RAG], [False] * 3)
    assert contexts(lake, "rag") == {"by guarded model": []}


def application(number: int, second: int) -> bytes:
    return in_trace(chat_line(number), number, second)


def model_call(number: int, caller: int, second: int, hops: Sequence[str]) -> bytes:
    """A call to a model with a chunk of its caller in the prompt, directly or through interceptors."""
    path = ["rag-app", *hops, "gpt-4o"]
    line = json.loads(chat_line(number, deployment="gpt-4o", parent_deployment="rag-app", execution_path=path))
    prompt = f"<context>\n<doc id='1'>\nof {caller}\n</doc>\n</context>"
    line["request"]["body"] = json.dumps({"messages": [{"role": "user", "content": prompt}]})
    return in_trace(json.dumps(line).encode(), number, second, 5000 + number if hops else caller)


def in_trace(line: bytes, number: int, second: int, parent: int | None = None) -> bytes:
    members: dict[str, Any] = json.loads(line)
    members["trace"] = {"trace_id": f"{7:032x}", "core_span_id": f"{number + 1:016x}"}
    if parent is not None:
        members["trace"]["core_parent_span_id"] = f"{parent + 1:016x}"
    members["request"]["time"] = f"2026-11-20T10:00:{second:02}"
    return json.dumps(members).encode()


@pytest.mark.parametrize("restart", [False, True])
def test_a_call_that_ends_first_gets_no_chunk_of_one_that_goes_on(tmp_path: Path, restart: bool) -> None:
    """When its line comes, the model's call could only be its own: whose it is shows later, or never."""
    lake = Lake(str(tmp_path))
    lines = [model_call(100, 1, 5, ["pii"]), application(0, 0), application(1, 0)]
    collect(lake, lines, [restart] * 3)
    assert contexts(lake, "rag-app") == {"Answer 0.": [], "Answer 1.": []}
    assert lake.table(PARSED_LOGS, "rag-app").read(["contexts_origin"])["contexts_origin"].to_pylist() == ["none"] * 2


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_calls_that_follow_each_other_get_their_own_chunks(tmp_path: Path, order: Sequence[int]) -> None:
    """Core 2026 logs how long a call took: two of one trace are distinguished, whichever line came first."""
    lake = Lake(str(tmp_path))
    lines = [application(0, 0), model_call(100, 0, 0, ["pii"]), application(1, 5), model_call(101, 1, 5, ["pii"])]
    collect(lake, [timed(lines[place], 200) for place in order], [True] * 4)
    assert contexts(lake, "rag-app") == {"Answer 0.": ["of 0"], "Answer 1.": ["of 1"]}


def test_an_answer_gets_no_chunk_of_a_call_that_began_after_it(tmp_path: Path) -> None:
    """Lines of Core 2026: the model call of a call whose own line is not there yet."""
    lake = Lake(str(tmp_path))
    collect(lake, [timed(application(0, 0), 200), timed(model_call(101, 1, 5, ["pii"]), 200)], [True] * 2)
    assert contexts(lake, "rag-app") == {"Answer 0.": []}


def timed(line: bytes, milliseconds: int) -> bytes:
    return json.dumps(json.loads(line) | {"operation_duration_ms": milliseconds}).encode()


CHILDREN = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([[], ["pii"], ["a", "b"]])), max_size=2)
CALLS = st.lists(st.tuples(st.integers(0, 40), CHILDREN), min_size=1, max_size=3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS, st.data())
def test_no_answer_is_scored_with_a_chunk_of_another(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, list[tuple[int, list[str]]]]], data: st.DataObject
) -> None:
    """Parallel calls of one trace, lines in any order, collectors that start anew: its own chunk or none."""
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    lines = [application(number, second) for number, (second, _) in enumerate(calls)]
    for number, (second, children) in enumerate(calls):
        lines += [
            model_call(100 + 10 * number + place, number, second + later, hops)
            for place, (later, hops) in enumerate(children)
        ]
    order = data.draw(st.permutations(range(len(lines))))
    ends = data.draw(st.none() | st.integers(0, len(lines) - 1))
    collect(lake, [lines[place] for place in order], [place == ends for place in range(len(lines))])
    found = contexts(lake, "rag-app")
    for number, (_, children) in enumerate(calls):
        own = [[f"of {number}"]]
        surely = any(not hops for _, hops in children) or (len(calls) == 1 and children)
        assert found[f"Answer {number}."] in (own if surely else [*own, []])
    rows = lake.table(PARSED_LOGS, "rag-app").read(["answer", "contexts"]).to_pylist()
    for row in rows:
        assert {f"Answer {context['text'].removeprefix('of ')}." for context in row["contexts"]} <= {row["answer"]}
