"""Texts, thoughts and other parts of a message's content, in the shapes of all senders."""

from __future__ import annotations

from typing import Any

import pytest

from lake.spec.message_parts import MessageParts, apart, read_parts, thoughts_of

THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}
SEARCH = [{"type": "server_tool_use", "name": "web_search"}, {"type": "web_search_tool_result", "content": []}]


def text(said: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": said}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("Yes.", MessageParts("Yes.")),
        ("", MessageParts(None)),
        (None, MessageParts(None)),
        (5, MessageParts(None)),
        ([text("Ye"), text("s.", "output_text")], MessageParts("Yes.")),
        (["Ye", {"text": "s."}], MessageParts("Yes.")),
        (text("Yes."), MessageParts("Yes.")),
        ([{"type": "text", "text": {"value": "Yes."}}], MessageParts("Yes.")),
        ([{"type": "texttext", "text": "Yes."}], MessageParts("Yes.")),
        ([THINKING, text("Yes.")], MessageParts("Yes.", "hm")),
        ([THINKING, "Ye", "s."], MessageParts("Yes.", "hm")),
        ([{"type": "thinking", "thinking": "hm", "signature": "x"}, text("Yes.")], MessageParts("Yes.", "hm")),
        ([{"type": "redacted_thinking", "data": "x"}, text("Yes.")], MessageParts("Yes.")),
        ([{"type": "reasoning", "text": "hm"}, text("Yes.")], MessageParts("Yes.", "hm")),
        ([{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "Yes."}], MessageParts("Yes.", "hm")),
        ([{"text": "hm", "thought": True}, {"text": "Yes."}], MessageParts("Yes.", "hm")),
        ([text("Yes"), {"type": "reference", "reference_ids": [1]}, text(".")], MessageParts("Yes.")),
        ([text("I look. "), *SEARCH, text("It "), text("is 5.")], MessageParts("I look.\n\nIt is 5.")),
        ([text("One."), THINKING, text("Two.")], MessageParts("One.\n\nTwo.", "hm")),
        ([text("See:"), {"type": "image_url", "image_url": {}}], MessageParts("See:", has_attachment=True)),
        ([{"type": "output_audio", "data": "x"}], MessageParts(None, has_attachment=True)),
        ([{"type": "refusal", "refusal": "No."}], MessageParts(None, refusal="No.")),
        ([text("So:"), {"type": "tool_use", "name": "f"}], MessageParts("So:", calls_tool=True)),
        ([{"type": ["text"], "text": "x"}, None, 5, {"type": "text", "text": 5}], MessageParts(None)),
    ],
)
def test_parts_of_a_content(content: object, parts: MessageParts) -> None:
    """Texts cut at citations are one; texts around something else are apart by a blank line; thoughts are no text."""
    assert read_parts(content) == parts


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning": None, "reasoning_content": "", "thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "h"}, {"type": "reasoning.text", "text": "m"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}, {"type": "reasoning.encrypted"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "x"}]},
        {"reasoning_content": {"reasoning_text": {"text": "hm"}}},
        {"reasoning_content": [{"type": "text", "text": "hm"}]},
    ],
)
def test_thoughts_beside_a_content(message: dict[str, Any]) -> None:
    """The members of DeepSeek, OpenRouter, Ollama, LiteLLM and Bedrock; what one repeats of another counts once."""
    assert thoughts_of(message) == "hm"


def test_a_message_without_thoughts() -> None:
    assert thoughts_of({"content": "Yes.", "reasoning": {"effort": "low"}, "reasoning_details": []}) is None


def test_texts_that_are_apart() -> None:
    """One text keeps its white space; between several is one blank line."""
    assert (apart([" a\n", ""]), apart(["a \n", "\n", "\nb"]), apart([])) == (" a\n", "a\n\nb", None)


def test_a_deep_part_costs_nothing() -> None:
    """Parts within parts are read a few levels deep."""
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"type": "thinking", "thinking": [deep]}
    assert read_parts([deep, text("Yes.")]) == MessageParts("Yes.")
