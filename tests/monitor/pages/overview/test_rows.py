"""Rows of the overview, of states that need no lake."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.deployment_families import Families
from monitor.detect.limits import LimitReading
from monitor.detect.stats.period_sums import PeriodSums
from monitor.detect.stats.requests import RequestStats
from monitor.pages.overview.rows import DeploymentRow, State, by_application, row_of
from monitor.pages.period import Days, PagePeriod
from monitor.service.snapshot import DeploymentState
from tests.monitor.conftest import NOW

PERIOD = PagePeriod(Days.WEEK, NOW)


@pytest.mark.parametrize(
    ("stopped", "why"),
    [
        ({"stopped": {"toxicity": "overflow"}}, "“abusive answers” stopped by an error"),
        ({"stopped_judges": {"toxicity": "overflow"}}, "the judge of “abusive answers” stopped by an error"),
        ({"stopped_limits": {"no_data": "overflow"}}, "limit “no requests” stopped by an error"),
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


def row(name: str, state: State = State.FINE, requests: int = 5) -> DeploymentRow:
    return DeploymentRow(name, state, "", None, requests, requests, {}, 0, 0, None, None)


def test_versions_of_an_application_are_one_row_that_of_the_newest_one_in_use() -> None:
    """Where it stood; a version with a problem keeps its row, and so does what is of no family."""
    rows = [row("help__1.1.0"), row("gpt-4"), row("help__1.0.0"), row("help__1.10.0", requests=0)]
    rows += [row("help__0.9.0", State.WARNING), row("chat__1.0.0")]
    shown = by_application(rows, Families())
    assert [one.name for one in shown] == ["help__1.1.0", "gpt-4", "help__0.9.0", "chat__1.0.0"]
    assert [one.name for one in shown[0].other_versions] == ["help__1.10.0", "help__1.0.0"]
    assert not any(one.other_versions for one in shown[1:])
    assert by_application(rows, Families(by_id=False)) == rows


@pytest.mark.parametrize(
    ("stopped", "why", "is_silent"),
    [
        ({}, "since 20 Nov, 11:05 UTC; before that: no scores, the evaluator has not scored its answers yet", True),
        ({"toxicity": "overflow"}, "“abusive answers” stopped by an error; no request since 20 Nov, 11:05 UTC", False),
    ],
)
def test_a_state_without_requests_is_that_of_then(stopped: dict[str, str], why: str, is_silent: bool) -> None:
    """A problem stays what is said first."""
    at = NOW - timedelta(minutes=55)
    rows = pa.table({"requested_at": pa.array([at], pa.timestamp("us", "UTC"))})
    limits = {LimitKind.NO_DATA: LimitReading(False, silent_since=at)}
    state = DeploymentState(
        RequestStats(by_time=PeriodSums().with_values(rows["requested_at"], *[np.ones(1)] * 5)),
        stopped=stopped,
        limits=limits,
    )
    found = row_of("rag", state, PERIOD)
    assert (found.why, found.is_silent, found.silent_since) == (why, is_silent, at)


def test_of_versions_without_requests_the_newest_has_the_row() -> None:
    (shown,) = by_application([row("help__1.0.0", requests=0), row("help__1.1.0", requests=0)], Families())
    assert (shown.name, [one.name for one in shown.other_versions]) == ("help__1.1.0", ["help__1.0.0"])
