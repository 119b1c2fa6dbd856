"""Citation validity: does each `[n]` of the answer point to something?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import text, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.prose import without_code
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from lake.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

# A citation has three digits at most: [2023] is a year. A link says itself where it leads, and an element of an array
# gets a value or has a method.
_NUMBER = r"[0-9]{1,3}"
_CITATION = re.compile(
    rf"(?P<before>\w?)(?<!\\)\[\s*(?P<numbers>{_NUMBER}(?:\s*[,;\u2013-]\s*{_NUMBER})*)\s*\]"
    r"(?!\(|\.\w+\(|\s*=[^=])"
)
_DEFINITION = re.compile(rf"^[ \t]*\[{_NUMBER}\]:", re.MULTILINE)
_PART = re.compile(rf"({_NUMBER})(?:\s*[\u2013-]\s*({_NUMBER}))?")


@dataclass(frozen=True)
class CitationValidity:
    """Share of the answer's citations `[n]` with 1 <= n <= number of contexts, from 0 to 1, higher is better.

    `[1, 3]` and `[1][3]` are two citations, `[2-4]` is three. Code, links such as `[1](address)`, definitions such as
    `[1]: address`, numbers of more than three digits and `name[0]` are none. An answer without a citation is null with
    `no_citations`. Where nothing was retrieved (an empty list) no citation is valid, with the remark `no_contexts`;
    where that is not known (a missing cell) it is null with `no_contexts`.

    The details name the numbers that point to nothing: `{"invalid": [7]}`.
    """

    name = "citation_validity"
    version = "1"
    needs = ("answer", "contexts")
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="Does each `[n]` in the answer point to a context that exists?",
        formula="citations with 1 <= n <= number of contexts / citations; `[1, 3]` is two, `[2-4]` three; code, the "
        "text of links and numbers of more than three digits are none",
        source="dialwatch",
        odd_cases=OddCases(
            empty_answer="null with `no_citations`, `no_answer` for a missing cell",
            no_contexts="0.0 with `no_contexts` for an empty list, null with it for a missing cell",
            duplicate_contexts="each has its number",
        ),
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `contexts`."""
        return score_rows(self, frame, _score_row)


def citations(answer: str) -> list[int]:
    """Give the numbers that an answer cites, in its order and with repeats."""
    return [
        number
        for found in _CITATION.finditer(_DEFINITION.sub("", without_code(answer)))
        for number in _numbers(found["numbers"])
        if number or not found["before"]
    ]


def _numbers(cited: str) -> Iterator[int]:
    for first, last in _PART.findall(cited):
        if last and int(first) < int(last):
            yield from range(int(first), int(last) + 1)
        else:
            yield from (int(number) for number in (first, last) if number)


def _score_row(answer_cell: object, contexts_cell: object) -> Score:
    answer, contexts = text(answer_cell, "answer"), texts(contexts_cell, "contexts")
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not (cited := citations(answer)):
        return Score(None, UnscoredReason.NO_CITATIONS)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    invalid = [number for number in cited if not 1 <= number <= len(contexts)]
    details = {"invalid": sorted(set(invalid))} if invalid else {}
    return Score(1 - len(invalid) / len(cited), None if contexts else UnscoredReason.NO_CONTEXTS, details)


METRICS: tuple[Metric, ...] = (CitationValidity(),)
