"""Scores that a judge gives, at a scripted endpoint, in the tables of a real lake."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges.calls import Calls
from evaluator.service.judge_pool import JudgeCallsError
from evaluator.service.passes import Evaluator, PassResult
from evaluator.settings import EvaluatorSettings
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.tables.lake import Lake
from tests.evaluator.judged import JUDGED, settings
from tests.evaluator.judges.conftest import is_ending
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, once, says

NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)
TEN_MINUTES = timedelta(minutes=10)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Run = Callable[..., PassResult]


@pytest.fixture
def run(lake: Lake, judge: ScriptedServer, tmp_path: Path, clock: Clock) -> Run:
    """One pass of an evaluator of its own, as if it was started anew."""

    def run(**changes: Any) -> PassResult:
        with closing(Evaluator(lake, settings(judge.url, tmp_path, **changes), clock)) as evaluator:
            return evaluator.run_once()

    return run


def judged(traffic: Any) -> list[dict[str, Any]]:
    return [row for row in traffic.scores() if row["metric"] == JUDGED]


def test_a_judges_score_says_who_judged_and_what_it_took(run: Run, traffic: Any, judge: ScriptedServer) -> None:
    """Tokens, money, the judge's name and the probability stand in the row; equal questions are paid once."""
    judge.follow(says('{"verdict": "S"}'), says('{"verdict": "N"}'))
    traffic.log(traffic.answer("a"), traffic.answer("b", 1, answer="Perhaps."), traffic.answer("again", 2))
    assert run(metrics=[JUDGED, "context_present"]).scored == 6
    rows = {row["event_id"]: row for row in judged(traffic)}
    assert sum(row["cost"] for row in rows.values()) == pytest.approx(0.0004)
    paid = rows["event-b"]
    assert (paid["judge"], paid["prompt_tokens"], paid["completion_tokens"]) == ("strict", 100, 10)
    assert (paid["sampling_probability"], paid["metric_version"][:4]) == (1.0, "1-m-")
    assert {row["judge"] for row in traffic.scores()} == {"strict", "lexical"}
    assert len(judge.requests) == 2


def test_a_combination_with_a_judged_part_asks_too(run: Run, traffic: Any) -> None:
    """Its judge is named beside what else judges."""
    traffic.log(traffic.answer("a"))
    combinations = {"quality": {JUDGED: 1, "context_present": 1}}
    run(metrics=["quality"], combinations=combinations)
    (row,) = traffic.scores()
    assert (row["value"], row["judge"], row["completion_tokens"]) == (1.0, "strict+lexical", 10)


@pytest.mark.parametrize(
    ("judge_is", "answer_by", "refused"),
    [
        ({"model": "gpt-4o"}, {"model": "gpt-4o-2024-08-06"}, True),
        ({"model": "azure/GPT-4o-latest"}, {"model": "gpt-4o"}, True),
        ({"deployment": "rag", "model": "m"}, {"model": None}, True),
        ({"model": "gpt-4o-mini"}, {"model": "gpt-4o"}, False),
        ({"model": "gpt-4o", "allow_own_model": True}, {"model": "gpt-4o"}, False),
    ],
)
def test_no_model_judges_itself(
    run: Run, traffic: Any, judge: ScriptedServer, judge_is: Any, answer_by: Any, refused: bool
) -> None:
    """By the names of model and deployment, whatever their date; the answer has a row that says so, and no call."""
    traffic.log(traffic.answer("own", **answer_by), traffic.answer("other", 1, answer="Perhaps.", model="claude"))
    run(judge=judge_is)
    values = traffic.values(JUDGED)
    if judge_is.get("deployment"):
        assert values == {"own": "judge_is_the_model", "other": "judge_is_the_model"}
    else:
        assert values == {"own": "judge_is_the_model" if refused else 1.0, "other": 1.0}
    assert len(judge.requests) == sum(value == 1.0 for value in values.values())


def test_a_pending_score_is_asked_again_later_and_paid_once(
    run: Run, traffic: Any, judge: ScriptedServer, clock: Clock
) -> None:
    """A row says that a score is pending and why; the score comes as a row of its own, as likely as it was."""
    traffic.log(traffic.answer("a"), traffic.answer("b", 1, answer="Perhaps.", chat_id="chat"))
    judge.follow(says(), fails(401))
    before = run(sampling={"rate": 0.999})
    assert (before.scored, before.unscored) == (1, {"judge_unavailable": 1})
    clock.now += TEN_MINUTES
    assert run(sampling={"rate": 0.5}).scored == 1
    rows = judged(traffic)
    assert len({row["score_id"] for row in rows}) == 3
    assert {row["sampling_probability"] for row in rows} == {0.999}
    assert sorted(row["value"] or 0 for row in rows) == [0, 1, 1]
    assert len(judge.requests) == 3
    assert (run().scored, len(judged(traffic)), len(judge.requests)) == (0, 3, 3)


def test_a_running_evaluator_asks_again_after_ten_minutes(
    lake: Lake, traffic: Any, judge: ScriptedServer, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in each pass: a judge that is down is left alone; why, and what is pending, is logged once."""
    judge.always = fails(401)
    with closing(Evaluator(lake, settings(judge.url, tmp_path), clock)) as evaluator:
        traffic.log(traffic.answer("a"))
        asked = []
        for minutes in (0, 5, 6, 10):
            clock.now += timedelta(minutes=minutes)
            evaluator.run_once()
            asked.append(len(judge.requests))
        assert asked == [1, 1, 2, 2]
        assert len(judged(traffic)) == 1
        assert [one.name for one in caplog.records] == ["evaluator.judges.judge", "evaluator.service.pending_scores"]
        assert "(1 judge_unavailable)" in caplog.records[1].getMessage()
        judge.always = says()
        clock.now += TEN_MINUTES
        assert evaluator.run_once().scored == 1
        clock.now += TEN_MINUTES
        assert evaluator.run_once() == PassResult(deployments=1)


def test_what_is_pending_for_more_than_a_day_is_left_to_a_backfill(
    run: Run, traffic: Any, judge: ScriptedServer, clock: Clock
) -> None:
    """A score so late would be of the past."""
    traffic.log(traffic.answer("a"))
    judge.always = fails(401)
    run()
    judge.always = says()
    clock.now += timedelta(days=1)
    assert run().scored == 0


def test_an_erased_answer_has_no_pending_score(run: Run, traffic: Any, judge: ScriptedServer, clock: Clock) -> None:
    """Its rows are gone, and nobody asks about it again."""
    traffic.log(traffic.answer("a", user_id="ann"))
    judge.always = fails(401)
    run()
    erase(traffic.lake, Subject(user="ann"), NOW)
    judge.always = says()
    clock.now += TEN_MINUTES
    assert run() == PassResult(deployments=1)
    assert traffic.scores() == []


def test_the_sample_is_of_conversations_and_its_probability_is_stored(
    run: Run, traffic: Any, judge: ScriptedServer
) -> None:
    """Answers of a conversation are in or out together; other metrics score all; what is left out is counted."""
    rows = [traffic.answer(f"{i}", i, chat_id=f"chat-{i // 2}", answer=f"It is {i}.") for i in range(40)]
    traffic.log(*rows)
    result = run(sampling={"rate": 0.3}, metrics=[JUDGED, "context_present"])
    scored = {int(row["event_id"].removeprefix("event-")) for row in judged(traffic)}
    assert scored == {i ^ 1 for i in scored}
    assert 0 < len(scored) < 40
    assert result.not_sampled == 40 - len(scored)
    assert {row["sampling_probability"] for row in judged(traffic)} == {0.3}
    assert len(traffic.values("context_present")) == 40
    assert len(judge.requests) == len(scored)


def test_what_may_be_bad_is_more_likely_to_be_judged(run: Run, traffic: Any) -> None:
    """A cut answer, one of a conversation with a signal, and one that another metric finds bad."""
    traffic.rate(traffic.signal("dislike", "rated") | {"chat_id": "angry"})
    names = ["plain", "rated", "chat", "cut", "error", "low"]
    odd = {
        "chat": {"chat_id": "angry"},
        "cut": {"finish_reason": "length"},
        "error": {"error": "a cut line"},
        "low": {"chunks": []},
    }
    traffic.log(*(traffic.answer(name, i, **odd.get(name, {})) for i, name in enumerate(names)))
    run(sampling={"rate": 0.000001, "flagged_rate": 1}, metrics=[JUDGED, "context_present"])
    assert set(traffic.values(JUDGED)) == set(names) - {"plain"}
    assert {row["sampling_probability"] for row in judged(traffic)} == {1.0}


@pytest.mark.parametrize("has_chats", [True, False])
@pytest.mark.parametrize("response_id", ["chat", None])
def test_a_signal_makes_one_of_the_answers_with_its_id_more_likely_to_be_judged(
    response_id: str | None, has_chats: bool, run: Run, traffic: Any
) -> None:
    """A gateway sends one id for all answers, or none: of six people's answers one is disliked."""
    named = {"response_id": response_id, "response_ids": [response_id] if response_id else []}
    people = {who: {"chat_id": f"c-{who}" if has_chats else None, "user_id": who} for who in "abcdef"}
    traffic.log(*(traffic.answer(who, **named, **person) for who, person in people.items()))
    traffic.rate(traffic.signal("dislike", "b") | {"response_id": response_id} | people["b"])
    run(sampling={"rate": 0.000001, "flagged_rate": 1})
    assert set(traffic.values(JUDGED)) == {"b"}


@pytest.mark.parametrize(("days", "is_judged"), [(1, True), (2, False)])
def test_a_signal_may_be_dated_a_day_before_its_answer(days: int, is_judged: bool, run: Run, traffic: Any) -> None:
    """Clocks and zones of time differ by so much, and by no more."""
    at = traffic.answer("rated")["requested_at"] - timedelta(days=days)
    traffic.rate(traffic.signal("dislike", "rated") | {"date": at.date(), "signaled_at": at})
    traffic.log(traffic.answer("rated"))
    run(sampling={"rate": 0.000001, "flagged_rate": 1})
    assert set(traffic.values(JUDGED)) == ({"rated"} if is_judged else set())


def test_a_deployment_has_a_judge_and_a_sample_of_its_own(
    traffic: Any, other_traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """In the place of the evaluator's."""
    for each in (traffic, other_traffic):
        each.log(each.answer("a", answer=each.deployment))
    free = {"base_url": judge.url, "prompt_price": 0, "completion_price": 0}
    judges = {"strict": free | {"model": "m"}, "kind": free | {"model": "k"}}
    own = {traffic.deployment: {"judge": "kind", "sampling": {"rate": 0.999}}}
    given = {"metrics": [JUDGED], "judges": judges, "judge": "strict", "deployments": own}
    chosen = EvaluatorSettings.model_validate(given | {"judge_calls": tmp_path / "calls.sqlite"})
    with closing(Evaluator(traffic.lake, chosen, lambda: NOW)) as evaluator:
        evaluator.run_once()
    judges = [(row["judge"], row["sampling_probability"]) for each in (traffic, other_traffic) for row in each.scores()]
    assert judges == [("kind", 0.999), ("strict", 1.0)]


def test_a_file_of_calls_that_cannot_be_used_ends_the_start(lake: Lake, judge: ScriptedServer, tmp_path: Path) -> None:
    """Before anything is paid; the message names the file and the key."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgeCallsError, match=r"file/calls.sqlite.*evaluator\.judge_calls"):
        Evaluator(lake, settings(judge.url, tmp_path / "file"))


def test_old_replies_are_forgotten(run: Run, traffic: Any, judge: ScriptedServer, tmp_path: Path) -> None:
    """After the time that they may be kept, and not before."""
    path = tmp_path / "calls.sqlite"
    with closing(Calls(path, clock=lambda: datetime.now(UTC).timestamp() - 86400 * 2)) as calls:
        calls.finish(calls.begin("strict", "key", 1.0), "{}", 0.5)
    run(judge_calls_retention="3d")
    with closing(Calls(path)) as calls:
        assert calls.find("key") == "{}"
        run(judge_calls_retention="1d")
        assert calls.find("key") is None


def test_evaluators_of_several_machines_share_replies(
    run: Run, traffic: Any, judge: ScriptedServer, lake: Lake, tmp_path: Path, clock: Clock
) -> None:
    """A second file of calls pays nothing for the same question; old replies go, shared any longer or not."""
    traffic.log(traffic.answer("a"))
    run(share_judge_replies=True)
    traffic.log(traffic.answer("again", 1))
    run(share_judge_replies=True, judge_calls=tmp_path / "other.sqlite")
    assert len(judge.requests) == 1
    assert [row["value"] for row in judged(traffic)] == [1.0, 1.0]
    assert sorted(row["cost"] or 0 for row in judged(traffic)) == [0, pytest.approx(0.0002)]
    (kept,) = Path(lake.root, "_judge_replies").rglob("*.json")
    for age, is_there in ((1, True), (3, False)):
        modified = (clock.now - timedelta(days=age)).timestamp()
        os.utime(kept, (modified, modified))
        run(judge_calls_retention="2d")
        assert kept.exists() == is_there


def test_replies_that_cannot_be_removed_stop_no_pass(run: Run, traffic: Any, lake: Lake) -> None:
    """They are in the log, and answers are scored."""
    traffic.log(traffic.answer("a"))
    Path(lake.root, "_judge_replies").write_text("a file where a folder should be")
    assert run(share_judge_replies=True).scored == 1


def test_closing_ends_a_pass_that_asks(lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path) -> None:
    """The calls under way are answered and scored, the others pending: nothing is lost, nothing waits for long."""
    traffic.log(*(traffic.answer(f"{i}", i, answer=f"It is {i}.") for i in range(20)))
    evaluator = Evaluator(lake, settings(judge.url, tmp_path, {"concurrency": 2}), lambda: NOW)

    async def closes(request: Any, send: Any) -> None:
        threading.Thread(target=evaluator.close).start()
        await answers(request, send)

    answers = once(lambda: is_ending(evaluator._judges._client))
    judge.follow(says(), closes)
    judge.always = answers
    result = evaluator.run_once()
    assert result.scored + result.unscored["judge_unavailable"] == 20
    assert 2 <= result.scored <= 4
    assert len(judge.requests) == result.scored
    with closing(Evaluator(lake, settings(judge.url, tmp_path), lambda: NOW + TEN_MINUTES)) as again:
        assert again.run_once().scored == 20 - result.scored
    assert len(judge.requests) == 20


def test_replies_of_no_use_are_logged_with_their_place(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The deployment, the metric and the answers by their ids, five of them at most; no text of anybody."""
    traffic.log(*(traffic.answer(f"{i}", i, answer=f"Private {i}.", chat_id=f"{i}") for i in range(8)))
    judge.always = says('{"label": "private"}')
    with closing(Evaluator(lake, settings(judge.url, tmp_path), lambda: NOW + timedelta(hours=1))) as evaluator:
        assert evaluator.run_once().unscored["judge_failed"] == 8
    (record,) = [record for record in caplog.records if record.name == "evaluator.scoring.scorer"]
    assert record.getMessage() == (
        f"metric {JUDGED!r}: the judge gave no reply of use (judge_failed) about 8 of 8 answers of deployment "
        f"{traffic.deployment!r}: event_id {', '.join(f'event-{i}' for i in range(5))} and 3 more"
    )
    assert (record.deployment, record.metric) == (traffic.deployment, JUDGED)  # type: ignore[attr-defined]
    assert "rivate" not in caplog.text
