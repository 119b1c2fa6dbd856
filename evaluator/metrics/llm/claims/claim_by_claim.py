"""Claims of the answer, each checked in a call of its own: what joint calls can be compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, Prompt, because, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.llm.claims.answer_claims import (
    VERDICT,
    AnswerClaims,
    Claim,
    check_numbers,
    claim_of,
    contexts_of,
    first_error,
    once_each,
)
from evaluator.metrics.llm.claims.row_claims import RowClaims
from evaluator.metrics.llm.claims.row_texts import RowTexts, in_halves, numbered, portions, usual_claims

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_FACTS = Prompt.read("facts", object_of(sentences=list_of(object_of(sentence=NUMBER, facts=list_of(TEXT)))))
_FACT = {
    reasons: Prompt.read(
        "fact", object_of(**because(reasons), chunks=list_of(NUMBER), verdict=VERDICT), reasons=reasons
    )
    for reasons in (False, True)
}

Replies = Sequence[JudgeReply | JudgeError]


def prompts_claim_by_claim(*, reasons: bool) -> tuple[str, str]:
    """Return the versions of both prompts, the second with or without reasons."""
    return _FACTS.version, _FACT[reasons].version


def ask_claim_by_claim(judge: BoundJudge, rows: Sequence[RowTexts]) -> list[RowClaims]:
    """Ask for the claims of each answer without showing its contexts, then about each claim beside the contexts.

    That is one call a row and one a claim. What only joint calls show, which contexts are useful and which sentences
    address the question, is missing.
    """
    first = judge.ask_rows([_for_claims(row) for row in rows])
    claims = [list(_claims(row, replies)) for row, replies in zip(rows, first, strict=True)]
    reasons = judge.settings.reasons
    about = [[_about(row, text, reasons=reasons) for _, text in given] for row, given in zip(rows, claims, strict=True)]
    second = judge.ask_rows(about)
    return [_row_claims(*each) for each in zip(rows, first, claims, second, strict=True)]


def _for_claims(row: RowTexts) -> list[JudgeRequest]:
    return [_for_claims_of(row, numbers) for numbers in portions(len(row.answer))]


def _for_claims_of(row: RowTexts, numbers: range) -> JudgeRequest:
    return _FACTS.request(
        fenced("question", row.question),
        fenced("sentence", *row.answer),
        values={"which": numbered("sentences", numbers)},
        check=partial(_check_claims, numbers),
        usual={"sentences": [{"sentence": one, "facts": usual_claims(row.answer[one - 1])} for one in numbers]},
        halves=in_halves(lambda half: _for_claims_of(row, half), numbers),
    )


def _about(row: RowTexts, claim: str, *, reasons: bool) -> JudgeRequest:
    return _FACT[reasons].request(
        *row.prefix, fenced("fact", claim), check=partial(_check_claim, row, claim), images=row.images
    )


def _claims(row: RowTexts, replies: Replies) -> Iterator[tuple[int, str]]:
    for numbers, reply in zip(portions(len(row.answer)), replies, strict=True):
        if not isinstance(reply, JudgeError):
            found = once_each(reply.parsed["sentences"], "sentence")
            yield from ((number, text) for number in numbers if number in found for text in found[number]["facts"])


def _row_claims(row: RowTexts, first: Replies, claims: Sequence[tuple[int, str]], second: Replies) -> RowClaims:
    known = {
        number
        for numbers, reply in zip(portions(len(row.answer)), first, strict=True)
        if not isinstance(reply, JudgeError)
        for number in set(numbers) & once_each(reply.parsed["sentences"], "sentence").keys()
    }
    found = AnswerClaims(
        claims=tuple(_claim(row, *claim, reply) for claim, reply in zip(claims, second, strict=True)),
        addresses=(None,) * len(row.answer),
        useful=(None,) * len(row.contexts),
        refusal=None,
        missing=tuple(number for number in range(1, len(row.answer) + 1) if number not in known),
        error=first_error([*first, *second]),
    )
    return RowClaims(row, found, None, sum((reply.spend for reply in (*first, *second)), Spend()))


def _claim(row: RowTexts, sentence: int, text: str, reply: JudgeReply | JudgeError) -> Claim:
    if isinstance(reply, JudgeError):
        return Claim(text, sentence, (), (), None)
    return claim_of(row, sentence, {"fact": text, **reply.parsed})


def _check_claims(numbers: range, reply: Any) -> None:
    check_numbers(reply["sentences"], "sentence", numbers, "sentences")


def _check_claim(row: RowTexts, text: str, reply: Any) -> None:
    if claim_of(row, 1, {"fact": text, **reply}).verdict is None:
        missing = contexts_of(row, reply["chunks"])[1]
        why = f"there is no chunk {missing[0] + 1}" if missing else f"a verdict {reply['verdict']} needs a chunk"
        raise MisfitError("chunks", f"{why}; there are {len(row.contexts)}")
