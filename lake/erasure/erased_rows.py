"""Rules of an erasure by table: which rows go, and what is taken out of those that stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.erasure.erasure_scope import ErasureScope, is_in
from lake.root_tables import REJECTED, RELEASES, SILENCES
from lake.schemas import ALERTS, ANCHORS, GROUND_TRUTH, REPLAYS, SCORES, USER_SIGNALS

Mend = Callable[[str, ErasureScope, frozenset[str]], str | None]


@dataclass(frozen=True)
class Rule:
    """Which rows of a table go, and what texts of the others become, by their columns."""

    columns: tuple[str, ...]
    """What must be read to decide, those to mend among them."""
    goes: Callable[[pa.RecordBatch, ErasureScope, frozenset[str]], pa.Array]
    mend: Mapping[str, Mend] = field(default_factory=dict)


def _any(*masks: pa.Array) -> pa.Array:
    found = masks[0]
    for mask in masks[1:]:
        found = pc.or_(found, mask)
    return found


def _signal_goes(batch: pa.RecordBatch, mine: ErasureScope, _: frozenset[str]) -> pa.Array:
    own_chat = is_in(batch["chat_id"], mine.chats)
    if mine.subject.response:
        own_chat = pc.and_(own_chat, False)
    elif mine.subject.user:
        own_chat = pc.and_(own_chat, pc.is_null(batch["user_id"]))
    given = is_in(batch["user_id"], {mine.subject.user} if mine.subject.user else ())
    about = is_in(batch["response_id"], mine.response_ids)
    return _any(own_chat, given, about, is_in(batch["signal_id"], mine.event_ids))


def _score_goes(batch: pa.RecordBatch, mine: ErasureScope, _: frozenset[str]) -> pa.Array:
    chat = is_in(batch["chat_id"], {mine.subject.chat} if mine.subject.chat else ())
    return _any(is_in(batch["event_id"], mine.event_ids), is_in(batch["response_id"], mine.response_ids), chat)


def _mend_score(details: str, _: ErasureScope, cases: frozenset[str]) -> str | None:
    # The value stays: it says how good an answer of somebody else was.
    members = _object(details)
    return None if members.get("case_id") in cases else details


def _mend_alert(details: str, mine: ErasureScope, _: frozenset[str]) -> str | None:
    members = _object(details)
    worst = members.get("worst") or []
    left = [one for one in worst if one.get("response_id") not in mine.response_ids]
    return details if len(left) == len(worst) else json.dumps(members | {"worst": left})


def _mend_words(text: str, mine: ErasureScope, _: frozenset[str]) -> str | None:
    return None if mine.in_lines.occur_in(text.encode()) else text


def _none_goes(batch: pa.RecordBatch, _: ErasureScope, __: frozenset[str]) -> pa.Array:
    return pa.array([False] * batch.num_rows, pa.bool_())


def _object(details: str) -> dict[str, Any]:
    try:
        members = json.loads(details)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def _rejected_goes(batch: pa.RecordBatch, mine: ErasureScope, _: frozenset[str]) -> pa.Array:
    rows = zip(batch["raw"].to_pylist(), batch["message"].to_pylist(), strict=True)
    says = [mine.in_lines.occur_in(raw or b"") or mine.in_lines.occur_in((text or "").encode()) for raw, text in rows]
    return pa.array(says, pa.bool_())


def of_calls(event_ids: frozenset[str]) -> Rule:
    """Give the rule of `parsed_logs` by which just these calls go."""
    return Rule(("event_id",), lambda batch, _, __: is_in(batch["event_id"], event_ids))


RULES: dict[str, Rule] = {
    USER_SIGNALS.name: Rule(("signal_id", "response_id", "chat_id", "user_id"), _signal_goes),
    SCORES.name: Rule(("event_id", "response_id", "chat_id", "details"), _score_goes, {"details": _mend_score}),
    ANCHORS.name: Rule(("event_id", "response_id", "chat_id"), _score_goes),
    GROUND_TRUTH.name: Rule(("case_id",), lambda batch, _, cases: is_in(batch["case_id"], cases)),
    REPLAYS.name: Rule(
        ("case_id", "response_id"),
        lambda batch, mine, cases: _any(is_in(batch["case_id"], cases), is_in(batch["response_id"], mine.response_ids)),
    ),
    ALERTS.name: Rule(("details", "reason"), _none_goes, {"details": _mend_alert, "reason": _mend_words}),
    SILENCES.name: Rule(("comment",), _none_goes, {"comment": _mend_words}),
    RELEASES.name: Rule(("comment",), _none_goes, {"comment": _mend_words}),
    REJECTED.name: Rule(("raw", "message"), _rejected_goes),
}
"""Of every table but `parsed_logs`, by its name."""
