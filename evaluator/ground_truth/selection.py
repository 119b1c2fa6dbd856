"""Selection of the good answers that become cases: none twice, and not all of one question or one document."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import zip_longest
from typing import Any

from evaluator.answers import LoggedAnswer
from evaluator.ground_truth.ratings import RatedAnswer
from lake.queries.answer_rows import CaseQuestion
from lake.queries.ground_truth.cases import SimilarQuestions
from lake.spec.case_vocabulary import USABLE_STATUS

MOST_PER_QUESTION = 3
"""Cases of one question about the same documents: answers that people liked and that do not say the same."""

KNOWN_COLUMNS = (
    "case_id", "version", "status", "status_by", "updated_by", "question", "conversation_hash", "documents", "answer",
    "source_date",
)  # fmt: skip
"""Columns of `ground_truth` that a selection reads."""

_About = tuple[CaseQuestion, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A good answer, with a question and a text, that may become a case."""

    answer: LoggedAnswer
    question: CaseQuestion
    text: str
    rating: RatedAnswer

    @property
    def about(self) -> _About:
        """What was asked about which documents."""
        return self.question, frozenset(self.answer.documents)


class Selection:
    """The cases that a deployment has, and those that are added to them."""

    def __init__(
        self, known: Iterable[Mapping[str, Any]], most_per_day: int, similar: SimilarQuestions | None = None
    ) -> None:
        """`known` are the cases as they are (columns KNOWN_COLUMNS); `similar` finds questions in other words."""
        self._most_per_day = most_per_day
        self._similar = similar
        self._alike: Mapping[_About, Collection[_About]] = {}
        self._said: set[tuple[_About, str]] = set()
        self._of_question: Counter[_About] = Counter()
        self._of_day: Counter[date | None] = Counter()
        for case in known:
            about = CaseQuestion(case["question"], case["conversation_hash"]), frozenset(case["documents"] or ())
            self._add(about, case["answer"] or "", case["source_date"], is_usable=case["status"] in USABLE_STATUS)

    def chosen(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Choose among candidates, and take what was chosen for known from now on.

        1. What has the question, documents and answer of a case (upper case, white space and forms of Unicode aside) is
           none, also where somebody has rejected that case.
        2. A question about the same documents gets three cases at most.
           For both, a question that `similar` finds to be another in other words is the same one.
        3. The answers of a day make `most_per_day` at most. Where there are more, sets of documents take turns, and of
           each the answer with the highest confidence comes first.
        """
        by_day: dict[date, list[Candidate]] = defaultdict(list)
        for one in candidates:
            by_day[one.answer.date].append(one)
        self._alike = self._alike_to({one.about for of_day in by_day.values() for one in of_day})
        return [one for day in sorted(by_day) for one in self._chosen_of_day(day, by_day[day])]

    def _chosen_of_day(self, day: date, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
        for one in _in_turns(candidates):
            if self._of_day[day] >= self._most_per_day:
                return
            abouts = {one.about, *self._alike.get(one.about, ())}
            is_new = not any((about, _plain(one.text)) in self._said for about in abouts)
            if is_new and sum(self._of_question[about] for about in abouts) < MOST_PER_QUESTION:
                self._add(one.about, one.text, day, is_usable=True)
                yield one

    def _alike_to(self, asked: Collection[_About]) -> Mapping[_About, Collection[_About]]:
        """Find the questions in other words among those that are known and those asked, about the same documents."""
        if self._similar is None:
            return {}
        known: dict[frozenset[str], dict[_About, None]] = defaultdict(dict)
        for about in sorted({*asked, *self._of_question}, key=lambda about: about[0].text):
            if about[0].conversation_hash is None:
                known[about[1]][about] = None
        found: dict[_About, Collection[_About]] = {}
        for there in map(list, known.values()):
            some = [about for about in there if about in asked]
            if some and len(there) > 1:
                places = self._similar.similar([one.text for one, _ in some], [one.text for one, _ in there])
                for about, near in zip(some, places, strict=True):
                    found[about] = {there[place] for place, _ in near}
        return found

    def _add(self, about: _About, text: str, day: date | None, *, is_usable: bool) -> None:
        self._said.add((about, _plain(text)))
        self._of_question[about] += is_usable
        self._of_day[day] += 1


def _in_turns(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the best candidate of each set of documents, then the second best of each, and so on."""
    by_documents: dict[frozenset[str], list[Candidate]] = defaultdict(list)
    for one in sorted(candidates, key=_best_first):
        by_documents[frozenset(one.answer.documents)].append(one)
    for turn in zip_longest(*by_documents.values()):
        yield from (one for one in turn if one is not None)


def _best_first(one: Candidate) -> tuple[float, datetime, str]:
    return -one.rating.confidence, one.answer.requested_at, one.answer.event_id


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
