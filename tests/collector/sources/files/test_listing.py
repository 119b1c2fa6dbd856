from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collector.sources.files.listing import Listing
from tests.servers import Bucket

START = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Watched:
    """A listing of `raw/date=*`, a clock that tests move, and a count of the requests to the store."""

    def __init__(self, bucket: Bucket, pattern: str = "raw/date=*") -> None:
        self.filesystem, self.root = bucket.storage.filesystem(f"{bucket.uri}/raw")
        self.now = START
        self.requests: Counter[str] = Counter()
        self.listed = 0
        self._listing = Listing(f"{bucket.uri}/{pattern}", bucket.storage, lambda: self.now)

    def put(self, *names: str) -> None:
        for name in names:
            self.filesystem.pipe(f"{self.root}/{name}", b"x")

    def find(self) -> list[str]:
        return sorted(file.path.removeprefix(f"{self.root}/") for file in self._listing.find())

    def count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        call = self.filesystem.call_s3

        def counted(method: str, **request: Any) -> Any:
            answer = call(method, **request)
            self.requests[method] += 1
            self.listed += answer.get("KeyCount", 0)
            return answer

        monkeypatch.setattr(self.filesystem, "call_s3", counted)


@pytest.fixture
def watched(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Watched:
    made = Watched(bucket)
    made.count(monkeypatch)
    return made


def test_a_second_look_lists_the_last_days_only(watched: Watched) -> None:
    """After a full listing the store is asked for what is at most two days older than the newest name."""
    watched.put(
        *(f"date=2026-{month:02d}-{day:02d}1763-{day}.log.gz" for month in range(1, 11) for day in range(1, 29))
    )
    watched.put("date=2026-11-181763-a.log.gz", "date=2026-11-201763-b.log.gz")
    assert len(watched.find()) == 282
    assert watched.listed == 282
    assert watched.find() == ["date=2026-11-181763-a.log.gz", "date=2026-11-201763-b.log.gz"]
    assert (watched.listed, watched.requests) == (284, {"list_objects_v2": 2})


def test_new_objects_are_found_at_once_and_late_ones_within_the_hour(watched: Watched) -> None:
    """An object of today or of the last two days is found by the next look, one for an older date by the full one."""
    watched.put("date=2026-11-101763-a.log.gz", "date=2026-11-201763-b.log.gz")
    watched.find()
    watched.put("date=2026-11-191763-late.log.gz", "date=2026-11-211763-new.log.gz", "date=2026-11-111763-old.log.gz")
    found = watched.find()
    assert {"date=2026-11-191763-late.log.gz", "date=2026-11-211763-new.log.gz"} <= set(found)
    assert "date=2026-11-111763-old.log.gz" not in found
    watched.now += timedelta(hours=1)
    assert "date=2026-11-111763-old.log.gz" in watched.find()


def test_names_without_a_date_are_listed_in_full(watched: Watched) -> None:
    """Where a name says no date, nothing can be left out."""
    watched.put("date=2026-11-101763-a.log.gz", "date=today.log.gz", "date=2026-13-99.log", "else.log")
    for _ in range(2):
        assert watched.find() == ["date=2026-11-101763-a.log.gz", "date=2026-13-99.log", "date=today.log.gz"]


def test_each_folder_has_its_own_newest_date(bucket: Bucket) -> None:
    """A pod that stopped shipping days ago is no reason to miss what another one ships, nor the reverse."""
    watched = Watched(bucket, "raw/core-*/date=*")
    watched.put("core-0/date=2026-11-01a.log", "core-1/date=2026-11-20b.log")
    watched.find()
    watched.put("core-0/date=2026-11-01c.log", "core-1/date=2026-11-19d.log")
    assert {"core-0/date=2026-11-01c.log", "core-1/date=2026-11-19d.log"} <= set(watched.find())


@pytest.mark.parametrize("pattern", ["raw", "raw/", "raw/**", "raw/a.log"])
def test_a_folder_and_an_object_name_what_they_name(bucket: Bucket, pattern: str) -> None:
    """Folders and globs are found with what is in them, hidden objects and neighbours of a like name left out."""
    watched = Watched(bucket, pattern)
    watched.put("a.log", ".state", "a.log.old")
    watched.filesystem.pipe(f"{watched.root}-neighbour/b.log", b"x")
    assert watched.find() == (["a.log"] if pattern == "raw/a.log" else ["a.log", "a.log.old"])
