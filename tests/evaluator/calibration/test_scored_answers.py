"""Scores of the lake joined with labels: of a table, of people who judge answers, and of people's signals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluator.calibration import (
    CalibrationError,
    scored_answers,
    with_labels,
    with_labels_of_lake,
    with_likes,
)
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = "abcde"


def signal(about: str, said: str, user: str = "ann", origin: str = "explicit") -> dict[str, Any]:
    ids = {"signal_id": f"{about}-{said}-{user}-{origin}", "response_id": about, "user_id": user, "origin": origin}
    value = {"like": 1.0, "dislike": -1.0}.get(said)
    return ids | {
        "signal": said,
        "value": value,
        "confidence": 0.8,
        "date": AT.date(),
        "signaled_at": AT,
        "deployment": "rag",
    }


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Five answers, each scored by two versions of a metric; `e` was chosen with the probability of a quarter."""
    made = Lake(str(tmp_path / "lake"))
    when = {"date": AT.date(), "requested_at": AT}
    answered = {"kind": "chat_completion", "is_entry": True, "status": 200}
    logs = [
        {"event_id": one, "response_id": f"r-{one}", "response_ids": [f"r-{one}"], "answer": f"Answer {one}."}
        for one in NAMES
    ]
    made.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([row | when | answered for row in logs]))
    scores = [
        {"event_id": one, "chat_id": "chat" if one in "ab" else None, "metric": "m", "metric_version": version}
        | {"value": number / 10 + (0.5 if version == "2" else 0.0), "scored_at": AT + timedelta(hours=int(version))}
        | {"sampling_probability": 0.25 if one == "e" else None}
        for version in "12"
        for number, one in enumerate(NAMES)
    ]
    made.table(SCORES, "rag").append(SCORES.rows([row | when for row in scores]))
    return made


def told(lake: Lake, *signals: dict[str, Any]) -> None:
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))


def labels_of(joined: pd.DataFrame) -> dict[str, float]:
    known = joined.dropna(subset="label")
    return dict(zip(known["event_id"], known["label"], strict=True))


def test_scores_are_those_of_the_newest_version_with_their_weights(lake: Lake) -> None:
    """An answer of a conversation depends on the others of it; a rare choice weighs more."""
    found = scored_answers(lake, "rag", "m").sort_values("event_id")
    assert found["score"].tolist() == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
    assert found["question"].tolist() == ["chat", "chat", "c", "d", "e"]
    assert found["weight"].tolist() == [1, 1, 1, 1, 4]


def test_a_metric_without_scores_or_with_values_above_one_cannot_be_calibrated(lake: Lake) -> None:
    with pytest.raises(CalibrationError, match="rag has no scores of 'none'"):
        scored_answers(lake, "rag", "none")
    row = {"event_id": "a", "metric": "long", "metric_version": "1", "value": 1.5, "scored_at": AT, "date": AT.date()}
    lake.table(SCORES, "rag").append(SCORES.rows([row]))
    with pytest.raises(CalibrationError, match="values outside of 0 to 1"):
        scored_answers(lake, "rag", "long")


def test_labels_of_a_table_are_joined_by_either_id(lake: Lake) -> None:
    """The last label of an answer counts; the texts of labelled answers come with them."""
    scored = scored_answers(lake, "rag", "m")
    by_event = with_labels(lake, "rag", scored, pd.DataFrame({"event_id": ["a", "b", "a"], "label": [0, 1, 1]}))
    assert labels_of(by_event) == {"a": 1, "b": 1}
    assert dict(zip(by_event["event_id"], by_event["answer"].fillna(""), strict=True)) == {
        "a": "Answer a.", "b": "Answer b.", "c": "", "d": "", "e": "",
    }  # fmt: skip
    by_response = pd.DataFrame({"response_id": ["r-c", "unknown", None], "label": [1, 0, 0]})
    assert labels_of(with_labels(lake, "rag", scored, by_response)) == {"c": 1}
    with pytest.raises(CalibrationError, match="none of the 1 labels"):
        with_labels(lake, "rag", scored, pd.DataFrame({"event_id": ["x"], "label": [1]}))
    with pytest.raises(CalibrationError, match="the table has event_id"):
        with_labels(lake, "rag", scored, pd.DataFrame({"event_id": ["x"]}))


def test_labels_of_answers_of_other_deployments_are_none_without_a_score(lake: Lake) -> None:
    """One table may hold the labels of all; an answer of this one without a score is told, and so is a deleted one."""
    scored = scored_answers(lake, "rag", "m")
    new = {"event_id": "new", "answer": "Answer new.", "date": AT.date(), "requested_at": AT}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([new]))
    lake.table(PARSED_LOGS, "other").append(PARSED_LOGS.rows([new | {"event_id": "other"}]))
    deleted = pd.DataFrame([scored.iloc[0].to_dict() | {"event_id": "deleted"}])
    labels = pd.DataFrame({"event_id": ["a", "new", "other", "deleted"], "label": [1, 0, 1, 0]})
    found = with_labels(lake, "rag", pd.concat([scored, deleted]), labels)
    assert labels_of(found) == {"a": 1, "new": 0, "deleted": 0}
    assert found["event_id"][found["score"].isna()].tolist() == ["new"]
    assert found.index.tolist() == list(range(len(found)))


def test_what_people_said_of_answers_are_labels_by_either_id(lake: Lake) -> None:
    """The share who say right; where as many say wrong there is none."""
    told(
        lake,
        signal("r-a", "right", origin="label"),
        signal("b", "wrong", origin="label"),
        signal("c", "right", origin="label"),
        signal("c", "wrong", "bob", origin="label"),
        signal("r-d", "like"),
    )
    scored = scored_answers(lake, "rag", "m")
    assert labels_of(with_labels_of_lake(lake, "rag", scored)) == {"a": 1, "b": 0}


def test_ratings_are_labels_where_nobody_judged_the_answer(lake: Lake) -> None:
    """Their weight is how sure they are; a judgement has the weight 1, and one that is undecided leaves no label."""
    told(
        lake,
        signal("r-a", "like"),
        signal("r-b", "dislike"),
        signal("r-c", "like"),
        signal("c", "wrong", "bob", origin="label"),
        signal("r-d", "like"),
        signal("d", "right", "bob", origin="label"),
        signal("d", "wrong", "eve", origin="label"),
    )
    found = with_likes(lake, "rag", scored_answers(lake, "rag", "m"))
    assert labels_of(found) == {"a": 1, "b": 0, "c": 0}
    weights = dict(zip(found["event_id"], found["weight"], strict=True))
    assert weights["c"] == 1
    assert 0 < weights["a"] < 1
    assert weights["e"] == 4


def test_answers_that_nobody_rated_cannot_be_calibrated(lake: Lake) -> None:
    scored = scored_answers(lake, "rag", "m")
    with pytest.raises(CalibrationError, match="nobody has labelled an answer of rag"):
        with_labels_of_lake(lake, "rag", scored)
    with pytest.raises(CalibrationError, match="nobody has rated an answer of rag"):
        with_likes(lake, "rag", scored)
