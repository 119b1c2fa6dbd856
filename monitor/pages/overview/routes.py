"""Routes of the overview: `/`, and the same as `/overview.json`."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from fastapi import Depends, FastAPI, Request, Response
from fastapi import Query as Parameter
from pydantic import BeforeValidator

from monitor.notify.alert_text import summary
from monitor.pages.json_answers import described, json_answer
from monitor.pages.news import news_of
from monitor.pages.overview import links
from monitor.pages.overview.as_json import Overview, overview_of
from monitor.pages.overview.query import Column, Query
from monitor.pages.overview.rows import State, Table, row_of
from monitor.pages.overview.strip import strip_of
from monitor.pages.period import Days, Period
from monitor.pages.rendering import Renderer, reader_of
from monitor.pages.times import IN_UTC, Times
from monitor.pages.visibility import health_for, snapshot_for
from monitor.service.monitor import Monitor
from monitor.service.snapshot import Snapshot

MOST_ROWS = 500
"""On one page; the JSON has all."""


def add_overview(app: FastAPI, monitor: Monitor, renderer: Renderer) -> None:
    """Serve the overview from the monitor's newest snapshot."""

    @app.get("/")
    def overview(request: Request, query: Annotated[Query, Depends(_query)]) -> Response:
        reader = reader_of(request)
        snapshot = snapshot_for(reader, monitor.snapshot)
        health = health_for(reader, monitor.health())
        return renderer.page(
            request,
            "overview.html",
            query=query,
            table=_table(snapshot, query, renderer.times) if snapshot else None,
            strip=strip_of(snapshot, health, sees_all=reader.may_see(None), times=renderer.times),
            news=news_of(snapshot) if snapshot else None,
            snapshot=snapshot,
            health=health,
            summary=summary,
            sees_all=reader.may_see(None),
            links=links,
            most_rows=MOST_ROWS,
            State=State,
            Days=Days,
            Column=Column,
        )

    @app.get("/overview.json", **described(Overview, "All deployments over a period, and how dialwatch itself is"))
    def overview_json(request: Request, query: Annotated[Query, Depends(_query)]) -> Response:
        reader = reader_of(request)
        snapshot = snapshot_for(reader, monitor.snapshot)
        table = _table(snapshot, query) if snapshot else None
        strip = strip_of(snapshot, health_for(reader, monitor.health()), sees_all=reader.may_see(None))
        return json_answer(overview_of(table, strip))


def _query(
    q: Annotated[str, Parameter(max_length=400)] = "",
    state: Annotated[State | None, BeforeValidator(lambda word: word or None)] = None,
    sort: Column = Column.STATE,
    days: Literal["1", "7", "30", "90"] = "7",
    *,
    reverse: bool = False,
    renew: bool = True,
) -> Query:
    return Query(q, state, sort, reverse, Days(int(days)), renew)


def _table(snapshot: Snapshot, query: Query, times: Times = IN_UTC) -> Table:
    period = Period(query.days, snapshot.taken_at)
    rows = [row_of(name, state, period, times) for name, state in snapshot.deployments.items()]
    return Table(
        period=period,
        rows=query.chosen(rows),
        deployments=sum(row.has_name for row in rows),
        requests=sum(row.requests for row in rows),
        states=dict(Counter(row.state for row in rows)),
    )
