"""Late contexts: those of an answer's own model call, whose line came after its own; put in when rows are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from typing import Any

from lake.queries.answer_rows import usable_texts
from lake.queries.child_contexts import ChildContexts, Span
from lake.spec.vocabulary import OUTRANKED_BY_CHILD, ContextsOrigin


def add_late_contexts(children: ChildContexts, deployment: str | None, rows: Sequence[dict[str, Any]]) -> None:
    """Put into rows of `parsed_logs` the contexts of child calls that the collector could not join with their parents.

    A day at a time. Of each row `contexts` and `contexts_origin` are replaced where the child's say more; `trace_id`,
    `span_id` and `requested_at` are read too.
    """
    by_day: dict[date, dict[Span, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        if row["contexts_origin"] in OUTRANKED_BY_CHILD and row["trace_id"] and row["span_id"]:
            by_day[row["requested_at"].date()][row["trace_id"], row["span_id"]] = row
    for calls in by_day.values():
        asked = {span: row["requested_at"] for span, row in calls.items()}
        for span, contexts in children.of(asked, deployment).items():
            if usable_texts(contexts) is not None:
                calls[span] |= {"contexts": contexts, "contexts_origin": ContextsOrigin.CHILD_CALL}
