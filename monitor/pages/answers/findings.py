"""Findings of the evaluator about one answer, read from `scores.details`: unsupported words, facts, claims.

Details may be of any version or writer: what does not have the expected form counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lake.queries.answer_details import AnswerScore
from monitor.pages.texts import Span

CONTRADICTED = "contradicted"
"""Verdict on a claim that the contexts deny, in words; one that they lack is another."""
_VERDICTS = {"S": "supported", "C": CONTRADICTED, "N": "not in the contexts"}
_NO_VERDICT = "no verdict"
_CITATION = re.compile(r"\[\s*[0-9]{1,3}(?:\s*[,;\u2013-]\s*[0-9]{1,3})*\s*\]")
"""A mark such as [1]: it names a context, and claims nothing."""
_TOO_LARGE = 2**31
"""No rank, place or number of places is this large."""


class ScoredAnswer(Protocol):
    """An answer, as a row of `parsed_logs` with its text, and its scores."""

    @property
    def row(self) -> Mapping[str, Any]:
        """Its row; `answer` is the text."""
        ...

    @property
    def scores(self) -> Sequence[AnswerScore]:
        """Its scores."""
        ...


@dataclass(frozen=True)
class Unsupported:
    """Places of the answer whose words stand in no context, and how many more there are that are not named."""

    score: AnswerScore
    places: tuple[Span, ...]
    more: int


@dataclass(frozen=True)
class Fact:
    """A fact of the case; `rank` (from 1) and `place` are of the first context that holds it, None where none does.

    `text` is None where the version of the case that the answer was compared with is not known, or gone.
    """

    text: str | None
    rank: int | None
    place: Span | None


@dataclass(frozen=True)
class Facts:
    """The facts of the case that the answer is compared with."""

    score: AnswerScore
    case_id: str | None
    facts: tuple[Fact, ...]

    @property
    def found(self) -> int:
        """How many stand in some context."""
        return sum(fact.rank is not None for fact in self.facts)


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with the verdict in words; `ranks` (from 1) are of the contexts that the judge names."""

    text: str
    verdict: str
    is_bad: bool
    ranks: tuple[int, ...]
    reason: str | None


@dataclass(frozen=True)
class Claims:
    """Claims of the answer, or of the reference answer, as one judge found them."""

    score: AnswerScore
    judge: str | None
    of_reference: bool
    claims: tuple[JudgedClaim, ...]


@dataclass(frozen=True)
class ComparedCase:
    """The version of a case that the answer was compared with: its id, and the facts that were looked for."""

    case_id: str
    facts: Sequence[str]


def case_id_of(answer: ScoredAnswer) -> str | None:
    """Return the id of the case whose facts were looked for."""
    score = scored_facts(answer)
    return text_of((score.details or {}).get("case_id")) if score else None


def scored_facts(answer: ScoredAnswer) -> AnswerScore | None:
    """Return the score that says where the facts stand; None where there is none."""
    return next((one for one in latest(answer) if _has_facts(one)), None)


def unsupported_in(answer: ScoredAnswer) -> Unsupported | None:
    """Return the words that stand in no context; None where no metric looked for them, or all are there.

    Citation marks are left out.
    """
    text = text_of(answer.row["answer"]) or ""
    for score in latest(answer):
        details = score.details or {}
        places = tuple(filter(None, map(_span, list_of(details.get("unsupported")))))
        more = count_of(details.get("more_unsupported")) or 0
        claimed = _without_citations(places, text)
        if claimed or (places and more):
            return Unsupported(score, claimed, more)
    return None


def _without_citations(places: Sequence[Span], text: str) -> tuple[Span, ...]:
    citations = [found.span() for found in _CITATION.finditer(text)]
    return tuple(part for place in places for part in _parts(place, citations, text))


def _parts(place: Span, citations: Sequence[Span], text: str) -> Iterator[Span]:
    start, end = place
    inside = [one for one in citations if one[0] < end and start < one[1]]
    if not inside:
        yield place
        return
    for first, last in zip((start, *(one[1] for one in inside)), (*(one[0] for one in inside), end), strict=True):
        part = text[first:last]
        if any(map(str.isalnum, part)):
            yield last - len(part.lstrip()), first + len(part.rstrip())


def facts_in(answer: ScoredAnswer, case: ComparedCase | None) -> Facts | None:
    """Return the facts with their places."""
    score = scored_facts(answer)
    if score is None:
        return None
    details = score.details or {}
    ranks, places = list_of(details.get("facts_ranks")), list_of(details.get("facts_places"))
    is_known = case is not None and len(case.facts) == len(ranks)
    facts = []
    for index, rank in enumerate(ranks):
        from_0 = count_of(rank)
        text = case.facts[index] if case is not None and is_known else None
        place = _span(places[index]) if from_0 is not None and index < len(places) else None
        facts.append(Fact(text, None if from_0 is None else from_0 + 1, place))
    return Facts(score, text_of(details.get("case_id")), tuple(facts))


def claims_in(answer: ScoredAnswer) -> list[Claims]:
    """Return the claims that judges found; those that several metrics share once."""
    found: list[Claims] = []
    for score in latest(answer):
        for judge, details in by_judge(score):
            for name, of_reference in (("facts", False), ("reference_facts", True)):
                claims = tuple(_claims(list_of(details.get(name)), of_reference=of_reference))
                if claims and not any((one.judge, one.claims) == (judge, claims) for one in found):
                    found.append(Claims(score, judge, of_reference, claims))
    return found


def by_judge(score: AnswerScore) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield the details of a score, and of one by several judges those of each."""
    details = score.details or {}
    yield score.judge, details
    judges = details.get("judges")
    for name, one in judges.items() if isinstance(judges, Mapping) else ():
        if isinstance(one, Mapping):
            yield str(name), one


def _claims(given: Sequence[Any], *, of_reference: bool) -> Iterator[JudgedClaim]:
    for one in given:
        text = text_of(one.get("fact")) if isinstance(one, Mapping) else None
        if text is None:
            continue
        ranks = tuple(rank + 1 for each in list_of(one.get("contexts")) if (rank := count_of(each)) is not None)
        if of_reference:
            stated = one.get("stated")
            verdict = "stated by the answer" if stated is True else "not stated by the answer"
            yield JudgedClaim(
                text, verdict if isinstance(stated, bool) else _NO_VERDICT, stated is False, ranks, _reason(one)
            )
        else:
            verdict = _VERDICTS.get(text_of(one.get("verdict")) or "", _NO_VERDICT)
            yield JudgedClaim(text, verdict, verdict in (_VERDICTS["C"], _VERDICTS["N"]), ranks, _reason(one))


def _reason(claim: Mapping[str, Any]) -> str | None:
    return text_of(claim.get("reason"))


def latest(answer: ScoredAnswer) -> Iterator[AnswerScore]:
    """Yield the scores that no later one of their metric follows."""
    return (score for score in answer.scores if score.is_latest)


def _has_facts(score: AnswerScore) -> bool:
    details = score.details or {}
    return bool(list_of(details.get("facts_ranks"))) and "facts_places" in details


def text_of(value: object) -> str | None:
    """Return a value that is a text."""
    return value if isinstance(value, str) else None


def list_of(value: object) -> Sequence[Any]:
    """Return a value that is a list; else an empty one."""
    return value if isinstance(value, list) else ()


def count_of(value: object) -> int | None:
    """Return a value that is a rank, a place or a number of something."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOO_LARGE else None


def _span(value: object) -> Span | None:
    if not (isinstance(value, list) and len(value) == 2):
        return None
    start, end = map(count_of, value)
    return (start, end) if start is not None and end is not None and start < end else None
