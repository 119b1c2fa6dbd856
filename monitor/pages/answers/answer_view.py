"""Contents of the page of one answer: what was read of it, with the places that are marked in its texts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pyarrow.dataset as ds
from markupsafe import Markup

from lake.queries.answer_details import AnswerContext, AnswerDetails, AnswerScore, read_answer
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake
from monitor.pages.answers import findings
from monitor.pages.answers.findings import Claims, ComparedCase, Facts, ScoredAnswer, Unsupported
from monitor.pages.answers.outcomes import Outcomes, outcomes_in
from monitor.pages.answers.reasons import Reason, reasons_against
from monitor.pages.answers.without_texts import answer_without_texts
from monitor.pages.texts import MOST_CHARACTERS, TextMark, marked


@dataclass(frozen=True)
class AnswerView:
    """An answer and what the evaluator found in it. `answer` and `contexts` are HTML with the marks."""

    details: AnswerDetails
    with_texts: bool
    """Whether the reader may read texts; else there are none."""
    answer: Markup | None
    contexts: Sequence[tuple[AnswerContext, Markup]]
    before: Sequence[ShownMessage]
    """The conversation as the request has it, where the log of the conversation does not."""
    unsupported: Unsupported | None
    facts: Facts | None
    claims: Sequence[Claims]
    outcomes: Sequence[Outcomes]
    against: Sequence[Reason]
    """All that speaks against the answer."""
    case_status: str | None = None
    """How the case stands now that its scores compare it with; None where they name none, or several."""

    def chunk(self, rank: int) -> AnswerContext | None:
        """Return a context by its rank from 1."""
        return next((context for context, _ in self.contexts if context.rank == rank), None)


def read_view(
    lake: Lake, deployment: str | None, day: date, event_id: str, callees: Sequence[str | None], *, with_texts: bool
) -> AnswerView | None:
    """Read an answer, and the version of the case whose facts were looked for; None where there is no such answer."""
    details = read_answer(lake, deployment, day, event_id, callees)
    if details is None:
        return None
    status = _status_now(lake, details)
    details = details if with_texts else answer_without_texts(details)
    (case,) = read_cases(lake, details.row["deployment"], [details])
    return replace(view_of(details, case, with_texts=with_texts), case_status=status)


def _status_now(lake: Lake, details: AnswerDetails) -> str | None:
    named = {findings.text_of((one.details or {}).get("case_id")) for one in details.scores if one.reference_status}
    if len(named) != 1 or None in named:
        return None
    columns, is_it = ["version", "status"], ds.field("case_id") == named.pop()
    rows = lake.table(GROUND_TRUTH, details.row["deployment"]).read(columns, is_it).to_pylist()
    newest = max(rows, key=lambda one: one["version"] or 1, default=None)
    return newest["status"] if newest else None


def view_of(
    details: AnswerDetails, case: ComparedCase | None, *, with_texts: bool = True, most: int = MOST_CHARACTERS
) -> AnswerView:
    """Return the view of an answer that is compared with a case; `most` characters of each of its texts are shown."""
    unsupported, facts = findings.unsupported_in(details), findings.facts_in(details, case)
    text = details.row["answer"]
    return AnswerView(
        details=details,
        with_texts=with_texts,
        answer=None if text is None else marked(text, _marks_of_answer(unsupported), most),
        contexts=[(one, marked(one.text, marks, most)) for one, marks in _marked_contexts(details.contexts, facts)],
        before=() if details.before else messages_before(details.row["request_body"]),
        unsupported=unsupported,
        facts=facts,
        claims=findings.claims_in(details),
        outcomes=outcomes_in(details),
        against=tuple(reasons_against(details, case)),
    )


def _marks_of_answer(unsupported: Unsupported | None) -> list[TextMark]:
    return [TextMark("absent", unsupported.places, "stands in no context")] if unsupported else []


def _marked_contexts(
    contexts: Sequence[AnswerContext], facts: Facts | None
) -> list[tuple[AnswerContext, Sequence[TextMark]]]:
    by_rank: dict[int, list[TextMark]] = defaultdict(list)
    for number, fact in enumerate(facts.facts if facts else (), 1):
        if fact.rank is not None and fact.place is not None:
            by_rank[fact.rank].append(TextMark("fact", [fact.place], f"fact {number}"))
    return [(one, by_rank[one.rank]) for one in contexts]


def read_cases(lake: Lake, deployment: str | None, answers: Sequence[ScoredAnswer]) -> list[ComparedCase | None]:
    """Return for each answer of a deployment the version of the case that it was compared with; None where none is."""
    scored = [(findings.scored_facts(one), findings.case_id_of(one)) for one in answers]
    ids = {case_id for _, case_id in scored if case_id is not None}
    versions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    if ids:
        columns = ["case_id", "version", "facts", "updated_at"]
        for row in lake.table(GROUND_TRUTH, deployment).read(columns, ds.field("case_id").isin(ids)).to_pylist():
            versions[row["case_id"]].append(row)
    return [
        _compared_case(case_id, versions[case_id], score) if score is not None and case_id is not None else None
        for score, case_id in scored
    ]


def _compared_case(case_id: str, versions: Sequence[Mapping[str, Any]], score: AnswerScore) -> ComparedCase | None:
    compared = _compared_version(versions, score)
    if compared is None:
        return None
    # As the metric counts them: one without a letter or digit cannot be looked for.
    return ComparedCase(case_id, [fact for fact in compared["facts"] or () if any(map(str.isalnum, fact or ""))])


def _compared_version(versions: Sequence[Mapping[str, Any]], score: AnswerScore) -> Mapping[str, Any] | None:
    """Return the version of a case that a score was made by; of a score that names none the newest one of its time."""
    if score.case_version is not None:
        return next((one for one in versions if (one["version"] or 1) == score.case_version), None)
    changed = ((one["updated_at"], one) for one in versions)
    before = [one for at, one in changed if at is None or score.scored_at is None or at <= score.scored_at]
    return max(before, key=lambda one: one["version"] or 1, default=None)


def as_json_text(members: Mapping[str, Any]) -> str:
    """Return members as indented JSON, to be read by people."""
    try:
        return json.dumps(members, indent=2, ensure_ascii=False)
    except RecursionError:
        return "nested too deeply to be shown"


_MOST = 40
"""Messages that are given: the last before the question."""


@dataclass(frozen=True)
class ShownMessage:
    """A message of the conversation; `role` as the client wrote it."""

    role: str
    text: str


def messages_before(request_body: str | None) -> list[ShownMessage]:
    """Return the messages before the last one of the user, the oldest first; none where the request cannot be read."""
    try:
        body = json.loads(request_body or "null")
    except (ValueError, RecursionError):
        return []
    given = body.get("messages") if isinstance(body, Mapping) else None
    messages = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    last = max((place for place, one in enumerate(messages) if one.get("role") == "user"), default=0)
    return [
        ShownMessage(str(one.get("role")), _text(one.get("content"))) for one in messages[max(0, last - _MOST) : last]
    ]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))
