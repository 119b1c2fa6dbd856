"""Erases a person, a conversation or an answer: from the rows, from the files that held them, and from the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.belongings import SHORTEST_TEXT, Belongings, Subject, find_belongings, is_in
from lake.cleaning import forget_history
from lake.history import DataFile, scan
from lake.lake import Lake
from lake.rewriting import batches, live_files, replace
from lake.schemas import (
    ALERTS,
    GROUND_TRUTH,
    PARSED_LOGS,
    REJECTED,
    REPLAYS,
    SCORES,
    USER_SIGNALS,
)
from lake.table import LostRaceError, Table

_ATTEMPTS = 20
_CANNOT_KNOW = (
    "Lines of this subject that arrive from now on, or are sent again, are stored again.",
    "Logs outside the lake (DIAL Core's files, Kafka, the shipper, backups, older versions in a versioned bucket) and "
    "what a judge, a webhook or a reader of the tables has received are not touched.",
    "Words of the subject that another person repeats in another chat, and ground truth that was typed in, cannot be "
    "told from that person's own.",
    f"In lines that could not be read, texts under {SHORTEST_TEXT} characters were not looked for.",
)


@dataclass(frozen=True)
class TableReceipt:
    """What was found in one table and what became of it; `files` counts those that are gone from the store.

    `young_files` belong to no version and were written in the last minutes: by a writer that is at work, or was
    refused. Erase again in `WRITER_GRACE`, then these are gone too.
    """

    table: str
    erased: int = 0
    changed: int = 0
    files: int = 0
    young_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Receipt:
    """What an erasure found and did, and what it cannot know."""

    subject: Subject
    at: datetime
    dry_run: bool
    tables: tuple[TableReceipt, ...]
    cannot_know: tuple[str, ...] = field(default=_CANNOT_KNOW)

    @property
    def found(self) -> int:
        """Rows that hold something of the subject."""
        return sum(table.erased + table.changed for table in self.tables)

    @property
    def is_complete(self) -> bool:
        """Whether no file is left that may hold rows of the subject."""
        return not any(table.young_files for table in self.tables)


@dataclass(frozen=True)
class _Rule:
    """Which rows of a table go, and what the `details` of the others become."""

    columns: tuple[str, ...]
    goes: Callable[[pa.RecordBatch, Belongings, frozenset[str]], pa.Array]
    mend: Callable[[str, Belongings, frozenset[str]], str | None] | None = None


def erase(lake: Lake, subject: Subject, now: datetime, *, dry_run: bool = False) -> Receipt:
    """Erase every row that holds the subject's words, and all files and log entries that held such a row.

    The history of every table ends here: a reader that has not read the last minutes finds what is new by
    `ingested_at`. Positions of sources stay. Raises LostRaceError where a table is rewritten by others all the time.
    """
    belongings = find_belongings(lake, subject)
    cases = frozenset(_cases(lake, belongings))
    done = []
    for name, table in _tables(lake):
        erased, changed = _erase(table, _RULES[table.spec.name], belongings, cases, dry_run)
        gone, young = ([], []) if dry_run else forget_history(table, now)
        done.append(TableReceipt(name, erased, changed, len(gone), tuple(young)))
    return Receipt(subject, now, dry_run, tuple(done))


def _tables(lake: Lake) -> Iterator[tuple[str, Table]]:
    for deployment in lake.deployments():
        for spec in (PARSED_LOGS, USER_SIGNALS, SCORES, GROUND_TRUTH, REPLAYS, ALERTS):
            table = lake.table(spec, deployment)
            if table.version() is not None:
                yield f"{deployment or '(no deployment)'} {spec.name}", table
    rejected = lake.table(REJECTED)
    if rejected.version() is not None:
        yield REJECTED.name, rejected


def _erase(table: Table, rule: _Rule, belongings: Belongings, cases: frozenset[str], dry_run: bool) -> tuple[int, int]:
    for _ in range(_ATTEMPTS):
        delta = table.snapshot()
        if delta is None:
            return 0, 0
        work = _Work(table, rule, belongings, cases)
        touched = [file for file in live_files(delta) if work.touches(file)]
        if dry_run or not touched:
            return work.erased, work.changed
        try:
            replace(table, delta, touched, table.write(work.rest(touched)))
        except (LostRaceError, FileNotFoundError):
            continue
        return work.erased, work.changed
    raise LostRaceError(
        f"{table.uri} was rewritten by others {_ATTEMPTS} times in a row; stop the compaction, try again"
    )


@dataclass
class _Work:
    """Looks at the files of one table and gives their rows without the subject's."""

    table: Table
    rule: _Rule
    belongings: Belongings
    cases: frozenset[str]
    erased: int = 0
    changed: int = 0

    def touches(self, file: DataFile) -> bool:
        """Whether a file holds something of the subject; counts what it holds."""
        before = self.erased + self.changed
        for batch in scan(self.table.files(), [file], self.table.spec.schema).to_batches(
            columns=list(self.rule.columns)
        ):
            goes = self._goes(batch)
            self.erased += pc.sum(goes).as_py() or 0
            if self.rule.mend is not None:
                stays = batch.filter(pc.invert(goes))
                self.changed += sum(new != old for new, old in self._mended(stays))
        return self.erased + self.changed > before

    def rest(self, files: list[DataFile]) -> Iterator[pa.RecordBatch]:
        """Give what stays."""
        for batch in batches(self.table, files):
            stays = batch.filter(pc.invert(self._goes(batch)))
            if self.rule.mend is not None:
                details = pa.array([new for new, _ in self._mended(stays)], pa.string())
                stays = stays.set_column(stays.schema.names.index("details"), "details", details)
            if stays.num_rows:
                yield stays

    def _goes(self, batch: pa.RecordBatch) -> pa.Array:
        return self.rule.goes(batch, self.belongings, self.cases)

    def _mended(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, str | None]]:
        for old in batch["details"].to_pylist():
            mend = self.rule.mend
            yield (mend(old, self.belongings, self.cases) if mend and old is not None else old), old


def _cases(lake: Lake, mine: Belongings) -> Iterator[str]:
    """Give the cases of ground truth that were made from the subject's answers."""
    for deployment in lake.deployments():
        rows = lake.table(GROUND_TRUTH, deployment).read(["case_id", "source_response_id"])
        yield from rows.filter(is_in(rows["source_response_id"], mine.response_ids))["case_id"].to_pylist()


def _any(*masks: pa.Array) -> pa.Array:
    found = masks[0]
    for mask in masks[1:]:
        found = pc.or_(found, mask)
    return found


def _signal_goes(batch: pa.RecordBatch, mine: Belongings, _: frozenset[str]) -> pa.Array:
    own_chat = is_in(batch["chat_id"], mine.chats)
    if mine.subject.response:
        own_chat = pc.and_(own_chat, False)
    elif mine.subject.user:
        own_chat = pc.and_(own_chat, pc.is_null(batch["user_id"]))
    given = is_in(batch["user_id"], {mine.subject.user} if mine.subject.user else ())
    about = is_in(batch["response_id"], mine.response_ids)
    return _any(own_chat, given, about, is_in(batch["signal_id"], mine.event_ids))


def _score_goes(batch: pa.RecordBatch, mine: Belongings, _: frozenset[str]) -> pa.Array:
    chat = is_in(batch["chat_id"], {mine.subject.chat} if mine.subject.chat else ())
    return _any(is_in(batch["event_id"], mine.event_ids), is_in(batch["response_id"], mine.response_ids), chat)


def _mend_score(details: str, _: Belongings, cases: frozenset[str]) -> str | None:
    # The value stays: it says how good an answer of somebody else was.
    told = _object(details)
    return None if told.get("case_id") in cases else details


def _mend_alert(details: str, mine: Belongings, _: frozenset[str]) -> str | None:
    told = _object(details)
    worst = told.get("worst") or []
    left = [one for one in worst if one.get("response_id") not in mine.response_ids]
    return details if len(left) == len(worst) else json.dumps(told | {"worst": left})


def _object(details: str) -> dict[str, Any]:
    try:
        told = json.loads(details)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _rejected_goes(batch: pa.RecordBatch, mine: Belongings, _: frozenset[str]) -> pa.Array:
    pattern = mine.pattern()
    rows = zip(batch["raw"].to_pylist(), batch["message"].to_pylist(), strict=True)
    says = [bool(pattern.search(raw or b"") or pattern.search((text or "").encode())) for raw, text in rows]
    return pa.array(says, pa.bool_())


_RULES: dict[str, _Rule] = {
    PARSED_LOGS.name: _Rule(("event_id",), lambda batch, mine, _: is_in(batch["event_id"], mine.event_ids)),
    USER_SIGNALS.name: _Rule(("signal_id", "response_id", "chat_id", "user_id"), _signal_goes),
    SCORES.name: _Rule(("event_id", "response_id", "chat_id", "details"), _score_goes, _mend_score),
    GROUND_TRUTH.name: _Rule(("case_id",), lambda batch, _, cases: is_in(batch["case_id"], cases)),
    REPLAYS.name: _Rule(
        ("case_id", "response_id"),
        lambda batch, mine, cases: _any(is_in(batch["case_id"], cases), is_in(batch["response_id"], mine.response_ids)),
    ),
    ALERTS.name: _Rule(("details",), lambda batch, _, __: pa.array([False] * batch.num_rows, pa.bool_()), _mend_alert),
    REJECTED.name: _Rule(("raw", "message"), _rejected_goes),
}
