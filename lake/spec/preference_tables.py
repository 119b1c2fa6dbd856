"""Table of preferences: pairs of logged answers to the same question that a judge compared."""

from __future__ import annotations

import pyarrow as pa

from lake.spec.table_spec import TIMESTAMP, TableSpec, described
from lake.spec.vocabulary import UnscoredReason

PREFERENCES = TableSpec(
    "preferences",
    "One row two logged answers to the same question that a judge compared, with the later one's deployment.",
    described(
        ("preference_id", pa.string(), "Hash of (earlier_event_id, event_id, judge_version). Unique."),
        ("event_id", pa.string(), "Row of parsed_logs that is the later answer."),
        ("deployment", pa.string(), "Its deployment, as in parsed_logs."),
        ("date", pa.date32(), "UTC date of the later answer. Partition."),
        ("chat_id", pa.string(), "Its conversation, as in parsed_logs."),
        ("earlier_event_id", pa.string(), "Row of parsed_logs that is the earlier answer."),
        ("earlier_deployment", pa.string(), "Its deployment; the same one, or another version."),
        ("earlier_date", pa.date32(), "UTC date of the earlier answer."),
        ("earlier_chat_id", pa.string(), "Its conversation."),
        ("question_key", pa.string(), "Hash of the question, keyed by a secret of the lake: the same for both "
         "deployments, so not that of scores."),
        ("judge", pa.string(), "Name of the judge that was asked."),
        ("judge_version", pa.string(), "Its model, settings and prompt, as a version of a metric."),
        ("value", pa.float64(), "1 if the judge prefers the later answer, 0 if the earlier one, 0.5 for neither; null "
         "where that is not known."),
        ("reason", pa.string(), f"Why `value` is null: {UnscoredReason.JUDGE_ORDERS_DIFFER}, or what kept the judge "
         "from a reply for good, as in scores."),
        ("cost", pa.float64(), "Price of the judge's calls; 0 where replies were kept."),
        ("judged_at", TIMESTAMP, "When the judge was asked."),
    ),
)  # fmt: skip
