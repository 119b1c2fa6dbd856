"""The reference answer's facts against the contexts and the answer, and the answer's against it: the second call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

from evaluator.judges.answer import Answer, JudgeError, Reason, Request
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, YES_OR_NO, Prompt, because, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.llm.claims.answer import (
    VERDICT,
    AnswerFindings,
    check_numbers,
    contexts_of,
    first_error,
    once_each,
)
from evaluator.metrics.llm.claims.row import Row, portions, told
from evaluator.metrics.llm.verdicts import UNDECIDED, Verdict


def _prompt(*, reasons: bool) -> Prompt:
    fact = object_of(fact=TEXT, **because(reasons), chunks=list_of(NUMBER), stated=YES_OR_NO)
    sentence = object_of(sentence=NUMBER, facts=list_of(fact))
    answer_fact = object_of(fact=NUMBER, **because(reasons), verdict=VERDICT)
    both = object_of(reference=list_of(sentence), answer_facts=list_of(answer_fact))
    return Prompt.read("reference", both, reasons=reasons)


_PROMPTS = {reasons: _prompt(reasons=reasons) for reasons in (False, True)}
_NOTHING = range(0)
_VERDICTS: Mapping[str, Verdict] = {"S": True, "C": False, "N": UNDECIDED}


@dataclass(frozen=True)
class ReferenceFact:
    """A fact of the reference answer: which contexts support it, and whether the answer states it.

    Numbers are as in `Fact`. Where all contexts that the judge names do not exist, it is not known whether one supports
    it; `stated` is None where that is missing.
    """

    text: str
    sentence: int
    contexts: tuple[int, ...]
    no_such_contexts: tuple[int, ...]
    stated: Verdict
    reason: str | None = None

    @property
    def is_unproven(self) -> bool:
        """Whether all contexts that the judge names do not exist."""
        return bool(self.no_such_contexts) and not self.contexts


@dataclass(frozen=True)
class ReferenceFindings:
    """The facts of a reference answer, and for each fact of the answer whether the reference answer supports it.

    `answer_reasons` are what the judge said for the latter, where it was asked to. `missing` are the sentences of the
    reference answer, from 1, of which no facts are known; `error` is why.
    """

    facts: tuple[ReferenceFact, ...]
    answer_facts: tuple[Verdict, ...]
    missing: tuple[int, ...]
    error: Reason | None
    answer_reasons: tuple[str | None, ...]


def version(*, reasons: bool) -> str:
    """Give the version of what is asked, with or without reasons."""
    return _PROMPTS[reasons].version


def requests(row: Row, found: AnswerFindings, *, reasons: bool = False) -> list[Request]:
    """Compare with the reference answer, twenty of its sentences and twenty facts of the answer in a call."""
    facts = fenced("fact", *(fact.text for fact in found.facts))
    texts = (*row.prefix, facts, fenced("reference", *row.reference))
    return [
        _PROMPTS[reasons].request(
            *texts,
            values={"which": told("sentences", sentences), "facts": told("facts", numbers)},
            check=partial(_check, row, sentences, numbers),
        )
        for sentences, numbers in _portions(row, found)
    ]


def read(row: Row, found: AnswerFindings, answers: Sequence[Answer | JudgeError]) -> ReferenceFindings:
    """Read the replies to `requests`."""
    facts: list[ReferenceFact] = []
    verdicts: list[Verdict] = []
    reasons: list[str | None] = []
    missing: list[int] = []
    for (sentences, numbers), answer in zip(_portions(row, found), answers, strict=True):
        reply = {"reference": [], "answer_facts": []} if isinstance(answer, JudgeError) else answer.parsed
        by_sentence = once_each(reply["reference"], "sentence")
        for number in sentences:
            if number in by_sentence:
                facts += (_fact(row, found, number, one) for one in by_sentence[number]["facts"])
            else:
                missing.append(number)
        by_fact = once_each(reply["answer_facts"], "fact")
        verdicts += (_VERDICTS[by_fact[number]["verdict"]] if number in by_fact else None for number in numbers)
        reasons += (by_fact.get(number, {}).get("reason") for number in numbers)
    return ReferenceFindings(tuple(facts), tuple(verdicts), tuple(missing), first_error(answers), tuple(reasons))


def unread(row: Row, found: AnswerFindings) -> ReferenceFindings:
    """Give the findings where the first call has failed, and so there is nothing to compare with."""
    missing = tuple(range(1, len(row.reference) + 1))
    nothing = (None,) * len(found.facts)
    return ReferenceFindings((), nothing, missing, found.error, nothing)


def _portions(row: Row, found: AnswerFindings) -> list[tuple[range, range]]:
    return list(zip_longest(portions(len(row.reference)), portions(len(found.facts)), fillvalue=_NOTHING))


def _fact(row: Row, found: AnswerFindings, sentence: int, given: Mapping[str, Any]) -> ReferenceFact:
    stated: Verdict = given["stated"]
    if found.missing and not stated:
        stated = None  # a fact of the answer that is not known may state it
    return ReferenceFact(given["fact"], sentence, *contexts_of(row, given["chunks"]), stated, given.get("reason"))


def _check(row: Row, sentences: range, numbers: range, reply: Any) -> None:
    check_numbers(reply["reference"], "sentence", sentences, "reference")
    check_numbers(reply["answer_facts"], "fact", numbers, "answer_facts")
    for i, sentence in enumerate(reply["reference"]):
        for j, given in enumerate(sentence["facts"]):
            contexts, no_such_contexts = contexts_of(row, given["chunks"])
            if no_such_contexts and not contexts:
                raise MisfitError(f"reference[{i}].facts[{j}].chunks", f"there are {len(row.contexts)} chunks")
