"""Cases of ground truth that ask the same: duplicates, and answers that contradict each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lake.spec.case_vocabulary import CaseStatus

_CITATION_MARK = re.compile(r"\[\d+\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
"""A word, or a sign of the scripts that write no spaces."""


@dataclass(frozen=True, slots=True)
class AlikeCases:
    """Ids of the other cases that ask the same: those that may stay as one, and those that say something else."""

    duplicates: tuple[str, ...] = ()
    contradicting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    case_id: str
    numbers: frozenset[str]
    words: frozenset[str]

    def contradicts(self, other: _Said) -> bool:
        if self.numbers and other.numbers:
            return self.numbers.isdisjoint(other.numbers)
        return bool(self.words and other.words) and self.words.isdisjoint(other.words)


def alike_cases(cases: Iterable[Mapping[str, Any]]) -> dict[str, AlikeCases]:
    """Return, by its id, each case of a deployment that has others like it; rejected cases have none.

    Two cases ask the same where their questions are equal but for case and white space, about the same set of
    documents, in the same conversation where they need one. Their answers contradict each other where both have
    numbers and none in common, else where they have no word in common.
    """
    groups: dict[object, list[Mapping[str, Any]]] = defaultdict(list)
    for case in cases:
        if case["status"] != CaseStatus.REJECTED:
            groups[_asked(case)].append(case)
    several = [[_said(case) for case in group] for group in groups.values() if len(group) > 1]
    return {one.case_id: _among(one, group) for group in several for one in group}


def _among(one: _Said, group: Iterable[_Said]) -> AlikeCases:
    others = [other for other in group if other is not one]
    against = [other for other in others if one.contradicts(other)]
    return AlikeCases(
        tuple(other.case_id for other in others if other not in against), tuple(other.case_id for other in against)
    )


def _asked(case: Mapping[str, Any]) -> object:
    question = " ".join((case["question"] or "").casefold().split())
    return question, case["conversation_hash"], frozenset(case["documents"] or ())


def _said(case: Mapping[str, Any]) -> _Said:
    answer = _CITATION_MARK.sub(" ", case["answer"] or "").casefold()
    numbers = frozenset(number.replace(",", "") for number in _NUMBER.findall(answer))
    return _Said(case["case_id"], numbers, frozenset(_WORD.findall(answer)))
