"""Ground truth from people's signals: liked answers become proposed cases."""

from evaluator.ground_truth.extract import Extraction, NewFacts, extract_facts, lacking
from evaluator.ground_truth.old_cases import renew_old_cases
from evaluator.ground_truth.propose import propose_cases
from evaluator.ground_truth.ratings import IS_OPINION, OPINION_COLUMNS
from evaluator.ground_truth.settings import GroundTruthSettings

__all__ = [
    "IS_OPINION",
    "OPINION_COLUMNS",
    "Extraction",
    "GroundTruthSettings",
    "NewFacts",
    "extract_facts",
    "lacking",
    "propose_cases",
    "renew_old_cases",
]
