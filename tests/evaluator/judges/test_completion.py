"""What a judge said, in each shape of a reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.judges.completion import read_completion

VERDICT = '{"verdict": true}'
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": '{"verdict": false}'}]}


@pytest.mark.parametrize(
    "content",
    [
        VERDICT,
        [{"type": "text", "text": VERDICT}],
        [THINKING, {"type": "text", "text": VERDICT}],
        [THINKING, VERDICT],
        [{"type": "text", "text": VERDICT[:9]}, {"type": "text", "text": VERDICT[9:]}],
        [{"type": "redacted_thinking", "data": "x"}, {"type": "output_text", "text": VERDICT}],
    ],
)
def test_the_text_of_a_reply_is_not_its_thoughts(content: Any) -> None:
    """The content of a reply may be a text, or a list of thoughts and texts."""
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    assert read_completion(json.dumps(body).encode()).text == VERDICT


def test_a_call_without_arguments_does_not_hide_the_content() -> None:
    message = {"content": VERDICT, "tool_calls": [{"function": {"name": "answer", "arguments": "{}"}}]}
    assert read_completion(json.dumps({"choices": [{"message": message}]}).encode()).text == VERDICT
    empty = {"choices": [{"message": message | {"content": None}}]}
    assert read_completion(json.dumps(empty).encode()).text == "{}"


def test_a_part_that_refuses_is_a_refusal() -> None:
    body = {"choices": [{"message": {"content": [{"type": "refusal", "refusal": "No."}]}}]}
    completion = read_completion(json.dumps(body).encode())
    assert (completion.text, completion.refusal) == ("", "No.")


@pytest.mark.parametrize("odd", [{"token": ["8"], "logprob": -1}, {"token": "8", "logprob": -(10**400)}])
def test_odd_alternatives_have_no_probabilities(odd: dict[str, object]) -> None:
    """They cost no reply: the grade itself is there."""
    tokens = [{"token": '{"grade": ', "logprob": -0.1}, {"token": "8", "logprob": -(10**400), "top_logprobs": [odd]}]
    choice = {"message": {"content": '{"grade": 8}'}, "logprobs": {"content": tokens}}
    completion = read_completion(json.dumps({"choices": [choice]}).encode())
    assert (completion.content, completion.probabilities) == ('{"grade": 8}', {"grade": {}})
