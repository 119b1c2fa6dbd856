"""Counts of the scores of a deployment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lake.spec.case_vocabulary import FailedPart, ReferenceMatch
from lake.spec.schemas import SCORES
from monitor.detect.stats.scores import SCORE_COLUMNS, ScoreStats
from tests.monitor.conftest import NOW

HOUR = timedelta(hours=1)


def stats(*rows: dict[str, Any]) -> ScoreStats:
    given = [
        {"event_id": f"e{number}", "requested_at": NOW, "scored_at": NOW, "metric": "m", "judge": "lexical"} | row
        for number, row in enumerate(rows)
    ]
    return ScoreStats().with_scores(SCORES.rows(given).select(SCORE_COLUMNS))


def test_answers_are_counted_once_by_how_their_case_was_found() -> None:
    """Of the last day; scores of judges come later, and a backfill's are of the past."""
    found = stats(
        {"event_id": "a", "reference_match": "exact", "value": 1.0},
        {"event_id": "a", "reference_match": "exact", "value": 0.0, "metric": "other"},
        {"event_id": "b", "reference_match": "normalised", "value": 1.0},
        {"event_id": "c", "value": 1.0},
        {"event_id": "d", "reference_match": "embedding", "value": 1.0},
        {"event_id": "e", "reference_match": "exact", "value": 1.0, "judge": "gpt-4o"},
        {"event_id": "f", "reference_match": "exact", "value": 1.0, "is_backfill": True},
        {"event_id": "g", "reference_match": "exact", "value": 1.0, "requested_at": NOW - 25 * HOUR},
    )
    assert found.match_shares(NOW) == {
        ReferenceMatch.EXACT: 0.25, ReferenceMatch.NORMALISED: 0.25, ReferenceMatch.EMBEDDING: 0.25,
    }  # fmt: skip
    assert ScoreStats().match_shares(NOW) == {}


def test_answers_that_failed_against_their_case_are_counted_by_part() -> None:
    """Nothing where no answer was compared with one."""
    case = {"reference_match": "exact", "metric": "case_passed"}
    found = stats(
        case | {"value": 0.0, "failed_part": "retrieval"},
        case | {"value": 0.0, "failed_part": "retrieval"},
        case | {"value": 0.0, "failed_part": "generation"},
        case | {"value": 1.0},
    )
    parts = found.failed_parts(NOW - HOUR, NOW)
    assert {part: count for part, count in parts.items() if count} == {
        FailedPart.RETRIEVAL: 2, FailedPart.GENERATION: 1,
    }  # fmt: skip
    assert parts.keys() == set(FailedPart)
    assert found.failed_parts(NOW - 9 * HOUR, NOW - 5 * HOUR) == stats({"value": 1.0}).failed_parts(NOW, NOW) == {}


def test_scores_without_a_value_are_counted_by_their_reason() -> None:
    """Those of a backfill are not the service's, and do not say when it last scored."""
    found = stats(
        {"reason": "no_answer"},
        {"reason": "no_answer"},
        {},
        {"value": 0.5, "scored_at": NOW - HOUR},
        {"reason": "no_facts", "is_backfill": True, "scored_at": NOW + HOUR},
    )
    assert (found.evaluations, found.skips) == (4, {"no_answer": 2, "unknown": 1})
    assert found.last_scored_at == NOW
    assert found.unscored_by_time.keys() == {"no_answer", "unknown"}


def test_a_metric_is_of_the_version_that_was_scored_last() -> None:
    """By the service where it has scored it, else by a backfill."""
    old = {"value": 0.5, "metric_version": "1", "scored_at": NOW - HOUR}
    found = stats(old, {"value": 0.25, "metric_version": "2"}, {"value": 1.0, "metric_version": "0", "metric": "a"})
    assert [(name, one.version) for name, one in found.metrics.items()] == [("a", "0"), ("m", "2")]
    backfilled = stats(old, {"value": 0.25, "metric_version": "2", "is_backfill": True})
    assert backfilled.metrics["m"].version == "1"
    assert not backfilled.metrics["m"].is_backfill
