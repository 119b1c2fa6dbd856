"""Features of an answer from its row of the log."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from lake.queries.sampled_answers import SampledAnswer
from lake.spec.schemas import PARSED_LOGS
from monitor.detect.causes.answer_features import logged_answer
from monitor.detect.causes.features import Feature
from monitor.detect.causes.logged_answer import Value

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def lines_of(prompt: str) -> Value:
    body = msgspec.json.encode({"messages": [{"role": "system", "content": prompt}]}).decode()
    row = {"event_id": "e", "requested_at": NOON, "status": 200, "request_body": body}
    answer = SampledAnswer(PARSED_LOGS.rows([row]).to_pylist()[0], (), None)
    return logged_answer(answer, "rag").values[Feature.SYSTEM_PROMPT, "rag"]


@pytest.mark.parametrize("line", ["[{}]", "Document {}:", '<doc id="{}">'])
def test_what_numbers_a_context_is_the_same_line_whatever_the_number(line: str) -> None:
    assert lines_of(line.format(3)) == lines_of(line.format(12)) == lines_of(line.format(0))
    assert lines_of("\n".join(line.format(number) for number in range(3))) == lines_of(line.format(1))


def test_a_number_within_a_sentence_is_part_of_the_line() -> None:
    assert lines_of("Give the user at most 3 answers of a line.") != lines_of(
        "Give the user at most 4 answers of a line."
    )


def test_who_asks_is_compared_by_project_client_and_user() -> None:
    who = {"project_id": "hr", "client": "portal", "user_id": "u-1"}
    row = {"event_id": "e", "requested_at": NOON, "status": 200, **who}
    values = logged_answer(SampledAnswer(PARSED_LOGS.rows([row]).to_pylist()[0], (), None), "rag").values
    assert [values[feature, ""] for feature in (Feature.PROJECT, Feature.CLIENT, Feature.USER)] == list(who.values())
