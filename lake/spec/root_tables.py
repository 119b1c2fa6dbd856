"""Tables under the lake's root: what dialwatch counts and reports of itself, and what people mark."""

from __future__ import annotations

import pyarrow as pa

from lake.spec.alert_vocabulary import DigestEvent, ReleaseEvent, SavedSearchEvent, SilenceEvent
from lake.spec.application_classes import ApplicationClass
from lake.spec.service_vocabulary import AuditAction, LineOutcome, RejectionReason, ServicePart, ServiceState
from lake.spec.table_spec import SOURCE, STRINGS, TIMESTAMP, TableSpec, described
from lake.spec.vocabulary import one_of

REJECTED = TableSpec(
    "_rejected",
    "One row a piece of input that could not be read, with its bytes.",
    described(
        (
            "reason",
            pa.string(),
            f"A short fixed word: {RejectionReason.EMPTY_OBJECT}, {RejectionReason.NOT_JSON}, "
            f"{RejectionReason.NOT_A_LOG_LINE}, {RejectionReason.NO_TIME} ...",
        ),
        ("message", pa.string(), "What was wrong, with which value."),
        ("raw", pa.binary(), "The bytes as they came."),
        ("deployment", pa.string(), "Null where it is not known."),
        ("date", pa.date32(), "UTC date of arrival. Partition."),
        ("source", SOURCE, "Where it came from."),
        ("ingested_at", TIMESTAMP, "When the row was written."),
    ),
    per_deployment=False,
    long_text=("message", "raw"),
)

BATCHES = TableSpec(
    "_batches",
    "One row a batch that every other table has: the collector's checkpoint and its counts.",
    described(
        ("date", pa.date32(), "UTC date of `committed_at`. Partition."),
        ("source", SOURCE, "Source of the batch; `offset` is the position after its last line."),
        ("first_offset", pa.int64(), "Position of its first line."),
        ("exhausted_size", pa.int64(), "Size of the file in bytes where the batch ends at its end, else null; at least "
         "`offset` unless the file is packed."),
        ("bytes", pa.int64(), "Bytes of the lines."),
        ("lines", pa.int64(), f"Entries that the source handed over: {' + '.join(LineOutcome)}."),
        (LineOutcome.STORED, pa.int64(), "Entries that became rows of parsed_logs."),
        (LineOutcome.SIGNALS, pa.int64(), "Entries that became rows of user_signals."),
        (LineOutcome.DUPLICATES, pa.int64(), "Entries seen before."),
        (LineOutcome.REJECTED, pa.int64(), "Entries that could not be read."),
        (LineOutcome.FILTERED, pa.int64(), "Entries of kinds that the configuration leaves out; "
         "ratings that nobody gave."),
        ("newest_requested_at", TIMESTAMP, "Latest request in the batch."),
        ("committed_at", TIMESTAMP, "When the batch was complete."),
        ("content", pa.string(), "Of a file that may be renamed: hash of its first line, and checksum of its lines "
         "up to `offset`."),
    ),
    per_deployment=False,
)  # fmt: skip

SILENCES = TableSpec(
    "_silences",
    "One row a silence that a person added, and one more where a person ended it before its time.",
    described(
        ("silence_id", pa.int64(), "1, 2, 3 ...; the same in both rows."),
        ("change", pa.string(), f"{one_of(SilenceEvent)}."),
        ("changed_at", TIMESTAMP, "When the command was given."),
        ("deployment", pa.string(), "Deployment that is silenced; null for every one."),
        ("metric", pa.string(), "Metric or limit that is silenced, as in alerts; null for every one."),
        ("until", TIMESTAMP, "When the silence ends; the earlier one counts."),
        ("comment", pa.string(), "Why, in the words of who added it; null in the row of an end."),
        ("who", pa.string(), "Who did it on the pages; null by a command, where nobody signs in, and in older rows."),
    ),
    per_deployment=False,
    by_date=False,
    long_text=("comment",),
)

RELEASES = TableSpec(
    "_releases",
    "One row a release that a person marked, and one more where the mark was taken back.",
    described(
        ("release_id", pa.int64(), "1, 2, 3 ...; the same in both rows."),
        ("change", pa.string(), f"{one_of(ReleaseEvent)}."),
        ("changed_at", TIMESTAMP, "When the command was given."),
        ("deployment", pa.string(), "Deployment that was released."),
        ("metric", pa.string(), "Metric that learns anew, as in scores; null for every one."),
        ("released_at", TIMESTAMP, "From when on it is another one."),
        ("comment", pa.string(), "Why, in the words of who marked it; null in the row of a withdrawal."),
    ),
    per_deployment=False,
    by_date=False,
    long_text=("comment",),
)

SAVED_SEARCHES = TableSpec(
    "_saved_searches",
    "One row a search of answers that a person saved by a name, and one more where it was removed.",
    described(
        ("search_id", pa.int64(), "1, 2, 3 ...; of each name of a deployment the row with the largest counts."),
        ("change", pa.string(), f"{one_of(SavedSearchEvent)}."),
        ("changed_at", TIMESTAMP, "When the form was sent."),
        ("who", pa.string(), "Who saved or removed it, as in _audit."),
        ("deployment", pa.string(), "Deployment that is searched."),
        ("name", pa.string(), "Its name on the page; null after that was erased."),
        ("days", pa.int32(), "Length of the period, which ends on the day when it is looked at."),
        ("search", pa.string(), "JSON object of the other fields of the form; null in a row of a removal, and after "
         "one of them was erased."),
    ),
    per_deployment=False,
    by_date=False,
    long_text=("search",),
)  # fmt: skip

DIGESTS = TableSpec(
    "_digests",
    "One row a digest that a monitor begins to send to a receiver, and one more when that is done or has failed.",
    described(
        ("digest_id", pa.string(), "The same in all rows of a digest: its `webhook-id`."),
        ("receiver", pa.string(), "Name of the receiver in the settings."),
        ("every", pa.string(), "daily or weekly."),
        ("until", pa.date32(), "UTC date after the last day that it is about."),
        ("change", pa.string(), f"{one_of(DigestEvent)}."),
        ("changed_at", TIMESTAMP, "When the row was written."),
        ("reason", pa.string(), "What the receiver answered, or why it failed; null when it begins."),
    ),
    per_deployment=False,
    by_date=False,
)

APPLICATION_CLASSES = TableSpec(
    "_application_classes",
    "One row a look of the evaluator at what a deployment does, so at which metrics mean something for it.",
    described(
        ("deployment", pa.string(), "Deployment that was looked at."),
        ("look", pa.int64(), "1, 2, 3 ... of each deployment: the row with the largest holds."),
        ("decided_at", TIMESTAMP, "When its answers were looked at; after 7 days they are again."),
        ("since", TIMESTAMP, "Since when it has these classes, and these metrics are scored."),
        ("classes", STRINGS, f"{one_of(ApplicationClass)}; the first two may come together."),
        ("metrics", STRINGS, "Metrics that are scored."),
        ("is_chosen", pa.bool_(), "Whether the configuration names these metrics, so that the class does not."),
        ("answers", pa.int64(), "Answers of the 7 days that people saw."),
        ("with_contexts", pa.int64(), "Answers of which it is known what was retrieved for them."),
        ("with_tool_calls", pa.int64(), "Answers in whose turn a tool was called."),
        ("media", pa.int64(), "Answers with an attachment and no text."),
    ),
    per_deployment=False,
    by_date=False,
)

SERVICES = TableSpec(
    "_services",
    "One row a heartbeat of a part of dialwatch, about one a minute, and a last one when it was stopped.",
    described(
        ("date", pa.date32(), "UTC date of `heartbeat_at`. Partition."),
        ("part", pa.string(), f"{one_of(ServicePart)}."),
        ("host", pa.string(), "Name of the machine, or container, that it runs on."),
        ("since", TIMESTAMP, "When it began there: with part and host the name of one run."),
        ("heartbeat_at", TIMESTAMP, "When the row was written."),
        (
            "state",
            pa.string(),
            f"{ServiceState.RUNNING}, {ServiceState.FAILING} (a step failed and has not gone well since) or "
            f"{ServiceState.STOPPED} (as asked).",
        ),
        ("last_success", TIMESTAMP, "When its steps last went well; null where none has yet."),
        ("last_error", TIMESTAMP, "When one of them last failed; null where none has."),
        ("error", pa.string(), "What failed then: the store's own words, of any other error its kind alone."),
    ),
    per_deployment=False,
)

CHANGES = TableSpec(
    "_changes",
    "One row a table that got rows, written after them, in a lake on a store: readers look here first.",
    described(
        ("date", pa.date32(), "UTC date of `changed_at`. Partition."),
        ("changed_at", TIMESTAMP, "When the row was written."),
        ("deployment", pa.string(), "Deployment whose table it is; null under the root, and for rows that name none."),
        ("table", pa.string(), "Name of the table."),
        ("version", pa.int64(), "Version of the table that added the rows, in its own log."),
    ),
    per_deployment=False,
)

JUDGE_BUDGETS = TableSpec(
    "_judge_budgets",
    "One row a slice of a judge's budget that an evaluator has reserved, before it makes calls that may cost as much.",
    described(
        ("date", pa.date32(), "UTC date of `hour`. Partition."),
        ("hour", TIMESTAMP, "UTC hour in which the slice is spent: it counts in the budgets of this hour and its day."),
        ("judge", pa.string(), "Name of the judge in the settings."),
        ("amount", pa.float64(), "Money, in the currency of the judge's prices; negative for what is given back."),
        ("reserved_at", TIMESTAMP, "When the row was written."),
        ("host", pa.string(), "Name of the machine, or container, that reserved it."),
    ),
    per_deployment=False,
)

AUDIT = TableSpec(
    "_audit",
    "One row a read of a text on the pages, a change that somebody made there, or a sign-in; at least once.",
    described(
        ("date", pa.date32(), "UTC date of `at`. Partition."),
        ("at", TIMESTAMP, "When it was asked for."),
        ("who", pa.string(), "User that the proxy named; `token` for who has the token; null where nobody signs in."),
        ("action", pa.string(), f"{one_of(AuditAction)}."),
        ("deployment", pa.string(), "Deployment that it was about; null for all, or for none."),
        ("event_id", pa.string(), "Answer that it was about, as in parsed_logs; null after that was erased."),
        ("detail", pa.string(), "What else there is to say, without texts of people: a metric, an id, a period."),
    ),
    per_deployment=False,
    long_text=("detail",),
)

SECRETS = TableSpec(
    "_secrets",
    "One row a secret of the lake, made by whoever needs it first. No page and no export shows it.",
    described(
        ("name", pa.string(), "What it is for: the keys of questions in `scores.question_key`."),
        ("secret", pa.binary(), "Random bytes."),
        ("created_at", TIMESTAMP, "When it was made."),
    ),
    per_deployment=False,
    by_date=False,
)

LAKE_DEFAULTS = TableSpec(
    "_lake_defaults",
    "One row, written before any other into a new lake: what holds in it where the settings say nothing. A lake of an "
    "earlier version has none.",
    described(
        ("begun_at", TIMESTAMP, "When the lake was begun."),
        (
            "text_retention_days",
            pa.int64(),
            "Age in days at which rows of parsed_logs, user_signals and _rejected are deleted.",
        ),
    ),
    per_deployment=False,
    by_date=False,
)

ID_INDEX = TableSpec(
    "_id_index",
    "One row an id that a file of parsed_logs has, and one more a file. Maintenance keeps it, so that an id is found "
    "without a look at every file. A file that it does not name is read.",
    described(
        ("date", pa.date32(), "UTC date of the file's rows. Partition."),
        ("deployment", pa.string(), "Deployment of the file; null for rows that name none."),
        ("path", pa.string(), "The file, below the folder of its table."),
        (
            "key",
            pa.int32(),
            "CRC-32 of an id of a row: of its call, its answer, its conversation, its person, its trace or the "
            "conversation before it. Null in the row that says that all ids of the file are here.",
        ),
    ),
    per_deployment=False,
)
