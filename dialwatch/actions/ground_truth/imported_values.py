"""Values of one row of a file of cases: checked, and made into a case or into what changes of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dialwatch.actions.ground_truth.case_content import (
    CONTENT,
    LISTS,
    TEXTS,
    changes_of,
    is_utf8,
)
from dialwatch.reports.fact_places import found_places
from evaluator.metrics import CITATION
from lake.queries.case_citations import citations_of, statements_of

EXTRACTOR = "import"
"""`ground_truth.extractor` of what a file gave."""

BESIDE = ("conversation_hash", "source_response_id", "confidence")
"""Columns beside the content that a file may give."""

Values = Mapping[str, Any]


def wrong_values(values: Values) -> Iterator[str]:
    """Say which values of a row are of another kind than the column; what is not given is right."""
    for name in (*TEXTS, "case_id", "conversation_hash", "source_response_id", "note"):
        if problem := _no_text(values.get(name)):
            yield f"{name} {problem}"
    for name in (*LISTS, "context_ids"):
        items = values.get(name)
        if items is not None and not isinstance(items, list):
            yield f"{name} must be a list of texts, and not {items!r:.60}"
            continue
        for place, item in enumerate(items or (), 1):
            if problem := _no_text(item, may_be_null=name == "context_ids"):
                yield f"{name}, no. {place}: it {problem}"
    confidence = values.get("confidence")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if confidence is not None and not (is_number and 0 <= confidence <= 1):
        yield f"confidence must be a number from 0 to 1, and not {confidence!r:.60}"
    if isinstance(values.get("context_ids"), list) and len(values["context_ids"]) != len(values.get("context") or ()):
        yield "context_ids must have an id, or null, for each chunk of context"
    citations = values.get("citations")
    if citations is not None and not (isinstance(citations, list) and all(_is_citation(one) for one in citations)):
        yield "citations must be a list of objects with a statement each; leave them out if there are none"


def new_columns(values: Values) -> dict[str, Any]:
    """Give content of a new case."""
    columns: dict[str, Any] = {name: values.get(name) for name in (*TEXTS, *BESIDE, "context_ids")}
    columns |= {name: values.get(name) or [] for name in LISTS}
    given = {"facts": values.get("facts"), "citations": values.get("citations")}
    return columns | {
        "citations": citations_of(columns["facts"], columns["context"], statements_of(given), found_places)
    }


def changed_columns(case: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """Give the columns of a case that a row changes; what the row does not give stays as it is."""
    content = {name: values[name] for name in CONTENT if values.get(name) is not None}
    if content.get("facts") == [fact for fact in case["facts"] or () if CITATION.is_usable(fact)]:
        # An export for aidial-rag-eval has no others.
        del content["facts"]
    columns = changes_of(case, content)
    if columns:
        columns["extractor"] = EXTRACTOR
    columns |= {name: values[name] for name in BESIDE if values.get(name) not in (None, case[name])}
    if values.get("context_ids") not in (None, columns.get("context_ids", case["context_ids"])):
        columns["context_ids"] = values["context_ids"]
    if values.get("citations") is not None:
        new = {**case, **columns}
        statements = statements_of({"facts": new["facts"], "citations": values["citations"]})
        if statements != statements_of(new):
            columns["citations"] = citations_of(new["facts"] or [], new["context"] or [], statements, found_places)
    return columns


def _no_text(value: object, may_be_null: bool = True) -> str | None:
    if value is None and may_be_null:
        return None
    if not isinstance(value, str):
        return f"must be a text, and not {value!r:.60}"
    return None if is_utf8(value) else "is not UTF-8: write it again"


def _is_citation(value: object) -> bool:
    return isinstance(value, dict) and _no_text(value.get("statement")) is None
