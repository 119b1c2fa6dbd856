"""Metrics of retrieval by facts, where a judge says which chunks state a fact, in whatever words."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, Prompt, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.cells import context_texts
from evaluator.metrics.description import Description
from evaluator.metrics.llm.claims import RowTexts
from evaluator.metrics.llm.claims.answer_claims import check_numbers, contexts_of, once_each
from evaluator.metrics.llm.claims.row_texts import in_halves, numbered, portions
from evaluator.metrics.llm.prompt_metric import prompt_metric
from evaluator.metrics.llm.verdicts import Judged
from evaluator.metrics.llm.verdicts.judged import Flag, any_of, share
from evaluator.metrics.matchers.citation import CITATION
from evaluator.metrics.matchers.matcher import ABSENT
from evaluator.metrics.retrieval.facts import f1
from evaluator.metrics.retrieval.facts_metric import odd_cases
from evaluator.metrics.scores import Score
from lake.spec.vocabulary import UnscoredReason

_PROMPT = Prompt.read("found_facts", object_of(facts=list_of(object_of(fact=NUMBER, chunks=list_of(NUMBER)))))

_Found = Sequence[Sequence[int] | None]
"""Of each fact the ranks of the contexts that state it; None where the judge did not say."""

_Asked = Generator[list[JudgeRequest], list[Any], Score | tuple[Judged, dict[str, Any]]]


def _judged(
    facts: Sequence[str] | None, contexts: Sequence[str] | None, judged: Callable[[_Found, int], Judged]
) -> _Asked:
    """Ask which contexts state each fact, twenty facts a call; what is asked by several metrics is paid once."""
    usable = [fact for fact in facts or () if CITATION.is_usable(fact)]
    if not usable:
        return Score(None, UnscoredReason.NO_FACTS)
    given = context_texts(contexts)
    if given is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    if not given:
        return Score(0.0, UnscoredReason.NO_CONTEXTS)
    row = RowTexts.of("", given, "")
    asked = list(portions(len(usable)))
    replies = yield [_request(row, usable, numbers) for numbers in asked]
    found: list[Sequence[int] | None] = []
    for numbers, reply in zip(asked, replies, strict=True):
        by_number = {} if reply is None else once_each(reply["facts"], "fact")
        found += (_ranks(row, by_number.get(number)) for number in numbers)
    ranks = [None if one is None else min(one, default=ABSENT) for one in found]
    details = {"facts_ranks": ranks, "ignored_facts": len(facts or ()) - len(usable)}
    return judged(found, len(given)), details


def _request(row: RowTexts, facts: Sequence[str], numbers: range) -> JudgeRequest:
    return _PROMPT.request(
        fenced("chunk", *row.contexts),
        fenced("fact", *facts),
        values={"which": numbered("facts", numbers)},
        check=partial(_check, row, numbers),
        halves=in_halves(partial(_request, row, facts), numbers),
    )


def _ranks(row: RowTexts, given: Any) -> Sequence[int] | None:
    if given is None:
        return None
    ranks, no_such_contexts = contexts_of(row, given["chunks"])
    return None if no_such_contexts and not ranks else ranks


def _check(row: RowTexts, numbers: range, reply: Any) -> None:
    check_numbers(reply["facts"], "fact", numbers, "facts")
    for i, given in enumerate(reply["facts"]):
        if _ranks(row, given) is None:
            raise MisfitError(f"facts[{i}].chunks", f"there are {len(row.contexts)} chunks")


def _recall(found: _Found, _contexts: int) -> Judged:
    return share([None if ranks is None else bool(ranks) for ranks in found])


def _precision(found: _Found, contexts: int) -> Judged:
    holds: list[Flag] = [
        any_of(None if ranks is None else rank in ranks for ranks in found) for rank in range(contexts)
    ]
    return share(holds)


def _f1(found: _Found, contexts: int) -> Judged:
    """The least and the greatest value are those of no and of all facts and contexts that are not known."""
    both = _precision(found, contexts), _recall(found, contexts)
    values = [f1(one, other) for one, other in ((both[0].low, both[1].low), (both[0].high, both[1].high))]  # type: ignore[arg-type]
    return Judged.between(*values)


def _described(asks: str, formula: str, duplicates: str) -> dict[str, Any]:
    about = Description(
        asks=asks,
        formula=f"{formula}; a judge says which contexts state a fact, in whatever words",
        source="aidial-rag-eval 0.7.0; the judge in the place of its matcher",
        odd_cases=odd_cases(duplicates),
    )
    return {"about": about, "needs": ("facts", "contexts"), "prompts": (_PROMPT,)}


@prompt_metric(
    **_described(
        "Which share of the facts that an answer needs was retrieved, in whatever words?",
        "|facts that some context states| / |facts|",
        "no difference",
    )
)
def facts_recall_judge(facts: Sequence[str] | None, contexts: Sequence[str] | None) -> _Asked:
    """Share of the facts that some context states, 0 to 1, higher is better; the judge decides, not the letters.

    For statements in a person's words, which no document has letter by letter. `facts_ranks` in the details are the
    ranks of the first contexts, from 0, -1 where none states the fact and null where the judge did not say. Facts
    without a letter or digit are not counted (`ignored_facts`).
    """
    return (yield from _judged(facts, contexts, _recall))


@prompt_metric(
    **_described(
        "Which share of the retrieved chunks states a fact that the answer needs, in whatever words?",
        "|contexts that state a fact| / n",
        "each useful copy counts as useful",
    )
)
def facts_precision_judge(facts: Sequence[str] | None, contexts: Sequence[str] | None) -> _Asked:
    """Share of the contexts that state at least one fact, 0 to 1, higher is better; see `facts_recall_judge`."""
    return (yield from _judged(facts, contexts, _precision))


@prompt_metric(
    **_described(
        "Were all facts retrieved, in whatever words, and in no more chunks than it takes?",
        "2 P R / (P + R) of `facts_precision_judge` and `facts_recall_judge`; 0 if both are 0",
        "as its two parts",
    )
)
def facts_f1_judge(facts: Sequence[str] | None, contexts: Sequence[str] | None) -> _Asked:
    """Harmonic mean of `facts_precision_judge` and `facts_recall_judge`, 0 to 1, higher is better."""
    return (yield from _judged(facts, contexts, _f1))
