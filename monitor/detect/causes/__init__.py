"""Change attribution: what else changed around the onset of an alert, by the log of the calls."""

from __future__ import annotations

from monitor.detect.causes.attribution import OnsetInterval, changes_around
from monitor.detect.causes.daily import DailyChanges, SettingChanges
from monitor.detect.causes.found_change import AffectedCounts, AroundOnset, FoundChange, RefusalCounts, told, words_of
from monitor.detect.causes.logged_answer import AnswerFeatures
from monitor.detect.causes.reading import CallersOfDays, TextDifference, around_onset, differences, read_answers

__all__ = [
    "AffectedCounts",
    "AnswerFeatures",
    "AroundOnset",
    "CallersOfDays",
    "DailyChanges",
    "FoundChange",
    "OnsetInterval",
    "RefusalCounts",
    "SettingChanges",
    "TextDifference",
    "around_onset",
    "changes_around",
    "differences",
    "read_answers",
    "told",
    "words_of",
]
