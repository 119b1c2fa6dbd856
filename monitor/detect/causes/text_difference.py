"""Differences of system prompts and tools that changed, read of the log when somebody who may read texts asks."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from lake.queries.sampled_answers import request_of_answer
from lake.tables.lake import Lake
from monitor.detect.causes.answer_features import system_prompt, tools_text
from monitor.detect.causes.features import SPECS, Feature
from monitor.detect.causes.found_change import FoundChange, LoggedAddress

MOST_LINES, MOST_CHARACTERS = 200, 500
"""Lines of a difference, and characters of each."""
_LONGEST = 100_000
"""Of a text that is compared."""


@dataclass(frozen=True)
class TextDifference:
    """A unified difference of a text before and after an onset; `left_out` lines of it are not given."""

    name: str
    subject: str
    lines: Sequence[str]
    left_out: int = 0


def differences(lake: Lake, deployment: str, changes: Sequence[FoundChange]) -> list[TextDifference]:
    """Give the differences of the texts among these changes; none of one whose answers have left the log."""
    found = []
    for change in changes:
        if change.feature in (Feature.SYSTEM_PROMPT, Feature.TOOLS):
            before, after = (
                _text(lake, deployment, change, one) for one in (change.answer_before, change.answer_after)
            )
            if before is not None and after is not None:
                found.append(_difference(change, before, after))
    return found


def _text(lake: Lake, deployment: str, change: FoundChange, address: LoggedAddress | None) -> str | None:
    if address is None:
        return None
    body = request_of_answer(lake, deployment, address.date, address.event_id, change.subject)
    text = system_prompt(body) if change.feature is Feature.SYSTEM_PROMPT else tools_text(body)
    return None if text is None else text[:_LONGEST]


def _difference(change: FoundChange, before: str, after: str) -> TextDifference:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=2, lineterm=""))
    shown = [line[:MOST_CHARACTERS] for line in lines[:MOST_LINES]]
    return TextDifference(SPECS[change.feature].words, change.subject, shown, len(lines) - len(shown))
