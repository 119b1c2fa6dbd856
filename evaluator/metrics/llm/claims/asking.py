"""Rows asked about: at most two calls each, and none for a row that was asked about a short while ago."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evaluator.judges.answer import Answer, JudgeError, Reason, Request, Spend
from evaluator.metrics.llm.claims import answer, reference
from evaluator.metrics.llm.claims.answer import AnswerFindings
from evaluator.metrics.llm.claims.reference import ReferenceFindings
from evaluator.metrics.llm.claims.row import Row
from evaluator.metrics.llm.verdicts import UNDECIDED, ClaimMatrix, Verdict
from evaluator.metrics.llm.verdicts.judged import any_of, flag

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

_Found = TypeVar("_Found", AnswerFindings, ReferenceFindings)
_SUPPORTED: Mapping[str | None, Verdict] = {"S": True, "C": False, "N": UNDECIDED, None: None}
_UNSAID = AnswerFindings((), (), (), refusal=None, missing=(), error=None)


@dataclass(frozen=True)
class Findings:
    """What the judge found in a row, and what that took now. `reference` is None where it was not asked for."""

    row: Row
    answer: AnswerFindings
    reference: ReferenceFindings | None
    spend: Spend

    @property
    def error(self) -> Reason | None:
        """Why something is missing, where that is because the judge gave no answer."""
        return self.answer.error or (None if self.reference is None else self.reference.error)

    @property
    def grounded(self) -> list[Verdict]:
        """Whether the contexts support each fact of the answer."""
        return [_SUPPORTED[fact.verdict] for fact in self.answer.facts]

    @property
    def useful_for_answer(self) -> list[Verdict]:
        """Whether each context supports a fact of the answer."""
        return _columns(self._answer_in_contexts(), len(self.row.contexts))

    @property
    def useful_for_reference(self) -> list[Verdict]:
        """Whether each context supports a fact of the reference answer."""
        return _columns(self.matrix.reference_in_contexts, len(self.row.contexts))

    @property
    def matrix(self) -> ClaimMatrix:
        """All verdicts on facts; raises ValueError where there is no comparison with a reference answer."""
        if self.reference is None:
            raise ValueError("this row was not compared with a reference answer; find(..., with_reference=True)")
        facts, ranks = self.reference.facts, range(len(self.row.contexts))
        return ClaimMatrix(
            answer_in_reference=self.reference.answer_facts,
            reference_in_answer=[fact.stated for fact in facts],
            answer_in_contexts=self._answer_in_contexts(),
            reference_in_contexts=[
                [None if fact.is_unproven else rank in fact.contexts for rank in ranks] for fact in facts
            ],
        )

    def _answer_in_contexts(self) -> list[list[Verdict]]:
        ranks = range(len(self.row.contexts))
        return [
            [None if fact.verdict is None else fact.verdict == "S" and rank in fact.contexts for rank in ranks]
            for fact in self.answer.facts
        ]


@dataclass(frozen=True)
class _Question(Generic[_Found]):
    """What is asked to find something: all of it is in `key`."""

    key: Hashable
    requests: Callable[[], Sequence[Request]]
    read: Callable[[Sequence[Answer | JudgeError]], _Found]


def prompts(*, reasons: bool) -> tuple[str, str]:
    """Give the versions of what both calls ask, with or without reasons."""
    return answer.version(reasons=reasons), reference.version(reasons=reasons)


def find(judge: BoundJudge, rows: Sequence[Row], *, with_reference: bool) -> list[Findings]:
    """Ask about rows, in one call each, and `with_reference` in a second one; long texts take more of them.

    Where nothing was answered, the first call is left out if there is a second. What was found a short while ago is not
    asked for again, and of equal rows the first has the spend.
    """
    reasons = judge.settings.reasons
    first = _asked(
        judge, [_of_answer(row, reasons=reasons) if row.answer or not with_reference else None for row in rows]
    )
    answers = [_UNSAID if found is None else found for found, _ in first]
    second = _asked(
        judge,
        [
            _of_reference(row, found, reasons=reasons) if with_reference and found.error is None else None
            for row, found in zip(rows, answers, strict=True)
        ],
    )
    return [
        Findings(row, found, compared or (reference.unread(row, found) if with_reference else None), one + other)
        for row, found, (_, one), (compared, other) in zip(rows, answers, first, second, strict=True)
    ]


def _of_answer(row: Row, *, reasons: bool) -> _Question[AnswerFindings]:
    ask = partial(answer.requests, row, reasons=reasons)
    return _Question(("answer", row.answer_key), ask, partial(answer.read, row))


def _of_reference(row: Row, found: AnswerFindings, *, reasons: bool) -> _Question[ReferenceFindings]:
    ask = partial(reference.requests, row, found, reasons=reasons)
    return _Question(("reference", row.key), ask, partial(reference.read, row, found))


def _asked(judge: BoundJudge, questions: Sequence[_Question[_Found] | None]) -> list[tuple[_Found | None, Spend]]:
    """Give what was found, and what it took, for each question; nothing for none."""
    memo = judge.asker.memo
    found: dict[Any, _Found] = {}
    spends: dict[Any, Spend] = {}
    open_questions: dict[Any, tuple[_Question[_Found], Sequence[Request]]] = {}
    for question in questions:
        if question is None or question.key in found or question.key in open_questions:
            continue
        if (kept := memo.find((judge.name, judge.draw, question.key))) is not None:
            found[question.key] = kept
        else:
            open_questions[question.key] = question, question.requests()
    answers = iter(judge.ask_all(chain.from_iterable(requests for _, requests in open_questions.values())))
    for key, (question, requests) in open_questions.items():
        given = list(islice(answers, len(requests)))
        found[key] = question.read(given)
        spends[key] = sum((answer.spend for answer in given), Spend())
        memo.keep((judge.name, judge.draw, key), found[key], is_failure=found[key].error is not None)
    return [
        (None, Spend()) if question is None else (found[question.key], spends.pop(question.key, Spend()))
        for question in questions
    ]


def _columns(rows: Sequence[Sequence[Verdict]], contexts: int) -> list[Verdict]:
    return [any_of(flag(row[rank]) for row in rows) for rank in range(contexts)]
