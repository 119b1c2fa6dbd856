"""Questions that only their conversation explains, written by a judge so that they stand by themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evaluator.answers import DeploymentTables
from evaluator.judges.exchange import JudgeError, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import TEXT, Prompt, object_of
from evaluator.metrics.language.numbers import missing_numbers, numbers_in
from lake.queries.case_sources import source_rows

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

_PROMPT = Prompt.read("standalone_question", object_of(question=TEXT))
_MOST_MESSAGES, _MOST_CHARACTERS, _LONGEST = 10, 2_000, 500


def standalone_questions(
    tables: DeploymentTables, judge: BoundJudge, cases: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, str], Spend]:
    """Ask a judge for the questions of these cases, and give them by `case_id`, with what it took.

    The judge sees the last ten messages before the question. A question with a number that nobody said is dropped; so
    is one of more than 500 characters.
    """
    sources = source_rows(tables.logs, cases, ["request_body"])
    bodies = {case_id: row["request_body"] for case_id, row in sources.items()}
    asked = [(case, earlier) for case in cases if (earlier := _before(bodies.get(case["case_id"])))]
    requests = (
        _PROMPT.request(fenced("message", *earlier), fenced("question", case["question"])) for case, earlier in asked
    )
    found, spend = dict[str, str](), Spend()
    for (case, earlier), reply in zip(asked, judge.ask_all(requests) if asked else (), strict=True):
        spend += reply.spend
        question = "" if isinstance(reply, JudgeError) else " ".join(reply.parsed["question"].split())
        said = [number for text in (*earlier, case["question"]) for number in numbers_in(text)]
        if question and len(question) <= _LONGEST and not missing_numbers(numbers_in(question), said):
            found[case["case_id"]] = question
    return found, spend


def _before(body: str | None) -> list[str]:
    """Give the texts of the messages before the last one; none where they cannot be read."""
    try:
        messages = json.loads(body or "{}").get("messages") or []
        texts = [(one["role"], one["content"]) for one in messages[:-1]]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return []
    said = [f"{role}: {text[:_MOST_CHARACTERS]}" for role, text in texts if isinstance(text, str) and text.strip()]
    return said[-_MOST_MESSAGES:]
