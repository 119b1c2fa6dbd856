"""Texts, thoughts and calls of answers in the shapes that senders give them: golden values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.parsing.answer.answer import Answer, read_answer


def read(value: dict[str, Any]) -> Answer:
    body = json.dumps(value)
    return read_answer(body, body, status=200)


def completion(message: dict[str, Any], finish: str | None = "stop") -> dict[str, Any]:
    return {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def response(*items: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"id": "resp", "object": "response", "status": "completed", "output": list(items), **members}


def item(*texts: str, **members: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text} for text in texts], **members}


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {"id": "msg", "type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
SEARCH = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
]
REASONING = {
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
}


@pytest.mark.parametrize(
    ("value", "said", "reasoning"),
    [
        (completion({"content": [{"type": "thinking", "thinking": [text("hm")]}, text("Yes.")]}), "Yes.", "hm"),
        (completion({"content": [text("Ye"), text("s.")]}), "Yes.", None),
        (completion({"content": "Yes.", "thinking": "hm"}), "Yes.", "hm"),
        (completion({"content": "Yes.", "reasoning": "hm", "reasoning_details": [{"text": "hm"}]}), "Yes.", "hm"),
        (completion({"content": "Yes.", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]}), "Yes.", "hm"),
        (response(item("I look.", phase="commentary"), item("Yes.", phase="final_answer")), "Yes.", None),
        (response(item("I look.", phase="commentary"), item("Yes.")), "Yes.", None),
        (response(item("I look.", phase="commentary"), CALL), "I look.", None),
        (response(item("One."), item("Two.")), "One.\n\nTwo.", None),
        (response(item("Ye", "s.")), "Yes.", None),
        (response(output_text="Yes."), "Yes.", None),
        (response(REASONING, item("Yes.")), "Yes.", "a\n\nb"),
        (response({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, item("Yes.")),
         "Yes.", "hm"),
        (message({"type": "thinking", "thinking": "hm", "signature": "x"}, text("Yes.")), "Yes.", "hm"),
        (message({"type": "redacted_thinking", "data": "x"}, text("Yes.")), "Yes.", None),
        (message(text("I look."), *SEARCH, text("It "), text("is 5.")), "I look.\n\nIt is 5.", None),
    ],
)  # fmt: skip
def test_texts_and_thoughts(value: dict[str, Any], said: str, reasoning: str | None) -> None:
    """Thoughts are apart from the answer, commentary from the final answer; texts that are apart are not glued."""
    answer = read(value)
    assert (answer.text, answer.reasoning, answer.error) == (said, reasoning, None)


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        (response(CALL), "tool_call", "tool_calls"),
        (response(REASONING, {**CALL, "type": "custom_tool_call"}), "tool_call", "tool_calls"),
        (response({"type": "local_shell_call", "call_id": "c"}), "tool_call", "tool_calls"),
        (response(CALL, {"type": "function_call_output", "call_id": "c"}, item("Yes.")), "text", "completed"),
        (response({"type": "mcp_call", "name": "f"}, item("Yes.")), "text", "completed"),
        (response({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}), "refusal", "completed"),
        (response({"type": "image_generation_call", "result": "x"}), "attachment", "completed"),
        (response(CALL, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
         "cut", "max_output_tokens"),
        (message({"type": "tool_use", "name": "f", "input": {}}, stop="tool_use"), "tool_call", "tool_use"),
        (completion({"content": [{"type": "image_url", "image_url": {"url": "data:"}}]}), "attachment", "stop"),
        (completion({"content": [{"type": "refusal", "refusal": "No."}]}), "refusal", "stop"),
        (completion({"content": "Yes.", "function_call": None, "audio": None, "images": []}), "text", "stop"),
    ],
)  # fmt: skip
def test_calls_refusals_and_attachments(value: dict[str, Any], kind: str, reason: str) -> None:
    """A response that calls a tool of the client ended with it, though its status is completed."""
    answer = read(value)
    assert (answer.kind, answer.finish_reason, answer.error) == (kind, reason, None)


@pytest.mark.parametrize("reason", ["null", "nullnull", "None", "", None])
def test_no_reason_is_no_reason(reason: str | None) -> None:
    """The name of no value and an empty text say nothing about how an answer ended."""
    answer = read(completion({"content": "Yes."}, reason))
    assert (answer.finish_reason, answer.kind, answer.error) == (None, "text", None)


def test_a_reason_behind_no_reasons() -> None:
    """Core joins the words of all chunks."""
    assert read(completion({"content": "Yes."}, "nullnulllength")).finish_reason == "length"


def test_a_message_beside_a_delta() -> None:
    """Core before 0.22.1 keeps both: the message is joined from what each chunk repeats, the delta is the answer."""
    choice = {"index": 0, "delta": {"content": "Yes."}, "message": {"content": "YeYes."}, "finish_reason": "stop"}
    assert read({"id": "r", "choices": [choice]}).text == "Yes."
