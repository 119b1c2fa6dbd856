"""The tables where collector, evaluator and monitor meet; this package knows nothing of the three."""

from lake.accept_header import known_formats
from lake.answers import (
    CASE_QUESTION_COLUMNS,
    IS_ANSWER,
    answer_text,
    case_question,
    context_texts,
    is_whole,
    usable_texts,
)
from lake.belongings import Subject
from lake.cases import USABLE_STATUS, Case, CaseBook
from lake.child_contexts import OUTRANKED_BY_CHILD, ChildContexts
from lake.cleaning import LOG_RETENTION, LogClean, clean_log, vacuum
from lake.clocks import SKEW, ClockSteps, age_of
from lake.compaction import TARGET_BYTES, Compaction, compact
from lake.durations import reads_seconds
from lake.erasure import BACKFILLS, PASSES, Receipt, TableReceipt, erase
from lake.heartbeats import HEARTBEAT_SECONDS, Heartbeat
from lake.host_names import reads_hosts
from lake.interchange import OTHER_CASES, answers_frame, ground_truth_frame
from lake.lake import Lake, check_root
from lake.names import deployment_name, folder_name
from lake.positions import read_new
from lake.reading_ahead import ReadAhead, Wanted
from lake.retention import Forgotten, forget_before
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
from lake.signals import DISLIKES, FOLD_COLUMNS, fold_signals
from lake.storage import Storage, is_remote
from lake.store_errors import in_one_line, is_store_error, log_failure, without_rows
from lake.table import OVERLAP, Change, LostRaceError, Table, TableReplacedError
from lake.table_spec import TableSpec
from lake.upkeep.maintenance import LakeMaintenanceSettings, MaintenanceResult, all_tables, maintain
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
    "ReadAhead",
    "Receipt",
    "ServicePart",
    "ServiceState",
    "Storage",
    "Subject",
    "Table",
    "TableReceipt",
    "TableReplacedError",
    "TableSpec",
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
