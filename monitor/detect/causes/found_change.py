"""A change that was found in the log, as the details of an alert hold it, and how it is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import msgspec

from lake.queries.affected import StandsOut
from lake.queries.refusals import MOST_ANSWERS
from monitor.detect.causes.features import SPECS, Feature, FeatureKind

MOST_TOLD = 3
"""The most changes that are kept and told of an alert."""
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_WHOLE = 0.95
LEAST_ANSWERS = 8
"""Answers without which nothing is said of refusals."""
_MOST_REFUSE, _MORE_REFUSE = 0.5, 0.25
"""Share of the answers that refuse, and by how much it is above the share of before."""


class RefusalCounts(msgspec.Struct, frozen=True):
    """How many of the latest answers since an onset refuse, by their texts, and how many of those of before did."""

    refusals: int
    answers: int
    refusals_before: int
    answers_before: int

    @property
    def are_most(self) -> bool:
        """Whether at least half of the answers refuse now, clearly more than before; not by a few answers."""
        if self.answers < LEAST_ANSWERS:
            return False
        before = self.refusals_before / self.answers_before if self.answers_before else 0.0
        return self.refusals / self.answers >= max(_MOST_REFUSE, before + _MORE_REFUSE)

    def __str__(self) -> str:
        """Return the numbers of now in words."""
        return f"{self.refusals:,} of {self.answers:,} answers were refusals"


class AffectedCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who asked between an onset and the change of its alert, counted: nobody is named.

    People and conversations are those that the log tells apart. Documents in `stands_out` have an empty name.
    """

    requests: int
    conversations: int
    people: int
    stands_out: tuple[StandsOut, ...] = ()
    refusals: RefusalCounts | None = None
    """Where most of the answers since then refuse, and fewer did before: how many; else None."""

    @property
    def who(self) -> str:
        """Requests and the people who made them, in words; people are left out where the log names none."""
        of = f" of {self.people:,} {'person' if self.people == 1 else 'people'}" if self.people else ""
        return f"{self.requests:,} request{'' if self.requests == 1 else 's'}{of}"

    @property
    def in_words(self) -> str:
        """Who asked, and how many of the answers refuse where most do; empty where nothing is known."""
        if self.refusals is None:
            return self.who if self.requests else ""
        if not self.requests:
            return str(self.refusals)
        # Of more requests only the latest answers are looked at.
        of = f" of the latest {self.refusals.answers:,}" if self.requests > MOST_ANSWERS else ""
        return f"{self.who}, {self.refusals.refusals:,}{of} answered with a refusal"


class LoggedAddress(msgspec.Struct, frozen=True):
    """Where the log has an answer."""

    event_id: str
    date: date


class FoundChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A feature that changed near an onset; texts are never in here.

    `before` and `after` are medians of a number (means where these are equal), shares of 0 to 1 of a category's value.
    """

    feature: Feature
    at: datetime
    """Most likely time of the first answer after the change."""
    earliest: datetime
    latest: datetime
    """Interval of `at`, about 95 %."""
    before: float
    after: float
    size: float
    """From 0 to 1: how much of the traffic differs."""
    p_value: float
    """Corrected for all features that were compared."""
    subject: str = ""
    """The parameter's name, or the deployment whose system prompt or tools it is."""
    value: str | None = None
    """The value whose share changed, where it is a name; null for new values together."""
    value_before: str | None = None
    """The most frequent value before, where another one is after."""
    is_new: bool = False
    """Whether the share is that of values that were never seen before."""
    is_gone: bool = False
    """Whether the shares are those of documents of a day that the next day does not have."""
    answer_before: LoggedAddress | None = None
    answer_after: LoggedAddress | None = None
    """Of a system prompt or tools: answers whose requests can be compared."""


class AroundOnset(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found around the onset of an alert when it fired."""

    answers: int
    """Answers that were compared."""
    changes: tuple[FoundChange, ...] = ()
    """The most likely cause first; empty where nothing that the log shows changed."""


def words_of(changes: Sequence[FoundChange], since: datetime | None) -> str:
    """Say in one line what changed, the most likely cause first."""
    return "; ".join(_moment(change, since) + ": " + what_changed(change) for change in changes)


def _moment(change: FoundChange, since: datetime | None) -> str:
    width = change.latest - change.earliest
    about = "" if width <= 10 * _MINUTE else "about "
    moment = f"at {about}{change.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if since is None:
        return moment
    gap = change.at - since
    if abs(gap) < _MINUTE:
        return f"{moment} (at the onset)"
    return f"{moment} ({_length(abs(gap))} {'before' if gap < timedelta(0) else 'after'} the likely onset)"


def _length(gap: timedelta) -> str:
    if gap < _HOUR:
        return f"{gap // _MINUTE} min"
    return f"{gap / _HOUR:.0f} h" if gap < 2 * _DAY else f"{gap / _DAY:.0f} days"


def what_changed(change: FoundChange) -> str:
    """Say what changed, without when."""
    spec = SPECS[change.feature]
    name = f"{spec.words} {change.subject}" if change.feature is Feature.PARAMETER else spec.words
    if change.subject and change.feature is not Feature.PARAMETER:
        name = f"{name} of {change.subject}"
    if spec.kind is FeatureKind.NUMBER:
        scale = 100 if spec.unit == "%" else 1
        unit = " %" if spec.unit == "%" else spec.unit
        return f"{name} {_number(scale * change.before)} to {_number(scale * change.after)}{unit}"
    shares = f"{100 * change.before:.0f} to {100 * change.after:.0f} %"
    if change.is_gone:
        return f"{name}: {shares} of those of a day are not retrieved on the next"
    if change.feature is Feature.DOCUMENTS:
        which = "new ones" if change.is_new else "one that was known"
        return f"{name}: {which} {shares}"
    if change.value is not None:
        if change.value_before is not None:
            return f"{name} {change.value_before} to {change.value}" + (
                "" if change.size >= _WHOLE else f" in {100 * change.size:.0f} % of answers"
            )
        return f"{name} {change.value}{' (new)' if change.is_new else ''}: {shares} of answers"
    if change.feature in (Feature.SYSTEM_PROMPT, Feature.TOOLS):
        return f"{name} changed" + ("" if change.size >= _WHOLE else f" in {100 * change.size:.0f} % of answers")
    return f"{name}: {'new ones' if change.is_new else 'those of one of them'} {shares} of answers"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def told(around: AroundOnset, since: datetime | None) -> str:
    """Say in one line what the log shows around an onset."""
    if around.changes:
        return f"Also changed, by the log: {words_of(around.changes, since)}."
    return f"Also changed: nothing that the log shows. {around.answers} requests from before and after were compared."
