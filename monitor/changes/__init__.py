"""Change attribution: what else changed around the onset of an alert, by the log of the calls."""

from __future__ import annotations

from monitor.changes.attribution import Onset, changes_around
from monitor.changes.daily import DailyChanges, SettingChanges
from monitor.changes.found_change import AroundOnset, FoundChange, told, words_of
from monitor.changes.logged_answer import LoggedAnswer
from monitor.changes.reading import CallersOfDays, around_onset, read_answers
from monitor.changes.text_difference import TextDifference, differences

__all__ = [
    "AroundOnset",
    "CallersOfDays",
    "DailyChanges",
    "FoundChange",
    "LoggedAnswer",
    "Onset",
    "SettingChanges",
    "TextDifference",
    "around_onset",
    "changes_around",
    "differences",
    "read_answers",
    "told",
    "words_of",
]
