"""Why an answer ended, in one word for all senders, and what an answer is in rows that do not say it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from lake.spec.answer_kinds import answer_kind_of, finish_kind, is_visible
from lake.spec.schemas import PARSED_LOGS
from lake.spec.vocabulary import AnswerKind
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
WORDS = {
    "stop": "stop STOP FinishReason.STOP end_turn stop_sequence completed COMPLETE eos_token FINISH_REASON_STOP done",
    "length": "length LENGTH max_tokens MAX_TOKENS FinishReason.MAX_TOKENS max_output_tokens model_length "
    "model_context_window_exceeded ERROR_LIMIT",
    "content_filter": "content_filter content_filtered SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII "
    "guardrail_intervened IMAGE_SAFETY ERROR_TOXIC",
    "tool_calls": "tool_calls TOOL_CALL tool_use function_call",
    "refusal": "refusal",
    "error": "error ERROR failed cancelled abort MALFORMED_FUNCTION_CALL",
    "other": f"eternity OTHER FINISH_REASON_UNSPECIFIED {'a' * 101}",
}


@pytest.mark.parametrize(("word", "kind"), [(word, kind) for kind, words in WORDS.items() for word in words.split()])
def test_each_sender_s_word_has_its_kind(word: str, kind: str) -> None:
    """Words of OpenAI, Anthropic, Gemini, Vertex, Bedrock, Mistral, Cohere, Hugging Face and vLLM."""
    assert finish_kind(word) == kind


@pytest.mark.parametrize("word", [None, "", "null", "None", "undefined"])
def test_no_word_has_no_kind(word: str | None) -> None:
    """The name of no value is no word either."""
    assert finish_kind(word) is None


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"answer": "Yes.", "finish_reason": "stop"}, AnswerKind.TEXT),
        ({"answer": None, "finish_reason": "tool_use"}, AnswerKind.TOOL_CALL),
        ({"answer": "", "finish_reason": "STOP"}, AnswerKind.EMPTY),
        ({"answer": "Half", "finish_reason": "MAX_TOKENS"}, AnswerKind.CUT),
        ({"answer": "Yes.", "finish_reason": "stop", "error": "status 500", "status": 500}, AnswerKind.FAILED),
        ({"answer": " \n", "finish_reason": None}, AnswerKind.EMPTY),
        ({"answer": None, "finish_reason": None}, None),
    ],
)
def test_rows_of_a_table_without_the_columns_have_a_kind(
    tmp_path: Path, columns: dict[str, Any], kind: AnswerKind | None
) -> None:
    """Columns that a table of an earlier version lacks are null; text and finish reason say what the answer is."""
    added = ["answer_kind", "finish_kind", "reasoning", "tool_calls", "tool_calls_origin", "attachments", "turn"]
    row = {"event_id": "a", "date": NOW.date(), "requested_at": NOW, "ingested_at": NOW, "status": 200} | columns
    older = PARSED_LOGS.rows([row]).select([name for name in PARSED_LOGS.schema.names if name not in added])
    write_deltalake(str(tmp_path / "rag-app" / "parsed_logs"), older, partition_by=["date"])
    rows = (
        Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app").read([*added, "answer", "status", "error", "finish_reason"])
    )
    (read,) = rows.to_pylist()
    assert [read[name] for name in added] == [None] * len(added)
    assert answer_kind_of(read, has_text=is_visible(read["answer"] or "")) == kind
