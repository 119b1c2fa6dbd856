"""Details that are made only for who reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import Description, OddCases, Scores, compute
from evaluator.metrics.scores import LateDetails, Score, score_rows

ABOUT = Description(asks="?", formula="", source="", odd_cases=OddCases())
FRAME = pd.DataFrame({"answer": ["one", "two"]})


@dataclass(frozen=True)
class Costly:
    """Scores 1.0, and notes whenever details are made; they cannot be made of `bad`."""

    made: list[str] = field(default_factory=list)
    name: str = "costly"
    version: str = "1"
    needs: tuple[str, ...] = ("answer",)
    judge: str = "lexical"
    about: Description = ABOUT

    def score(self, frame: pd.DataFrame) -> Scores:
        return score_rows(self, frame, lambda answer: Score(1.0, None, LateDetails(lambda: self.details(answer))))

    def details(self, answer: str) -> Mapping[str, Any]:
        self.made.append(answer)
        if answer == "bad":
            raise RuntimeError
        return {"said": answer}


def test_details_that_nobody_asked_for_are_not_made() -> None:
    metric = Costly()
    assert compute(FRAME, [metric])["costly"].tolist() == [1.0, 1.0]
    assert metric.made == []


def test_details_are_made_once_each() -> None:
    metric = Costly()
    written = compute(FRAME, [metric], details=True)["costly_details"]
    assert [json.loads(one) for one in written] == [{"said": "one"}, {"said": "two"}]
    scores = metric.score(FRAME).with_details()
    assert [dict(one) for one in scores.details] == [{"said": "one"}, {"said": "two"}]
    assert metric.made == ["one", "two"] * 2


def test_what_fails_in_making_details_fails_with_the_scores() -> None:
    """So the evaluator leaves out that metric and goes on with the others."""
    scores = Costly().score(pd.DataFrame({"answer": ["bad"]}))
    with pytest.raises(RuntimeError):
        scores.with_details()
