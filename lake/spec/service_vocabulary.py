"""Enumerations of the values in tables that dialwatch writes about itself: its input, its parts, and its pages.

See `lake.spec.vocabulary`.
"""

from __future__ import annotations

from enum import StrEnum


class LineOutcome(StrEnum):
    """Columns of `_batches` that count what became of the lines: every line is counted in one of them."""

    STORED = "stored"
    SIGNALS = "signals"
    DUPLICATES = "duplicates"
    REJECTED = "rejected"
    FILTERED = "filtered"


OUTCOMES = {
    "stored": LineOutcome.STORED,
    "signal": LineOutcome.SIGNALS,
    "duplicate": LineOutcome.DUPLICATES,
    "rejected": LineOutcome.REJECTED,
    "filtered": LineOutcome.FILTERED,
}
"""Columns of `_batches` by the outcome's name in metrics."""


class RejectionReason(StrEnum):
    """`_rejected.reason`: why an entry could not be read."""

    NOT_JSON = "not_json"
    NOT_A_LOG_LINE = "not_a_log_line"
    EMPTY_OBJECT = "empty_object"
    TOO_DEEP = "too_deep"
    NO_TIME = "no_time"
    CUT = "cut"
    PARSER_FAILURE = "parser_failure"
    REDACTION_FAILED = "redaction_failed"
    BROKEN_GZIP = "broken_gzip"
    TOO_MANY_VALUES = "too_many_values"
    TOO_MANY_DEPLOYMENTS = "too_many_deployments"
    TOO_LONG = "too_long"
    NOT_A_SIGNAL = "not_a_signal"
    NOT_A_SCORE = "not_a_score"


class ServicePart(StrEnum):
    """`_services.part`: the parts of dialwatch that run continuously."""

    COLLECTOR = "collector"
    EVALUATOR = "evaluator"
    UPKEEP = "upkeep"
    WEBHOOKS = "webhooks"
    MONITOR = "monitor"


class StoreUser(StrEnum):
    """Label `part` of `dialwatch_store_requests_total`: who made a request; `other` are commands."""

    COLLECTOR = "collector"
    EVALUATOR = "evaluator"
    UPKEEP = "upkeep"
    MONITOR = "monitor"
    HEARTBEATS = "heartbeats"
    OTHER = "other"


class RequestKind(StrEnum):
    """Label `kind` of `dialwatch_store_requests_total`: what a store's bill distinguishes."""

    GET = "get"
    HEAD = "head"
    LIST = "list"
    PUT = "put"
    POST = "post"
    DELETE = "delete"


class ServiceState(StrEnum):
    """`_services.state`: state of a part; `stopped` where somebody asked it to stop."""

    RUNNING = "running"
    FAILING = "failing"
    STOPPED = "stopped"


class AuditAction(StrEnum):
    """`_audit.action`: what somebody did on the pages."""

    SIGN_IN = "sign_in"
    SIGN_OUT = "sign_out"
    WRONG_SIGN_IN = "wrong_sign_in"
    READ_TEXTS = "read_texts"
    LABEL = "label"
    CHANGE_CASE = "change_case"
    ACKNOWLEDGE = "acknowledge"
    SILENCE = "silence"
    RELEASE = "release"
    SAVE_SEARCH = "save_search"
