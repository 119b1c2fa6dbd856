"""Findings of the evaluator, read from the details of scores."""

from __future__ import annotations

from typing import Any

import pytest

from lake.queries.answer_details import AnswerDetails, AnswerScore
from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from monitor.pages.answers.findings import JudgedClaim, claims_in
from tests.monitor.conftest import NOW


def answer_with(details: dict[str, Any]) -> AnswerDetails:
    score = AnswerScore("correctness", "1", 0.5, None, "strict", details, None, 0, 1, 0, NOW, False, True)
    return AnswerDetails(
        {}, AnswerStatus.OK, (), AnswerRating.NONE, AnswerLabel.NONE, (), None, (), (score,), (), ()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "found", "verdict", "is_bad"),
    [
        ("reference_facts", {"stated": True}, "stated by the answer", False),
        ("reference_facts", {"stated": False}, "not stated by the answer", True),
        ("reference_facts", {}, "no verdict", False),
        ("facts", {"verdict": "S"}, "supported", False),
        ("facts", {"verdict": "C"}, "contradicted", True),
        ("facts", {"verdict": "N"}, "not in the contexts", True),
        ("facts", {"verdict": "?"}, "no verdict", False),
    ],
)
def test_a_claim_has_its_text_and_its_verdict_in_words(
    name: str, found: dict[str, Any], verdict: str, is_bad: bool
) -> None:
    """Of the reference answer whether the answer states it, of the answer whether the contexts support it."""
    details = {name: [{"fact": "Tea is free.", "contexts": [1], "reason": "as written"} | found]}
    (claims,) = claims_in(answer_with(details))
    assert claims.of_reference is (name == "reference_facts")
    assert claims.claims == (JudgedClaim("Tea is free.", verdict, is_bad, (2,), "as written"),)
