"""Preferences: which of two answers to the same question a judge holds for better."""

from evaluator.preferences.comparing import ComparedAnswers, compare_answers
from evaluator.preferences.judging import Preference, TwoAnswers, preferences, version_of

__all__ = ["ComparedAnswers", "Preference", "TwoAnswers", "compare_answers", "preferences", "version_of"]
