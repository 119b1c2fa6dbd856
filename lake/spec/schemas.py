"""Tables of a deployment: what each is for, its columns with their types, and what every column means."""

from __future__ import annotations

import pyarrow as pa

from lake.spec.alert_vocabulary import (
    DELIVERY_EVENTS,
    LIMIT_VERSION,
    AlertEvent,
    AlertVerdict,
    IncidentEvent,
    LimitKind,
    Tier,
)
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.case_vocabulary import CASE_PASSED, CaseStatus, FailedPart, ReferenceMatch
from lake.spec.preference_tables import PREFERENCES
from lake.spec.root_tables import (
    APPLICATION_CLASSES,
    AUDIT,
    BATCHES,
    CHANGES,
    DIGESTS,
    ID_INDEX,
    JUDGE_BUDGETS,
    LAKE_DEFAULTS,
    REJECTED,
    RELEASES,
    SAVED_SEARCHES,
    SECRETS,
    SERVICES,
    SILENCES,
)
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.table_spec import ATTACHMENT, CONTEXT, SOURCE, STRINGS, TIMESTAMP, TOOL_CALL, TableSpec, described
from lake.spec.tool_calls import ToolCallsOrigin
from lake.spec.vocabulary import (
    OUTSIDE_VERSION,
    AnswerKind,
    ContextsOrigin,
    Direction,
    Draw,
    FinishReason,
    JudgeKind,
    Kind,
    Origin,
    Signal,
    SignalOrigin,
    SourceKind,
    UnscoredReason,
    one_of,
)

UNASSIGNED = "_unassigned"
"""Folder of rows that name no deployment, such as calls of global routes."""


def deployment_of(name: str) -> str | None:
    """Return the deployment whose tables have this name as their folder; None for those that name none."""
    return None if name == UNASSIGNED else name


PARSED_LOGS = TableSpec(
    "parsed_logs",
    "One row a request that DIAL Core served: answers, and every other kind of call.",
    described(
        ("event_id", pa.string(), "Hash of (trace_id, span_id), or of Core's line where these are zeros. Unique."),
        ("response_id", pa.string(), "Id of the assembled answer, else of its last chunk. Null if none was logged."),
        ("response_ids", STRINGS, "Every distinct id of the answer's chunks: a rating may carry any of them."),
        ("deployment", pa.string(), "Model or application that was called, as DIAL names it."),
        ("date", pa.date32(), "UTC date of `requested_at`. Partition."),
        ("requested_at", TIMESTAMP, "When the request started."),
        ("duration_ms", pa.int64(), "Milliseconds from the request's start to the last byte. Null before Core 2026."),
        ("kind", pa.string(), f"{one_of(Kind)}."),
        ("status", pa.int16(), "HTTP status that the deployment answered with."),
        ("error", pa.string(), "What is missing or went wrong; null where the line gave a whole answer."),
        ("repairs", STRINGS, "What was repaired to read the line, or is missing beside the answer: replaced bytes, a "
         "cut end, a request that cannot be read. Null where nothing is; earlier versions wrote it into `error`."),
        ("origin", pa.string(), f"What made the request: {one_of(Origin)}. Null is {Origin.PRODUCTION}."),
        ("user_id", pa.string(), "Core's hash of the user, or the plain claim where obfuscation is off."),
        ("user_title", pa.string(), "Job title that the client sent, percent-decoded."),
        ("project_id", pa.string(), "Project of the API key."),
        ("chat_id", pa.string(), "Conversation id, percent-decoded."),
        ("trace_id", pa.string(), "OpenTelemetry trace, 32 hex digits. Null where tracing is off (all zeros)."),
        ("span_id", pa.string(), "Core's span of this request, 16 hex digits."),
        ("parent_span_id", pa.string(), "Core's span of the request that made this one. Null for a root call."),
        ("parent_deployment", pa.string(), "The application that made this call. Null for a call that a person made, "
         "and for one that an interceptor made: Core does not name it."),
        ("execution_path", STRINGS, "Deployments (old Core: also the project or user) from the root to here."),
        ("is_entry", pa.bool_(), "True for the call that the person made and whose answer they saw."),
        ("model", pa.string(), "Model that the answer names, else the request."),
        ("stream", pa.bool_(), "Whether the client asked for a stream. Null where no body was logged."),
        ("prompt_tokens", pa.int64(), "Tokens of the prompt; an application's are the sum of its calls."),
        ("completion_tokens", pa.int64(), "Tokens of the answer; an application's are the sum of its calls."),
        ("total_tokens", pa.int64(), "Tokens of both."),
        ("deployment_price", pa.float64(), "Price of this call alone, in the currency of DIAL's price table. "
         "Sum this one."),
        ("price", pa.float64(), "Price of this call and all that it called. Summing it counts twice."),
        ("question", pa.string(), "Text of the last user message, as sent."),
        ("standalone_question", pa.string(), "The question as DIAL RAG rewrote it, without its conversation."),
        ("answer", pa.string(), "Text of the first choice."),
        ("documents", STRINGS, "Documents in scope, images of the question too: url, else title, else `inline:` and a "
         "hash. First seen first."),
        ("contexts", pa.list_(CONTEXT), "Retrieved chunks in rank order."),
        ("contexts_origin", pa.string(), f"{one_of(ContextsOrigin)}."),
        ("finish_reason", pa.string(), f"Why the first choice ended, in the sender's own word: {FinishReason.STOP}, "
         f"{FinishReason.LENGTH}, end_turn, MAX_TOKENS ..."),
        ("message_count", pa.int32(), "Messages in the request."),
        ("history_hash", pa.string(), "Hash of the request's messages; equal where the same was asked again."),
        ("prefix_hash", pa.string(), "The same of the messages before the last user message; equal where that "
         "one was edited."),
        ("parent_history_hash", pa.string(), "history_hash of the request whose answer this one follows, a hash "
         "that none has where it is named by an id alone; null for a first question."),
        ("request_body", pa.string(), "The request as Core logged it, JSON text."),
        ("assembled_response", pa.string(), "The answer as Core merged it, JSON text; as merged here where Core's "
         "is of no use."),
        ("response_body", pa.string(), "The response as Core logged it, a stream's raw text too. Null unless the "
         "collector keeps it."),
        ("extra", pa.string(), "JSON object of all that Core wrote and that has no column."),
        ("source", SOURCE, f"Where the line came from: kind ({SourceKind.FILE}, {SourceKind.HTTP}, "
         f"{SourceKind.KAFKA}), name, partition, and the offset: of a Kafka message, else after the line."),
        ("ingested_at", TIMESTAMP, "When the row was written."),
        ("answer_kind", pa.string(), f"What the answer is, by its content: {one_of(AnswerKind)}. Null where there is "
         "none, its key is secured, and in rows of earlier versions."),
        ("finish_kind", pa.string(), f"finish_reason in words of dialwatch: {one_of(FinishReason)}. Null where the "
         "answer names none, and in rows of earlier versions."),
        ("reasoning", pa.string(), "Thoughts of the model before its answer, apart from it. Null where there are none, "
         "and in rows of earlier versions."),
        ("tool_calls", pa.list_(TOOL_CALL), "Calls of tools in the order in which they were asked for: of an entry "
         "those of its whole turn, 200 at most; of a model's own call those that it asks for. `arguments` is JSON "
         "text, `result` at most 16 KiB, null where it is not known; `is_error` is null where nothing says whether "
         "the call failed. Empty where there are none; null where that is not known, and in rows of earlier versions."),
        ("tool_calls_origin", pa.string(), f"{one_of(ToolCallsOrigin)}. Null where the log holds no answer, and in "
         "rows of earlier versions."),
        ("attachments", pa.list_(ATTACHMENT), "What the answer made beside its text: images, tables, files. `size` is "
         "the number of bytes where the log has them. Null where the answer is not known, and in rows of earlier "
         "versions."),
        ("reasoning_tokens", pa.int64(), "Tokens of the answer that are thoughts. Null before Core 2026, and in rows "
         "of earlier versions."),
        ("cached_tokens", pa.int64(), "Tokens of the prompt that the model had in its cache. Null as "
         "reasoning_tokens."),
        ("turn", pa.int32(), "Messages of the user in the request: 1 for the first question of a conversation. Null "
         "where the request cannot be read, and in rows of earlier versions."),
        ("client", pa.string(), "What the client says who it is, in the header that `collector.client_header` names. "
         "Null where Core did not log it, and in rows of earlier versions."),
    ),
    long_text=("question", "standalone_question", "answer", "contexts", "request_body",
               "assembled_response", "response_body", "extra", "reasoning", "tool_calls", "attachments"),
)  # fmt: skip

USER_SIGNALS = TableSpec(
    "user_signals",
    "One row a sign of what a person thought of an answer.",
    described(
        ("signal_id", pa.string(), "Unique; for a rating the event_id of its line."),
        (
            "response_id",
            pa.string(),
            "Id of the answer as the client sent it: join with parsed_logs.response_ids. Of a label "
            "and of what a person did, the event_id where the answer has no id. Null where the client sent none.",
        ),
        ("deployment", pa.string(), "Deployment whose answer it is about."),
        ("date", pa.date32(), "UTC date of `signaled_at`. Partition."),
        ("signaled_at", TIMESTAMP, "When the person gave the signal."),
        (
            "signal",
            pa.string(),
            f"{Signal.LIKE}, {Signal.DISLIKE}, {Signal.UNREADABLE}, {Signal.REGENERATE}, {Signal.EDIT}, "
            f"{Signal.CORRECTION}, {Signal.RIGHT}, {Signal.WRONG} ...",
        ),
        ("value", pa.float64(), "From -1 (bad) to 1 (good); null where the signal says neither."),
        ("confidence", pa.float64(), "From 0 to 1: how sure it is that the signal means this."),
        (
            "origin",
            pa.string(),
            f"{SignalOrigin.EXPLICIT} (the person pressed a button), {SignalOrigin.IMPLICIT} (read from the traffic), "
            f"{SignalOrigin.LABEL} (somebody who judges answers) or {SignalOrigin.SCORE} (sent to `POST /scores`).",
        ),
        ("user_id", pa.string(), "Who gave it, as in parsed_logs; of a label the name as in _audit."),
        ("chat_id", pa.string(), "Conversation, as in parsed_logs."),
        ("details", pa.string(), "JSON object: the rating's comment and all else that came with it."),
        ("source", SOURCE, "Where it came from."),
        ("ingested_at", TIMESTAMP, "When the row was written."),
    ),
    long_text=("details",),
)

SCORES = TableSpec(
    "scores",
    "One row a response and metric.",
    described(
        (
            "score_id",
            pa.string(),
            "Hash of (event_id, metric, metric_version), another one while the score is pending; of what another "
            "program sent, of (metric, signal_id); of how often a signal comes, of (event_id, metric). Unique.",
        ),
        ("response_id", pa.string(), "As in parsed_logs."),
        ("event_id", pa.string(), "Row of parsed_logs that was scored."),
        ("deployment", pa.string(), "As in parsed_logs."),
        ("date", pa.date32(), "UTC date of the response. Partition."),
        ("requested_at", TIMESTAMP, "When the scored request started."),
        ("chat_id", pa.string(), "As in parsed_logs: answers of one conversation are not independent."),
        ("question_key", pa.string(), "Hash of the question, whatever its spelling, keyed by a secret of the lake: the "
         "same question is one observation of the detectors. Null where it is not known what was asked, and in rows of "
         "earlier versions."),
        ("segment", pa.string(), "JSON object of the traffic class: language, model, contexts, question_length, "
         "project and client; rows of earlier versions do not have the last two."),
        ("metric", pa.string(), "Name in evaluator.metrics.REGISTRY, or of what another program sent."),
        ("metric_version", pa.string(), "Version of the metric; scores of two versions are never compared. "
         f"{OUTSIDE_VERSION}: another program sent it."),
        ("value", pa.float64(), "The score; null where it cannot be computed."),
        (
            "reason",
            pa.string(),
            f"Why `value` is null: {UnscoredReason.NO_ANSWER}, {UnscoredReason.NO_CONTEXTS}, "
            f"{UnscoredReason.NO_GROUND_TRUTH} ... Pending: {UnscoredReason.JUDGE_BUDGET} ...",
        ),
        ("details", pa.string(), "JSON object: claims and verdicts, ranks, highlights, the case compared with."),
        (
            "judge",
            pa.string(),
            f"What judged: {JudgeKind.LEXICAL}, {JudgeKind.EMBEDDING}, {JudgeKind.MODEL}, or the name of the judge "
            f"that was asked; several are joined by +, as in {JudgeKind.LEXICAL}+strict.",
        ),
        ("prompt_tokens", pa.int64(), "Tokens that the judge read."),
        ("completion_tokens", pa.int64(), "Tokens that the judge wrote."),
        ("cost", pa.float64(), "Price of the judge's calls; what several metrics share is with the first."),
        ("sampling_probability", pa.float64(), "How likely the response was to be scored; weight by its inverse."),
        ("scored_at", TIMESTAMP, "When the score was made."),
        ("is_backfill", pa.bool_(), "Whether a backfill made it, long after the answer; null is false."),
        (
            "direction",
            pa.string(),
            f"Which end of the metric's range is better: {one_of(Direction)}; null is {Direction.UP}.",
        ),
        ("low", pa.float64(), "Lower end of its range; -inf where it has none; null is 0."),
        ("high", pa.float64(), "Upper end of its range; inf where it has none; null is 1."),
        ("reference_match", pa.string(), f"How the case that the answer is compared with was found: "
         f"{one_of(ReferenceMatch)}. Null where it is compared with none, and in rows of earlier versions."),
        ("reference_similarity", pa.float64(), "Cosine similarity of both questions, from -1 to 1, of a case found by "
         f"{ReferenceMatch.EMBEDDING}; else 1. Null as reference_match."),
        ("reference_status", pa.string(), f"Status of that case at the time: {CaseStatus.PROPOSED} or "
         f"{CaseStatus.ACCEPTED}. Null as reference_match."),
        ("failed_part", pa.string(), f"Which part of the application failed, by {CASE_PASSED}: {one_of(FailedPart)}. "
         "Null in rows of other metrics, and where the answer passes."),
        ("case_version", pa.int64(), "Version of that case, whose facts were looked for, as in ground_truth. Null as "
         "reference_match."),
    ),
    long_text=("details",),
)  # fmt: skip

ANCHORS = TableSpec(
    "anchors",
    "One row a scoring of an anchor: an answer that is scored again and again to see whether the judge has changed.",
    described(
        ("event_id", pa.string(), "Row of parsed_logs that is the anchor."),
        ("response_id", pa.string(), "As in parsed_logs."),
        ("deployment", pa.string(), "As in parsed_logs."),
        ("date", pa.date32(), "UTC date of the response. Partition."),
        ("chat_id", pa.string(), "As in parsed_logs; a conversation has one anchor of a metric at most."),
        ("metric", pa.string(), "As in scores."),
        ("metric_version", pa.string(), "As in scores; a new version scores the anchors of the one before."),
        ("draw", pa.int64(), f"Which scoring: {Draw.FIRST} and {Draw.SECOND} are the first two, others the time when "
         f"it was due, in seconds since 1970; {Draw.COMPARED} for an answer that was scored by two versions, once by "
         "each, and is no anchor."),
        ("value", pa.float64(), "The score; null where it could not be computed."),
        ("reason", pa.string(), "Why `value` is null, as in scores."),
        ("judge", pa.string(), "As in scores."),
        ("cost", pa.float64(), "Price of the judge's calls; 0 for a score that is in `scores` too."),
        ("scored_at", TIMESTAMP, "When the score was made."),
        ("direction", pa.string(), "As in scores."),
        ("low", pa.float64(), "As in scores."),
        ("high", pa.float64(), "As in scores."),
    ),
)  # fmt: skip

ALERTS = TableSpec(
    "alerts",
    "One row a change of an alert; what was sent to whom is a change too.",
    described(
        ("change_id", pa.string(), "Unique; the webhook's id, so that a receiver can drop what it has had."),
        ("alert_id", pa.string(), "The same for all changes of one alert."),
        ("deployment", pa.string(), "As in parsed_logs."),
        (
            "metric",
            pa.string(),
            f"Metric that got worse, or the limit: {', '.join(LimitKind)}.",
        ),
        ("metric_version", pa.string(), f"Its version; `{LIMIT_VERSION}` for a limit."),
        ("segment", pa.string(), "JSON object of the traffic class; null for all traffic."),
        (
            "change",
            pa.string(),
            f"{AlertEvent.FIRING} (again where an alert becomes urgent), "
            f"{one_of(event for event in AlertEvent if event != AlertEvent.FIRING)}.",
        ),
        ("changed_at", TIMESTAMP, "When this change happened."),
        ("since", TIMESTAMP, "Since when quality is worse, as estimated."),
        ("reference_mean", pa.float64(), "Mean of the reference window."),
        ("current_mean", pa.float64(), "Mean since `since`; of a limit the share."),
        ("current_lower", pa.float64(), "Lower end of its interval."),
        ("current_upper", pa.float64(), "Upper end of its interval."),
        ("log_evidence", pa.float64(), "Natural logarithm of the evidence at this change."),
        ("log_threshold", pa.float64(), "Natural logarithm of what it takes to fire."),
        ("verdict", pa.string(), f"What changed: {one_of(AlertVerdict)}."),
        (
            "delivery_of",
            pa.string(),
            f"For {', '.join(DELIVERY_EVENTS)}: the change_id that it is about.",
        ),
        ("reason", pa.string(), "Why it was sent, or why not, in words."),
        (
            "details",
            pa.string(),
            "JSON object: the worst answers' ids, counts, what else changed by the log (no texts), the receiver.",
        ),
        ("incident_id", pa.string(), "Incident that the alert belongs to; null in rows of earlier versions."),
    ),
    by_date=False,
    long_text=("details", "reason"),
)

INCIDENTS = TableSpec(
    "incidents",
    "One row a change of an incident, the alerts of a deployment that overlap in time. All but those that people make "
    "follow from `alerts`.",
    described(
        ("change_id", pa.string(), "Unique."),
        ("incident_id", pa.string(), "As in alerts."),
        ("deployment", pa.string(), "As in parsed_logs."),
        ("change", pa.string(), f"{one_of(IncidentEvent)}."),
        ("changed_at", TIMESTAMP, "When this change happened; of an alert's change as in alerts."),
        (
            "alert_id",
            pa.string(),
            f"Alert whose change it was; null for {IncidentEvent.ACKNOWLEDGED} and its withdrawal.",
        ),
        (
            "tier",
            pa.string(),
            f"{one_of(Tier)}, after this change: {Tier.PAGE} if one of the incident's alerts is urgent.",
        ),
        (
            "verdict",
            pa.string(),
            f"What changed, by all alerts of the incident: {one_of(AlertVerdict)}; null if only limits were exceeded.",
        ),
        ("who", pa.string(), f"For {IncidentEvent.ACKNOWLEDGED} and its withdrawal: the person, as in _audit."),
        ("comment", pa.string(), f"For {IncidentEvent.ACKNOWLEDGED}: the person's words."),
        ("details", pa.string(), "JSON object: the alert's metric, when the row was made."),
    ),
    by_date=False,
    long_text=("comment", "details"),
)

TABLES = {
    spec.name: spec
    for spec in (
        PARSED_LOGS,
        USER_SIGNALS,
        SCORES,
        ANCHORS,
        GROUND_TRUTH,
        REPLAYS,
        PREFERENCES,
        ALERTS,
        INCIDENTS,
        MONITOR_STATE,
        REJECTED,
        BATCHES,
        SILENCES,
        RELEASES,
        SAVED_SEARCHES,
        DIGESTS,
        APPLICATION_CLASSES,
        SERVICES,
        CHANGES,
        JUDGE_BUDGETS,
        AUDIT,
        ROOT_STATE,
        SECRETS,
        LAKE_DEFAULTS,
        ID_INDEX,
    )
}
"""Every table by its folder's name."""
