"""A table's log as one handle follows it: it asks the store only where there may be news."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TypeVar

import pyarrow as pa
from deltalake.exceptions import DeltaError

from lake.delta_log.log_files import LogFiles
from lake.delta_log.log_tail import LogTail
from lake.delta_log.news import AlwaysNews, News
from lake.delta_log.pending_commits import PendingCommits, digest_of

_READ_ATTEMPTS = 5

T = TypeVar("T")


class FollowedLog:
    """The log up to the last look. Not safe for use by several threads at once."""

    def __init__(
        self, files: LogFiles, uri: str, news: News | None = None, pending: PendingCommits | None = None
    ) -> None:
        """`uri` names the table in errors; `news` says whether there may be something new.

        `pending` keeps the commits of this process whose fate is not known.
        """
        self.tail: LogTail | None = None
        """What the last look found; None where there is no table, or before the first look."""
        self._files = files
        self._uri = uri
        self._pending = pending or PendingCommits()
        self._news = news or AlwaysNews()
        self._is_missing = False
        self._known: LogTail | None = None
        """The table as it was when it was last found, also where it is missing since."""
        self._was_replaced = False
        self._end: tuple[int, bytes] | None = None
        """Version and digest of the last commit of a log that was not opened, as it was not asked for more."""

    def is_at(self, version: int) -> bool:
        """Whether the log ends at a version that was read before, where that is seen without opening it.

        To open a table takes milliseconds, and a monitor that starts knows of most tables that nothing is new.
        """
        if self.tail is not None or (last := self._files.last_commit(version)) is None:
            return False
        end = version, _digest(last)
        if self._end not in (None, end):
            return False
        self._end = end
        return True

    def may_have_news(self) -> bool:
        """Whether the next look asks the store."""
        is_known = self.tail is not None or self._is_missing
        return not is_known or self._news.may_be_there()

    def look(self) -> LogTail | None:
        """Read what is new in the log, if there may be anything; None where there is no table."""
        if not self.may_have_news():
            return self.tail
        told = self._news.told_version()
        if self.tail is None or told is None or not self.tail.follow_told(told):
            return self.look_at_store()
        self._news.caught_up()
        return self.tail

    def look_at_store(self) -> LogTail | None:
        """Read what is new in the log, whether anything was told or not; None where there is no table."""
        if self.tail is not None and not self.tail.follow():
            self.tail = None
        if self.tail is None:
            snapshot = self._files.open()
            self.tail = None if snapshot is None else LogTail(self._files, snapshot, self._uri, self._pending)
        self._is_missing = self.tail is None
        if self.tail is not None:
            self._was_replaced = self._was_replaced or self._is_other_log()
            if self._known not in (None, self.tail):
                self._was_replaced = self._was_replaced or not self._known.is_continued_by(self.tail)
            self._known = self.tail
        self._news.seen()
        return self.tail

    def _is_other_log(self) -> bool:
        """Say, once, whether the log has another commit where it ended before it was opened."""
        end, self._end = self._end, None
        there = None if end is None else self._files.read(end[0])
        return end is not None and there is not None and end[1] != _digest(there)

    def look_for_earlier(
        self, files: frozenset[str], progress: Mapping[str, int], rows: pa.Table | None
    ) -> LogTail | None:
        """Return the log where an earlier try, whose answer was lost, has added these files, or these rows in others.

        None where there was none, or none is there yet.
        """
        if not (tries := self._pending.unanswered()) or (tail := self.look_at_store()) is None:
            return None
        found = {version: tail.sent_version(version) for version in {earlier.version for earlier in tries}}
        for earlier in tries:
            commit = found[earlier.version]
            is_landed = commit is not None and digest_of(commit) == earlier.digest
            # A version that the log had and has no more says nothing: the files are left to the next vacuum.
            if commit is not None or earlier.version <= tail.version:
                self._pending.ended(earlier, may_name_files=commit is None or is_landed)
            if is_landed and earlier.adds(files, progress, rows):
                return self.look_at_store() or tail if earlier.version > tail.version else tail
        return None

    def retry_read(self, read: Callable[[], T]) -> T:
        """Read again where files vanished because they were replaced since the last look."""
        for _ in range(_READ_ATTEMPTS - 1):
            try:
                return read()
            except (OSError, DeltaError):
                looked, self.tail = self.tail, None
                tail = self.look()
                if looked is not None and tail is not None and looked.version == tail.version:
                    raise
        return read()

    def take_replaced(self) -> bool:
        """Say, once, whether another table was found in the place of the one that was read."""
        was, self._was_replaced = self._was_replaced, False
        return was

    def require_none_before(self) -> None:
        """Raise FileNotFoundError where there was a table that is gone."""
        if self._known is not None:
            raise FileNotFoundError(
                f"the table {self._uri} is gone, which had version {self._known.version}: if the lake was moved away, "
                "bring it back; if the table was removed for good, start dialwatch anew"
            )


def _digest(commit: bytes) -> bytes:
    return hashlib.blake2b(commit, digest_size=16).digest()
