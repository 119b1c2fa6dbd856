"""`dialwatch ground-truth extract`: a judge names the facts of cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.commands import Done, dialwatch
from tests.evaluator.judges.scripted_server import ScriptedServer, says, serving

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
SEAT = "Delhi is the seat of government"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as stage:
        yield stage.fresh()


@pytest.fixture
def config(tmp_path: Path, server: ScriptedServer) -> Path:
    """A lake with a proposed case, an accepted one, and their answer; and a judge."""
    lake = Lake(str(tmp_path / "lake"))
    answer: dict[str, Any] = {"event_id": "e", "response_id": "r", "response_ids": ["r"], "deployment": "rag"}
    answer |= {"kind": "chat_completion", "is_entry": True, "status": 200, "date": AT.date(), "requested_at": AT}
    answer |= {"question": "Where?", "answer": "In Delhi.", "contexts_origin": "retrieval_stage"}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([answer | {"contexts": [{"text": f"{SEAT}. So it is."}]}]))
    case = {"deployment": "rag", "version": 1, "question": "Where?", "answer": "In Delhi.", "source_response_id": "r"}
    case |= {"source_date": AT.date(), "extractor": "sentences/2", "updated_by": "evaluator", "updated_at": AT}
    cases = [case | {"case_id": "abc", "status": "proposed"}, case | {"case_id": "bcd", "status": "accepted"}]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    judge = {"base_url": f"{server.url}/v1", "model": "m", "prompt_price": 1, "completion_price": 10}
    evaluator = {"judges": {"strict": judge}, "judge_calls": str(tmp_path / "calls.sqlite")}
    path = tmp_path / "dialwatch.yaml"
    path.write_text(yaml.safe_dump({"lake": {"root": lake.root}, "evaluator": evaluator}))
    return path


def extracted(config: Path, *options: object) -> Done:
    return dialwatch("ground-truth", "extract", "--deployment", "rag", "-c", config, *options)


def cases(config: Path) -> dict[str, dict[str, Any]]:
    return {one["case_id"]: one for one in read_cases(Lake(str(config.parent / "lake")).table(GROUND_TRUTH, "rag"))}


def test_the_facts_of_proposed_cases_are_named(config: Path, server: ScriptedServer) -> None:
    """Of accepted ones only where they are named by their ids; the second time there is nothing to do."""
    fact = {"statement": "The seat is Delhi.", "sentences": [1], "quote": ""}
    server.always = says(json.dumps({"facts": [fact, fact | {"sentences": [2], "quote": "made up"}]}))
    done = extracted(config, "--judge", "strict", "--who", "ann")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 facts of 1 cases, 1 citations that stand nowhere were dropped, 0 cases without ")
    found = cases(config)
    assert (found["abc"]["facts"], found["abc"]["updated_by"]) == ([SEAT], "ann")
    assert found["bcd"]["facts"] is None
    assert "there is no proposed case" in extracted(config, "--judge", "strict").stdout
    assert extracted(config, "bcd", "--judge", "strict").returncode == 0
    assert (cases(config)["bcd"]["facts"], cases(config)["bcd"]["status"]) == ([SEAT], "accepted")


def test_what_cannot_be_asked_is_explained(config: Path, server: ScriptedServer) -> None:
    done = extracted(config)
    assert (done.returncode, "Give --judge, or set evaluator.ground_truth.judge" in done.stderr) == (2, True)
    done = extracted(config, "--judge", "kind")
    assert (done.returncode, "there is no judge 'kind'; known: strict" in done.stderr) == (2, True)
    wrong = {"statement": "s", "sentences": [1], "quote": "not in here at all"}
    server.always = says(json.dumps({"facts": [wrong]}))
    done = extracted(config, "--judge", "strict")
    assert done.returncode == 1
    assert "1 cases as they were: the judge named no fact that stands in its contexts" in done.stdout
