"""Grouping of rows of `scores` by stream, in columns, as a year of them is millions."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.spec.case_vocabulary import CaseStatus
from monitor.detect.regression.arrays import Floats, groups_of, moment
from monitor.detect.regression.batches.batches import ScoreColumns
from monitor.detect.regression.observations import Segment
from monitor.detect.regression.reading import StreamKey
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.segments.calendar import CALENDAR, calendar_classes
from monitor.detect.regression.segments.partition import in_use, segment_of

SkipReason = Literal[
    "backfill", "no_value", "no_stream", "no_time", "future", "no_scale", "out_of_range", "bad_probability", "stopped"
]
"""Why a row is skipped."""

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]

_STREAM = ("deployment", "metric", "metric_version", "direction", "low", "high")
_COLUMNS = (
    *_STREAM,
    "requested_at",
    "chat_id",
    "question_key",
    "response_id",
    "event_id",
    "value",
    "sampling_probability",
    "is_backfill",
    "segment",
)
_STATUS, _BY_PROPOSED = "reference_status", "by_proposed"
_EXPECTED: frozenset[SkipReason] = frozenset({"backfill", "no_value", "no_scale"})
_SMALLEST_PROBABILITY = 1e-9
_NONE = pa.scalar(None, pa.string())
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreamRows:
    """New rows of one stream: the times of all of them, and those that have a score.

    `by_proposed` says that they compare answers with cases that nobody has accepted; such rows never page.
    """

    key: StreamKey
    by_proposed: bool
    scale: Scale
    first: datetime
    latest: datetime
    rows: ScoreColumns


class ScoreGrouper:
    """Gives each stream its rows, and counts those that cannot be used; the first of each reason is logged."""

    def __init__(self, segment_by: tuple[str, ...] = ()) -> None:
        """`segment_by` are the attributes of `scores.segment` by which traffic is divided into classes."""
        self._segment_by = segment_by
        self.skipped: Counter[SkipReason] = Counter()

    def group(self, scores: pa.Table, latest: datetime) -> Iterator[StreamRows]:
        """Group rows of `scores`, in any order; a stream may come twice. Rows after `latest` are of the future."""
        table = _with_status(scores).combine_chunks()
        table = table.filter(pa.array(self._in_time(table, latest)))
        columns = _Columns.of(table, self._segment_by)
        for stream in groups_of(table, (*_STREAM, _BY_PROPOSED)):
            about = table.select((*_STREAM, _BY_PROPOSED)).slice(int(stream[0]), 1).to_pylist()[0]
            scale = Scale.of(about["direction"], about["low"], about["high"])
            if scale is None:
                self._skip("no_scale", table, stream)
                continue
            key = StreamKey(about["deployment"], about["metric"], about["metric_version"] or "")
            times = columns.at[stream]
            rows = columns.rows(stream, self._usable(table, columns, stream, scale), scale)
            by_proposed = about[_BY_PROPOSED]
            yield StreamRows(key, by_proposed, scale, moment(int(times.min())), moment(int(times.max())), rows)

    def _in_time(self, table: pa.Table, latest: datetime) -> Mask:
        """Which rows belong to a stream and a time."""
        usable = np.ones(table.num_rows, dtype=np.bool_)
        # One row of the future would close every batch until then.
        future = pc.greater(table["requested_at"], pa.scalar(latest, table.schema.field("requested_at").type))
        nameless = pc.or_(pc.is_null(table["deployment"]), pc.is_null(table["metric"]))
        reasons: tuple[tuple[SkipReason, pa.ChunkedArray], ...] = (
            ("backfill", table["is_backfill"]),
            ("no_stream", nameless),
            ("no_time", pc.is_null(table["requested_at"])),
            ("future", future),
        )
        for reason, applies in reasons:
            found = usable & np.asarray(pc.fill_null(applies, False), dtype=np.bool_)
            self._skip(reason, table, np.flatnonzero(found))
            usable &= ~found
        return usable

    def _usable(self, table: pa.Table, columns: _Columns, stream: Indices, scale: Scale) -> Mask:
        """Which of the stream's rows have a score that can be used."""
        quality, probability = scale.quality(columns.values[stream]), columns.probabilities[stream]
        usable = np.ones(len(stream), dtype=np.bool_)
        reasons: tuple[tuple[SkipReason, Mask], ...] = (
            ("no_value", ~columns.has_value[stream]),
            ("out_of_range", ~((quality >= 0.0) & (quality <= 1.0))),
            ("bad_probability", ~((probability > 0.0) & (probability <= 1.0))),
        )
        for reason, applies in reasons:
            self._skip(reason, table, stream[usable & applies])
            usable &= ~applies
        return usable

    def _skip(self, reason: SkipReason, table: pa.Table, rows: NDArray[np.int64]) -> None:
        if not len(rows):
            return
        if not self.skipped[reason] and reason not in _EXPECTED:
            event = table["event_id"][int(rows[0])].as_py()
            logger.warning(
                "A score takes no part in finding regressions: %s, event_id %s. Its like are counted.", reason, event
            )
        self.skipped[reason] += len(rows)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a table of scores that all have a time."""

    at: Indices
    values: Floats
    has_value: Mask
    probabilities: Floats
    conversations: pa.DictionaryArray
    questions: pa.DictionaryArray
    answers: pa.DictionaryArray
    segments: NDArray[np.intp]
    kinds: tuple[Segment, ...]

    @classmethod
    def of(cls, table: pa.Table, segment_by: tuple[str, ...]) -> Self:
        event = _text(table["event_id"], pa.scalar(""))
        answer = _text(table["response_id"], event)
        conversations = _conversations(_text(table["chat_id"], _NONE), _text(table["event_id"], answer))
        at = np.asarray(table["requested_at"].cast(pa.int64()), dtype=np.int64)
        segments, kinds = _classes(table["segment"], at, segment_by)
        return cls(
            at,
            np.asarray(pc.fill_null(table["value"], math.nan), dtype=np.float64),
            np.asarray(pc.is_valid(table["value"]), dtype=np.bool_),
            np.asarray(pc.fill_null(table["sampling_probability"], 1.0), dtype=np.float64),
            conversations,
            _encoded(_text(table["question_key"], _text(table["event_id"], answer))),
            _encoded(answer),
            segments,
            kinds,
        )

    def rows(self, stream: Indices, usable: Mask, scale: Scale) -> ScoreColumns:
        """Those of a stream that can be used."""
        chosen = stream[usable]
        weights = 1.0 / np.maximum(self.probabilities[chosen], _SMALLEST_PROBABILITY)
        quality = scale.quality(self.values[chosen])
        picked = pa.array(chosen)
        ids = self.conversations.take(picked), self.questions.take(picked), self.answers.take(picked)
        # Else each stream would go through the kinds of all.
        return ScoreColumns(self.at[chosen], *ids, quality, weights, *in_use(self.segments[chosen], self.kinds))


def _classes(
    column: pa.ChunkedArray, at: Indices, segment_by: tuple[str, ...]
) -> tuple[NDArray[np.intp], tuple[Segment, ...]]:
    """Return the class of traffic of each row: what `scores.segment` says, and the calendar."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    names = tuple(name for name in segment_by if name not in CALENDAR)
    own = [segment_of(one, names) for one in encoded.dictionary.to_pylist()]
    times, of_time = calendar_classes(at, segment_by)
    there, pairs = np.unique(np.asarray(encoded.indices, dtype=np.intp) * len(of_time) + times, return_inverse=True)[
        ::-1
    ]
    kinds = (own[pair // len(of_time)] + of_time[pair % len(of_time)] for pair in pairs.tolist())
    return there, tuple(tuple(sorted(kind)) for kind in kinds)


def _with_status(scores: pa.Table) -> pa.Table:
    """Return the columns that are needed, and whether a row rests on a proposed case; ratings rest on none."""
    by_proposed = pa.array([False]).take(pa.array([0] * scores.num_rows, pa.int64()))
    if _STATUS in scores.column_names:
        by_proposed = pc.fill_null(pc.equal(scores[_STATUS], CaseStatus.PROPOSED), False)
    return scores.select(_COLUMNS).append_column(_BY_PROPOSED, by_proposed)


def _text(column: pa.ChunkedArray, otherwise: pa.ChunkedArray | pa.Scalar) -> pa.ChunkedArray:
    """Fill in what is null or empty."""
    is_there = pc.fill_null(pc.greater(pc.binary_length(column), 0), False)
    return column if pc.all(is_there).as_py() else pc.if_else(is_there, column, otherwise)


def _conversations(chats: pa.ChunkedArray, answers: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the conversation of each answer: its chat, or where it is of none itself."""
    chat, answer = _encoded(chats), _encoded(answers)
    in_chat = np.asarray(pc.fill_null(chat.indices, 0), dtype=np.int32)
    alone = np.asarray(answer.indices, dtype=np.int32) + len(chat.dictionary)
    places = np.where(np.asarray(chat.is_valid()), in_chat, alone).astype(np.int32)
    # A chat and an answer may have the same id; they are still two conversations.
    names = (
        pc.binary_join_element_wise(kind, ids, " ")
        for kind, ids in (("chat", chat.dictionary), ("answer", answer.dictionary))
    )
    return pa.DictionaryArray.from_arrays(places, pa.concat_arrays(list(names)))


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    return column.combine_chunks().dictionary_encode()
