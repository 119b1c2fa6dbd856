"""Erasure of a person, a conversation or an answer: from the rows, from their files, and from the log."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import DataFile, live_files, scan
from lake.erasure.erasure_rules import RULES, Rule, of_calls
from lake.erasure.erasure_scope import ErasureScope, Subject
from lake.erasure.quotations import SHORTEST_ID, SHORTEST_TEXT
from lake.erasure.scope_search import find_erasure_scope
from lake.erasure.shared_ids import other_people_in_lines, own_cases, own_signals
from lake.maintenance.cleaning import remove_history
from lake.maintenance.id_index import forget_gone_files
from lake.maintenance.retention import newest_baseline
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.preference_tables import PREFERENCES
from lake.spec.root_tables import AUDIT, ID_INDEX, REJECTED, RELEASES, SAVED_SEARCHES, SILENCES
from lake.spec.schemas import ALERTS, ANCHORS, INCIDENTS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.table_spec import TableSpec
from lake.tables.id_index import files_without
from lake.tables.lake import Lake
from lake.tables.pass_transaction import BACKFILLS, PASSES, PassTransaction
from lake.tables.rewriting import batches, replace
from lake.tables.table import Table

_ATTEMPTS = 20
_MADE_OF_LOGS = (
    USER_SIGNALS, SCORES, ANCHORS, PREFERENCES, REPLAYS, GROUND_TRUTH, ALERTS, INCIDENTS, MONITOR_STATE,
)  # fmt: skip
"""Cases decide which replays and scores go, so they go after them."""
_MADE_BY_PASSES = (SCORES, ANCHORS, GROUND_TRUTH, REPLAYS, PREFERENCES)
_ROOT_TABLES = (REJECTED, SILENCES, RELEASES, SAVED_SEARCHES, AUDIT, ROOT_STATE)
_CANNOT_KNOW = (
    "Lines of this subject that arrive from now on, or are sent again, are stored again; so are signals that the "
    "collector read from its calls just before they went (ids, no text). Erase again later to remove them.",
    "Logs outside the lake (DIAL Core's files, Kafka, the shipper, backups, older versions in a versioned bucket) and "
    "what a judge, a webhook or a reader of the tables has received are not touched.",
    "Words of the subject that another person repeats in another chat, and ground truth that was typed in, cannot be "
    "distinguished from that person's own.",
    "In calls of other people in a shared chat, in lines that could not be read, in saved searches and in comments of "
    f"silences and incidents, texts under {SHORTEST_TEXT} characters and ids under {SHORTEST_ID} were not looked for; "
    "a text counts as repeated only where all of it is.",
    "Lines that could not be read do not say whose they are: one of another person with the same text or id went too, "
    "but for an id that answers of others have where the line names one of these people.",
    "If an earlier erasure of this subject was cut off while the evaluator was at work: whether that made a case of "
    "ground truth in between. Look for it there.",
)


@dataclass(frozen=True)
class TableReceipt:
    """Counts of one table: rows erased, rows changed, and `files` that are gone from the store.

    `in_doubt`, a part of `erased`, and `left_in_doubt` name an answer by an id that other answers have too, and nothing
    says whose they are: those with words are erased, ratings without any stay. `young_files` belong to no version and
    were written in the last minutes: by a writer that is at work, or was refused. Erase again in `WRITER_GRACE`, then
    these are gone too.
    """

    table: str
    erased: int = 0
    changed: int = 0
    in_doubt: int = 0
    left_in_doubt: int = 0
    files: int = 0
    young_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Receipt:
    """Result of an erasure, and what it cannot know."""

    subject: Subject
    at: datetime
    dry_run: bool
    tables: tuple[TableReceipt, ...]
    lost: tuple[str, ...] = ()
    """What is worse now for people who watch the deployments."""
    cannot_know: tuple[str, ...] = field(default=_CANNOT_KNOW)

    @property
    def found(self) -> int:
        """Rows that hold something of the subject."""
        return sum(table.erased + table.changed for table in self.tables)

    @property
    def is_complete(self) -> bool:
        """Whether no file is left that may hold rows of the subject."""
        return not any(table.young_files for table in self.tables)


def erase(lake: Lake, subject: Subject, now: datetime, *, dry_run: bool = False) -> Receipt:
    """Erase every row that holds the subject's words, and all files and log entries that held such a row.

    If this is cut off, run it again: it goes on where it stopped. The history of every table ends here: a reader that
    has not read the last minutes finds what is new by `ingested_at`. Positions of sources stay. Raises LostRaceError
    where others rewrite a table all the time, and SeveralAnswersError, before anything is erased, for an answer's id
    that several answers have.
    """
    erasure = _Erasure(lake, find_erasure_scope(lake, subject), dry_run)
    baselines = _rows_of_baselines(lake)
    erasure.run()
    if not dry_run:
        forget_gone_files(lake)
    lost = tuple(_lost_baselines(baselines, _rows_of_baselines(lake)))
    done = []
    for deployment, table in _tables(lake, (*_MADE_OF_LOGS, PARSED_LOGS, *_ROOT_TABLES, ID_INDEX)):
        gone, young = ([], []) if dry_run else remove_history(table, now)
        found = erasure.found[table.uri]
        left = erasure.left_in_doubt.get(table.uri, 0)
        counts = (found["erased"], found["changed"], found["in_doubt"], left)
        done.append(TableReceipt(_title(deployment, table), *counts, len(gone), tuple(young)))
    return Receipt(subject, now, dry_run, tuple(sorted(done, key=lambda one: one.table)), lost)


def _rows_of_baselines(lake: Lake) -> dict[str | None, Counter[str]]:
    """Number of rows of the newest baseline by run, of the deployments whose cases were asked again."""
    return {name: Counter(newest_baseline(table)["run_id"].to_pylist()) for name, table in _tables(lake, [REPLAYS])}


def _lost_baselines(
    before: Mapping[str | None, Counter[str]], after: Mapping[str | None, Counter[str]]
) -> Iterator[str]:
    for name, rows in before.items():
        if lost := (rows - after.get(name, Counter())).total():
            yield (
                f"The replays of {name} lost {lost} of the {rows.total()} answers that later runs are compared with. "
                "Where none is left, the next run is the baseline, however good or bad it is: look at its answers."
            )


def _tables(lake: Lake, specs: Iterable[TableSpec]) -> Iterator[tuple[str | None, Table]]:
    """Yield the tables of these kinds that are there, kind by kind, with their deployments."""
    for spec in specs:
        for deployment in lake.deployments() if spec.per_deployment else [None]:
            table = lake.table(spec, deployment)
            if table.version() is not None:
                yield deployment, table


def _title(deployment: str | None, table: Table) -> str:
    return f"{deployment or '(no deployment)'} {table.spec.name}" if table.spec.per_deployment else table.spec.name


class _Erasure:
    """Takes the rows out of the tables; `found` counts what became of rows, by the table's address."""

    def __init__(self, lake: Lake, scope: ErasureScope, dry_run: bool) -> None:
        self.found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.left_in_doubt: dict[str, int] = {}
        self._lake = lake
        self._scope = scope
        self._dry_run = dry_run

    def run(self) -> None:
        """Erase a row before the rows through which it was found, so that a run that is cut off can be repeated."""
        called = self._erase_calls(self._scope.replayed) if self._scope.replayed else set()
        self._erase_made_of_logs()
        self._scope.other_people = other_people_in_lines(self._lake, self._scope)
        for _, table in _tables(self._lake, _ROOT_TABLES):
            self._erase(table, RULES[table.spec.name])
        for event_ids in reversed(self._scope.rounds):
            called |= self._erase_calls(event_ids)
        if not self._dry_run:
            # A pass that has read the calls is refused from now on, or has written already what is looked for here.
            self._refuse_passes(called)
            self._erase_made_of_logs()

    def _erase_made_of_logs(self) -> None:
        scope = self._scope
        for deployment, _ in _tables(self._lake, [GROUND_TRUTH]):
            own = own_cases(self._lake, scope, deployment)
            scope.cases.ids |= own.ids
            scope.cases.in_doubt |= own.in_doubt
        for deployment, table in _tables(self._lake, [USER_SIGNALS]):
            own = own_signals(self._lake, scope, deployment)
            scope.signals.ids |= own.ids
            scope.signals.in_doubt |= own.in_doubt
            self.left_in_doubt[table.uri] = own.left
        for _, table in _tables(self._lake, _MADE_OF_LOGS):
            self._erase(table, RULES[table.spec.name])

    def _refuse_passes(self, called: set[str | None]) -> None:
        """Advance both counters, also where there is no table yet: a pass may be about to make it for erased calls."""
        # Any deployment may be a newer version, which is asked erased cases for the first time: the configuration says.
        are_cases_asked = bool(called or self._scope.cases.ids) and any(
            True for _ in _tables(self._lake, [GROUND_TRUTH])
        )
        for spec in _MADE_BY_PASSES:
            for deployment in self._lake.deployments():
                table = self._lake.table(spec, deployment)
                is_about_to_be_made = deployment in called or (spec is REPLAYS and are_cases_asked)
                if is_about_to_be_made or table.version() is not None:
                    _advance_counters(table)

    def _erase_calls(self, event_ids: frozenset[str]) -> set[str | None]:
        """Erase these calls; return the deployments that had one."""
        without, rule = files_without(self._lake, event_ids), of_calls(event_ids)
        logs = _tables(self._lake, [PARSED_LOGS])
        return {name for name, table in logs if self._erase(table, rule, without.get(name, frozenset()))}

    def _erase(self, table: Table, rule: Rule, without: Collection[str] = ()) -> bool:
        """Erase the rows of one table; return whether there were any. Files whose paths are in `without` have none."""
        for _ in range(_ATTEMPTS):
            delta = table.snapshot()
            if delta is None:
                return False
            work = _Work(table, rule, self._scope)
            touched = [file for file in live_files(delta) if file.path not in without and work.touches(file)]
            if touched and not self._dry_run:
                try:
                    replace(table, delta, touched, table.write(work.rest(touched)))
                except (LostRaceError, FileNotFoundError):
                    continue
            self.found[table.uri] += work.found
            return bool(touched)
        raise _lost(table)


def _advance_counters(table: Table) -> None:
    for _ in range(_ATTEMPTS):
        try:
            return PassTransaction(table, counters=(PASSES, BACKFILLS)).append(table.spec.schema.empty_table())
        except LostRaceError:
            continue
    raise _lost(table)


def _lost(table: Table) -> LostRaceError:
    return LostRaceError(
        f"{table.uri} was changed by others {_ATTEMPTS} times in a row; stop evaluator and compaction, run again"
    )


@dataclass
class _Work:
    """Reads the files of one table and gives their rows without the subject's."""

    table: Table
    rule: Rule
    scope: ErasureScope
    found: Counter[str] = field(default_factory=Counter)
    """Rows that are erased, those of them that are in doubt, and rows that are changed."""

    def touches(self, file: DataFile) -> bool:
        """Whether a file holds something of the subject; counts what it holds."""
        before = self.found.total()
        for batch in scan(self.table.files(), [file], self.table.spec.schema).to_batches(
            columns=list(self.rule.columns)
        ):
            is_erased = self._is_erased(batch)
            self.found["erased"] += pc.sum(is_erased).as_py() or 0
            gone, stays = batch.filter(is_erased), batch.filter(pc.invert(is_erased))
            self.found["in_doubt"] += pc.sum(self.rule.is_in_doubt(gone, self.scope)).as_py() or 0
            texts, left = self._texts(stays), self._texts(self._rewritten(stays))
            self.found["changed"] += sum(old != new for old, new in zip(texts, left, strict=True))
        return self.found.total() > before

    def rest(self, files: list[DataFile]) -> Iterator[pa.RecordBatch]:
        """Yield what stays."""
        for batch in batches(self.table, files):
            stays = self._rewritten(batch.filter(pc.invert(self._is_erased(batch))))
            if stays.num_rows:
                yield stays

    def _is_erased(self, batch: pa.RecordBatch) -> pa.Array:
        return self.rule.is_erased(batch, self.scope)

    def _texts(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, ...]]:
        return zip(*(batch[name].to_pylist() for name in self.rule.rewrite), strict=True)

    def _rewritten(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, rewrite in self.rule.rewrite.items():
            texts = (None if old is None else rewrite(old, self.scope) for old in batch[name].to_pylist())
            batch = batch.set_column(batch.schema.names.index(name), name, pa.array(texts, pa.string()))
        return batch
