"""Sample of the answers that a judge is asked about, each with its probability."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.dataset as ds
from pydantic import Field

from evaluator.answers import LoggedAnswer
from evaluator.sampling.conversations import is_sampled
from lake.queries.signals_by_answer import SIGNAL_JOIN_COLUMNS, SignalJoin, read_signaled
from lake.spec.vocabulary import Direction
from lake.tables.table import Table
from runtime.setting import COMMON, Section, Setting

LOW = 0.25
"""A score in the worst quarter of its metric's range is a bad sign."""

Rate = Annotated[float, Field(gt=0, le=1)]


class SamplingSettings(Section):
    """Share of conversations that a judge is asked about.

    An answer is flagged where it is cut or its log line had an error, where somebody gave a signal in its conversation
    before it was scored, or where a metric that asks no judge finds it bad: in the worst quarter of its range.
    """

    rate: Annotated[Rate, COMMON] = 1.0
    """Share of conversations that a judge is asked about, above 0 and at most 1, see
    [judges.md](judges.md#which-answers)."""
    flagged_rate: Annotated[Rate | None, Setting(default="the rate")] = None
    """Share of the answers that [may be bad](judges.md#which-answers) that a judge is asked about."""

    @property
    def uses_flags(self) -> bool:
        """Whether flagged answers have another rate than the others."""
        return self.flagged_rate is not None and self.flagged_rate != self.rate


ALL = SamplingSettings()


@dataclass(frozen=True)
class Sampling:
    """The settings, and the share of them, in (0, 1], that the judge's budget allows.

    `known` answers, by their `event_id`, are in the sample since an earlier time, when that was so likely.
    """

    settings: SamplingSettings = ALL
    share: float = 1.0
    known: Mapping[str, float] = field(default_factory=dict)

    def probability(self, *, flagged: bool) -> float:
        """Return how likely an answer is to be in the sample."""
        settings = self.settings
        rate = settings.flagged_rate if flagged and settings.flagged_rate is not None else settings.rate
        return rate * self.share

    def may_have(self, conversation: str) -> bool:
        """Whether an answer of a conversation can be in the sample, be it flagged or not."""
        return is_sampled(conversation, max(self.probability(flagged=one) for one in (False, True)))

    def probabilities(self, some: Sequence[LoggedAnswer], flagged: Collection[str]) -> dict[str, float]:
        """Return the `event_id` of the answers that are in the sample, each with how likely that was.

        Decided by the hash of the conversation, so that its answers are in or out together where they are as likely;
        an answer without a conversation is one of its own.
        """
        drawn = ((answer, self.probability(flagged=answer.event_id in flagged)) for answer in some)
        sample = {answer.event_id: p for answer, p in drawn if is_sampled(answer.chat_id or answer.event_id, p)}
        return sample | {
            answer.event_id: self.known[answer.event_id] for answer in some if answer.event_id in self.known
        }


def flagged(some: Sequence[LoggedAnswer], scored: Sequence[dict[str, Any]], signals: Table, logs: Table) -> set[str]:
    """Return the `event_id` of answers of which something says that they may be bad.

    `scored` are rows of their scores by metrics that ask no judge.
    """
    signaled = _signaled(some, signals, logs)
    found = {answer.event_id for answer in some if answer.is_cut or answer.event_id in signaled}
    return found | {row["event_id"] for row in scored if _is_low(row)}


def _signaled(some: Sequence[LoggedAnswer], signals: Table, logs: Table) -> set[str]:
    """Return the `event_id` of answers on which, or in whose conversations, somebody gave a signal.

    Where the signals of a conversation name it, as they mostly do, no other answers are read.
    """
    if not some or signals.version() is None:
        return set()
    # Clocks and zones of time may differ by a day.
    recent = ds.field("date") >= pa.scalar(min(answer.date for answer in some) - timedelta(days=1))
    named = signals.read(["response_id", "chat_id"], recent)
    chats = set(named["chat_id"].drop_null().unique().to_pylist())
    found = {answer.event_id for answer in some if answer.chat_id in chats}
    left = [answer for answer in some if answer.event_id not in found]
    # An answer without an id is found by a signal without one.
    wanted = {one for answer in left for one in (answer.event_id, answer.response_id, *answer.response_ids)}
    if wanted.isdisjoint(named["response_id"].unique().to_pylist()):
        return found
    is_about = ds.field("response_id").isin(pa.array(wanted - {None}, pa.string()))
    if None in wanted:
        is_about = is_about | ds.field("response_id").is_null()
    rows = signals.read(SIGNAL_JOIN_COLUMNS, recent & is_about)
    join = SignalJoin(read_signaled(logs, rows), rows.to_pylist())
    return found | {event_id for row in rows.to_pylist() if (event_id := join.answer_of(row)) is not None}


def _is_low(row: dict[str, Any]) -> bool:
    value, low, high, direction = row["value"], row["low"], row["high"], row["direction"]
    if value is None or direction == Direction.NONE or not abs(high - low) < float("inf"):
        return False
    quality = (value - low) / (high - low)
    return bool((quality if direction == Direction.UP else 1 - quality) < LOW)
