"""Refusal: does the answer say that it is none?"""

from __future__ import annotations

from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.scores import Score
from lake.spec.texts.refusals import refusal_in
from lake.spec.vocabulary import UnscoredReason


@metric(
    Description(
        asks="Does the answer refuse, or say that the information is missing?",
        formula="1 if one of the first three sentences begins with a phrase of the lexicon (en, de, fr, es, it, pt, "
        "nl, pl, uk, ru; in zh, ja and ko holds one), else 0",
        source="aidial-rag-eval (answer_refusal) for the three sentences, where an LLM judges; dialwatch's lexicon",
        odd_cases=OddCases(empty_answer="0.0 with `no_answer`, null with it for a missing cell"),
        direction="none",
        binary=True,
        aliases=("answer_refusal",),
    ),
    needs=("answer",),
    version="3",
)
def refusal(answer: str | None) -> Score:
    """1.0 if one of the first three sentences refuses or says that information is missing, else 0.0; no end is better.

    Found by the phrases in `refusals.yaml`, which stand at the beginning of a sentence, after words such as
    "unfortunately"; a question is none, nor are "There is no information you need to enter." and "I can't find my
    order: open the menu". Precise rather than broad: a refusal in other words is not found. To refuse is
    right where there is no answer, so the value has no direction of its own.

    The details name the language of the phrase and what was found: `{"language": "en", "found": "i don't know"}`.
    """
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    found = refusal_in(answer)
    return Score(0.0) if found is None else Score(1.0, None, found)
