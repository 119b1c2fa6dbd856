"""Requests that people did not make, from the line to the tables."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from collector.commit.batch import Counts
from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.queries.answer_rows import IS_PRODUCTION
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.collector.parsing.core_lines import core_line, rating_line

FILE = Partition("file", "/var/log/dial/x.log", "1")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_origins_reach_the_tables_and_ratings_of_tests_do_not(lake: Lake) -> None:
    """Each row has its origin, `IS_PRODUCTION` gives what people asked, and a test's rating is counted as filtered."""
    settings = CollectorSettings.model_validate({"project_origins": {"load": "test"}})
    changes: list[dict[str, Any]] = [{}, {"project.id": "load"}, {"headers": {"baggage": "eval.run.id=1"}}]
    lines = [core_line({"trace.core_span_id": f"{n:016x}"} | change) for n, change in enumerate(changes, 1)]
    rated = [rating_line({"rate": True, "responseId": "r-100"}, {"trace.core_span_id": f"{n:016x}"} | change)
             for n, change in enumerate(changes, 9)]  # fmt: skip
    collector = Collector(lake, settings)
    for offset, line in enumerate(lines + rated, 1):
        collector.add(Piece(FILE, line, offset))
    assert collector.flush() == Counts(lines=6, stored=3, signals=1, filtered=2)
    logs = lake.table(PARSED_LOGS, "rag-app")
    assert sorted(logs.read(["origin"])["origin"].to_pylist()) == ["evaluation", "production", "test"]
    assert logs.read(["origin"], IS_PRODUCTION)["origin"].to_pylist() == ["production"]
    assert lake.table(USER_SIGNALS, "rag-app").read(["signal"]).num_rows == 1


def test_the_origin_of_a_project_whose_name_is_redacted_is_known(lake: Lake) -> None:
    """The project is looked up as Core wrote it, not as its pseudonym."""
    redaction = {"own": {"fruit": "plum"}, "key": "a key of sixteen letters"}
    settings = CollectorSettings.model_validate({"project_origins": {"plum": "judge"}, "redaction": redaction})
    collector = Collector(lake, settings)
    collector.add(Piece(FILE, core_line({"project.id": "plum"}), 1))
    collector.flush()
    (row,) = lake.table(PARSED_LOGS, "rag-app").read(["origin", "project_id"]).to_pylist()
    assert row["origin"] == "judge"
    assert "plum" not in row["project_id"]


def test_an_origin_that_there_is_not_is_refused() -> None:
    """The message names the project, and the origins that there are."""
    with pytest.raises(ValidationError, match=r"project_origins\.load(.|\n)*'evaluation'"):
        CollectorSettings.model_validate({"project_origins": {"load": "staging"}})
