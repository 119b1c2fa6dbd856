"""Handlers of the page that compares answers, and of the same as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from fastapi import Request, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from lake.queries.preferences import Preferences
from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.service_vocabulary import AuditAction
from monitor.pages.answers.addresses import Visible, address_of
from monitor.pages.answers.query import BadQueryError
from monitor.pages.compare.beginning import Beginning, beginning_of
from monitor.pages.compare.pairs import AnswerPair, PairedComparison, different_words
from monitor.pages.compare.query import Between, CompareQuery
from monitor.pages.compare.reading import (
    Compared,
    ReplayRunRow,
    chosen_runs,
    compare_periods,
    compare_runs,
    runs_of,
    versions_of,
)
from monitor.pages.json_answers import json_answer
from monitor.pages.page import Page
from monitor.pages.texts import TextMark, marked

_UNPROCESSABLE = 422
_TITLE = "not in the other answer"


@dataclass(frozen=True)
class CompareData:
    """What is compared, and what was found; `found` is null where no question has a score on both sides.

    `preferences` is what a judge said of answers of both, whatever their scores; null where none was asked.
    `before_deployment` is that of the earlier side. `versions` are those of the metric on the sides, of two periods.
    """

    deployment: str
    before_deployment: str
    metric: str
    before: str
    after: str
    versions: tuple[str, str]
    found: PairedComparison | None
    preferences: Preferences | None


@dataclass(frozen=True)
class _Read:
    query: CompareQuery
    metrics: Sequence[str]
    runs: tuple[Sequence[ReplayRunRow], Sequence[ReplayRunRow]] = ((), ())
    """Runs to choose from, of the earlier side and of the later one."""
    found: PairedComparison | None = None
    preferences: Preferences | None = None
    names: tuple[str, str] = ("", "")
    versions: tuple[str, str] = ("", "")
    """Of the metric, on the earlier side and on the later one; empty for runs."""
    may_read_texts: bool = False
    command: str = ""
    """What asks a judge about these answers, where none was asked and the reader may act; else empty."""


class ComparePage(Page):
    """Handlers of the comparison."""

    def show(self, request: Request) -> Response:
        """Answer with the comparison as a page, or with what is wrong with the address."""
        seen = Visible.to(request, self._monitor.snapshot)
        read, problem = None, ""
        begun = self._beginning(request.query_params, seen)
        try:
            read = self._read(begun.fields if begun else request.query_params, seen)
        except BadQueryError as error:
            problem = str(error)
        return self._renderer.page(
            request,
            "compare.html",
            _UNPROCESSABLE if problem else 200,
            names=list(seen.states),
            read=read,
            begun=begun,
            problem=problem,
            Between=Between,
            answers_of=_marked_answers,
            address_of=address_of,
        )

    def _beginning(self, given: Mapping[str, str], seen: Visible) -> Beginning | None:
        """Return what is compared where the address names a deployment at most."""
        named = given.get("deployment", "")
        if given.keys() - {"deployment"} or (given and named not in seen.states):
            return None
        return beginning_of(seen, named)

    def show_json(self, request: Request) -> Response:
        """Answer with the comparison as JSON."""
        try:
            read = self._read(request.query_params, Visible.to(request, self._monitor.snapshot))
        except BadQueryError as error:
            raise HTTPException(_UNPROCESSABLE, str(error)) from None
        if not read.query.deployment:
            raise HTTPException(_UNPROCESSABLE, "A comparison is of a deployment: it is missing")
        return json_answer(
            CompareData(
                read.query.deployment,
                read.query.earlier_deployment,
                read.query.metric,
                *read.names,
                read.versions,
                read.found,
                read.preferences,
            )
        )

    def _read(self, given: Mapping[str, str], seen: Visible) -> _Read:
        query = CompareQuery.read(given, seen.now.date())
        name = query.deployment
        if not name:
            return _Read(query, ())
        names = tuple(dict.fromkeys((name, query.earlier_deployment)))
        if any(one not in seen.states for one in names):
            raise BadQueryError("There is no such deployment")
        metrics = sorted(seen.states[name].scores.metrics)
        usual = CASE_PASSED if query.between == Between.REPLAYS or CASE_PASSED in metrics else next(iter(metrics), "")
        query = query.with_metric(query.metric or usual)
        read = self._reads.run(seen.reader, lambda: self._compared(query, seen, metrics))
        if query.between == Between.PERIODS and read.found and not read.preferences:
            read = replace(read, command=_command(query) if all(map(seen.reader.may_act, names)) else "")
        if not all(map(seen.may_read_texts, names)):
            return replace(read, found=read.found and read.found.without_texts())
        if read.found is not None:
            detail = f"{len(read.found.pairs)} pairs of answers that were compared"
            for one in names:
                self._monitor.audit.note(seen.reader.who, AuditAction.READ_TEXTS, one, detail=detail)
        return replace(read, may_read_texts=True)

    def _compared(self, query: CompareQuery, seen: Visible, metrics: Sequence[str]) -> _Read:
        lake, name = self._monitor.lake, query.deployment
        stats = seen.states[name].scores.metrics.get(query.metric)
        if query.between == Between.PERIODS:
            of_earlier = seen.states[query.earlier_deployment].scores.metrics.get(query.metric)
            versions = versions_of(query, of_earlier, stats)
            found = compare_periods(lake, query, stats, versions)
            return _Read(
                query,
                metrics,
                found=found.pairs,
                preferences=found.preferences,
                names=_periods(query),
                versions=versions,
            )
        runs = runs_of(lake, name)
        earlier = runs_of(lake, query.before_deployment) if query.before_deployment else runs
        before, after = chosen_runs(query, runs, earlier)
        found = compare_runs(lake, query, stats, before, after) if before and after else Compared()
        return _Read(query, metrics, (earlier, runs), found.pairs, found.preferences, (before, after))


def _command(query: CompareQuery) -> str:
    """Return the command that asks a judge about the answers of two periods; empty where these have common days."""
    earlier, later = query.sides
    if earlier.overlap(later):
        return ""
    named = {"deployment": query.deployment, "before-deployment": query.before_deployment}
    days = {"since": later.since, "until": later.until, "before-since": earlier.since, "before-until": earlier.until}
    options = ((f"--{name}", str(value)) for name, value in (named | days).items() if value)
    return shlex.join(["dialwatch", "compare", *chain.from_iterable(options)])


def _periods(query: CompareQuery) -> tuple[str, str]:
    """Return both periods in words: days, and the time that divides them where there is one."""
    onset = f"{query.onset:%Y-%m-%d %H:%M}" if query.onset else ""
    return (
        f"{query.before_since} to {onset or query.before_until}",
        f"{onset or query.after_since} to {query.after_until}",
    )


def _marked_answers(pair: AnswerPair) -> tuple[Markup, Markup]:
    """Return both answers as HTML, with the words marked that the other does not have."""
    texts = pair.before.answer or "", pair.after.answer or ""
    old, new = (marked(text, [TextMark("different", places, _TITLE)])
                for text, places in zip(texts, different_words(*texts), strict=True))  # fmt: skip
    return old, new
