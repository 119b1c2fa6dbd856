"""Claims of the reference answer against contexts and answer, and the answer's against it: the second call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Reason
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, YES_OR_NO, Prompt, because, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.llm.claims.answer_claims import (
    VERDICT,
    AnswerClaims,
    check_numbers,
    contexts_of,
    first_error,
    is_padded,
    once_each,
    words_of,
)
from evaluator.metrics.llm.claims.row_texts import RowTexts, in_halves, numbered, portions
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
class ReferenceClaim:
    """A claim of the reference answer: which contexts support it, and whether the answer states it.

    Numbers are as in `Claim`. Where all contexts that the judge names do not exist, it is not known whether one
    supports it; `stated` is None where that is missing.
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
class ReferenceClaims:
    """The claims of a reference answer, and for each claim of the answer whether the reference answer supports it.

    `answer_reasons` are what the judge said for the latter, where it was asked to. `missing` are the sentences of the
    reference answer, from 1, of which no claims are known; `error` is why.
    """

    claims: tuple[ReferenceClaim, ...]
    answer_verdicts: tuple[Verdict, ...]
    missing: tuple[int, ...]
    error: Reason | None
    answer_reasons: tuple[str | None, ...]


def version(*, reasons: bool) -> str:
    """Return the version of what is asked, with or without reasons."""
    return _PROMPTS[reasons].version


def requests(row: RowTexts, found: AnswerClaims, *, reasons: bool = False) -> list[JudgeRequest]:
    """Compare with the reference answer, twenty of its sentences and twenty claims of the answer in a call."""
    return [_request(row, found, reasons, *portion) for portion in _portions(row, found)]


def _request(row: RowTexts, found: AnswerClaims, reasons: bool, sentences: range, numbers: range) -> JudgeRequest:
    return _PROMPTS[reasons].request(
        *row.prefix,
        fenced("fact", *(claim.text for claim in found.claims)),
        fenced("reference", *row.reference),
        values={"which": numbered("sentences", sentences), "facts": numbered("facts", numbers)},
        check=partial(_check, row, sentences, numbers),
        images=row.images,
        halves=in_halves(partial(_request, row, found, reasons), sentences, numbers),
    )


def read(row: RowTexts, found: AnswerClaims, answers: Sequence[JudgeReply | JudgeError]) -> ReferenceClaims:
    """Read the replies to `requests`."""
    claims: list[ReferenceClaim] = []
    verdicts: list[Verdict] = []
    reasons: list[str | None] = []
    missing: list[int] = []
    for (sentences, numbers), answer in zip(_portions(row, found), answers, strict=True):
        reply = {"reference": [], "answer_facts": []} if isinstance(answer, JudgeError) else answer.parsed
        by_sentence = once_each(reply["reference"], "sentence")
        for number in sentences:
            facts = by_sentence.get(number, {}).get("facts")
            if facts is None or is_padded(row.reference[number - 1], facts):
                missing.append(number)
            else:
                claims += _claims(row, found, number, facts)
        by_claim = once_each(reply["answer_facts"], "fact")
        verdicts += (_VERDICTS[by_claim[number]["verdict"]] if number in by_claim else None for number in numbers)
        reasons += (by_claim.get(number, {}).get("reason") for number in numbers)
    return ReferenceClaims(tuple(claims), tuple(verdicts), tuple(missing), first_error(answers), tuple(reasons))


def unread(row: RowTexts, found: AnswerClaims) -> ReferenceClaims:
    """Return what is known of the claims where the first call has failed, and so there is nothing to compare with."""
    missing = tuple(range(1, len(row.reference) + 1))
    nothing = (None,) * len(found.claims)
    return ReferenceClaims((), nothing, missing, found.error, nothing)


def _portions(row: RowTexts, found: AnswerClaims) -> list[tuple[range, range]]:
    return list(zip_longest(portions(len(row.reference)), portions(len(found.claims)), fillvalue=_NOTHING))


def _claims(
    row: RowTexts, found: AnswerClaims, sentence: int, facts: Iterable[Mapping[str, Any]]
) -> Iterable[ReferenceClaim]:
    """Return the claims of a sentence, each once: one that comes twice with another verdict counts twice."""
    claims = [_claim(row, found, sentence, given) for given in facts]
    return {(words_of(claim.text), claim.contexts, claim.stated): claim for claim in claims}.values()


def _claim(row: RowTexts, found: AnswerClaims, sentence: int, given: Mapping[str, Any]) -> ReferenceClaim:
    stated: Verdict = given["stated"]
    if found.missing and not stated:
        stated = None  # a claim of the answer that is not known may state it
    return ReferenceClaim(given["fact"], sentence, *contexts_of(row, given["chunks"]), stated, given.get("reason"))


def _check(row: RowTexts, sentences: range, numbers: range, reply: Any) -> None:
    check_numbers(reply["reference"], "sentence", sentences, "reference")
    check_numbers(reply["answer_facts"], "fact", numbers, "answer_facts")
    for i, sentence in enumerate(reply["reference"]):
        if is_padded(row.reference[sentence["sentence"] - 1], sentence["facts"]):
            problem = f"{len(sentence['facts'])} facts are more than the sentence says"
            raise MisfitError(f"reference[{i}].facts", problem)
        for j, given in enumerate(sentence["facts"]):
            contexts, no_such_contexts = contexts_of(row, given["chunks"])
            if no_such_contexts and not contexts:
                raise MisfitError(f"reference[{i}].facts[{j}].chunks", f"there are {len(row.contexts)} chunks")
