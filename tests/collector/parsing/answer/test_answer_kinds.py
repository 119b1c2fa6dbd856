import json
from typing import Any

import pytest

from collector.parsing.answer.answer import read_answer


@pytest.mark.parametrize(
    ("message", "reason", "kind"),
    [
        ({"content": "Hi"}, "stop", "text"),
        ({"content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}, "stop", "tool_call"),
        ({"content": None, "function_call": {"name": "f"}}, "STOP", "tool_call"),
        ({"content": "", "custom_content": {"attachments": [{"type": "image/png", "url": "a"}]}}, "stop", "attachment"),
        ({"content": "", "custom_content": {"form_schema": {"type": "object"}}}, "stop", "attachment"),
        ({"content": "", "custom_content": {"form_schema": None, "attachments": []}}, "stop", "empty"),
        ({"content": None, "audio": {"id": "a", "data": "AAAA"}}, "stop", "attachment"),
        ({"content": None, "audio": {"id": "a", "transcript": "Hi there"}}, "stop", "text"),
        ({"content": None, "refusal": "I cannot help."}, "stop", "refusal"),
        ({"content": ""}, "stop", "empty"),
        ({"content": " \n\u200b"}, "stop", "empty"),
        ({"content": "Half"}, "MAX_TOKENS", "cut"),
        ({"content": "Half"}, "SAFETY", "failed"),
    ],
)
def test_the_content_of_an_answer_says_what_it_is(message: dict[str, Any], reason: str, kind: str) -> None:
    """Calls, attachments and refusals are told by their members, whatever the finish reason; without an id too."""
    for body_id in ("r", "", None):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        body = json.dumps({"id": body_id, "choices": [choice]})
        assert read_answer(body, body, status=200).kind == kind


def test_thoughts_before_an_answer_are_its_reasoning() -> None:
    """What stands between the marks of thoughts is no part of the answer."""
    choice = {"index": 0, "message": {"content": "<think>hm</think>\n\nYes."}, "finish_reason": "stop"}
    body = json.dumps({"id": "r", "choices": [choice]})
    answer = read_answer(body, body, status=200)
    assert (answer.text, answer.reasoning, answer.kind) == ("Yes.", "hm", "text")


def test_what_a_sound_says_is_the_answer() -> None:
    """A text beside it comes first."""
    said = []
    for content in (None, "Hello"):
        message = {"content": content, "audio": {"id": "a", "data": "AAAA", "transcript": "Hi there"}}
        body = json.dumps({"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        said.append(read_answer(body, body, status=200).text)
    assert said == ["Hi there", "Hello"]
