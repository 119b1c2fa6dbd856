"""Rows of `scores`: metrics applied to answers, in one way for new and old ones."""

from evaluator.scoring.counts import ScoreCounts
from evaluator.scoring.scorer import Scorer
from evaluator.scoring.work import Work, answers_at_once, held_score_ids, ids_of, references, work_on

__all__ = ["ScoreCounts", "Scorer", "Work", "answers_at_once", "held_score_ids", "ids_of", "references", "work_on"]
