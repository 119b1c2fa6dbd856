from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dialwatch.services.evaluator_metrics import PassMeter
from evaluator.service.group import EvaluatorGroup
from evaluator.service.passes import Failure, PassResult
from lake.tables.lake import Lake


def test_passes_are_counted_by_how_they_end(tmp_path: Path) -> None:
    """One that leaves out a deployment has failed, as has one that ends with an error; both let the age grow."""
    now = [0.0]
    group = EvaluatorGroup(Lake(str(tmp_path)), ("evaluator", "here", datetime.now(UTC)))
    meter = PassMeter(group, "production", lambda: now[0])

    def value(name: str, **labels: str) -> float | None:
        return meter.registry.get_sample_value(f"dialwatch_evaluator_{name}", labels | {"installation": "production"})

    with meter.measured() as note:
        now[0] = 5
        note(PassResult(scored=3, unscored=Counter(no_answer=2)))
    now[0] = 15
    assert (value("pass_duration_seconds"), value("pass_age_seconds")) == (5, 10)
    with meter.measured() as note:
        note(PassResult(scored=1, failures=(Failure("rag", "away"),)))
    with pytest.raises(OSError, match="away"), meter.measured():
        raise OSError("away")
    assert (value("passes_total", outcome="well"), value("passes_total", outcome="failed")) == (1, 2)
    assert (value("failed_deployments"), value("pass_age_seconds")) == (1, 10)
    assert (value("scores_total"), value("unscored_total", reason="no_answer")) == (4, 2)
