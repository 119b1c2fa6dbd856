"""Rows of `scores`: metrics applied to answers, in one way for new and old ones."""

from evaluator.scoring.rows import ScoreCounts, Scorer, Work, answers_at_once, held_score_ids, work_on

__all__ = ["ScoreCounts", "Scorer", "Work", "answers_at_once", "held_score_ids", "work_on"]
