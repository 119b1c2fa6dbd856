"""Row that judges are asked about, and the replies to every prompt about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evaluator.metrics.language.prose_sentences import prose_sentences

RECORDS = Path(__file__).parents[2] / "dialwatch" / "demo" / "data" / "halueval_qa.jsonl"
CHUNK_TOKENS = 126.6
_WORDS_OF_SENTENCE = range(12, 19)
_SAYS_MODEL = re.compile(r'"title": ?"(\w+)"')
_SHORT_REASON = "'was founded in April of that year by three of its friends'"
_REASON = "The context says so in its first part, where it names the place and the year"


@dataclass(frozen=True)
class Row:
    """A question with contexts, and an answer and a reference answer of equally many sentences, one claim each."""

    question: str
    contexts: Sequence[str]
    answer: Sequence[str]
    reference: Sequence[str]

    @classmethod
    def of(cls, of_answer: int, chunks: int, count: Callable[[str], int]) -> Row:
        """Make a row from the demo's records; chunks have `CHUNK_TOKENS` on average, as `count` counts."""
        # What is not ASCII would be escaped in the JSON of some prompts and not of others.
        records = [json.loads(line) for line in RECORDS.read_text("utf-8").splitlines() if line.isascii()]
        words = " ".join(record["knowledge"] for record in records).split()
        claims = _claims(records[len(records) // 2 :])
        return cls(
            question=records[0]["question"],
            contexts=list(islice(_chunks(words, count), chunks)),
            answer=list(islice(claims, of_answer)),
            reference=list(islice(claims, of_answer)),
        )

    def as_json(self) -> dict[str, Any]:
        """Give the row as a JSON object, with answers as texts."""
        return asdict(self) | {"answer": " ".join(self.answer), "reference": " ".join(self.reference)}


def reply(row: Row, body: Mapping[str, Any]) -> str:
    """Give the reply to a chat completion request in the shape that it asks for. Raises KeyError for an unknown one."""
    if body.get("response_format", {}).get("type") == "json_schema":
        schema = body["response_format"]["json_schema"]["schema"]
        found = _ours(row)[" ".join(name for name in schema["properties"] if name != "reason")]
        if '"reason"' in json.dumps(schema):
            found = _with_reasons(found)
    else:
        text = "\n".join(message["content"] for message in body["messages"])
        # Schemas of what a schema holds come before its own name, and the one that is meant comes last in a prompt.
        known = _ragas(row, text)
        found = known[[name for name in _SAYS_MODEL.findall(text) if name in known][-1]]
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def _ours(row: Row) -> dict[str, Any]:
    numbers = range(1, len(row.answer) + 1)
    chunks = {i: [i % len(row.contexts) + 1, (i + 1) % len(row.contexts) + 1] for i in numbers}
    facts = list(zip(numbers, row.answer, strict=True))
    references = list(zip(numbers, row.reference, strict=True))
    judged_sentences = [
        {"sentence": i, "facts": [{"fact": fact, "chunks": chunks[i], "verdict": "S"}], "addresses": True}
        for i, fact in facts
    ]
    return {
        "sentences useful refusal": {"sentences": judged_sentences, "useful": [1, 2, 3, 4], "refusal": False},
        "reference answer_facts": {
            "reference": [
                {"sentence": i, "facts": [{"fact": fact, "chunks": chunks[i], "stated": True}]}
                for i, fact in references
            ],
            "answer_facts": [{"fact": i, "verdict": "S"} for i in numbers],
        },
        "sentences": {"sentences": [{"sentence": i, "facts": [fact]} for i, fact in facts]},
        "chunks verdict": {"chunks": [1, 2], "verdict": "S"},
        "question noncommittal": {"question": row.question, "noncommittal": False},
        "needed": {"needed": [1, 2, 5]},
        "entities": {"entities": [{"entity": fact.split()[0], "chunks": chunks[i]} for i, fact in references]},
        "sentences verdict": {"sentences": [1], "verdict": True},
    }


def _with_reasons(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_reasons(one) for one in value]
    if not isinstance(value, dict):
        return value
    reasoned = {name: _with_reasons(one) for name, one in value.items()}
    return {"reason": _SHORT_REASON} | reasoned if {"verdict", "stated"} & reasoned.keys() else reasoned


def _ragas(row: Row, text: str) -> dict[str, Any]:
    claims = row.reference if row.answer[0] not in text else row.answer
    judged = [{"statement": claim, "reason": _REASON, "verdict": 1} for claim in claims]
    reasons = [{"statement": claim, "reason": _REASON} for claim in row.answer]
    half = len(reasons) // 2
    return {
        "StatementGeneratorOutput": {"statements": claims},
        "NLIStatementOutput": {"statements": judged},
        "StatementFaithfulnessOutput": {"statements": judged},
        "AnswerRelevanceOutput": {"question": row.question, "noncommittal": 0},
        "ContextPrecisionOutput": {"reason": _REASON, "verdict": 1},
        "ContextRecallOutput": {
            "classifications": [{"statement": one, "reason": _REASON, "attributed": 1} for one in row.reference]
        },
        "ClassificationWithReason": {"TP": reasons[:half], "FP": reasons[half:], "FN": reasons[:half]},
    }


def _claims(records: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for record in records:
        for sentence in prose_sentences(record["knowledge"]):
            if (
                len(sentence.split()) in _WORDS_OF_SENTENCE
                and '"' not in sentence
                and len(prose_sentences(f"It is. {sentence}")) == 2
            ):
                yield sentence
                break


def _chunks(words: Sequence[str], count: Callable[[str], int]) -> Iterator[str]:
    begin, tokens = 0, 0
    for number in range(1, len(words)):
        end = begin
        while tokens + count(" ".join(words[begin:end])) < number * CHUNK_TOKENS:
            end += 1
        chunk = " ".join(words[begin:end])
        yield chunk
        begin, tokens = end, tokens + count(chunk)
