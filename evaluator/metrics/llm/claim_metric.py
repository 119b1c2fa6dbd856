"""Metric of claims: arithmetic on the claims and verdicts that a judge gives about a row, by a specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from evaluator.metrics.cells import context_texts, text, texts
from evaluator.metrics.description import NOT_READ, Description, Direction, OddCases
from evaluator.metrics.form.refusal import only_refuses
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
from evaluator.metrics.llm.llm_metric import LlmMetric, bounds
from evaluator.metrics.llm.verdicts import Judged
from evaluator.metrics.scores import Score
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

Side = Literal["answer", "contexts", "reference"]

_REFUSAL_SENTENCES = 3


def as_it_is(judged: Judged) -> Judged:
    """Give a number back that the claims of a row have themselves."""
    return judged


@dataclass(frozen=True)
class ClaimSpecification:
    """One metric of claims: what it computes from the claims of a row, and what the documentation says of it.

    `arithmetic` makes the value of what a row's claims have by the attribute names in `of`. `reads` are the sides of a
    row without which it is null and nothing is asked: a metric that reads the reference answer asks for the second call
    too. `claims_of` are those sides whose claims must all be known, and which the details show; `details` gives other
    ones. `counts_contexts` says that repeated contexts count for themselves. All else is as in `Description`.
    """

    name: str
    arithmetic: Callable[..., Judged]
    of: tuple[str, ...]
    asks: str
    formula: str
    source: str
    reads: tuple[Side, ...]
    claims_of: tuple[Side, ...] = ()
    details: Callable[[RowClaims], Mapping[str, Any]] | None = None
    counts_contexts: bool = False
    low: float = 0.0
    direction: Direction = "up"
    binary: bool = False
    disagreement: str = ""
    aliases: tuple[str, ...] = ()

    def value(self, claims: RowClaims) -> Judged:
        """Give the value of a row's claims."""
        return self.arithmetic(*(attrgetter(name)(claims) for name in self.of))

    def description(self) -> Description:
        """Give what the documentation says of the metric."""
        return Description(
            asks=self.asks,
            formula=self.formula,
            source=self.source,
            odd_cases=self._odd_cases(),
            low=self.low,
            direction=self.direction,
            binary=self.binary,
            disagreement=self.disagreement,
            aliases=self.aliases,
        )

    def _odd_cases(self) -> OddCases:
        return OddCases(
            empty_answer="null with `no_answer`, or `refusal` for a short answer that only refuses; `no_claims` where "
            "it states nothing"
            if "answer" in self.reads
            else NOT_READ,
            no_contexts="null with `no_contexts`" if "contexts" in self.reads else "no difference",
            duplicate_contexts="each counts for itself" if self.counts_contexts else "no difference",
            no_reference="null with `no_ground_truth`" if "reference" in self.reads else NOT_READ,
        )


@dataclass(frozen=True)
class ClaimMetric(LlmMetric[RowTexts]):
    """A metric on the claims that a judge finds in answer and reference answer, and its verdicts on them.

    All of them ask the same of a row: one call, and a second where they compare with a reference answer, whichever of
    them are asked for. Of several reference answers the first is read. A row is null without a call where what the
    metric is about is not there: no question, no contexts, no answer, or one of at most three sentences which all
    refuse.

    A claim is supported by a context where the judge says so and names one that exists. The details have the claims, by
    the name `facts`, and the ranks of their contexts, from 0.
    """

    specification: ClaimSpecification

    @property
    def name(self) -> str:
        """Name in the registry."""
        return self.specification.name

    @property
    def about(self) -> Description:
        """What the documentation says of it."""
        return self.specification.description()

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the prompts are made of."""
        columns = ("question", "contexts", "answer")
        return (*columns, "reference_answers") if self._reads("reference") else columns

    @property
    def prompts(self) -> tuple[str, ...]:
        """Both prompts where there is a reference answer, and how texts are cut into the sentences that they number."""
        both = prompts(reasons=self.gives_reasons)
        return (*(both if self._reads("reference") else both[:1]), CUT)

    def value(self, claims: RowClaims) -> Judged:
        """Give the value of a row's claims."""
        return self.specification.value(claims)

    def details(self, claims: RowClaims) -> dict[str, Any]:
        """Give what the value is made of."""
        if self.specification.details is not None:
            return dict(self.specification.details(claims))
        details: dict[str, Any] = {}
        if self._has_claims_of("answer"):
            details["facts"] = list(_answer_claims(claims))
        if self._has_claims_of("reference") and claims.reference is not None:
            details["reference_facts"] = [_reference_claim(claim) for claim in claims.reference.claims]
        return details

    def read_row(self, *cells: object) -> RowTexts | Score:
        """Cut the texts of a row."""
        question, contexts = text(cells[0], "question"), texts(cells[1], "contexts") or []
        answer = text(cells[2], "answer")
        references = (texts(cells[3], "reference_answers") or []) if self._reads("reference") else []
        reference = next((one for one in references if one.strip()), "")
        if self._reads("reference") and not reference:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if self._reads("contexts") and not context_texts(contexts):
            return Score(None, UnscoredReason.NO_CONTEXTS)
        reason = unanswered_reason(answer)
        if self._reads("answer") and reason:
            return Score(None, reason)
        if question is None or not question.strip():
            return Score(None, UnscoredReason.NO_QUESTION)
        return RowTexts.of(question, contexts, "" if reason else answer or "", reference)

    def score_all(self, judge: BoundJudge, tasks: Sequence[RowTexts]) -> Iterator[Score]:
        """Ask about rows, together."""
        return map(self.row_score, ask_claims(judge, tasks, with_reference=self._reads("reference")))

    def row_score(self, claims: RowClaims) -> Score:
        """Give the score of a row's claims."""
        judged = self.value(claims)
        if self._lacks(claims):
            judged = Judged(None, UnscoredReason.JUDGE_FAILED, self.about.low, self.about.high)
        reason = judged.reason
        if judged.value is None and reason == UnscoredReason.JUDGE_FAILED:
            reason = claims.error or reason
        limits = bounds(judged.low, judged.high) if judged.value is None else {}
        return Score(judged.value, reason, limits | self.details(claims), claims.spend)

    def _reads(self, side: Side) -> bool:
        return side in self.specification.reads

    def _has_claims_of(self, side: Side) -> bool:
        return side in self.specification.claims_of

    def _lacks(self, claims: RowClaims) -> bool:
        # How many claims a sentence makes that did not come back, nobody knows.
        return bool(
            (self._has_claims_of("answer") and claims.answer.missing)
            or (self._has_claims_of("reference") and claims.reference is not None and claims.reference.missing)
        )


def unanswered_reason(answer: str | None) -> str | None:
    """Give why an answer says nothing: `no_answer`, or `refusal` where it is short and only refuses; else None."""
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
