"""What the metrics of claims have in common: each is arithmetic on what a judge finds in a row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evaluator.metrics.cells import text, texts
from evaluator.metrics.description import NOT_READ, OddCases
from evaluator.metrics.form.refusal import refusal_in
from evaluator.metrics.llm.claims import Fact, Findings, ReferenceFact, Row, find, prompts, sentences_of
from evaluator.metrics.llm.llm_metric import LlmMetric, bounds
from evaluator.metrics.llm.verdicts import Judged, Verdict
from evaluator.metrics.llm.verdicts.judged import JUDGE_FAILED
from evaluator.metrics.metric import Score

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

_REFUSAL_SENTENCES = 3


@dataclass(frozen=True)
class ClaimMetric(LlmMetric[Row]):
    """A metric on the facts that a judge finds in answer and reference answer, and their verdicts.

    All of them ask the same of a row: one call, and a second where they compare with a reference answer, whichever of
    them are asked for. Of several reference answers the first is read. A row is null without a call where what the
    metric is about is not there: no question, no contexts, no answer, or one of at most three sentences that refuses.

    A fact is supported by a context where the judge says so and names one that exists. The details have the facts and
    the ranks of their contexts, from 0.
    """

    reads_answer: ClassVar[bool] = True
    reads_contexts: ClassVar[bool] = True
    reads_reference: ClassVar[bool] = False
    shares_of: ClassVar[tuple[str, ...]] = ()
    """Whose facts must all be known: of the `answer`, of the `reference`."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the prompts are made of."""
        columns = ("question", "contexts", "answer")
        return (*columns, "reference_answers") if self.reads_reference else columns

    @property
    def prompts(self) -> tuple[str, ...]:
        """Both prompts where there is a reference answer; the second shows what the first has found."""
        both = prompts(reasons=self.gives_reasons)
        return both if self.reads_reference else both[:1]

    @abstractmethod
    def judged(self, found: Findings) -> Judged:
        """Give the value of what was found."""

    def details(self, found: Findings) -> dict[str, Any]:
        """Give what the value is made of."""
        told: dict[str, Any] = {}
        if "answer" in self.shares_of:
            told["facts"] = list(_facts(found))
        if "reference" in self.shares_of and found.reference is not None:
            told["reference_facts"] = [_reference_fact(fact) for fact in found.reference.facts]
        return told

    def read_row(self, *cells: object) -> Row | Score:
        """Cut the texts of a row."""
        question, contexts = text(cells[0], "question"), texts(cells[1], "contexts") or []
        answer = text(cells[2], "answer")
        references = (texts(cells[3], "reference_answers") or []) if self.reads_reference else []
        reference = next((one for one in references if one.strip()), "")
        if self.reads_reference and not reference:
            return Score(None, "no_ground_truth")
        if self.reads_contexts and not any(context.strip() for context in contexts):
            return Score(None, "no_contexts")
        silence = silence_of(answer)
        if self.reads_answer and silence:
            return Score(None, silence)
        if question is None or not question.strip():
            return Score(None, "no_question")
        return Row.of(question, contexts, "" if silence else answer or "", reference)

    def score_all(self, judge: BoundJudge, tasks: Sequence[Row]) -> Iterator[Score]:
        """Ask about rows, together."""
        return (self.of_row(found) for found in find(judge, tasks, with_reference=self.reads_reference))

    def of_row(self, found: Findings) -> Score:
        """Give the score of what was found in a row."""
        judged = self.judged(found)
        if self._lacks(found):
            judged = Judged(None, JUDGE_FAILED, self.about.low, self.about.high)
        reason = judged.reason
        if judged.value is None and reason == JUDGE_FAILED:
            reason = found.error or reason
        limits = bounds(judged.low, judged.high) if judged.value is None else {}
        return Score(judged.value, reason, limits | self.details(found), found.spend)

    def _lacks(self, found: Findings) -> bool:
        # How many facts a sentence states that did not come back, nobody knows.
        return bool(
            ("answer" in self.shares_of and found.answer.missing)
            or ("reference" in self.shares_of and found.reference is not None and found.reference.missing)
        )


def silence_of(answer: str | None) -> str | None:
    """Give why an answer says nothing: `no_answer`, or `refusal` where it is short and refuses; None where it does."""
    if answer is None or not any(map(str.isalnum, answer)):
        return "no_answer"
    refuses = len(sentences_of(answer)) <= _REFUSAL_SENTENCES and refusal_in(answer) is not None
    return "refusal" if refuses else None


def odd_cases(
    *, answer: bool = True, contexts: bool = True, reference: bool = False, counts_contexts: bool = False
) -> OddCases:
    """Give what claim metrics that read these, or count contexts, give in the odd cases."""
    return OddCases(
        empty_answer="null with `no_answer`, or `refusal` for a short answer that refuses; `no_claims` where it states "
        "nothing"
        if answer
        else NOT_READ,
        no_contexts="null with `no_contexts`" if contexts else "no difference",
        duplicate_contexts="each counts for itself" if counts_contexts else "no difference",
        no_reference="null with `no_ground_truth`" if reference else NOT_READ,
    )


def _facts(found: Findings) -> Iterator[dict[str, Any]]:
    if found.reference is None:
        yield from (_fact(fact) for fact in found.answer.facts)
        return
    of_reference = zip(found.reference.answer_facts, found.reference.answer_reasons, strict=True)
    for fact, (verdict, reason) in zip(found.answer.facts, of_reference, strict=True):
        because = {} if reason is None else {"reason_in_reference": reason}
        yield _fact(fact) | {"in_reference": verdict} | because


def _fact(fact: Fact) -> dict[str, Any]:
    return _told(fact) | {"verdict": fact.verdict}


def _reference_fact(fact: ReferenceFact) -> dict[str, Any]:
    stated: Verdict = fact.stated
    return _told(fact) | {"stated": stated}


def _told(fact: Fact | ReferenceFact) -> dict[str, Any]:
    told: dict[str, Any] = {"fact": fact.text, "sentence": fact.sentence, "contexts": list(fact.contexts)}
    if fact.no_such_contexts:
        told["no_such_contexts"] = list(fact.no_such_contexts)
    return told | ({} if fact.reason is None else {"reason": fact.reason})
