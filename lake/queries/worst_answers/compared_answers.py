"""The worst answers since an onset, and good ones beside them, with what they are compared by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lake.queries.latest_rows import each_once
from lake.queries.metric_scores import metric_scores, texts_of_answers
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.day_reading import DayReader, RequestPeriod
from lake.tables.lake import Lake
from lake.tables.table import Table

MOST_WORST, MOST_GOOD = 300, 600
"""Answers that are compared."""
_CHARACTERS = 1_000
"""Of a question."""
_MOST_DOCUMENTS = 50
"""Of an answer."""
_DAYS, _ENOUGH = timedelta(days=7), 5_000
"""Scores are read of so many days before the onset, and since; the latest days until there are enough."""

ScoredAnswers = tuple[str | None, pa.Table]
"""A deployment and rows of `metric_scores`."""


@dataclass(frozen=True)
class ComparedAnswer:
    """What an answer is compared by; `documents` are the names of those that it had."""

    question: str
    chat_id: str | None
    project: str | None
    client: str | None
    language: str | None
    documents: tuple[str, ...]


@dataclass(frozen=True)
class ComparedAnswers:
    """The worst answers since an onset, the worst first, and good ones."""

    worst: tuple[ComparedAnswer, ...]
    good: tuple[ComparedAnswer, ...]


@dataclass(frozen=True)
class ScoredFall:
    """A fall of a metric: between `earliest` and `onset` it began, and `reference` is its mean of before.

    `older` is the deployment of what was before, another one where the fall came with a new version.
    """

    name: str | None
    older: str | None
    metric: str
    version: str
    earliest: datetime
    onset: datetime
    reference: float
    lower_is_better: bool


def read_compared(lake: Lake, fall: ScoredFall, until: datetime) -> ComparedAnswers:
    """Read the answers of a fall; `until` is its end, or now."""

    def scores(name: str | None, since: datetime, until: datetime) -> pa.Table:
        return metric_scores(lake, name, fall.metric, fall.version, since, until, _ENOUGH)

    since = scores(fall.name, max(fall.onset, until - _DAYS), until)
    earlier = fall.older, scores(fall.older, fall.earliest - _DAYS, fall.earliest)
    return compared(lake, (fall.name, since), earlier, fall.reference, lower_is_better=fall.lower_is_better)


def compared(
    lake: Lake, since: ScoredAnswers, earlier: ScoredAnswers, reference: float, *, lower_is_better: bool
) -> ComparedAnswers:
    """Choose the worst answers since an onset, and good ones since, and where these are few good earlier ones.

    The worst are worse than the mean since and than that of before, the good are no worse than that of before: about
    half of ordinary answers are worse than their own mean, and tell nothing. Those of the same time come first: what is
    asked changes with the season, also where nothing is wrong.
    """
    name, rows = since
    means = [reference, *(one for one in [pc.mean(rows["value"]).as_py()] if one is not None)]
    worst = worse_than(rows, max(means) if lower_is_better else min(means), lower_is_better=lower_is_better)
    good = as_good_as(rows, reference, MOST_GOOD, lower_is_better=lower_is_better)
    older = as_good_as(earlier[1], reference, MOST_GOOD - good.num_rows, lower_is_better=lower_is_better)
    return ComparedAnswers(
        tuple(_answers(lake, name, worst)), (*_answers(lake, name, good), *_answers(lake, earlier[0], older))
    )


def worse_than(rows: pa.Table, reference: float, *, lower_is_better: bool) -> pa.Table:
    """Return the rows of `metric_scores` that are worse than a reference, the worst first."""
    compare = pc.greater if lower_is_better else pc.less
    return first_rows(rows.filter(compare(rows["value"], reference)), MOST_WORST, lowest=not lower_is_better)


def as_good_as(rows: pa.Table, reference: float | None, most: int, *, lower_is_better: bool) -> pa.Table:
    """Return the best rows of `metric_scores` that are no worse than a reference; None is worse than all."""
    if reference is not None:
        compare = pc.less_equal if lower_is_better else pc.greater_equal
        rows = rows.filter(compare(rows["value"], reference))
    return first_rows(rows, most, lowest=lower_is_better)


def first_rows(rows: pa.Table, most: int, *, lowest: bool) -> pa.Table:
    """Return the rows with the lowest or the highest values, of equal ones the latest."""
    keys = [("value", "ascending" if lowest else "descending"), ("requested_at", "descending")]
    return rows.take(pc.sort_indices(rows, sort_keys=keys)[:most])


def _answers(lake: Lake, name: str | None, rows: pa.Table) -> Iterator[ComparedAnswer]:
    """Yield the answers in their order."""
    texts = texts_of_answers(lake, name, rows, ("question", "chat_id", "project_id", "client"), _CHARACTERS)
    documents, languages = _documents(lake, name, rows), _languages(lake, name, rows)
    for event_id in rows["event_id"].to_pylist():
        if (text := texts.get(event_id)) is not None:
            yield ComparedAnswer(
                question=text["question"] or "",
                chat_id=text["chat_id"],
                project=text["project_id"],
                client=text["client"],
                language=languages.get(event_id),
                documents=documents.get(event_id, ()),
            )


def _documents(lake: Lake, name: str | None, answers: pa.Table) -> dict[str, tuple[str, ...]]:
    columns = ("event_id", "ingested_at", "contexts", "documents")
    rows = _rows(lake.table(PARSED_LOGS, name), answers, columns, {"contexts": ("title", "url")})
    return {row["event_id"]: document_names(row) for row in each_once(rows).to_pylist()}


def _languages(lake: Lake, name: str | None, answers: pa.Table) -> dict[str, str]:
    rows = _rows(lake.table(SCORES, name), answers, ("event_id", "segment")).to_pylist()
    known = ((row["event_id"], language_of(row["segment"])) for row in rows)
    return {event_id: language for event_id, language in known if language}


def _rows(
    table: Table, answers: pa.Table, columns: Sequence[str], members: Mapping[str, Sequence[str]] | None = None
) -> pa.Table:
    """Return the rows of answers, a day at a time."""
    if not answers.num_rows:
        return pa.schema([table.spec.schema.field(name) for name in columns]).empty_table()
    ends = pc.min_max(answers["date"]).as_py()
    reader, parts = DayReader(table, ends["min"], ends["max"]), []
    for day in pc.unique(answers["date"]).to_pylist():
        of_day = answers.filter(pc.equal(answers["date"], day))
        asked = pc.min_max(of_day["requested_at"]).as_py()
        ids, period = of_day["event_id"].to_pylist(), RequestPeriod(asked["min"], asked["max"])
        parts.append(reader.read_rows(["event_id"], ids, columns, [day], period, members or {}))
    return pa.concat_tables(parts)


def language_of(segment: str | None) -> str | None:
    """Return the language in a `segment` of `scores`; None where it names none."""
    try:
        language = msgspec.json.decode(segment).get("language") if segment else None
    except (msgspec.MsgspecError, AttributeError):
        return None
    return language if isinstance(language, str) and language else None


def document_names(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the documents of an answer of `parsed_logs`: titles of chunks, else ends of addresses.

    Those that were retrieved come first, then those that were sent along; each once.
    """
    chunks = ((chunk or {}) for chunk in (row["contexts"] or ())[:_MOST_DOCUMENTS])
    retrieved = (chunk.get("title") or _end(chunk.get("url") or "") for chunk in chunks)
    # An image within the question has a hash in place of a name.
    sent = (_end(one) for one in (row["documents"] or ())[:_MOST_DOCUMENTS] if one and not one.startswith("inline:"))
    return tuple(dict.fromkeys(name for name in (*retrieved, *sent) if name))


def _end(address: str) -> str:
    """Return the name of the file at an address."""
    return unquote(address.split("?")[0].split("#")[0].rstrip("/").rpartition("/")[2])
