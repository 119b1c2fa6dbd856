from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer

from dialwatch.commands.evaluate import _duration, evaluate
from dialwatch.errors import ConfigError
from evaluator.metrics import ModelUnavailableError
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.servers import free_port

NOW = datetime.now(UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two deployments with an answer of today each, and one of last month."""
    lake = Lake(str(tmp_path / "lake"))
    for deployment in ("rag", "chat"):
        for age in (timedelta(hours=1), timedelta(days=30)):
            at = NOW - age
            row = {"event_id": f"{deployment} {age}", "deployment": deployment, "date": at.date(), "requested_at": at}
            row |= {"kind": "chat_completion", "status": 200, "is_entry": True, "answer": "Sorry, I cannot help."}
            lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows([row]))
    return lake


def scores(lake: Lake) -> list[tuple[str, str]]:
    rows = [row for name in ("chat", "rag") for row in lake.table(SCORES, name).read().to_pylist()]
    return sorted((row["event_id"], row["metric"]) for row in rows)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"metrics": ["refusal"]}, "--metrics: of old answers; add --backfill"),
        ({"until": "1h", "deployment": ["rag"]}, "--until, --deployment: of old answers"),
        ({"backfill": True}, "--backfill needs --since"),
        ({"backfill": True, "since": "7d", "once": True}, "leave out --once and --every"),
        ({"backfill": True, "since": "7d", "every": "5m"}, "leave out --once and --every"),
        ({"backfill": True, "since": "7 weeks"}, "--since '7 weeks' is neither a time back from now"),
        ({"backfill": True, "since": "9999999d"}, "--since '9999999d' is neither"),
        ({"backfill": True, "since": "7d", "until": "soon"}, "--until 'soon' is neither"),
        ({"backfill": True, "since": "1h", "until": "2h"}, "--since 1h is not before --until 2h"),
        ({"backfill": True, "since": "2999-01-01"}, "is not before now"),
        ({"backfill": True, "since": "1h", "metrics": [","]}, "name at least one"),
    ],
)
def test_options_that_do_not_go_together_are_an_error(given: dict[str, Any], says: str, lake: Lake) -> None:
    """Nothing is scored that was not clearly asked for."""
    with pytest.raises(typer.BadParameter, match=says):
        evaluate(lake=lake.root, **given)
    assert scores(lake) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"metrics": ["faithfullness"]}, "there is no metric 'faithfullness'"),
        ({"metrics": ["non_llm_context_recall"]}, "'non_llm_context_recall' needs reference_contexts"),
        ({"deployment": ["rag", "typo"]}, "no deployment 'typo'.*lake ls"),
    ],
)
def test_a_name_that_nothing_has_is_an_error(given: dict[str, Any], says: str, lake: Lake) -> None:
    """Before anything is scored."""
    with pytest.raises(ConfigError, match=says):
        evaluate(lake=lake.root, backfill=True, since="7d", **given)
    assert scores(lake) == []


def test_just_what_was_asked_for_is_scored(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    """By time, deployment and metric; the end says what was scored and what was there."""
    asked: dict[str, Any] = {"lake": lake.root, "backfill": True, "metrics": ["refusal", "answer_length"]}
    evaluate(since="7d", deployment=["rag"], dry_run=True, **asked)
    assert scores(lake) == []
    assert "2 scores of 1 answers, which takes about 1 s" in capsys.readouterr().out
    evaluate(since="7d", deployment=["rag"], **asked)
    expected = [("rag 1:00:00", metric) for metric in ("answer_length", "refusal")]
    assert scores(lake) == expected
    assert "2 scores, 0 were there before" in capsys.readouterr().out
    day = (NOW - timedelta(days=30)).date()
    evaluate(since=day.isoformat(), until=f"{day + timedelta(days=1)}T00:00+00:00", **asked)
    assert scores(lake) == sorted(
        [*expected, *((f"{name} 30 days, 0:00:00", one) for name in ("rag", "chat") for _, one in expected)]
    )


def test_a_metric_that_could_not_run_is_exit_code_1(
    lake: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are scored; the command that left something out says what, once or as a backfill."""

    def no_model(*_: object) -> None:
        raise ModelUnavailableError("no model")

    monkeypatch.setattr("evaluator.metrics.form.refusal.refusal.score", no_model)
    monkeypatch.setenv("DIALWATCH_EVALUATOR__METRICS", '["refusal", "answer_length"]')
    for given in ({"backfill": True, "since": "7d"}, {"once": True}):
        with pytest.raises(SystemExit) as ended:
            evaluate(lake=lake.root, **given)
        assert ended.value.code == 1
        assert "refusal could not run and left out" in capsys.readouterr().err
    assert {metric for _, metric in scores(lake)} == {"answer_length"}
    assert len(scores(lake)) == 4


def test_a_backfill_with_pending_scores_is_exit_code_1(
    lake: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The end says how many, and that the command is to be run again, the second time as well as the first."""
    judge = {"base_url": f"http://127.0.0.1:{free_port()}", "model": "m", "prompt_price": 0, "completion_price": 0}
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGES", json.dumps({"strict": judge}))
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGE_CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr("evaluator.judges.judge._ATTEMPTS", 1)
    rag = lake.table(PARSED_LOGS, "rag")
    row = {"event_id": "said", "deployment": "rag", "date": NOW.date(), "requested_at": NOW - timedelta(hours=1)}
    rag.append(PARSED_LOGS.rows([row | {"kind": "chat_completion", "status": 200, "is_entry": True, "answer": "Yes."}]))
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            evaluate(lake=lake.root, backfill=True, since="7d", metrics=["aspect_conciseness"], deployment=["rag"])
        assert ended.value.code == 1
        assert "1 scores are pending, as the judge gave no answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (0.01, "1 s"), (59.5, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (7320.9, "2 h 2 min")],
)
def test_how_long_is_said_as_people_do(seconds: float, said: str) -> None:
    """Rounded up, in two units at most."""
    assert _duration(seconds) == said
