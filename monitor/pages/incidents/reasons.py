"""Reasons why an answer is bad, in its own words: what stands in no context, and which facts it misses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pyarrow as pa

from lake.queries.answer_details import AnswerScore
from lake.queries.metric_scores import scores_of_answers
from lake.spec.schemas import deployment_of
from lake.tables.lake import Lake
from monitor.pages.answers.answer_view import read_cases
from monitor.pages.answers.findings import CONTRADICTED, ComparedCase, ScoredAnswer, claims_in, facts_in, unsupported_in
from monitor.pages.answers.outcomes import OutcomeKind, outcomes_in

_MOST_OF_KIND = 3
_CHARACTERS = 200
"""Of one text."""


class ReasonKind(StrEnum):
    """What is wrong; `words` are for people."""

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
    ReasonKind.MISSED_FACT: "Fact of the case that stands in no context",
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


@dataclass(frozen=True)
class _Answer:
    row: Mapping[str, Any]
    scores: Sequence[AnswerScore]


def read_reasons(
    lake: Lake, name: str, rows: pa.Table, texts: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[Reason, ...]]:
    """Return by `event_id` why answers of a deployment (rows of `metric_scores`) are bad; `texts` have `answer`."""
    deployment = deployment_of(name)
    scores = scores_of_answers(lake, deployment, rows)
    ids = rows["event_id"].to_pylist()
    answers = [_Answer({"answer": texts.get(one, {}).get("answer")}, scores.get(one, ())) for one in ids]
    cases = read_cases(lake, deployment, answers)
    return {one: tuple(_reasons(answer, case)) for one, answer, case in zip(ids, answers, cases, strict=True)}


def _reasons(answer: ScoredAnswer, case: ComparedCase | None) -> Iterator[Reason]:
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
