from .queries.answer_details import read_answer
from .queries.answer_filter import AnswerFilter
from .queries.answer_search import find_answers
from .queries.frames import answers_frame, ground_truth_frame
from .queries.ground_truth.case_versions import change_cases
from .queries.ratings import AnswerRating
from .queries.signals import fold_signals
from .spec.case_tables import GROUND_TRUTH, REPLAYS
from .spec.root_tables import AUDIT, BATCHES, CHANGES, JUDGE_BUDGETS, REJECTED, RELEASES, SERVICES, SILENCES
from .spec.schemas import ALERTS, ANCHORS, INCIDENTS, PARSED_LOGS, SCORES, USER_SIGNALS
from .spec.state_tables import MONITOR_STATE
from .tables.lake import Lake
from .tables.open_tables import OpenTables
from .tables.storage import Storage
from .tables.table import Table

__all__ = [
    "ALERTS",
    "ANCHORS",
    "AUDIT",
    "BATCHES",
    "CHANGES",
    "GROUND_TRUTH",
    "INCIDENTS",
    "JUDGE_BUDGETS",
    "MONITOR_STATE",
    "PARSED_LOGS",
    "REJECTED",
    "RELEASES",
    "REPLAYS",
    "SCORES",
    "SERVICES",
    "SILENCES",
    "USER_SIGNALS",
    "AnswerFilter",
    "AnswerRating",
    "Lake",
    "OpenTables",
    "Storage",
    "Table",
    "answers_frame",
    "change_cases",
    "find_answers",
    "fold_signals",
    "ground_truth_frame",
    "read_answer",
]
