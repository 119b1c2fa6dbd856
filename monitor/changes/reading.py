"""Reading of the answers around an onset: a bounded sample, denser near the onset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lake import Lake, callers, sampled_answers
from monitor.changes.answer_features import logged_answer
from monitor.changes.attribution import DAYS_BEFORE, LONGEST_AFTER, Onset, changes_around
from monitor.changes.found_change import AroundOnset
from monitor.changes.logged_answer import LoggedAnswer

MOST_A_DAY, MOST_NEAR = 350, 1_000
"""Answers a day of the days before, and of each day around the onset."""
_NEAR = timedelta(days=1)
_PROBED = timedelta(hours=12)

CalledBy = Mapping[str | None, frozenset[str]]
"""The callers of each deployment that has some."""


def callers_around(lake: Lake, onset: Onset, until: datetime, deployments: Sequence[str | None]) -> CalledBy:
    """Read who called each of these deployments around an onset."""
    end = min(until, onset.latest + LONGEST_AFTER)
    return callers(lake, sorted(deployments, key=str), onset.earliest - _PROBED, end)


def read_answers(
    lake: Lake,
    deployment: str,
    onset: Onset,
    until: datetime,
    called_by: CalledBy,
    most: tuple[int, int] = (MOST_A_DAY, MOST_NEAR),
) -> list[LoggedAnswer]:
    """Read the answers from 7 days before an onset to a day after it, or to `until`, with their features.

    `called_by` are the callers of `callers_around`; `most` answers are read of a day before, and of each near the
    onset.
    """
    end = min(until, onset.latest + LONGEST_AFTER)
    called = [name for name, names in called_by.items() if deployment in names]
    begin, near = onset.earliest - timedelta(days=DAYS_BEFORE), onset.earliest - _NEAR
    parts = ((begin, near, most[0]), (near, end, most[1]))
    return [
        logged_answer(one, deployment)
        for since, to, most in parts
        for one in sampled_answers(lake, deployment, since, to, most, called)
    ]


def around_onset(
    lake: Lake, deployment: str, onset: Onset, until: datetime, deployments: Sequence[str | None]
) -> AroundOnset:
    """Read the answers around an onset and give what changed; see `read_answers` and `changes_around`."""
    answers = read_answers(lake, deployment, onset, until, callers_around(lake, onset, until, deployments))
    return AroundOnset(len(answers), changes_around(answers, onset, until))
