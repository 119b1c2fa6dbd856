"""All claims of a row with their verdicts: at most two calls a row, and none for one that was asked about just now."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Reason, Spend
from evaluator.metrics.llm.claims import answer_claims, reference_claims
from evaluator.metrics.llm.claims.answer_claims import AnswerClaims
from evaluator.metrics.llm.claims.reference_claims import ReferenceClaims
from evaluator.metrics.llm.claims.row_texts import RowTexts
from evaluator.metrics.llm.verdicts import (
    UNDECIDED,
    ClaimMatrix,
    ClaimNumbers,
    NoiseSensitivity,
    Verdict,
    claim_numbers,
    noise_sensitivity,
)
from evaluator.metrics.llm.verdicts.judged import any_of, flag

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_Claims = TypeVar("_Claims", AnswerClaims, ReferenceClaims)
_SUPPORTED: Mapping[str | None, Verdict] = {"S": True, "C": False, "N": UNDECIDED, None: None}
_NOT_ASKED = AnswerClaims((), (), (), refusal=None, missing=(), error=None)


@dataclass(frozen=True)
class RowClaims:
    """The claims of a row with the judge's verdicts, and what they took now.

    `reference` is None where it was not asked for.
    """

    row: RowTexts
    answer: AnswerClaims
    reference: ReferenceClaims | None
    spend: Spend

    @property
    def error(self) -> Reason | None:
        """Why something is missing, where that is because the judge gave no answer."""
        return self.answer.error or (None if self.reference is None else self.reference.error)

    @property
    def grounded(self) -> list[Verdict]:
        """Whether the contexts support each claim of the answer."""
        return [_SUPPORTED[claim.verdict] for claim in self.answer.claims]

    @property
    def grounded_by_sentence(self) -> list[list[Verdict]]:
        """Whether the contexts support each claim of each sentence of the answer."""
        verdicts = list(zip(self.answer.claims, self.grounded, strict=True))
        numbers = range(1, len(self.row.answer) + 1)
        return [[verdict for claim, verdict in verdicts if claim.sentence == number] for number in numbers]

    @property
    def grounded_or_undecided(self) -> list[Verdict]:
        """Whether the contexts support each claim of the answer; where there are none, they decide nothing."""
        return self.grounded if self.row.contexts else [UNDECIDED] * len(self.answer.claims)

    @property
    def addressing_by_sentence(self) -> dict[int, Verdict]:
        """Whether each sentence addresses the question, by number, of code and headings only if all is code."""
        verdicts = dict(enumerate(self.answer.addresses, 1))
        return {number: verdicts[number] for number in sorted(verdicts.keys() - self.row.not_prose)} or verdicts

    @property
    def addressing(self) -> list[Verdict]:
        """Whether each sentence addresses the question, as `addressing_by_sentence`."""
        return list(self.addressing_by_sentence.values())

    @property
    def useful_for_answer(self) -> list[Verdict]:
        """Whether each context supports a claim of the answer."""
        return _columns(self._answer_in_contexts(), len(self.row.contexts))

    @property
    def useful_for_reference(self) -> list[Verdict]:
        """Whether each context supports a claim of the reference answer."""
        return _columns(self.matrix.reference_in_contexts, len(self.row.contexts))

    @property
    def matrix(self) -> ClaimMatrix:
        """All verdicts on claims; raises ValueError where there is no comparison with a reference answer."""
        if self.reference is None:
            raise ValueError("this row was not compared with a reference answer; ask_claims(..., with_reference=True)")
        claims, ranks = self.reference.claims, range(len(self.row.contexts))
        return ClaimMatrix(
            answer_in_reference=self.reference.answer_verdicts,
            reference_in_answer=[claim.stated for claim in claims],
            answer_in_contexts=self._answer_in_contexts(),
            reference_in_contexts=[
                [None if claim.is_unproven else rank in claim.contexts for rank in ranks] for claim in claims
            ],
        )

    @property
    def numbers(self) -> ClaimNumbers:
        """The numbers of all verdicts on claims."""
        return claim_numbers(self.matrix)

    @property
    def noise(self) -> NoiseSensitivity:
        """The wrong claims of the answer that contexts support."""
        matrix = self.matrix
        return noise_sensitivity(matrix.answer_in_reference, matrix.answer_in_contexts, matrix.reference_in_contexts)

    def _answer_in_contexts(self) -> list[list[Verdict]]:
        ranks = range(len(self.row.contexts))
        return [
            [None if claim.verdict is None else claim.verdict == "S" and rank in claim.contexts for rank in ranks]
            for claim in self.answer.claims
        ]


@dataclass(frozen=True)
class _Question(Generic[_Claims]):
    """The requests of one call about a row, and how to read the replies; `key` identifies all that they say."""

    key: Hashable
    requests: Callable[[], Sequence[JudgeRequest]]
    read: Callable[[Sequence[JudgeReply | JudgeError]], _Claims]


def prompts(*, reasons: bool) -> tuple[str, str]:
    """Return the versions of what both calls ask, with or without reasons."""
    return answer_claims.version(reasons=reasons), reference_claims.version(reasons=reasons)


def ask_claims(judge: BoundJudge, rows: Sequence[RowTexts], *, with_reference: bool) -> list[RowClaims]:
    """Ask about rows, in one call each, and `with_reference` in a second one; long texts take more of them.

    Where nothing was answered, the first call is left out if there is a second. What a judge replied a short while ago
    is not asked for again, and of equal rows the first has the spend.
    """
    reasons = judge.settings.reasons
    first = _asked(
        judge, [_of_answer(row, reasons=reasons) if row.answer or not with_reference else None for row in rows]
    )
    answers = [_NOT_ASKED if found is None else found for found, _ in first]
    second = _asked(
        judge,
        [
            _of_reference(row, found, reasons=reasons) if with_reference and found.error is None else None
            for row, found in zip(rows, answers, strict=True)
        ],
    )
    return [
        RowClaims(
            row, found, compared or (reference_claims.unread(row, found) if with_reference else None), one + other
        )
        for row, found, (_, one), (compared, other) in zip(rows, answers, first, second, strict=True)
    ]


def _of_answer(row: RowTexts, *, reasons: bool) -> _Question[AnswerClaims]:
    ask = partial(answer_claims.requests, row, reasons=reasons)
    return _Question(("answer", row.answer_key), ask, partial(answer_claims.read, row))


def _of_reference(row: RowTexts, found: AnswerClaims, *, reasons: bool) -> _Question[ReferenceClaims]:
    ask = partial(reference_claims.requests, row, found, reasons=reasons)
    return _Question(("reference", row.key), ask, partial(reference_claims.read, row, found))


def _asked(judge: BoundJudge, questions: Sequence[_Question[_Claims] | None]) -> list[tuple[_Claims | None, Spend]]:
    """Return the claims, and what they took, for each question; nothing for none."""
    memo = judge.client.memo
    found: dict[Any, _Claims] = {}
    spends: dict[Any, Spend] = {}
    open_questions: dict[Any, tuple[_Question[_Claims], Sequence[JudgeRequest]]] = {}
    for question in questions:
        if question is None or question.key in found or question.key in open_questions:
            continue
        if (kept := memo.find((judge.name, judge.draw, question.key))) is not None:
            found[question.key] = kept
        else:
            open_questions[question.key] = question, question.requests()
    answers = judge.ask_rows([requests for _, requests in open_questions.values()])
    for (key, (question, _)), given in zip(open_questions.items(), answers, strict=True):
        found[key] = question.read(given)
        spends[key] = sum((answer.spend for answer in given), Spend())
        memo.keep((judge.name, judge.draw, key), found[key], is_failure=found[key].error is not None)
    return [
        (None, Spend()) if question is None else (found[question.key], spends.pop(question.key, Spend()))
        for question in questions
    ]


def _columns(rows: Sequence[Sequence[Verdict]], contexts: int) -> list[Verdict]:
    return [any_of(flag(row[rank]) for row in rows) for rank in range(contexts)]
