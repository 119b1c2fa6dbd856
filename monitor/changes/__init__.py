"""Change attribution: what else changed around the onset of an alert, by the log of the calls."""

from __future__ import annotations

from monitor.changes.attribution import Onset, changes_around
from monitor.changes.daily import SettingChanges, changes_of_day
from monitor.changes.found_change import AroundOnset, FoundChange, told, words_of
from monitor.changes.logged_answer import LoggedAnswer
from monitor.changes.reading import around_onset, read_answers
from monitor.changes.text_difference import TextDifference, differences

__all__ = [
    "AroundOnset",
    "FoundChange",
    "LoggedAnswer",
    "Onset",
    "SettingChanges",
    "TextDifference",
    "around_onset",
    "changes_around",
    "changes_of_day",
    "differences",
    "read_answers",
    "told",
    "words_of",
]
