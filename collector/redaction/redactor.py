"""Redactor of records: each column is redacted by its kind."""

from __future__ import annotations

import logging
import re
from typing import Any

import msgspec

from collector.parsing.records import LogRecord, Rejection, SignalRecord
from collector.redaction.patterns import BUILT_IN, own
from collector.redaction.scrubber import Scrubber
from collector.redaction.settings import RedactionSettings
from collector.redaction.texts import redact_bytes, redact_number, redact_text
from lake.spec.service_vocabulary import RejectionReason

logger = logging.getLogger(__name__)

Record = LogRecord | SignalRecord | Rejection

_KEPT = frozenset(
    {
        "event_id",
        "deployment",
        "parent_deployment",
        "kind",
        "answer_kind",
        "finish_kind",
        "trace_id",
        "span_id",
        "parent_span_id",
        "history_hash",
        "prefix_hash",
        "parent_history_hash",
        "contexts_origin",
        "tool_calls_origin",
        "reason",
    }
)
"""Names of deployments, words and hashes of ours, and hex ids of traces."""

_IDS = frozenset(
    {
        "user_id",
        "chat_id",
        "project_id",
        "client",
        "response_id",
        "response_ids",
        "execution_path",
        "documents",
        "url",
        "id",
    }
)
"""Columns that rows are joined by: two different values must stay different."""

_OUR_ID = re.compile(r"[0-9a-f]{32}")


class Redactor:
    """Removes from records all data that the settings name. Several threads may share one."""

    def __init__(self, settings: RedactionSettings) -> None:
        self._scrubber: Scrubber | None = None
        if settings.enabled and settings.key is not None:
            patterns = [pattern for name in dict.fromkeys(settings.patterns) for pattern in BUILT_IN[name]]
            patterns += [own(name, expression) for name, expression in settings.own.items()]
            entities = None
            if settings.presidio is not None:
                from collector.redaction.presidio import entities_of

                entities = entities_of(settings.presidio)
            self._scrubber = Scrubber(patterns, settings.key.get_secret_value().encode(), entities)

    def redact_id(self, text: str) -> str:
        """Return an id (of a user, a chat, an answer) as it is stored in rows."""
        return text if self._scrubber is None else redact_text(text, self._scrubber, named=True)

    def redact(self, record: Record) -> Record:
        """Return the record with marks in place of the matches; the same object if there are none.

        If that fails, the record becomes a rejection `redaction_failed` that holds none of its text.
        """
        if self._scrubber is None:
            return record
        try:
            return _redacted(record, self._scrubber)
        except MemoryError:
            raise
        except Exception as error:  # what cannot be redacted must not be written, and must not stop what comes behind
            logger.error("a line could not be redacted, and is rejected without its text: %s", type(error).__name__)
            return _withheld(record, error, self._scrubber)


def _redacted(record: Record, scrubber: Scrubber) -> Record:
    changed = {}
    for name in record.__struct_fields__:
        before = getattr(record, name)
        if before is None or name in _KEPT:
            continue
        after = _column(name, before, record, scrubber)
        if after is not before and after != before:
            changed[name] = after
    return msgspec.structs.replace(record, **changed) if changed else record


def _column(name: str, value: Any, record: Record, scrubber: Scrubber) -> Any:
    if name == "signal_id":
        return value if _OUR_ID.fullmatch(value) else scrubber.digest(value.encode())[:32].decode()
    if name == "execution_path":
        names = (record.deployment, getattr(record, "parent_deployment", None))
        return [one if one in names else redact_text(one, scrubber, named=True) for one in value]
    return _value(name, value, scrubber)


def _value(name: str, value: Any, scrubber: Scrubber) -> Any:
    if isinstance(value, str):
        return redact_text(value, scrubber, named=name in _IDS)
    if isinstance(value, bytes):
        return redact_bytes(value, scrubber)
    if isinstance(value, list):
        return [_value(name, one, scrubber) for one in value]
    if isinstance(value, dict):
        return {key: _value(key, one, scrubber) for key, one in value.items()}
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return redact_number(value, scrubber)
    return value


def _withheld(record: Record, error: Exception, scrubber: Scrubber) -> Rejection:
    whole = msgspec.msgpack.encode(record)
    return Rejection(
        reason=RejectionReason.REDACTION_FAILED,
        message=f"the redaction failed with {type(error).__name__}; the text is withheld. Report it, or switch off "
        "the pattern that fails",
        raw=scrubber.mark("WITHHELD", whole),
        deployment=record.deployment,
    )
