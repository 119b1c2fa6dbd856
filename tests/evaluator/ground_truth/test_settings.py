"""Settings of ground truth."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluator.ground_truth import GroundTruthSettings
from evaluator.models import Models


def test_defaults_are_those_that_the_documentation_says() -> None:
    """And their ranges."""
    found = GroundTruthSettings()
    assert found.model_dump() == {
        "least_confidence": 0.8, "most_per_day": 50, "use_proposed": True, "judge": None, "facts_by_embedding": False,
        "least_fact_similarity": 0.5, "match_by_embedding": False, "least_similarity": 0.95,
    }  # fmt: skip
    assert found.matching(Models()).status == ("proposed", "accepted")
    assert found.similar_sentences(Models()) is None
    by_accepted = GroundTruthSettings(use_proposed=False, facts_by_embedding=True, least_fact_similarity=0.7)
    assert by_accepted.matching(Models()).status == ("accepted",)
    similar = by_accepted.similar_sentences(Models())
    assert similar is not None
    assert similar.least == 0.7
    for name, wrong in [("least_confidence", 0.0), ("least_confidence", 1.1), ("most_per_day", -1), ("judge", "")]:
        with pytest.raises(ValidationError):
            GroundTruthSettings.model_validate({name: wrong})
