"""Rows of the overview, of states that need no lake."""

from __future__ import annotations

import pytest

from monitor.pages.overview.rows import DeploymentRow, State, row_of
from monitor.pages.period import Days, PagePeriod
from monitor.service.snapshot import DeploymentState
from tests.monitor.conftest import NOW

PERIOD = PagePeriod(Days.WEEK, NOW)


@pytest.mark.parametrize(
    ("stopped", "why"),
    [
        ({"stopped": {"toxicity": "overflow"}}, "toxicity stopped by an error"),
        ({"stopped_judges": {"toxicity": "overflow"}}, "the judge of toxicity stopped by an error"),
        ({"stopped_floors": {"no_data": "overflow"}}, "limit no data stopped by an error"),
    ],
)
def test_what_an_error_stopped_is_a_warning_with_its_name(stopped: dict[str, dict[str, str]], why: str) -> None:
    """A metric, a judge or a limit that is not watched because of an error."""
    row = row_of("rag", DeploymentState(**stopped), PERIOD)  # type: ignore[arg-type]
    assert (row.state, row.state.value, row.why) == (State.WARNING, "warning", why)


@pytest.mark.parametrize(
    ("coverage", "words"),
    [(None, "–"), (0.0, "0 %"), (0.0001, "< 1 %"), (0.0099, "< 1 %"), (0.01, "1 %"), (0.999, "99 %"), (1.0, "100 %")],
)
def test_coverage_is_0_only_where_nothing_is_scored_and_100_only_where_all_is(
    coverage: float | None, words: str
) -> None:
    row = DeploymentRow("rag", State.FINE, "", None, 1, 1, {}, 0, 0, coverage, None)
    assert row.coverage_words == words
