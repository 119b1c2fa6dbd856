"""Pipeline from delivered pieces to rows in the lake: split, parse, redact, drop duplicates, add contexts, commit."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from collector.commit.background_commit import BackgroundCommit
from collector.commit.batch import Batch, BatchState, Counts, IncompleteBatchError, PartitionSection
from collector.commit.batch_committer import BatchCommitter
from collector.commit.committed_offsets import CommittedOffset, CommittedOffsets
from collector.commit.concurrent_collectors import number_of
from collector.commit.duplicates import DuplicateWindow
from collector.commit.position import Content, Partition, Piece
from collector.commit.table_rows import RowPosition
from collector.metrics.commit_stats import Meter
from collector.parsing import Filtered, LogRecord, Record, Rejection, SignalRecord, core_lines, parse_piece
from collector.pipeline.cut_off_rejections import CutOffRejections
from collector.pipeline.new_deployments import NewDeploymentLimit, setting_of
from collector.pipeline.settings import PipelineSettings
from collector.pipeline.tool_calls import RecentToolCalls
from collector.pipeline.warm_start import RecentChildContexts, RecentIds, recent_child_contexts
from collector.redaction import Redactor
from lake.delta_log.change import LostRaceError
from lake.delta_log.writing import BrokenWriterError
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.service_vocabulary import RejectionReason
from lake.spec.vocabulary import OUTRANKED_BY_CHILD, ContextsOrigin
from lake.tables.lake import Lake

logger = logging.getLogger(__name__)

_BYTES_OF_A_ROW = 500
"""Bytes that are counted for each row beside its line: many small lines need much memory, too."""
_NOT_TRIED_AGAIN = (LostRaceError, IncompleteBatchError, BrokenWriterError)
"""Errors of a batch that can never be committed: its lines must be read again."""
_MOST_HELD_BYTES = 128 << 20
"""Of a batch, in memory: where rows go to many tables, or cannot be compressed, it is full before `flush_bytes`."""


class Collector:
    """Turns pieces into rows and commits them in batches: one batch is open, and at most one is sealed.

    Sources in several threads may share a collector. A batch is sealed before it is committed; lines that come
    meanwhile wait in the open one. If the commit fails, the batch stays sealed, and a later call tries it again; an
    error in the background is raised by the next `add`, `flush_if_due` or `flush`. These two batches bound the memory:
    once the open one is full, `add` raises until the other is committed.

    After a LostRaceError, or if a batch can never be committed, both are dropped, rows and positions together: read
    every source again from `offset()`. Every record is redacted as `settings.redaction` says
    before the duplicate check and before anything of it is stored.
    """

    def __init__(
        self,
        lake: Lake,
        settings: PipelineSettings,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
        *,
        recover: bool = True,
        begin: Callable[[], object] = lambda: None,
    ) -> None:
        """Call `begin` and read recent ids and contexts from the lake; with `recover` false `prepare` does that."""
        self.lake = lake
        self.totals = Counts()
        self.meter = Meter(clock(), monotonic)
        self.committed_offsets = CommittedOffsets(lake, read=False)
        self.cut_off = CutOffRejections()
        self._unrecovered: Exception | None = None
        self._settings = settings
        self._clock, self._begin = clock, begin
        self._new_deployments = NewDeploymentLimit(
            lake, settings.new_deployments_per_hour, settings.signals.new_deployments_per_hour
        )
        self._monotonic = monotonic
        self._redact = Redactor(settings.redaction).redact if settings.redaction.enabled else None
        self._lock = threading.RLock()
        self._background_commit: BackgroundCommit | None = None
        self._sealed: Batch | None = None
        self._batch = Batch(monotonic())
        self._must_recover = True
        self.times_given_up = 0
        """How often all that was not committed was dropped: what was noted of it before says nothing any more."""
        if recover:
            self._recover()

    @property
    def settings(self) -> PipelineSettings:
        """The settings that the collector was created with."""
        return self._settings

    @property
    def open_batches(self) -> tuple[Batch, ...]:
        """The batches that are not committed yet, for the metrics; they are read without a lock."""
        return tuple(batch for batch in (self._batch, self._sealed) if batch is not None)

    @property
    def problem(self) -> Exception | None:
        """Error of the last commit, or of reading recent ids and contexts, if it failed; read without a lock."""
        return self._unrecovered or self.meter.problem

    def prepare(self) -> None:
        """Read recent ids and contexts from the lake, if that has not been done. Call it before a source is read."""
        with self._lock:
            self._recover()

    def add(self, piece: Piece) -> list[Rejection]:
        """Add a piece to the open batch and return its rejections; a full or old batch is sent to be committed first.

        After an error the piece is not added: that of a commit, or LostRaceError if the piece is not the next one of
        its partition, as a batch was dropped and the source must be read again from `offset()`. An error between two of
        its rows drops all that is not committed, so that no row is stored without its position.
        """
        with self._lock:
            self.flush_if_due()
            self._require_next(piece.partition, piece.begin)
            records = self._records(piece)
            if self._redact is not None:
                for index, record in enumerate(records):
                    records[index] = record if isinstance(record, Filtered) else self._redact(record)
            try:
                self._take(piece, records)
            except BaseException:
                self._give_up()
                raise
            return [record for record in records if isinstance(record, Rejection)]

    def move(self, partition: Partition, offset: int, earlier: Partition, content: Content | None = None) -> None:
        """Move to an offset whose lines are in the lake or came from `earlier`; raises as `add`, or if they did not."""
        with self._lock:
            if self.offset(earlier) < offset:
                raise LostRaceError(f"a batch with lines of {earlier.name} was given up; they are read again")
            self.add(Piece(partition, b"", offset, 0, content=content))

    def commit(self, pieces: Iterable[Piece]) -> list[list[Rejection]]:
        """Add pieces and commit them under one lock; return the rejections of each piece."""
        with self._lock:
            rejections = [self.add(piece) for piece in pieces]
            self.flush()
            return rejections

    def offset(self, partition: Partition) -> int:
        """Offset of the last piece that was added from this partition, committed or not."""
        with self._lock:
            self._recover()
            for batch in (self._batch, self._sealed):
                if batch is not None and partition in batch.sections:
                    return batch.sections[partition].offset
            return self.committed_offsets.offset(partition)

    def refresh(self, *partitions: Partition) -> None:
        """Read the committed offsets of these partitions from the lake, as another collector may have read on."""
        with self._lock:
            self._recover()
            self.committed_offsets.refresh(*partitions)

    def record_end_of_file(self, partition: Partition, end: int, size: int, content: Content | None = None) -> None:
        """Record that a file of this size was read to its end, at the offset `end`; raises as `add` does."""
        with self._lock:
            self._require_next(partition, end)
            section = self._section(partition)
            section.exhausted_size, section.content = size, content

    def seconds_until_due(self) -> float:
        """Return the seconds until the open batch is old; 0 where it is."""
        with self._lock:
            return max(0.0, self._batch.opened_at + self._settings.flush_seconds - self._monotonic())

    def flush_if_due(self) -> None:
        """Commit the open batch in the background if it is full or old.

        A full batch waits until the one before it is committed.
        """
        with self._lock:
            self._recover()
            if self._background_commit is not None and self._background_commit.is_done():
                self._finish_background_commit()
            if self._sealed is not None and self._background_commit is None:
                self._commit_in_background(self._sealed)
            batch = self._batch
            is_full = batch.is_full or batch.bytes >= self._settings.flush_bytes or batch.held >= _MOST_HELD_BYTES
            is_old = self._monotonic() - batch.opened_at >= self._settings.flush_seconds
            if is_full:
                self._finish_background_commit()
            if is_full or (is_old and self._sealed is None):
                self._commit_in_background(self._seal())

    def flush(self) -> Counts:
        """Commit all pieces that were added and return their counts. After an error they are kept for the next try.

        Raises LostRaceError if another collector reads the same source: the batches are then dropped, and the source
        must be read again from `offset()`.
        """
        with self._lock:
            self._recover()
            counts = self._finish_background_commit()
            if self._sealed is not None:
                counts += self._commit_now(self._sealed)
            return counts + self._commit_now(self._seal())

    def _seal(self) -> Batch:
        """Set the open batch aside, to be committed; there is no other one then."""
        self._sealed, self._batch = self._batch, Batch(self._monotonic())
        self._sealed.advance(BatchState.SEALED)
        return self._sealed

    def _commit_now(self, batch: Batch) -> Counts:
        try:
            self.meter.timed(self._committer.commit, batch, self._clock())
        except BaseException as error:
            self._give_up_after(error)
            raise
        return self._record_commit(batch)

    def _commit_in_background(self, batch: Batch) -> None:
        committer, now = self._committer, self._clock()
        self._background_commit = BackgroundCommit(batch, lambda batch: self.meter.timed(committer.commit, batch, now))

    def _finish_background_commit(self) -> Counts:
        """Wait for the commit in the background and record its result."""
        if self._background_commit is None:
            return Counts()
        error, batch = self._background_commit.wait(), self._background_commit.batch
        self._background_commit = None
        if error is None:
            return self._record_commit(batch)
        self._give_up_after(error)
        raise error

    def _give_up_after(self, error: BaseException) -> None:
        """Drop all that is not committed if another try of the commit cannot help."""
        if isinstance(error, _NOT_TRIED_AGAIN):
            self._give_up()

    def _record_commit(self, batch: Batch) -> Counts:
        """Record that the sealed batch is committed, and which lines of others were found; the lake may not answer."""
        batch.require(BatchState.COMMITTED)
        for partition, section in batch.sections.items():
            self.committed_offsets.advance(partition, CommittedOffset(section.offset, section.exhausted_size))
        if others := self._committer.other_partitions():
            self.committed_offsets.refresh(*others)
        for found in self._committer.take_stored_by_others():
            committed = self.committed_offsets
            unfinished = {number: at for number, at in found.items() if at[1] > committed.offset(at[0])}
            finished = [number for number in found if number not in unfinished]
            self._duplicates.remember(finished, self._clock(), unfinished)
        self._sealed = None
        return self._count(batch)

    def _count(self, batch: Batch) -> Counts:
        counts = batch.counts()
        self.totals += counts
        self.meter.note(batch, self._clock())
        if counts.lines:
            logger.info("committed a batch: %s", counts)
        return counts

    def _give_up(self) -> None:
        """Drop all that is not committed, rows and positions together; what is remembered is then read again."""
        self._must_recover = True
        self.times_given_up += 1
        self._batch = Batch(self._monotonic())
        if self._background_commit is not None:
            self._background_commit.wait()
            self._background_commit = None
        sealed, self._sealed = self._sealed, None
        if sealed is not None and sealed.state is BatchState.COMMITTED:
            self._count(sealed)

    def _recover(self) -> None:
        """Read recent ids and contexts from the lake, at the start and after a lost race."""
        if not self._must_recover:
            return
        try:
            self._load_state()
        except Exception as error:
            self._unrecovered = error
            raise
        self._unrecovered = None

    def _load_state(self) -> None:
        self._begin()
        now, window = self._clock(), timedelta(hours=self._settings.duplicate_window_hours)
        committed, duplicates, children = CommittedOffsets(self.lake), DuplicateWindow(window), RecentChildContexts()
        recent = RecentIds(now - window, now)
        recent.read(self.lake, committed)
        recent.fill(duplicates)
        for child in recent_child_contexts(self.lake, committed, now - window):
            children.remember(child["trace_id"], child["parent_span_id"], child["contexts"])
        self.cut_off.read(self.lake, committed, now - window)
        self.committed_offsets, self._duplicates, self._children = committed, duplicates, children
        self._tool_calls = RecentToolCalls.read(self.lake, committed, now - window)
        self._committer = BatchCommitter(self.lake, recent.seen, window)
        self._must_recover = False

    def _require_next(self, partition: Partition, begin: int | None) -> None:
        if begin is not None and begin != self.offset(partition):
            raise LostRaceError(f"a batch with lines of {partition.name} was given up; it is read again")

    def _section(self, partition: Partition) -> PartitionSection:
        section = self._batch.sections.get(partition)
        return section or self._batch.section(partition, self.offset(partition))

    def _take(self, piece: Piece, records: list[Record]) -> None:
        """Put a piece's records and its position into the open batch."""
        section = self._section(piece.partition)
        section.bytes += len(piece.raw)
        self._batch.bytes += len(piece.raw)
        for record in records:
            self._put(piece, record, len(piece.raw) // len(records), section)
        section.offset = piece.offset
        section.exhausted_size, section.content = None, piece.content

    def _records(self, piece: Piece) -> list[Record]:
        """Parse a piece into records; records of new deployments above the limit become rejections with their lines."""
        if piece.problem is not None:
            reason, message = piece.problem
            return [Rejection(reason=reason, message=message, raw=piece.raw)]
        if piece.record is not None:
            read: list[Record] = [piece.record]
        else:
            given = self._settings
            read = parse_piece(piece.raw, given.keep_raw_response, given.project_origins, given.client_header)
        is_signal = piece.record is not None
        refused = [index for index, record in enumerate(read) if not self._admits(record, is_signal)]
        if not refused:
            return read
        lines = [piece.raw] if len(read) == 1 else core_lines(piece.raw)
        message = f"more new deployments came within an hour than {setting_of(is_signal)} allows"
        for index in refused:
            deployment = _deployment_of(read[index])
            read[index] = Rejection(
                reason=RejectionReason.TOO_MANY_DEPLOYMENTS, message=message, raw=lines[index], deployment=deployment
            )
        return read

    def _admits(self, record: Record, is_signal: bool) -> bool:
        deployment = _deployment_of(record)
        if deployment is None or (isinstance(record, LogRecord) and record.kind in self._settings.leave_out):
            return True
        return self._new_deployments.admits(deployment, is_signal=is_signal)

    def _put(self, piece: Piece, record: Record, size: int, section: PartitionSection) -> None:
        """Put one record into the open batch, or only count it."""
        size += _BYTES_OF_A_ROW
        section.counts.lines += 1
        self._batch.bytes += _BYTES_OF_A_ROW
        if isinstance(record, Filtered) or (isinstance(record, LogRecord) and record.kind in self._settings.leave_out):
            section.counts.filtered += 1
            return
        now = self._clock()
        position = RowPosition(piece.partition, piece.offset, number_of(record, piece.partition))
        number = position.number
        if number is not None and self._duplicates.is_duplicate(number, piece.partition, piece.offset, now):
            section.counts.duplicates += 1
        elif isinstance(record, Rejection):
            if self.cut_off.has(piece.partition, piece.offset, record.raw):
                section.counts.duplicates += 1
                return
            values = (*msgspec.structs.astuple(record), now.date())
            self._batch.put((REJECTED, None), position, values, size, now)
            section.counts.rejected += 1
            section.reasons[record.reason] += 1
        elif isinstance(record, SignalRecord):
            values = msgspec.structs.astuple(record)
            self._batch.put((USER_SIGNALS, record.deployment), position, values, size, now)
            section.counts.signals += 1
        else:
            record = self._join_children(record)
            values = msgspec.structs.astuple(record)
            self._batch.put((PARSED_LOGS, record.deployment), position, values, size, now)
            section.counts.stored += 1
            if section.newest_requested_at is None or record.requested_at > section.newest_requested_at:
                section.newest_requested_at = record.requested_at

    def _join_children(self, record: LogRecord) -> LogRecord:
        record = self._tool_calls.joined(record)
        if record.contexts_origin in OUTRANKED_BY_CHILD and record.trace_id and record.span_id:
            contexts = self._children.contexts_for(record.trace_id, record.span_id)
            if contexts is not None:
                record = msgspec.structs.replace(record, contexts=contexts, contexts_origin=ContextsOrigin.CHILD_CALL)
        if record.contexts_origin == ContextsOrigin.PROMPT and record.trace_id and record.parent_span_id:
            self._children.remember(record.trace_id, record.parent_span_id, record.contexts or [])
        return record


def _deployment_of(record: Record) -> str | None:
    """Deployment whose tables the record is stored in; None if it is not stored or belongs to no deployment."""
    return record.deployment if isinstance(record, (LogRecord, SignalRecord)) else None
