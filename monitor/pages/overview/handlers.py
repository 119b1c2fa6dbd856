"""Handlers of the overview, of the same as JSON, and of the guide to the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from fastapi import Query as Parameter
from pydantic import BeforeValidator

from lake.spec.metric_names import MetricName, metric_names
from monitor.notify.texts.alert import summary
from monitor.pages.json_answers import json_answer
from monitor.pages.news import also_of, news_of
from monitor.pages.overview.as_json import overview_of
from monitor.pages.overview.judge_costs import has_judges
from monitor.pages.overview.query import Column, OverviewQuery, disliked_answers, failed_answers, worst_answers
from monitor.pages.overview.rows import OverviewTable, State, by_application, row_of
from monitor.pages.overview.strip import strip_of
from monitor.pages.page import Page
from monitor.pages.period import Days, PagePeriod
from monitor.pages.rendering import reader_of
from monitor.pages.times import IN_UTC, Times
from monitor.pages.visibility import health_for
from monitor.service.snapshot import Snapshot

MOST_ROWS = 500
"""On one page; the JSON has all."""


def _query(
    q: Annotated[str, Parameter(max_length=400)] = "",
    state: Annotated[State | None, BeforeValidator(lambda word: word or None)] = None,
    sort: Column = Column.STATE,
    days: Literal["1", "7", "30", "90"] = "7",
    *,
    reverse: bool = False,
    renew: bool = True,
) -> OverviewQuery:
    return OverviewQuery(q, state, sort, reverse, Days(int(days)), renew)


class OverviewPage(Page):
    """Handlers of `/`, `/overview.json` and `/metrics-guide`."""

    def show(self, request: Request, query: Annotated[OverviewQuery, Depends(_query)]) -> Response:
        """Answer with the overview as a page."""
        reader, times = reader_of(request), self._renderer.times
        snapshot = self._snapshot_for(request)
        health = health_for(reader, self._monitor.health())
        return self._renderer.page(
            request,
            "overview.html",
            query=query,
            table=self._by_application(_table(snapshot, query, times)) if snapshot else None,
            strip=strip_of(
                snapshot, health, sees_all=reader.may_see(None), times=times, currency=self._renderer.currency
            ),
            news=news_of(snapshot) if snapshot else None,
            also_of=partial(also_of, snapshot),
            snapshot=snapshot,
            health=health,
            summary=summary,
            sees_all=reader.may_see(None),
            has_judges=has_judges(snapshot, self._monitor.judge_budgets),
            failed_answers=failed_answers,
            disliked_answers=disliked_answers,
            worst_answers=worst_answers,
            most_rows=MOST_ROWS,
            State=State,
            Days=Days,
            Column=Column,
        )

    def show_json(self, request: Request, query: Annotated[OverviewQuery, Depends(_query)]) -> Response:
        """Answer with the overview as JSON."""
        reader, snapshot = reader_of(request), self._snapshot_for(request)
        table = _table(snapshot, query) if snapshot else None
        strip = strip_of(snapshot, health_for(reader, self._monitor.health()), sees_all=reader.may_see(None))
        return json_answer(overview_of(table, strip))

    def _by_application(self, table: OverviewTable) -> OverviewTable:
        return replace(table, rows=by_application(table.rows, self._monitor.settings.families))

    def metrics_guide(self, request: Request, q: Annotated[str, Parameter(max_length=400)] = "") -> Response:
        """Answer with what each metric means, or those whose name, identifier or sentence has all words of `q`."""
        names, scored = _named(q), _scored(self._snapshot_for(request))
        return self._renderer.page(
            request,
            "metrics_guide.html",
            q=q,
            sections={
                "Scored here": {metric: known for metric, known in names.items() if metric in scored},
                "All others" if scored else "All": {
                    metric: known for metric, known in names.items() if metric not in scored
                },
            },
        )


def _named(q: str) -> dict[str, MetricName]:
    # Of a metric with a number, such as hit_rate@5, the guide has one row.
    words = [word.partition("@")[0] for word in q.casefold().split()]
    said = {metric: f"{known.name} {metric} {known.says}".casefold() for metric, known in metric_names().items()}
    return {metric: known for metric, known in metric_names().items() if all(word in said[metric] for word in words)}


def _scored(snapshot: Snapshot | None) -> set[str]:
    """Return the metrics that deployments of a snapshot have scores of, without their numbers."""
    states = snapshot.deployments.values() if snapshot else ()
    return {metric.partition("@")[0] for state in states for metric in state.scores.metrics}


def _table(snapshot: Snapshot, query: OverviewQuery, times: Times = IN_UTC) -> OverviewTable:
    period = PagePeriod(query.days, snapshot.taken_at)
    rows = [
        row_of(name, state, period, times, snapshot.classes.get(name)) for name, state in snapshot.deployments.items()
    ]
    return OverviewTable(
        period=period,
        rows=query.chosen(rows),
        deployments=sum(row.has_name for row in rows),
        requests=sum(row.requests for row in rows),
        states=dict(Counter(row.state for row in rows)),
    )
