"""The tables where collector, evaluator and monitor meet; this package knows nothing of the three."""

from lake.interchange import answers_frame, ground_truth_frame
from lake.lake import Lake, check_root
from lake.names import deployment_name, folder_name
from lake.schemas import (
    ALERTS,
    ANSWERING_KINDS,
    BATCHES,
    GROUND_TRUTH,
    KINDS,
    PARSED_LOGS,
    REJECTED,
    REPLAYS,
    SCORES,
    TABLES,
    UNASSIGNED,
    USER_SIGNALS,
    TableSpec,
)
from lake.storage import Storage, is_remote
from lake.table import Change, LostRaceError, Table, TableReplacedError

__all__ = [
    "ALERTS",
    "ANSWERING_KINDS",
    "BATCHES",
    "GROUND_TRUTH",
    "KINDS",
    "PARSED_LOGS",
    "REJECTED",
    "REPLAYS",
    "SCORES",
    "TABLES",
    "UNASSIGNED",
    "USER_SIGNALS",
    "Change",
    "Lake",
    "LostRaceError",
    "Storage",
    "Table",
    "TableReplacedError",
    "TableSpec",
    "answers_frame",
    "check_root",
    "deployment_name",
    "folder_name",
    "ground_truth_frame",
    "is_remote",
]
