"""A collector process whose store takes what nobody answered, late, and that is killed: every line is a row once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.sources.faults import CollectorProcess, Door, Senders, assert_rows_once
from tests.readers.foreign import assert_read_alike, plain, read_tables
from tests.servers import Bucket, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LATE = ("0.25", "4", "held,held,lost,503", "PUT")
"""Of the writes; a held one lands within so many seconds, or just before another write of its name."""
KILLS = 3


def copied(bucket: Bucket, uri: str, folder: Path) -> str:
    """Copy a table that is being written into a folder: its log first, so that no commit comes without its files."""
    filesystem, path = bucket.storage.filesystem(uri)
    for is_log in (True, False):
        for file in filesystem.find(path):
            if ("/_delta_log/" in file) is is_log and filesystem.size(file):
                target = folder / file.removeprefix(f"{path}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                filesystem.get_file(file, str(target))
    return str(folder)


def test_lines_are_stored_once_whose_commits_land_late_while_the_collector_is_killed(
    door: Door, bucket: Bucket, tmp_path: Path, logs: Path
) -> None:
    """Lines come from a file and over HTTP all the while, and other readers find those that were answered."""
    storage = f'storage: {{endpoint_url: "http://127.0.0.1:{door.port}", region: us-east-1}}'
    lake, pauses = Lake(f"{bucket.uri}/lake", bucket.storage), random.Random(5)
    collector = CollectorProcess(logs, lake.root, tmp_path, storage)
    rows, batches = lake.table(PARSED_LOGS, "rag-app").uri, lake.table(BATCHES).uri
    try:
        collector.start()
        with Senders(logs / "a.log", collector.url) as senders:
            wait_for(lambda: senders.answered >= 2, seconds=120)
            door.open(*LATE)
            for number in range(KILLS):
                refused, answered = senders.refused, senders.answered
                wait_for(lambda r=refused: senders.refused >= r + 4, seconds=240)
                wait_for(lambda a=answered: senders.answered >= a + 4, seconds=240)
                found = read_tables([copied(bucket, rows, tmp_path / f"copy-{number}")])
                for reader, (table,) in found.items():
                    names = table["answer"].to_pylist()
                    assert len(set(names)) == len(names), reader
                    assert {f"Answer {2 * one + 1}." for one in range(answered)} <= set(names), reader
                time.sleep(pauses.uniform(0, 1))
                collector.kill()
                collector.start()
        door.open()
        assert_rows_once(lake, senders)
        collector.stop()
    finally:
        collector.kill()
    assert_read_alike(
        (copied(bucket, uri, tmp_path / name), key, plain(table.read(), key))
        for name, uri, key, table in (
            ("rows", rows, "event_id", lake.table(PARSED_LOGS, "rag-app")),
            ("batches", batches, "committed_at", lake.table(BATCHES)),
        )
    )
    assert_rows_once(lake, senders)
