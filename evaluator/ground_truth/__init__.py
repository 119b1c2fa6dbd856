"""Ground truth from people's signals: liked answers become proposed cases."""

from evaluator.ground_truth.likes import IS_OPINION, OPINION_COLUMNS, answers_with
from evaluator.ground_truth.propose import propose_cases

__all__ = ["IS_OPINION", "OPINION_COLUMNS", "answers_with", "propose_cases"]
