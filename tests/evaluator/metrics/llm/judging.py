"""Rows, what a judge replies about them, and their scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from evaluator.judges.blocking_client import JudgeClient
from evaluator.metrics import Score, metric_named
from evaluator.models import Models
from tests.evaluator.judges.scripted_server import Act, Request, Send, says

Facts = Sequence[tuple[Sequence[int], str]]
"""Of a sentence: the chunks of each fact, and its verdict."""


def answered(
    sentences: Sequence[Facts], *, useful: Sequence[int] = (), addresses: str = "", refusal: bool = False
) -> str:
    """The reply to the first prompt; `addresses` has y or n for each sentence."""
    sentences = [
        {
            "sentence": number,
            "facts": [
                {"fact": f"Fact {number}.{i}", "chunks": list(chunks), "verdict": verdict}
                for i, (chunks, verdict) in enumerate(facts, 1)
            ],
            "addresses": (addresses or "y" * len(sentences))[number - 1] == "y",
        }
        for number, facts in enumerate(sentences, 1)
    ]
    return json.dumps({"sentences": sentences, "useful": list(useful), "refusal": refusal})


def compared(sentences: Sequence[Sequence[tuple[Sequence[int], bool]]], verdicts: str) -> str:
    """The reply to the second prompt: of each sentence the facts' chunks and whether they are stated."""
    reference = [
        {
            "sentence": number,
            "facts": [
                {"fact": f"Reference {number}.{i}", "chunks": list(chunks), "stated": stated}
                for i, (chunks, stated) in enumerate(facts, 1)
            ],
        }
        for number, facts in enumerate(sentences, 1)
    ]
    facts = [{"fact": number, "verdict": verdict} for number, verdict in enumerate(verdicts, 1)]
    return json.dumps({"reference": reference, "answer_facts": facts})


def judging(answer: str = "", reference: str = "", **others: str) -> Act:
    """A judge that gives the reply that belongs to the schema it is asked for, by the schema's first property."""
    replies = {"sentences": answer, "reference": reference} | others

    async def act(request: Request, send: Send) -> None:
        await says(replies[next(iter(properties(request)))])(request, send)

    return act


def properties(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = request.body["response_format"]["json_schema"]["schema"]["properties"]
    return found


def prompt(request: Request) -> str:
    """What the user's side of the prompt says."""
    return str(request.body["messages"][1]["content"])


def sentences(count: int, of: str = "Sentence") -> str:
    return " ".join(f"{of} {number} says so." for number in range(1, count + 1))


def row(**changes: Any) -> dict[str, Any]:
    plain = {
        "question": "Is it so?",
        "contexts": ["First chunk.", "Second chunk."],
        "answer": sentences(2),
        "reference_answers": [sentences(1, "Reference")],
    }
    return plain | changes


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series([one[name] for one in rows], dtype=object) for name in row()})


def scored(client: JudgeClient, name: str, *rows: dict[str, Any], models: Models | None = None) -> list[Score]:
    """The scores of rows by a metric, asked of the judge `strict`."""
    scores = metric_named(name, models, client.judge("strict")).score(frame(*(rows or (row(),))))
    columns = zip(scores.values, scores.reasons, scores.details, scores.spends, strict=True)
    return [Score(None if value != value else value, *rest) for value, *rest in columns]
