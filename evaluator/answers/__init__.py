"""Answers to score: new ones, old ones, and those whose contexts come late."""

from evaluator.answers.answer import ANSWER_COLUMNS, AT_ONCE, LoggedAnswer, answers
from evaluator.answers.case_matching import CaseMatching, SimilarByEncoder
from evaluator.answers.core_files import CoreFiles
from evaluator.answers.images import QuestionImages
from evaluator.answers.late_contexts import GracePeriod, wait_behind_interceptor, with_late_contexts
from evaluator.answers.new import new_answers
from evaluator.answers.old import BackfillPass, Period, answers_a_day, old_answers
from evaluator.answers.tables import DeploymentTables

__all__ = [
    "ANSWER_COLUMNS",
    "AT_ONCE",
    "BackfillPass",
    "CaseMatching",
    "CoreFiles",
    "DeploymentTables",
    "GracePeriod",
    "LoggedAnswer",
    "Period",
    "QuestionImages",
    "SimilarByEncoder",
    "answers",
    "answers_a_day",
    "new_answers",
    "old_answers",
    "wait_behind_interceptor",
    "with_late_contexts",
]
