"""Rules of an erasure by table: rows that are erased, and texts that are taken out of rows that stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.erasure.erasure_scope import ErasureScope, is_in
from lake.erasure.quotations import strings_in
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.preference_tables import PREFERENCES
from lake.spec.root_tables import AUDIT, REJECTED, RELEASES, SAVED_SEARCHES, SILENCES
from lake.spec.schemas import ALERTS, ANCHORS, INCIDENTS, SCORES, USER_SIGNALS
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE

Rewrite = Callable[[str, ErasureScope], str | None]
Chosen = Callable[[pa.RecordBatch, ErasureScope], pa.Array]


def _is_none(batch: pa.RecordBatch, _: ErasureScope) -> pa.Array:
    return pa.array([False] * batch.num_rows, pa.bool_())


@dataclass(frozen=True)
class Rule:
    """Rows of a table that are erased, and by column how texts of the other rows are rewritten."""

    columns: tuple[str, ...]
    """Columns that must be read to decide, with those to rewrite."""
    is_erased: Chosen
    rewrite: Mapping[str, Rewrite] = field(default_factory=dict)
    is_in_doubt: Chosen = _is_none
    """Of the rows that are erased, those of which nothing says whose they are."""


def _any(*masks: pa.Array) -> pa.Array:
    found = masks[0]
    for mask in masks[1:]:
        found = pc.or_(found, mask)
    return found


def _is_erased_signal(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    own_chat = is_in(batch["chat_id"], scope.chats)
    if scope.subject.response:
        own_chat = pc.and_(own_chat, False)
    elif scope.subject.user:
        own_chat = pc.and_(own_chat, pc.is_null(batch["user_id"]))
    given = is_in(batch["user_id"], {scope.subject.user} if scope.subject.user else ())
    # A label of an answer without an id has its event_id.
    about = pc.and_(is_in(batch["response_id"], scope.response_ids | scope.event_ids), _is_possible(batch, scope))
    return _any(own_chat, given, about, is_in(batch["signal_id"], scope.event_ids | scope.signals.ids))


def _is_possible(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    """Whether a signal that has an id of the subject's alone can be about these calls.

    The id may be that of an answer that is no longer in the log: where the signal came days before, or names a person
    and a conversation that none of the calls has. Of an answer that was named all that has its id goes: what redaction
    has made of its person and its conversation since is not known.
    """
    calls = [call for some in scope.calls.values() for call in some]
    if not calls or scope.subject.response:
        return pc.invert(_is_none(batch, scope))
    is_other = [
        pc.and_(pc.is_valid(batch[name]), pc.invert(is_in(batch[name], {call[name] for call in calls} - {None})))
        for name in ("user_id", "chat_id")
    ]
    return pc.and_(pc.invert(pc.and_(*is_other)), scope.is_since_first_day(batch["date"]))


def _is_erased_score(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    chat = is_in(batch["chat_id"], {scope.subject.chat} if scope.subject.chat else ())
    by_id = pc.and_(pc.is_null(batch["event_id"]), is_in(batch["response_id"], scope.response_ids))
    return _any(is_in(batch["event_id"], scope.event_ids), by_id, chat)


def _rewrite_score(details: str, scope: ErasureScope) -> str | None:
    # The value stays: it says how good an answer of somebody else was.
    members = _object(details)
    return None if members.get("case_id") in scope.cases.ids else details


def _rewrite_alert(details: str, scope: ErasureScope) -> str | None:
    members = _object(details)
    worst = members.get("worst") or []
    # An entry names an answer without an id by its row. One with a shared id may be the subject's: it helps nobody
    # who looks for the answer, so it goes.
    ids = scope.response_ids | scope.shared_ids | scope.event_ids
    left = [one for one in worst if one.get("response_id") not in ids]
    return details if len(left) == len(worst) else json.dumps(members | {"worst": left})


def _rewrite_comment(text: str, scope: ErasureScope) -> str | None:
    return None if scope.in_lines.occur_in(text.encode()) else text


def _rewrite_search(search: str, scope: ErasureScope) -> str | None:
    # Ids that are too short to be looked for in a text are looked for in their own fields.
    ids = {scope.subject.user, *scope.response_ids, *scope.event_ids, *scope.chats} - {None}
    is_about = not ids.isdisjoint(value for value in _object(search).values() if isinstance(value, str))
    return None if is_about else _rewrite_comment(search, scope)


def _rewrite_event_id(event_id: str, scope: ErasureScope) -> str | None:
    # The row stays: somebody did read it.
    return None if event_id in scope.event_ids else event_id


def _rewrite_texts(texts: str, scope: ErasureScope) -> str | None:
    # Each in its place, and different from the others: conversations must not become one.
    found = json.loads(texts)
    ids = scope.response_ids | scope.event_ids | scope.chats | ({scope.subject.user} if scope.subject.user else set())
    left = [f"erased {place}" if text in ids else text for place, text in enumerate(found)]
    return texts if left == found else json.dumps(left)


def _object(details: str) -> dict[str, Any]:
    try:
        members = json.loads(details)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def _is_erased_rejected(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    return _any(_is_quoting(batch, scope), _is_rejected_in_doubt(batch, scope))


def _is_quoting(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    says = [any(map(scope.in_lines.occur_in, texts)) for texts in _texts_of_rejected(batch)]
    return pa.array(says, pa.bool_())


def _is_rejected_in_doubt(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    """Lines that have a shared id and nothing else of the subject, and name nobody else."""
    shared = [any(map(scope.shared_in_lines.occur_in, texts)) for texts in _texts_of_rejected(batch)]
    if not any(shared):
        return _is_none(batch, scope)
    lines = zip(shared, _is_quoting(batch, scope).to_pylist(), _texts_of_rejected(batch), strict=True)
    in_doubt = [
        has_id and not is_own and not any(strings_in(text) & scope.other_people for text in texts)
        for has_id, is_own, texts in lines
    ]
    return pa.array(in_doubt, pa.bool_())


def _texts_of_rejected(batch: pa.RecordBatch) -> Iterator[tuple[bytes, bytes]]:
    for raw, message in zip(batch["raw"].to_pylist(), batch["message"].to_pylist(), strict=True):
        yield raw or b"", (message or "").encode()


def _is_replay(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    # Each replay has a trace of its own. Its id may be that of an answer that is no longer in the log.
    by_id = pc.and_(is_in(batch["response_id"], scope.response_ids), scope.is_of_days(batch["date"]))
    return _any(is_in(batch["case_id"], scope.cases.ids), by_id, is_in(batch["trace_id"], scope.trace_ids))


def _is_erased_preference(batch: pa.RecordBatch, scope: ErasureScope) -> pa.Array:
    chat = {scope.subject.chat} if scope.subject.chat else ()
    by_id = (is_in(batch[name], scope.event_ids) for name in ("event_id", "earlier_event_id"))
    return _any(*by_id, *(is_in(batch[name], chat) for name in ("chat_id", "earlier_chat_id")))


def of_calls(event_ids: frozenset[str]) -> Rule:
    """Return the rule of `parsed_logs` that erases just these calls."""
    return Rule(("event_id",), lambda batch, _: is_in(batch["event_id"], event_ids))


RULES: dict[str, Rule] = {
    USER_SIGNALS.name: Rule(
        ("signal_id", "response_id", "chat_id", "user_id", "date"),
        _is_erased_signal,
        is_in_doubt=lambda batch, scope: is_in(batch["signal_id"], scope.signals.in_doubt),
    ),
    SCORES.name: Rule(("event_id", "response_id", "chat_id", "details"), _is_erased_score, {"details": _rewrite_score}),
    ANCHORS.name: Rule(("event_id", "response_id", "chat_id"), _is_erased_score),
    PREFERENCES.name: Rule(("event_id", "earlier_event_id", "chat_id", "earlier_chat_id"), _is_erased_preference),
    GROUND_TRUTH.name: Rule(
        ("case_id",),
        lambda batch, scope: is_in(batch["case_id"], scope.cases.ids),
        is_in_doubt=lambda batch, scope: is_in(batch["case_id"], scope.cases.in_doubt),
    ),
    REPLAYS.name: Rule(
        ("case_id", "response_id", "trace_id", "date"),
        _is_replay,
        is_in_doubt=lambda batch, scope: is_in(batch["case_id"], scope.cases.in_doubt),
    ),
    ALERTS.name: Rule(("details", "reason"), _is_none, {"details": _rewrite_alert, "reason": _rewrite_comment}),
    INCIDENTS.name: Rule(("comment",), _is_none, {"comment": _rewrite_comment}),
    SILENCES.name: Rule(("comment",), _is_none, {"comment": _rewrite_comment}),
    RELEASES.name: Rule(("comment",), _is_none, {"comment": _rewrite_comment}),
    SAVED_SEARCHES.name: Rule(("name", "search"), _is_none, {"name": _rewrite_comment, "search": _rewrite_search}),
    AUDIT.name: Rule(("event_id", "detail"), _is_none, {"event_id": _rewrite_event_id, "detail": _rewrite_comment}),
    MONITOR_STATE.name: Rule(("texts",), _is_none, {"texts": _rewrite_texts}),
    ROOT_STATE.name: Rule(("texts",), _is_none, {"texts": _rewrite_texts}),
    REJECTED.name: Rule(("raw", "message"), _is_erased_rejected, is_in_doubt=_is_rejected_in_doubt),
}
"""Of every table but `parsed_logs`, by its name."""
