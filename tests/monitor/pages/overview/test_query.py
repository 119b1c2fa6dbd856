"""Search, filter and order of the overview's rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from monitor.pages.overview.query import Column, OverviewQuery
from monitor.pages.overview.rows import DeploymentRow, State
from monitor.pages.overview.worst_metric import WorstMetric
from monitor.pages.period import Days

NOW = datetime(2026, 11, 20, tzinfo=UTC)
COUNTS = st.integers(0, 3)
WORST = st.none() | st.builds(
    WorstMetric,
    metric=st.just("m"),
    reference=st.just(0.5),
    mean=st.none() | st.sampled_from([0.25, 0.5, 0.75]),
    worse_by=st.sampled_from([-0.25, 0.0, 0.25]),
    is_regressed=st.booleans(),
    is_learning=st.booleans(),
    trend=st.none(),
)
ROWS = st.lists(
    st.builds(
        DeploymentRow,
        name=st.text("abAB/<é", max_size=4),
        state=st.sampled_from(State),
        why=st.just(""),
        worst=WORST,
        requests=COUNTS,
        answers=COUNTS,
        failures=st.dictionaries(st.sampled_from(["429", "500"]), COUNTS),
        likes=COUNTS,
        dislikes=COUNTS,
        coverage=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
        last_scored=st.none() | st.builds(lambda days: NOW + timedelta(days=days), COUNTS),
    ),
    max_size=12,
    unique_by=lambda row: row.name,
)
QUERIES = st.builds(
    OverviewQuery,
    q=st.text("abAB/<é ", max_size=2),
    state=st.none() | st.sampled_from(State),
    sort=st.sampled_from(Column),
    reverse=st.booleans(),
    days=st.sampled_from(Days),
    renew=st.booleans(),
)


def value(row: DeploymentRow, column: Column) -> object:
    """What a column shows, larger for what a reader looks for first."""
    states = list(State)
    has_mean = row.worst is not None and row.worst.mean is not None
    return {
        Column.STATE: -states.index(row.state),
        Column.NAME: (*(-ord(letter) for letter in row.name.casefold()), 1),
        Column.CHANGE: row.worst.worse_by if row.worst and has_mean else None,
        Column.REQUESTS: row.requests,
        Column.FAILURES: row.failed,
        Column.DISLIKES: row.dislikes,
        Column.SCORED: row.last_scored and -row.last_scored.timestamp(),
        Column.COVERAGE: None if row.coverage is None else -row.coverage,
    }[column]


@given(ROWS, QUERIES)
def test_exactly_the_rows_that_fit_are_there_in_order(rows: list[DeploymentRow], query: OverviewQuery) -> None:
    """No row is lost or twice; those without a value are last either way; the order of the input does not matter."""
    found = query.chosen(rows)
    fitting = [row for row in rows if query.q.casefold() in row.name.casefold() and query.state in (None, row.state)]
    assert sorted(row.name for row in found) == sorted(row.name for row in fitting)
    values = [value(row, query.sort) for row in found]
    known = [one for one in values if one is not None]
    assert values == known + [None] * (len(values) - len(known))
    assert known == sorted(known, reverse=not query.reverse)  # type: ignore[type-var]
    assert query.chosen(rows[::-1]) == found


@given(ROWS)
def test_problems_are_first(rows: list[DeploymentRow]) -> None:
    """Without a choice pages come before warnings, and these before all others."""
    places = [list(State).index(row.state) for row in OverviewQuery().chosen(rows)]
    assert places == sorted(places)
    assert list(State)[:2] == [State.PAGE, State.WARNING]


@given(QUERIES, st.sampled_from(Column), st.sampled_from(Days))
def test_the_address_says_all_of_the_query(query: OverviewQuery, column: Column, days: Days) -> None:
    """It can be read back; a link changes what it is about, and nothing else."""

    def read(address: str) -> OverviewQuery:
        given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        state = State(given["state"]) if "state" in given else None
        return OverviewQuery(
            given.get("q", ""),
            state,
            Column(given.get("sort", Column.STATE)),
            given.get("reverse") == "true",
            Days(int(given.get("days", 7))),
            given.get("renew") != "false",
        )

    assert read(query.address()) == query
    assert read(query.over(days)) == replace(query, days=days)
    other = read(query.sorted_by(column))
    assert (other.q, other.state, other.sort, other.days) == (query.q, query.state, column, query.days)
    assert other.reverse is (query.sort is column and not query.reverse)
    assert read(query.everything) == replace(query, q="", state=None)


def test_the_usual_query_is_the_bare_address() -> None:
    """Without a choice the page renews itself, over a week, sorted by state."""
    assert OverviewQuery() == OverviewQuery(
        q="", state=None, sort=Column.STATE, reverse=False, days=Days.WEEK, renew=True
    )
    assert OverviewQuery().address() == "/"
