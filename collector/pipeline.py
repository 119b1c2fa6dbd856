"""From delivered pieces to rows in the lake: split, parse, drop what came before, fill in contexts, commit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from collector.batch import Batch, Counts, Section
from collector.books import Books, Mark
from collector.checkpoint import Checkpoint
from collector.children import RecentChildren
from collector.duplicates import DuplicateWindow
from collector.parsing import LogRecord, Rejection, SignalRecord, parse_entry, split_entries
from collector.position import HTTP, Partition, Piece
from collector.recall import recent_children, recent_ids, rejection_id
from collector.settings import CollectorSettings
from lake import PARSED_LOGS, REJECTED, USER_SIGNALS, Lake, LostRaceError

logger = logging.getLogger(__name__)

_BYTES_OF_A_ROW = 500
"""A row's least weight in a batch: many small lines are not a small batch."""
_CHILD_CALL_OUTRANKS = frozenset({"cited", "prompt", "none"})


class Collector:
    """One open batch and what must be remembered across batches. Sources in several threads may share one."""

    books: Books
    _batch: Batch

    def __init__(
        self, lake: Lake, settings: CollectorSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.lake = lake
        self._settings = settings
        self._clock = clock
        self._lock = threading.RLock()
        self.totals = Counts()
        self._begin()

    def add(self, piece: Piece) -> None:
        """Take a piece into the open batch; commit what is there first if it is full or old.

        When the commit fails its error is raised and the piece is not taken, so that memory stays bounded. Raises
        LostRaceError where the piece is not the next of its partition: a batch has been given up, and the source must
        be read again from `offset()`.
        """
        with self._lock:
            self.flush_if_due()
            self._require_next(piece.partition, piece.begin)
            section = self._section(piece.partition)
            section.bytes += len(piece.raw)
            self._batch.bytes += len(piece.raw)
            if piece.problem is not None:
                section.counts.lines += 1
                self._reject(
                    piece, Rejection(reason=piece.problem[0], message=piece.problem[1], raw=piece.raw), section
                )
            else:
                for entry in split_entries(piece.raw):
                    section.counts.lines += 1
                    self._batch.bytes += _BYTES_OF_A_ROW
                    self._take(piece, entry, section)
            section.offset = piece.offset

    def commit(self, pieces: Iterable[Piece]) -> None:
        """Take pieces and commit them; what becomes of other sources' lines meanwhile cannot concern them."""
        with self._lock:
            for piece in pieces:
                self.add(piece)
            self.flush()

    def offset(self, partition: Partition) -> int:
        """Position after the last line that was taken from this partition, committed or not."""
        with self._lock:
            section = self._batch.sections.get(partition)
            return self.books.offset(partition) if section is None else section.offset

    def exhausted(self, partition: Partition, end: int, size: int) -> None:
        """Note that a file of this size was read to its end, which is the position `end`; raises as `add` does."""
        with self._lock:
            self._require_next(partition, end)
            self._section(partition).exhausted_size = size

    def flush_if_due(self) -> None:
        """Commit the open batch if it holds enough or has waited enough."""
        with self._lock:
            age = (self._clock() - self._batch.opened_at).total_seconds()
            if self._batch.bytes >= self._settings.flush_bytes or age >= self._settings.flush_seconds:
                self.flush()

    def flush(self) -> Counts:
        """Commit the open batch and give its counts. After an error the batch stays open, to be tried again.

        Raises LostRaceError where another collector reads the same source: the batch is then given up, since the
        other one has it, and the next line is read from where the lake says.
        """
        with self._lock:
            batch, now = self._batch, self._clock()
            try:
                self._checkpoint.commit(batch, now)
            except LostRaceError:
                self._begin()
                raise
            for partition, section in batch.sections.items():
                self.books.note(partition, Mark(section.offset, section.exhausted_size))
            counts = batch.counts()
            self.totals += counts
            self._batch = Batch(now)
        if counts.lines:
            logger.info("committed a batch: %s", counts)
        return counts

    def _begin(self) -> None:
        self._checkpoint = Checkpoint(self.lake)
        self._duplicates = DuplicateWindow(timedelta(hours=self._settings.duplicate_window_hours))
        self._children = RecentChildren()
        self.books = Books(self.lake)
        self._batch = Batch(self._clock())
        self._recall()

    def _require_next(self, partition: Partition, begin: int | None) -> None:
        if begin is not None and begin != self.offset(partition):
            raise LostRaceError(f"a batch with lines of {partition.name} was given up; it is read again")

    def _section(self, partition: Partition) -> Section:
        return self._batch.section(partition, self.books.offset(partition))

    def _take(self, piece: Piece, entry: bytes, section: Section) -> None:
        record = parse_entry(entry)
        if isinstance(record, Rejection):
            if self._was_sent_again(record, piece):
                section.counts.duplicates += 1
            else:
                self._reject(piece, record, section)
        elif isinstance(record, LogRecord) and record.kind in self._settings.leave_out:
            section.counts.filtered += 1
        elif self._is_duplicate(record, piece):
            section.counts.duplicates += 1
        elif isinstance(record, SignalRecord):
            self._batch.put(USER_SIGNALS, piece.partition, piece.offset, msgspec.structs.asdict(record))
            section.counts.signals += 1
        else:
            self._store(record, piece, section)

    def _is_duplicate(self, record: LogRecord | SignalRecord, piece: Piece) -> bool:
        event_id = record.event_id if isinstance(record, LogRecord) else record.signal_id
        return self._duplicates.is_duplicate(event_id, piece.partition.app_id, piece.offset, self._clock())

    def _was_sent_again(self, rejection: Rejection, piece: Piece) -> bool:
        # What has a position comes once; a sender over HTTP repeats all that it got no answer for.
        if piece.partition.kind != HTTP:
            return False
        return self._duplicates.is_duplicate(
            rejection_id(rejection.raw), piece.partition.app_id, piece.offset, self._clock()
        )

    def _store(self, record: LogRecord, piece: Piece, section: Section) -> None:
        columns = msgspec.structs.asdict(record)
        self._join_children(columns)
        self._batch.put(PARSED_LOGS, piece.partition, piece.offset, columns)
        section.counts.stored += 1
        if section.newest_requested_at is None or record.requested_at > section.newest_requested_at:
            section.newest_requested_at = record.requested_at

    def _join_children(self, columns: dict[str, Any]) -> None:
        trace_id, span_id, parent = columns["trace_id"], columns["span_id"], columns["parent_span_id"]
        if columns["contexts_origin"] in _CHILD_CALL_OUTRANKS and trace_id and span_id:
            contexts = self._children.contexts_for(trace_id, span_id)
            if contexts is not None:
                columns.update(contexts=contexts, contexts_origin="child_call")
        if columns["contexts_origin"] == "prompt" and trace_id and parent:
            self._children.remember(trace_id, parent, columns["contexts"])

    def _reject(self, piece: Piece, rejection: Rejection, section: Section) -> None:
        columns = {
            "reason": rejection.reason,
            "message": rejection.message,
            "raw": rejection.raw,
            "deployment": rejection.deployment,
            "date": self._clock().date(),
        }
        self._batch.put(REJECTED, piece.partition, piece.offset, columns)
        section.counts.rejected += 1

    def _recall(self) -> None:
        """Remember again what a collector that ran before knew: ids of the duplicate window, contexts of children."""
        window = timedelta(hours=self._settings.duplicate_window_hours)
        for seen in recent_ids(self.lake, self._clock() - window):
            if seen.offset > self.books.offset(seen.partition):
                self._duplicates.expect_again(seen.event_id, seen.partition.app_id, seen.offset)
            else:
                self._duplicates.remember(seen.event_id, seen.at)
        for child in recent_children(self.lake, self.books):
            self._children.remember(child["trace_id"], child["parent_span_id"], child["contexts"])
