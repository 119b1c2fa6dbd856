"""The shipped questions: HaluEval's, each with its knowledge as sentences, a grounded and a hallucinated answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import resources

# HaluEval joins paragraphs without a space ("century.First"). Initials ("S. A.") and titles end no sentence.
_NO_ABBREVIATION = r"(?<![ .(][A-Z][.])(?<![.][a-z][.])(?<!Dr[.])(?<!Mr[.])(?<!St[.])(?<!Jr[.])(?<!Inc[.])(?<!lit[.])"
_SENTENCE_END = re.compile(_NO_ABBREVIATION + r'(?<=[.!?])(?:\s+(?=["(]?[A-Z0-9])|(?=[A-Z]))')


@dataclass(frozen=True)
class Question:
    """A question that its knowledge answers.

    `knowledge` is the text in sentences; `grounded_answer` is the one that holds `right_answer` word for word,
    `hallucinated_answer` says something that the knowledge does not.
    """

    text: str
    knowledge: tuple[str, ...]
    right_answer: str
    grounded_answer: str
    hallucinated_answer: str


def load_questions() -> tuple[Question, ...]:
    """Return, in file order, the questions whose knowledge holds their right answer and not the hallucinated one."""
    lines = resources.files("dialwatch.demo").joinpath("data/halueval_qa.jsonl").read_text("utf-8").splitlines()
    return tuple(question for line in lines if (question := _question(json.loads(line))))


def sentences(text: str) -> tuple[str, ...]:
    """Cut a text at the ends of its sentences, also where no space follows them."""
    return tuple(part.strip() for part in _SENTENCE_END.split(text) if part.strip())


def _question(record: dict[str, str]) -> Question | None:
    right = record["right_answer"].strip()
    # A "yes" or "no" in the knowledge is never the answer to the question.
    if right.lower() in {"yes", "no"}:
        return None
    knowledge = sentences(record["knowledge"])
    holds_answer = re.compile(rf"(?<!\w){re.escape(right)}(?!\w)", re.IGNORECASE)
    grounded = next((sentence for sentence in knowledge if holds_answer.search(sentence)), None)
    hallucinated = record["hallucinated_answer"].strip()
    if grounded is None or hallucinated.lower() in record["knowledge"].lower():
        return None
    return Question(record["question"].strip(), knowledge, right, grounded, hallucinated)
