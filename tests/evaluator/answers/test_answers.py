"""Rows of the log as answers: what the log does not hold whole."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.answers import ANSWER_COLUMNS, answers
from lake.spec.schemas import PARSED_LOGS

NOTE = "1 raw control character was replaced"
AT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("row", "text", "is_cut"),
    [
        ({"answer": "Yes.", "repairs": [NOTE]}, "Yes.", False),
        ({"answer": "Yes.", "error": NOTE}, "Yes.", False),
        ({"answer": "Yes.", "error": f"{NOTE}; upstream error: boom"}, "Yes.", True),
        ({"answer": None, "repairs": [NOTE]}, "", False),
        ({"answer": None, "error": NOTE}, "", False),
        ({"answer": None, "repairs": [NOTE], "error": "the stream holds no choices"}, None, True),
        ({"answer": None, "repairs": [NOTE], "finish_reason": "tool_calls"}, None, False),
        ({"answer": "Ye", "repairs": [NOTE], "finish_reason": "length"}, "Ye", True),
    ],
)
def test_an_answer_whose_line_was_mended_is_whole(row: dict[str, Any], text: str | None, is_cut: bool) -> None:
    """Notes on what was mended, in `repairs` or in an older row's `error`, make no answer a cut or an unknown one."""
    usual = {
        "event_id": "e",
        "requested_at": AT,
        "date": AT.date(),
        "kind": "chat_completion",
        "status": 200,
        "is_entry": True,
        "finish_reason": "stop",
    }
    ((answer,),) = answers(PARSED_LOGS.rows([usual | row]).select(ANSWER_COLUMNS))
    assert (answer.text, answer.is_cut) == (text, is_cut)
