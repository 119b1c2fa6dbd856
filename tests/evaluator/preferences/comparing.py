"""A judge that compares two answers as a test says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.evaluator.judges.scripted_server import Act, Request, Send, says
from tests.evaluator.metrics.llm.judging import prompt

Chooses = Callable[[str, str, str], str]
"""What a judge chooses of a question and two answers: first, second or tie."""


def shown(request: Request) -> tuple[str, str, str]:
    """Question, first and second answer of a prompt."""
    text = prompt(request)
    question = re.search(r"<question 1 \w+>\n(.*)\n</question", text)
    answers = re.search(r"<answer 1 \w+>\n(.*)\n<answer 2 \w+>\n(.*)\n</answer", text)
    assert question
    assert answers
    return question[1], answers[1], answers[2]


def choosing(chooses: Chooses) -> Act:
    async def act(request: Request, send: Send) -> None:
        await says(json.dumps({"better": chooses(*shown(request))}))(request, send)

    return act
