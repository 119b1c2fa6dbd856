"""Ground truth from people's signals: liked answers become proposed cases."""

from evaluator.ground_truth.extract import Extraction, NewFacts, extract_facts, lacking
from evaluator.ground_truth.old_cases import renew_old_cases
from evaluator.ground_truth.propose import propose_cases
from evaluator.ground_truth.ratings import IS_OPINION, OPINION_COLUMNS
from evaluator.ground_truth.settings import GroundTruthSettings
from evaluator.ground_truth.synthetic import Document, Synthesis, propose_from_documents

__all__ = [
    "IS_OPINION",
    "OPINION_COLUMNS",
    "Document",
    "Extraction",
    "GroundTruthSettings",
    "NewFacts",
    "Synthesis",
    "extract_facts",
    "lacking",
    "propose_cases",
    "propose_from_documents",
    "renew_old_cases",
]
