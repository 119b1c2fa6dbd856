"""Words of the questions and of the documents of the worst answers that good answers do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from lake.queries.latest_rows import each_once
from lake.queries.metric_scores import texts_of_answers
from lake.queries.question_keys import normalised_question
from lake.queries.telling_words import TellingWord, telling_words
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, RequestPeriod
from lake.tables.lake import Lake
from runtime.words import words

MOST_WORST, MOST_GOOD = 300, 600
"""Answers that are compared."""
_MOST_WORDS = 8
_CHARACTERS = 1_000
"""Of a question."""
_MOST_DOCUMENTS = 50
"""Of an answer."""
_BETWEEN = re.compile(r"[-_.]+")
"""In names of files there are no spaces: `leave-policy_2026.pdf` is four words."""

ScoredAnswers = tuple[str | None, pa.Table]
"""A deployment and rows of `metric_scores`."""


@dataclass(frozen=True)
class AnswerWords:
    """Words that the worst answers have more often than good ones, the clearest first.

    `worst` and `good` are the answers that were compared: of each, a conversation and a question count once.
    """

    worst: int
    good: int
    questions: tuple[TellingWord, ...] = ()
    documents: tuple[TellingWord, ...] = ()


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


def words_of_worst(
    lake: Lake,
    name: str | None,
    since: pa.Table,
    earlier: ScoredAnswers,
    reference: float,
    *,
    lower_is_better: bool,
) -> AnswerWords:
    """Compare the worst answers since an onset with good ones since, and where these are few with good earlier ones.

    Those of the same time come first: what is asked changes with the season, also where nothing is wrong. `since` and
    `earlier` are scores of one metric, and `reference` is its mean of before.
    """
    worst = worse_than(since, reference, lower_is_better=lower_is_better)
    good = as_good_as(since, reference, MOST_GOOD, lower_is_better=lower_is_better)
    older = as_good_as(earlier[1], reference, MOST_GOOD - good.num_rows, lower_is_better=lower_is_better)
    bad = list(_apart(_said(lake, name, worst)))
    fine = list(_apart([*_said(lake, name, good), *_said(lake, earlier[0], older)]))
    questions, documents = (
        telling_words([one[place] for one in bad], [one[place] for one in fine], _MOST_WORDS, tests=2)
        for place in (0, 1)
    )
    return AnswerWords(len(bad), len(fine), questions, documents)


def _said(lake: Lake, name: str | None, rows: pa.Table) -> list[dict[str, Any]]:
    """Return the texts of the answers in their order, with the names of their documents."""
    texts = texts_of_answers(lake, name, rows, ("question", "chat_id"), _CHARACTERS)
    documents = _documents(lake, name, rows)
    ids = [one for one in rows["event_id"].to_pylist() if one in texts]
    return [texts[one] | {"documents": documents.get(one, ())} for one in ids]


def _apart(answers: Sequence[dict[str, Any]]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the words of question and documents, of a conversation and of a question once: others say no more."""
    seen: set[str] = set()
    for one in answers:
        question = one["question"] or ""
        keys = {f"chat {one['chat_id']}"} if one["chat_id"] else set()
        if said := normalised_question(question):
            keys.add(f"asked {said}")
        if keys.isdisjoint(seen):
            seen |= keys
            yield set(words(question)), {word for name in one["documents"] for word in words(_BETWEEN.sub(" ", name))}


def _documents(lake: Lake, deployment: str | None, answers: pa.Table) -> dict[str, list[str]]:
    """Return by `event_id` the names of the documents that answers had: titles of chunks, else ends of addresses."""
    found: dict[str, list[str]] = {}
    for day in pc.unique(answers["date"]).to_pylist():
        of_day = answers.filter(pc.equal(answers["date"], day))
        asked = pc.min_max(of_day["requested_at"]).as_py()
        rows = DayReader(lake.table(PARSED_LOGS, deployment), day, day).read_rows(
            ["event_id"],
            of_day["event_id"].to_pylist(),
            ("event_id", "ingested_at", "contexts", "documents"),
            [day],
            RequestPeriod(asked["min"], asked["max"]),
            {"contexts": ("title", "url")},
        )
        for row in each_once(rows).to_pylist():
            found[row["event_id"]] = document_names(row)
    return found


def document_names(row: dict[str, Any]) -> list[str]:
    """Return the names of the documents that an answer of `parsed_logs` had, retrieved or sent along, each once."""
    chunks = ((chunk or {}) for chunk in (row["contexts"] or ())[:_MOST_DOCUMENTS])
    retrieved = (chunk.get("title") or _end(chunk.get("url") or "") for chunk in chunks)
    # An image within the question has a hash in place of a name.
    sent = (_end(one) for one in (row["documents"] or ())[:_MOST_DOCUMENTS] if one and not one.startswith("inline:"))
    return list(dict.fromkeys(name for name in (*retrieved, *sent) if name))


def _end(address: str) -> str:
    """Return the name of the file at an address."""
    return unquote(address.split("?")[0].split("#")[0].rstrip("/").rpartition("/")[2])
