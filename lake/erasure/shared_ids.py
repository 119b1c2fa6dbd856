"""Rows that name an answer by an id which answers of other people have too: whose they are, by all else they hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.erasure.erasure_scope import ErasureScope, OwnRows, is_in, one_line, strings
from lake.erasure.quotations import SHORTEST_ID, SHORTEST_TEXT, strings_in
from lake.queries.signals_by_answer import JOIN_COLUMNS, SIGNAL_JOIN_COLUMNS, SignalJoin
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.thoughts import without_thoughts
from lake.spec.vocabulary import SignalOrigin
from lake.tables.lake import Lake

_IS_SEEN = pc.field("is_entry") | pc.field("is_entry").is_null()
"""Calls whose answers people saw; rows of earlier versions do not say it."""
_NAMES_ITS_ROW = (SignalOrigin.IMPLICIT, SignalOrigin.LABEL)
_PAIR_COLUMNS = ("event_id", "question", "standalone_question", "answer")
_TECHNICAL = ("modelId", "log")
"""Members of a rating's `details` that no person wrote."""


def said_by(lake: Lake, deployments: Iterable[str | None], where: ds.Expression) -> dict[str, set[tuple[str, str]]]:
    """Return the questions, each with its answer, of calls by their `event_id`; texts as `one_line` gives them."""
    found: dict[str, set[tuple[str, str]]] = {}
    for deployment in deployments:
        logs = lake.table(PARSED_LOGS, deployment).dataset()
        for batch in logs.to_batches(columns=list(_PAIR_COLUMNS), filter=where):
            for event_id, *questions, answer in zip(*(batch[name].to_pylist() for name in _PAIR_COLUMNS), strict=True):
                plain = {one_line(answer), one_line(without_thoughts(answer or ""))}
                found[event_id] = {(one_line(question), text) for question in questions if question for text in plain}
    return found


def own_cases(lake: Lake, scope: ErasureScope, deployment: str | None) -> OwnRows:
    """Find the cases of a deployment that were made of the subject's calls.

    One whose id of its answer is shared is the subject's where a version of it has a question and the answer of one of
    these calls. Where it has only one of both, and another call of the log has both, it is that one's; else it is in
    doubt, if it can be of the same day.
    """
    truth = lake.table(GROUND_TRUTH, deployment)
    rows = truth.read(["case_id", "source_response_id", "source_date"])
    # An id that one call alone has may be that of an answer that is no longer in the log.
    by_id = pc.and_(is_in(rows["source_response_id"], scope.response_ids), scope.is_of_days(rows["source_date"]))
    by_id = pc.or_(by_id, is_in(rows["source_response_id"], scope.event_ids))
    own = OwnRows(set(rows["case_id"].filter(by_id).to_pylist()))
    if pc.any(is_in(rows["source_response_id"], scope.shared_ids)).as_py():
        has_shared = pc.field("source_response_id").isin(strings(scope.shared_ids))
        versions = truth.read(["case_id", "source_date", "question", "answer"], has_shared).to_pylist()
        own.ids |= {one["case_id"] for one in versions if _pair(one) in scope.said}
        alike = _alike([one for one in versions if one["case_id"] not in own.ids], scope)
        own.in_doubt = {one["case_id"] for one in alike} - _cases_of_others(lake, scope, deployment, alike)
        own.ids |= own.in_doubt
    return own


def own_signals(lake: Lake, scope: ErasureScope, deployment: str | None) -> OwnRows:
    """Find the signals of a deployment that name one of the subject's answers by a shared id, or that name no id.

    They are joined with answers as `SignalJoin` does. One that it joins with none is the subject's in one of its
    conversations. One that says neither person nor conversation, and has come after an answer that it can be about, is
    in doubt, and the subject's where a person wrote something to it.
    """
    own, first = OwnRows(), _first_by_id(scope, deployment)
    signals = _read_signals(lake, scope, deployment, None in first)
    if not signals:
        return own
    others = _answers_of_others(lake, scope, deployment, signals)
    join = SignalJoin(pa.concat_tables([_own_answers(scope, deployment), others]), signals)
    chats = set() if scope.subject.response else scope.chats
    in_chats = set(zip(others["chat_id"].to_pylist(), others["user_id"].to_pylist(), strict=True))
    for row in signals:
        about, place = join.answer_of(row), (row["chat_id"], row["user_id"])
        if about in scope.event_ids or (about is None and row["chat_id"] in chats and place not in in_chats):
            own.ids.add(row["signal_id"])
        elif about is None and place == (None, None) and _is_since(first.get(row["response_id"]), row):
            if _holds_words(row["details"]):
                own.ids.add(row["signal_id"])
                own.in_doubt.add(row["signal_id"])
            else:
                own.left += 1
    return own


def other_people_in_lines(lake: Lake, scope: ErasureScope) -> set[str]:
    """Find users and conversations of other calls that stand in lines with a shared id, each as a JSON string."""
    if not any(len(one) >= SHORTEST_ID for one in scope.shared_ids):
        return set()
    said = set[str]()
    for batch in lake.table(REJECTED).dataset().to_batches(columns=["raw", "message"]):
        for raw, message in zip(batch["raw"].to_pylist(), batch["message"].to_pylist(), strict=True):
            for text in (raw or b"", (message or "").encode()):
                said |= strings_in(text) if scope.shared_in_lines.occur_in(text) else set()
    found = set[str]()
    for deployment in lake.deployments() if said else ():
        logs = lake.table(PARSED_LOGS, deployment).dataset()
        for batch in logs.to_batches(columns=["event_id", "user_id", "chat_id"]):
            others = batch.filter(pc.invert(is_in(batch["event_id"], scope.event_ids)))
            for name in ("user_id", "chat_id"):
                found |= set(others[name].filter(is_in(others[name], said)).unique().to_pylist())
    return found - scope.chats - {scope.subject.user}


def _pair(case: Mapping[str, Any]) -> tuple[str, str]:
    return one_line(case["question"]), one_line(case["answer"])


def _alike(versions: Iterable[Mapping[str, Any]], scope: ErasureScope) -> list[Mapping[str, Any]]:
    """Return the versions of cases that have a question or an answer of these calls, and can be of the same day."""
    days = {None, *scope.days.to_pylist()}
    questions = {question for question, _ in scope.said}
    answers = {answer for _, answer in scope.said if len(answer) >= SHORTEST_TEXT}
    return [
        one
        for one in versions
        if one["source_date"] in days and (_pair(one)[0] in questions or _pair(one)[1] in answers)
    ]


def _cases_of_others(
    lake: Lake, scope: ErasureScope, deployment: str | None, versions: Sequence[Mapping[str, Any]]
) -> set[str]:
    """Return the cases, of these versions, of which another call of the deployment has question and answer."""
    answers = strings({one["answer"] for one in versions} - {None})
    said = said_by(lake, [deployment], pc.field("answer").isin(answers)) if versions else {}
    pairs = {pair for event_id, some in said.items() if event_id not in scope.event_ids for pair in some}
    return {one["case_id"] for one in versions if _pair(one) in pairs}


def _first_by_id(scope: ErasureScope, deployment: str | None) -> dict[str | None, datetime | None]:
    """Return when the first of the subject's answers came by shared ids, with None for answers without one.

    They are those of the deployment. Where nobody's answer there has an id, it may go by another name: then those of
    all deployments.
    """
    first = _first_of(scope, [deployment])
    for name, at in _first_of(scope, scope.calls).items():
        if name is not None and name not in first and name not in scope.namesakes.get(deployment, {}):
            first[name] = at
    return first


def _first_of(scope: ErasureScope, deployments: Iterable[str | None]) -> dict[str | None, datetime | None]:
    first: dict[str | None, datetime | None] = {}
    for deployment in deployments:
        for call in scope.calls.get(deployment, ()):
            if call["is_entry"] is False:
                continue
            for name in {call["response_id"], *(call["response_ids"] or ())} - {None} or {None}:
                before = first.setdefault(name, call["requested_at"])
                first[name] = call["requested_at"] if _is_before(call["requested_at"], before) else before
    return {name: at for name, at in first.items() if name is None or name in scope.shared_ids}


def _is_before(at: datetime | None, other: datetime | None) -> bool:
    return at is None or (other is not None and at < other)


def _is_since(began: datetime | None, signal: Mapping[str, Any]) -> bool:
    at = signal["signaled_at"]
    return began is not None and (at is None or began <= at)


def _read_signals(
    lake: Lake, scope: ErasureScope, deployment: str | None, with_unnamed: bool
) -> Sequence[Mapping[str, Any]]:
    """Read those that have a shared id, or none, and may be about the subject's answers."""
    named = pc.field("response_id").isin(strings(scope.shared_ids))
    has_id = named | pc.field("response_id").is_null() if with_unnamed else named
    if not scope.shared_ids and not with_unnamed:
        return ()
    calls = [call for some in scope.calls.values() for call in some]
    chats, people = ({call[name] for call in calls} - {None} for name in ("chat_id", "user_id"))
    alone = scope.shared_ids - scope.namesakes.get(deployment, {}).keys()
    may_be = (
        pc.field("chat_id").isin(strings(chats | scope.chats))
        | pc.field("user_id").isin(strings(people))
        | (pc.field("chat_id").is_null() & pc.field("user_id").is_null())
        | pc.field("origin").isin(strings(_NAMES_ITS_ROW))
        | pc.field("response_id").isin(strings(alone))
    )
    table = lake.table(USER_SIGNALS, deployment)
    rows: list[dict[str, Any]] = table.read(["signal_id", *SIGNAL_JOIN_COLUMNS], has_id & may_be).to_pylist()
    return rows


def _own_answers(scope: ErasureScope, deployment: str | None) -> pa.Table:
    """Return the subject's answers (`JOIN_COLUMNS`) that people saw."""
    own = [call for call in scope.calls.get(deployment, ()) if call["is_entry"] is not False]
    return PARSED_LOGS.rows([{name: call[name] for name in JOIN_COLUMNS} for call in own]).select(JOIN_COLUMNS)


def _answers_of_others(
    lake: Lake, scope: ErasureScope, deployment: str | None, signals: Sequence[Mapping[str, Any]]
) -> pa.Table:
    """Return the answers (`JOIN_COLUMNS`) of others that have a conversation or a person of the signals.

    For each shared id there is one more, without which an id of one of these alone would seem to be unique.
    """
    namesakes = [{"response_id": name, "event_id": one} for name, one in scope.namesakes.get(deployment, {}).items()]
    known = PARSED_LOGS.rows(namesakes).select(JOIN_COLUMNS)
    chats, people = ({one[name] for one in signals} - {None} for name in ("chat_id", "user_id"))
    is_near = pc.field("chat_id").isin(strings(chats)) | pc.field("user_id").isin(strings(people))
    near = lake.table(PARSED_LOGS, deployment).read([*JOIN_COLUMNS, "is_entry"], is_near & _IS_SEEN)
    others = near.filter(pc.invert(is_in(near["event_id"], scope.event_ids)))
    return pa.concat_tables([known, others.select(JOIN_COLUMNS).cast(known.schema)])


def _holds_words(details: str | None) -> bool:
    try:
        members = json.loads(details or "{}")
    except (ValueError, RecursionError):
        return True
    if not isinstance(members, dict):
        return True
    log = members.get("log")
    of_person = isinstance(log, dict) and bool(log.get("user_title"))
    return of_person or any(value for name, value in members.items() if name not in _TECHNICAL)
