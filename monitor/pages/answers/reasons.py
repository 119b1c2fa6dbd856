"""Reasons why an answer is bad: how it failed, what stands in no context, which facts it misses, what people said."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from lake.queries.answer_details import AnswerDetails
from lake.queries.ratings import AnswerLabel, AnswerRating
from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.metric_names import metric_name
from lake.spec.vocabulary import FailureKind, Signal
from monitor.pages.answers.findings import CONTRADICTED, ComparedCase, ScoredAnswer, claims_in, facts_in, unsupported_in
from monitor.pages.answers.outcomes import OutcomeKind, outcomes_in

_MOST_OF_KIND = 3
_CHARACTERS = 200
"""Of one text."""
_SLOW = "latency_over@"


class ReasonKind(StrEnum):
    """What is wrong; `words` are for people."""

    ERROR = "error"
    EMPTY = "empty"
    REFUSAL = "refusal"
    CUT = "cut"
    TOOL_ERROR = "tool_error"
    FAILS_CASE = "fails_case"
    DISLIKED = "disliked"
    WRONG = "wrong"
    SLOW = "slow"
    MISSED_FACT = "missed_fact"
    UNSUPPORTED = "unsupported"
    DENIED_CLAIM = "denied_claim"
    CLAIM = "claim"
    UNMET = "unmet"
    TOPIC = "topic"
    TURNS = "turns"
    NO_CONTEXT = "no_context"

    @property
    def words(self) -> str:
        """As the page writes it before the texts."""
        return _WORDS[self]


_WORDS = {
    ReasonKind.ERROR: "The request failed",
    ReasonKind.EMPTY: "The answer is empty",
    ReasonKind.REFUSAL: "It refuses, or says that the information is missing",
    ReasonKind.CUT: "It was cut off before its end",
    ReasonKind.TOOL_ERROR: "A call of a tool failed",
    ReasonKind.FAILS_CASE: "It does not agree with the known right answer (its case)",
    ReasonKind.DISLIKED: "A person disliked it",
    ReasonKind.WRONG: "A person labelled it as wrong",
    ReasonKind.SLOW: "It took too long",
    ReasonKind.MISSED_FACT: "Fact of the right answer, in no retrieved text",
    ReasonKind.UNSUPPORTED: "Words that stand in no context",
    ReasonKind.DENIED_CLAIM: "Claim that the contexts contradict",
    ReasonKind.CLAIM: "Claim that the contexts do not support",
    ReasonKind.UNMET: "Wanted, but not received",
    ReasonKind.TOPIC: "Topic that is not its own, or that it refused",
    ReasonKind.TURNS: "Turns of the conversation that forgot or repeated",
    ReasonKind.NO_CONTEXT: "No document was found for the question",
}


_OUTCOMES = {
    ReasonKind.UNMET: (OutcomeKind.GOAL, OutcomeKind.INTENT),
    ReasonKind.TOPIC: (OutcomeKind.TOPIC,),
    ReasonKind.TURNS: (OutcomeKind.TURNS,),
}


@dataclass(frozen=True)
class Reason:
    """One kind of fault, with the texts that show it, three at most, and how many more there are."""

    kind: ReasonKind
    texts: tuple[str, ...] = ()
    more: int = 0

    @property
    def words(self) -> str:
        """The kind in words."""
        return self.kind.words

    def shortened(self, characters: int) -> Reason:
        """Return it with the texts that have at most so many characters together; with the first one in any case."""
        lengths = list(accumulate(len(one) for one in self.texts))
        kept = max(bisect_right(lengths, characters), min(1, len(lengths)))
        return Reason(self.kind, self.texts[:kept], self.more + len(self.texts) - kept)


def reasons_against(details: AnswerDetails, case: ComparedCase | None) -> Iterator[Reason]:
    """Yield all that speaks against an answer, how it failed first; `case` is the one that it was compared with.

    Comments and names of tools are those that `details` have: none for who may not read texts.
    """
    for failure in details.failures:
        yield _reason(ReasonKind(failure), _failed_tools(details) if failure == FailureKind.TOOL_ERROR else ())
    latest = {one.metric: one.value for one in details.scores if one.is_latest and one.value is not None}
    if latest.get(CASE_PASSED) == 0:
        yield Reason(ReasonKind.FAILS_CASE)
    if details.rating == AnswerRating.DISLIKED:
        said = (one.comment for one in details.signals if one.signal == Signal.DISLIKE)
        yield _reason(ReasonKind.DISLIKED, [one for one in said if one])
    if details.label == AnswerLabel.WRONG:
        yield Reason(ReasonKind.WRONG)
    slow = [metric_name(metric) for metric, value in latest.items() if value > 0 and metric.startswith(_SLOW)]
    if slow:
        yield _reason(ReasonKind.SLOW, slow)
    refuses = FailureKind.REFUSAL in details.failures
    # A refusal stands in no document.
    yield from (one for one in reasons_of(details, case) if not (refuses and one.kind is ReasonKind.UNSUPPORTED))


def _failed_tools(details: AnswerDetails) -> list[str]:
    return [call["name"] for call in details.row["tool_calls"] or () if call["is_error"] and call["name"]]


def reasons_of(answer: ScoredAnswer, case: ComparedCase | None) -> Iterator[Reason]:
    """Yield what its scores say is bad in an answer, in its own words."""
    if any(one.metric == "context_present" and one.value == 0 for one in answer.scores):
        yield Reason(ReasonKind.NO_CONTEXT)
    facts = facts_in(answer, case)
    missed = [one.text for one in facts.facts if one.rank is None and one.text] if facts else []
    if missed:
        yield _reason(ReasonKind.MISSED_FACT, missed)
    unsupported, text = unsupported_in(answer), answer.row["answer"] or ""
    pieces = [text[start:end] for start, end in unsupported.places] if unsupported else []
    if unsupported and any(pieces):
        yield _reason(ReasonKind.UNSUPPORTED, [one for one in pieces if one], unsupported.more)
    bad_claims = [claim for one in claims_in(answer) for claim in one.claims if claim.is_bad and not one.of_reference]
    for kind, is_denied in ((ReasonKind.DENIED_CLAIM, True), (ReasonKind.CLAIM, False)):
        if texts := [claim.text for claim in bad_claims if (claim.verdict == CONTRADICTED) is is_denied]:
            yield _reason(kind, texts)
    bad = [line for one in outcomes_in(answer) for line in one.lines if line.is_bad]
    for kind, shown in _OUTCOMES.items():
        if texts := [line.text for line in bad if line.kind in shown]:
            yield _reason(kind, texts)


def _reason(kind: ReasonKind, texts: Sequence[str], more: int = 0) -> Reason:
    once = list(dict.fromkeys(one if len(one) <= _CHARACTERS else f"{one[:_CHARACTERS]}…" for one in texts))
    return Reason(kind, tuple(once[:_MOST_OF_KIND]), more + len(once[_MOST_OF_KIND:]))
