"""Decorator of the metrics of claims: arithmetic on the claims and verdicts that a judge gives about a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from evaluator.metrics.cells import context_texts, images, text, texts
from evaluator.metrics.decorator import Decorator, made_metric
from evaluator.metrics.description import NOT_READ, Description, OddCases
from evaluator.metrics.llm.claims import (
    CUT,
    Claim,
    ReferenceClaim,
    RowClaims,
    RowTexts,
    ask_claims,
    prompts,
    sentences_of,
)
from evaluator.metrics.llm.llm_metric import JudgedMetric, judged_score
from evaluator.metrics.llm.verdicts import Judged
from evaluator.metrics.scores import Score
from lake.spec.texts.refusals import only_refuses
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

Side = Literal["answer", "contexts", "reference"]

_REFUSAL_SENTENCES = 3
_EMPTY_ANSWER = (
    "null with `no_answer`, or `refusal` for a short answer that only refuses; `no_claims` where it states nothing"
)


@dataclass(frozen=True)
class ClaimMetric(JudgedMetric[RowTexts]):
    """A metric whose function gives a number of the claims that a judge finds, and of its verdicts on them.

    It gives a `Judged`, or that and more details. All of these metrics ask the same of a row: one call, and a second
    where they compare with a reference answer, whichever of them are asked for. Of several reference answers the first
    is read. A row is null without a call where what the metric is about is not there: no question, no contexts, no
    answer, or one of at most three sentences whose clauses all refuse.

    A claim is supported by a context where the judge says so and names one that exists. The details have the claims, by
    the name `facts`, and the ranks of their contexts, from 0.
    """

    reads: ClassVar[tuple[Side, ...]]
    claims_of: ClassVar[tuple[Side, ...]]

    @property
    def prompts(self) -> tuple[str, ...]:
        """Both prompts where there is a reference answer, and how texts are cut into the sentences that they number."""
        both = prompts(reasons=self.gives_reasons)
        return (*(both if "reference" in self.reads else both[:1]), CUT, *(("images/2",) if self.sees_images else ()))

    @property
    def sees_images(self) -> bool:
        """Whether the judge is shown images."""
        return self.judged_by is not None and self.judged_by.settings.images

    def read_row(self, *cells: object) -> RowTexts | Score:
        """Cut the texts of a row."""
        question, contexts = text(cells[0], "question"), texts(cells[1], "contexts")
        answer = text(cells[2], "answer")
        references = (texts(cells[3], "reference_answers") or []) if "reference" in self.reads else []
        shown = images(cells[-1], "images") if self.sees_images else []
        reference = next((one for one in references if one.strip()), "")
        if "reference" in self.reads and not reference:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if None in shown:
            return Score(None, UnscoredReason.NO_IMAGE)
        # Beside chunks that are not known an image proves nothing.
        if "contexts" in self.reads and not context_texts(contexts) and (contexts is None or not shown):
            return Score(None, UnscoredReason.NO_CONTEXTS)
        reason = unanswered_reason(answer)
        if "answer" in self.reads and reason:
            return Score(None, reason)
        if question is None or not question.strip():
            return Score(None, UnscoredReason.NO_QUESTION)
        seen = [one for one in shown if one is not None]
        return RowTexts.of(question, contexts or [], "" if reason else answer or "", reference, seen)

    def score_all(self, judge: BoundJudge, tasks: Sequence[RowTexts]) -> Iterator[Score]:
        """Ask about rows, together."""
        return map(self.row_score, ask_claims(judge, tasks, with_reference="reference" in self.reads))

    def row_score(self, claims: RowClaims) -> Score:
        """Return the score of a row's claims."""
        found = self.bound(claims)
        judged, more = found if isinstance(found, tuple) else (found, {})
        if self._lacks(claims):
            judged = Judged(None, UnscoredReason.JUDGE_FAILED, self.about.low, self.about.high)
        return judged_score(judged, self._details(claims) | more, claims.error, claims.spend)

    def _details(self, claims: RowClaims) -> dict[str, Any]:
        details: dict[str, Any] = {}
        if "answer" in self.claims_of:
            details["facts"] = list(_answer_claims(claims))
        if "reference" in self.claims_of and claims.reference is not None:
            details["reference_facts"] = [_reference_claim(claim) for claim in claims.reference.claims]
        return details

    def _lacks(self, claims: RowClaims) -> bool:
        # How many claims a sentence makes that did not come back, nobody knows.
        return bool(
            ("answer" in self.claims_of and claims.answer.missing)
            or ("reference" in self.claims_of and claims.reference is not None and claims.reference.missing)
        )


def claim_metric(
    *,
    reads: tuple[Side, ...],
    claims_of: tuple[Side, ...] = (),
    empty_answer: str | None = None,
    duplicate_contexts: str = "no difference",
    kind: type[Any] = ClaimMetric,
    listed: str | None = "claims",
    **described: Any,
) -> Decorator:
    """Make a metric of a function of a row's claims; its docstring begins with the question that the value answers.

    `reads` are the sides of a row without which it is null and nothing is asked: a metric that reads the reference
    answer asks for the second call too. `claims_of` are those sides whose claims must all be known, and which the
    details show. What is `described` is as in `Description`, `listed` and `kind` as in `made_metric`.
    """
    columns = ("question", "contexts", "answer", *(("reference_answers",) if "reference" in reads else ()))
    odd_cases = OddCases(
        empty_answer=empty_answer or (_EMPTY_ANSWER if "answer" in reads else NOT_READ),
        no_contexts="null with `no_contexts`" if "contexts" in reads else "no difference",
        duplicate_contexts=duplicate_contexts,
        no_reference="null with `no_ground_truth`" if "reference" in reads else NOT_READ,
    )

    def decorated(function: Callable[..., Any]) -> Any:
        question = str(function.__doc__).partition("\n")[0]
        about = Description(asks=question, odd_cases=odd_cases, **described)
        return made_metric(
            kind, about, needs=columns, listed=listed, reads=reads, claims_of=claims_of, optional=("images",)
        )(function)

    return decorated


def unanswered_reason(answer: str | None) -> str | None:
    """Return why an answer says nothing: `no_answer`, or `refusal` where it is short and only refuses; else None."""
    if answer is None or not any(map(str.isalnum, answer)):
        return UnscoredReason.NO_ANSWER
    refuses = len(sentences_of(answer)) <= _REFUSAL_SENTENCES and only_refuses(answer)
    return "refusal" if refuses else None


def _answer_claims(claims: RowClaims) -> Iterator[dict[str, Any]]:
    if claims.reference is None:
        yield from (_answer_claim(claim) for claim in claims.answer.claims)
        return
    of_reference = zip(claims.reference.answer_verdicts, claims.reference.answer_reasons, strict=True)
    for claim, (verdict, reason) in zip(claims.answer.claims, of_reference, strict=True):
        because = {} if reason is None else {"reason_in_reference": reason}
        yield _answer_claim(claim) | {"in_reference": verdict} | because


def _answer_claim(claim: Claim) -> dict[str, Any]:
    return _claim(claim) | {"verdict": claim.verdict}


def _reference_claim(claim: ReferenceClaim) -> dict[str, Any]:
    return _claim(claim) | {"stated": claim.stated}


def _claim(claim: Claim | ReferenceClaim) -> dict[str, Any]:
    details: dict[str, Any] = {"fact": claim.text, "sentence": claim.sentence, "contexts": list(claim.contexts)}
    if claim.no_such_contexts:
        details["no_such_contexts"] = list(claim.no_such_contexts)
    return details | ({} if claim.reason is None else {"reason": claim.reason})
