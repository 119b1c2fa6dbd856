"""Tables that were written under faults are read alike by readers that are not ours, also while a writer goes on."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake.delta_log.file_age import WRITER_GRACE
from lake.delta_log.log_files import LocalLogFiles
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.cleaning import clean_log, vacuum
from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import kill, start
from tests.readers.foreign import assert_read_alike, plain, read_tables
from tests.servers import wait_for

pytestmark = pytest.mark.integration

NAME = "a/b c%41~ü #1?"
DAYS = [None, date(1, 1, 1), date(1969, 12, 31), date(2026, 11, 20), date(2026, 11, 21), date(9999, 12, 31)]
TEXTS = ["", "ü 😀 \u2028", "a\nb\tc\\", "null", "%41=/ '\"", "\x00", "x" * 5000]
NEW_COLUMNS = ("prefix_hash", "response_body", "repairs", "origin")


def value(kind: pa.DataType, chance: random.Random, unique: str) -> Any:
    """A value of a type, odd ones among them; a text that is no other row's."""
    if chance.random() < 0.2:
        return None
    if pa.types.is_string(kind):
        return f"{chance.choice(TEXTS)}{unique}"
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return chance.choice([0, 1, -1, most - 1, -most])
    if pa.types.is_floating(kind):
        return chance.choice([0.0, -1.5, 1e-300, 1e300, float("inf")])
    if pa.types.is_date(kind):
        return chance.choice(DAYS)
    if pa.types.is_timestamp(kind):
        return datetime(2026, 11, 20, tzinfo=UTC) + timedelta(microseconds=chance.randrange(10**12))
    if pa.types.is_list(kind):
        return [value(kind.value_type, chance, unique) for _ in range(chance.randrange(3))]
    assert pa.types.is_struct(kind), kind
    return {field.name: value(field.type, chance, unique) for field in kind}


class Chaos:
    """A writer of a table whose log fails in every way, with upkeep and erasures between its appends."""

    def __init__(self, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance = random.Random(seed)
        self.lake, self.rows = Lake(str(root)), list[dict[str, Any]]()
        self.fault, self._next = "", list[str]()
        self._held: list[Callable[[], bool]] = []
        self._real = LocalLogFiles.create
        monkeypatch.setattr(LocalLogFiles, "create", lambda *values: self._create(*values))
        old = pa.schema([field for field in PARSED_LOGS.schema if field.name not in NEW_COLUMNS])
        Path(self.table().uri).mkdir(parents=True)
        # As an earlier version has made it.
        DeltaTable.create(self.table().uri, schema=old, partition_by=["date"], name=NAME)

    def table(self) -> Table:
        return self.lake.table(PARSED_LOGS, NAME)

    def _create(self, files: LocalLogFiles, version: int, commit: bytes) -> bool:
        fault, self.fault = self.fault, ""
        if fault == "held":
            self._held.append(lambda: self._real(files, version, commit))
            raise TimeoutError("no answer")
        if fault == "refused":
            raise OSError(28, "No space left on device")
        if self._held and self.chance.random() < 0.5:
            self.land()
        created = self._real(files, version, commit)
        if fault == "lost":
            raise TimeoutError("no answer")
        return created

    def land(self) -> None:
        """Let commits that were held back reach the log, where their version is not taken."""
        while self._held:
            self._held.pop(0)()

    def append(self, number: int, table: Table) -> Table:
        """Append rows until it goes well, by this handle or by others, and give the last one."""
        rows = [
            {field.name: value(field.type, self.chance, f" {number}-{part}") for field in PARSED_LOGS.schema}
            | {"event_id": f"e-{number}-{part}", "user_id": f"user-{self.chance.randrange(6)}"}
            for part in range(self.chance.randrange(1, 4))
        ]
        added, progress = PARSED_LOGS.rows(rows), {"writer": number + 1} if self.chance.random() < 0.7 else {}
        for _ in range(6):
            self.fault = self.chance.choice(["", "", "refused", "lost", "held", "held"])
            try:
                if progress:
                    table.progress(progress)
                table.append(added, progress)
                break
            except OSError:
                if self.chance.random() < 0.3:
                    self.land()
                if self.chance.random() < 0.3:
                    table = self.table()
        else:
            self.fault = ""
            table.append(added, progress)
        self.fault = ""
        self.rows += added.to_pylist()
        return table

    def disturb(self) -> None:
        """Do one thing that others do beside a writer."""
        if not self._next:
            self._next = ["compact", "vacuum", "log", "erase", "checkpoint", "killed", "land"]
            self.chance.shuffle(self._next)
        chosen = self._next.pop()
        if chosen == "compact":
            compact(self.table())
        elif chosen == "vacuum":
            # What is taken later than the grace after its files were written is beyond what is promised.
            self._held.clear()
            for path in Path(self.table().uri).rglob("*.parquet"):
                os.utime(path, (time.time() - 7200,) * 2)
            vacuum(self.table(), WRITER_GRACE)
        elif chosen == "log":
            clean_log(self.table(), datetime.now(UTC) + timedelta(days=8))
        elif chosen == "erase":
            user = f"user-{self.chance.randrange(6)}"
            erase(self.lake, Subject(user=user), datetime.now(UTC))
            self.rows = [row for row in self.rows if row["user_id"] != user]
        elif chosen == "checkpoint":
            DeltaTable(self.table().uri).create_checkpoint()
        elif chosen == "killed":
            self.table().write([PARSED_LOGS.rows([{"event_id": "of a killed writer"}])])
        else:
            self.land()

    def assert_read_alike(self) -> None:
        wanted = plain(pa.Table.from_pylist(self.rows, PARSED_LOGS.schema), "event_id")
        assert plain(self.table().read(), "event_id") == wanted
        assert_read_alike([(self.table().uri, "event_id", wanted)])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_table_that_was_written_under_faults_is_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Commits are refused, lost or late; merged, vacuumed, erased, cleaned meanwhile; odd values, days and names."""
    chaos = Chaos(tmp_path / "lake, all of Köln (1)", seed, monkeypatch)
    table = chaos.table()
    for number in range(90):
        table = chaos.append(number, table)
        if chaos.chance.random() < 0.4:
            chaos.disturb()
        if number in (30, 60):
            chaos.assert_read_alike()
    chaos.assert_read_alike()
    chaos.land()
    chaos.assert_read_alike()


def write_on(root: str, told: str) -> None:
    """Append a score after the other, and tell each that was added; merge them now and then."""
    table = Lake(root).table(SCORES, "app")
    number = table.committed("writer") or 0
    with Path(told).open("a") as file:
        while True:
            number += 1
            table.progress(["writer"])
            now = datetime.now(UTC)
            rows = [{"score_id": f"s-{number}-{part}", "date": now.date(), "scored_at": now} for part in range(2)]
            table.append(SCORES.rows(rows), {"writer": number})
            file.write(f"{number}\n")
            file.flush()
            if number % 30 == 0:
                compact(Lake(root).table(SCORES, "app"))


def test_readers_find_each_row_once_while_a_writer_goes_on(tmp_path: Path) -> None:
    """The writer commits, makes checkpoints, merges files, is killed and starts again all the while."""
    root, told = str(tmp_path / "lake"), tmp_path / "told"
    uri = Lake(root).table(SCORES, "app").uri
    for _ in range(3):
        writer = start(write_on, root, str(told))
        before = told.read_text().count("\n") if told.exists() else 0
        wait_for(lambda before=before: told.read_text().count("\n") > before + 30)
        acknowledged = int(told.read_text().splitlines()[-1])
        found = read_tables([uri])
        assert kill(writer)
        for reader, (rows,) in found.items():
            names = rows["score_id"].to_pylist()
            count = len(names) // 2
            assert count >= acknowledged, reader
            assert sorted(names) == sorted(f"s-{number}-{part}" for number in range(1, count + 1) for part in (0, 1))
    assert_read_alike([(uri, "score_id", plain(Lake(root).table(SCORES, "app").read(), "score_id"))])
