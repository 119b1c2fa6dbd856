"""The tables where collector, evaluator and monitor meet; this package knows nothing of the three."""

from lake.answers.answer_rows import (
    CASE_QUESTION_COLUMNS,
    IS_ANSWER,
    answer_text,
    case_question,
    context_texts,
    is_whole,
    usable_texts,
)
from lake.answers.cases import USABLE_STATUS, Case, CaseBook
from lake.answers.child_contexts import OUTRANKED_BY_CHILD, ChildContexts
from lake.answers.frames import OTHER_CASES, answers_frame, ground_truth_frame
from lake.answers.signals import DISLIKES, FOLD_COLUMNS, fold_signals
from lake.erasure.erasure import Receipt, TableReceipt, erase
from lake.erasure.erasure_scope import Subject
from lake.root_tables import BATCHES, REJECTED, RELEASES, SERVICES, SILENCES
from lake.schemas import (
    ALERTS,
    ANCHORS,
    ANSWERING_KINDS,
    GROUND_TRUTH,
    KINDS,
    PARSED_LOGS,
    REPLAYS,
    SCORES,
    TABLES,
    UNASSIGNED,
    USER_SIGNALS,
)
from lake.service.accept_header import known_formats
from lake.service.clocks import SKEW, ClockSteps, age_of
from lake.service.durations import reads_seconds
from lake.service.heartbeats import HEARTBEAT_SECONDS, Heartbeat
from lake.service.host_names import reads_hosts
from lake.table_spec import TableSpec
from lake.tables.folder_names import deployment_name, folder_name
from lake.tables.lake import Lake, check_root
from lake.tables.pass_transaction import BACKFILLS, PASSES, PassTransaction, UncommittedPositions
from lake.tables.positions import read_new
from lake.tables.reading_ahead import ReadAhead, Wanted
from lake.tables.storage import Storage, is_remote
from lake.tables.store_errors import TableError, in_one_line, is_store_error, log_failure, without_rows
from lake.tables.table import OVERLAP, Change, LostRaceError, Table, TableReplacedError
from lake.upkeep.cleaning import LOG_RETENTION, LogClean, clean_log, vacuum
from lake.upkeep.compaction import TARGET_BYTES, Compaction, compact
from lake.upkeep.maintenance import LakeMaintenanceSettings, MaintenanceResult, all_tables, maintain
from lake.upkeep.retention import Forgotten, forget_before
from lake.vocabulary import (
    IS_PRODUCTION,
    JUDGE_KINDS,
    NO_ERROR,
    TOOL_CALL_FINISH_REASONS,
    JudgeKind,
    Origin,
    ServicePart,
    ServiceState,
    asks_llm,
    can_drift,
    llms_of,
)

__all__ = [
    "ALERTS",
    "ANCHORS",
    "ANSWERING_KINDS",
    "BACKFILLS",
    "BATCHES",
    "CASE_QUESTION_COLUMNS",
    "DISLIKES",
    "FOLD_COLUMNS",
    "GROUND_TRUTH",
    "HEARTBEAT_SECONDS",
    "IS_ANSWER",
    "IS_PRODUCTION",
    "JUDGE_KINDS",
    "KINDS",
    "LOG_RETENTION",
    "NO_ERROR",
    "OTHER_CASES",
    "OUTRANKED_BY_CHILD",
    "OVERLAP",
    "PARSED_LOGS",
    "PASSES",
    "REJECTED",
    "RELEASES",
    "REPLAYS",
    "SCORES",
    "SERVICES",
    "SILENCES",
    "SKEW",
    "TABLES",
    "TARGET_BYTES",
    "TOOL_CALL_FINISH_REASONS",
    "UNASSIGNED",
    "USABLE_STATUS",
    "USER_SIGNALS",
    "Case",
    "CaseBook",
    "Change",
    "ChildContexts",
    "ClockSteps",
    "Compaction",
    "Forgotten",
    "Heartbeat",
    "JudgeKind",
    "Lake",
    "LakeMaintenanceSettings",
    "LogClean",
    "LostRaceError",
    "MaintenanceResult",
    "Origin",
    "PassTransaction",
    "ReadAhead",
    "Receipt",
    "ServicePart",
    "ServiceState",
    "Storage",
    "Subject",
    "Table",
    "TableError",
    "TableReceipt",
    "TableReplacedError",
    "TableSpec",
    "UncommittedPositions",
    "Wanted",
    "age_of",
    "all_tables",
    "answer_text",
    "answers_frame",
    "asks_llm",
    "can_drift",
    "case_question",
    "check_root",
    "clean_log",
    "compact",
    "context_texts",
    "deployment_name",
    "erase",
    "fold_signals",
    "folder_name",
    "forget_before",
    "ground_truth_frame",
    "in_one_line",
    "is_remote",
    "is_store_error",
    "is_whole",
    "known_formats",
    "llms_of",
    "log_failure",
    "maintain",
    "read_new",
    "reads_hosts",
    "reads_seconds",
    "usable_texts",
    "vacuum",
    "without_rows",
]
