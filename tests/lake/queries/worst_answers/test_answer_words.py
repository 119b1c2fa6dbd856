"""Words of the worst answers' questions and documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lake.queries.metric_scores import metric_scores
from lake.queries.worst_answers.answer_words import AnswerWords, words_of
from lake.queries.worst_answers.compared_answers import compared, document_names
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

ONSET = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
REFERENCE = 0.8


@pytest.fixture
def tmp_lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def write(lake: Lake, value: float, *rows: dict[str, Any], name: str = "hr") -> None:
    """Write answers with a score each; `at` is when, in hours after the onset."""
    logs, scores = [], []
    for number, given in enumerate(rows):
        given = dict(given)
        at = ONSET + timedelta(hours=given.pop("at", 1), seconds=number)
        place = {"event_id": f"{value} {name} {at} {given['question'][:20]}", "requested_at": at, "date": at.date()}
        logs.append(place | given)
        score = {"score_id": place["event_id"], "metric": "m", "metric_version": "1", "value": value}
        scores.append(place | score | {"scored_at": at})
    lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows(logs))
    lake.table(SCORES, name).append(SCORES.rows(scores))


def scores(lake: Lake, since: datetime, until: datetime, name: str = "hr") -> pa.Table:
    return metric_scores(lake, name, "m", "1", since, until, 10_000)


def read(lake: Lake, older: str = "hr", *, lower_is_better: bool = False) -> AnswerWords:
    since, earlier = scores(lake, ONSET, ONSET + DAY), scores(lake, ONSET - DAY, ONSET, older)
    return words_of(compared(lake, ("hr", since), (older, earlier), REFERENCE, lower_is_better=lower_is_better))


def asked(*texts: str, **columns: Any) -> list[dict[str, Any]]:
    return [{"question": f"{text} number {n}?"} | columns for n, text in enumerate(texts)]


def chunks(*titles: str | None, url: str | None = None) -> list[dict[str, Any]]:
    return [{"text": "x", "title": title, "url": url} for title in titles]


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_words_of_questions_and_of_documents_are_found(lake_of_each_kind: Lake, *, lower_is_better: bool) -> None:
    lake = lake_of_each_kind
    low, high = (0.9, 0.1) if lower_is_better else (0.1, 0.9)
    write(lake, low, *asked(*["How long is parental leave"] * 30, contexts=chunks("leave-policy_2026.pdf", "Handbook")))
    write(lake, high, *asked(*["How long is the lease"] * 60, contexts=chunks("Handbook")))
    found = read(lake, lower_is_better=lower_is_better)
    assert (found.worst, found.good) == (30, 60)
    assert {(one.word, one.texts, one.others) for one in found.questions} == {("parental", 30, 0), ("leave", 30, 0)}
    assert {one.word for one in found.documents} == {"leave", "policy", "2026", "pdf"}


def test_words_of_scripts_without_spaces_are_found(tmp_lake: Lake) -> None:
    write(tmp_lake, 0.1, *asked(*["年假有多少天"] * 30))
    write(tmp_lake, 0.9, *asked(*["租金有多少钱"] * 60))
    assert {one.word for one in read(tmp_lake).questions} == {"年", "假", "天"}


def test_a_question_and_a_conversation_count_once(tmp_lake: Lake) -> None:
    """Thirty times the same question, or one conversation, is no topic."""
    write(tmp_lake, 0.1, *({"question": "Parental  LEAVE?"} for _ in range(30)))
    write(tmp_lake, 0.1, *asked(*["The canteen"] * 30, chat_id="one"))
    write(tmp_lake, 0.9, *asked(*["How long is the lease"] * 60))
    assert read(tmp_lake) == AnswerWords(2, 60)


def test_questions_that_both_have_tell_nothing(tmp_lake: Lake) -> None:
    """The same is asked before and since, and all is answered worse."""
    write(tmp_lake, 0.1, *asked(*["Parental leave"] * 60), *asked(*["The lease"] * 60))
    write(tmp_lake, 0.9, *asked(*["Parental leave"] * 60, at=-5), *asked(*["The lease"] * 60, at=-6))
    assert read(tmp_lake) == AnswerWords(120, 120)


def test_good_answers_of_the_same_time_come_first(tmp_lake: Lake) -> None:
    """What all ask since the onset tells nothing; only where good ones lack, earlier ones count."""
    write(tmp_lake, 0.1, *asked(*["Christmas party leave"] * 60))
    write(tmp_lake, 0.9, *asked(*["How long is the lease"] * 100, at=-5))
    assert {one.word for one in read(tmp_lake).questions} >= {"christmas", "party", "leave"}
    write(tmp_lake, 0.9, *asked(*["Christmas party lease"] * 700, at=2))
    found = read(tmp_lake)
    assert {one.word for one in found.questions} == {"leave"}
    assert (found.worst, found.good) == (60, 600)


def test_earlier_answers_are_those_of_the_older_version(tmp_lake: Lake) -> None:
    write(tmp_lake, 0.1, *asked(*["How long is parental leave"] * 30))
    write(tmp_lake, 0.9, *asked(*["How long is the lease"] * 60, at=-5), name="hr-1")
    assert read(tmp_lake).questions == ()
    assert {one.word for one in read(tmp_lake, "hr-1").questions} == {"parental", "leave"}


def test_an_answer_no_worse_than_before_is_none_of_the_worst(tmp_lake: Lake) -> None:
    write(tmp_lake, REFERENCE, *asked(*["How long is parental leave"] * 30))
    write(tmp_lake, 0.9, *asked(*["How long is the lease"] * 60))
    assert read(tmp_lake) == AnswerWords(0, 90)


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_answers_that_are_a_little_worse_than_usual_are_neither(tmp_lake: Lake, *, lower_is_better: bool) -> None:
    sign = -1 if lower_is_better else 1
    for value, count in ((-0.7, 30), (-0.05, 20), (0.1, 60)):
        write(tmp_lake, REFERENCE + sign * value, *asked(*[f"Text of {value}"] * count))
    found = read(tmp_lake, lower_is_better=lower_is_better)
    assert (found.worst, found.good) == (30, 60)


def test_documents_are_named_by_title_or_end_of_address() -> None:
    contexts = [*chunks("Handbook", None, url="https://x.org/a/Leave%20policy.pdf?v=1#page=2"), None]
    row = {"contexts": contexts, "documents": ["files/b/rent.md", "inline:0123", None]}
    assert document_names(row) == ("Handbook", "Leave policy.pdf", "rent.md")
    assert document_names({"contexts": None, "documents": None}) == ()
