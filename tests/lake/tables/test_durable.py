"""A durable lake: what is committed is on the disk, as the kernel is asked for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lake.delta_log import log_files
from lake.maintenance.compaction import compact
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.servers import needed

WRITER = """
import sys
from lake import SCORES, Lake, Storage
from lake.maintenance.compaction import compact

lake = Lake(sys.argv[1], Storage(durable=sys.argv[2] == "durable"))
table = lake.table(SCORES, "rag")
for number in range(21):
    table.append(SCORES.rows([{"response_id": str(number)}]))
compact(lake.table(SCORES, "rag"))
"""
_CALL = re.compile(
    r'(?:(f(?:data)?sync)\(\d+<(?P<synced>[^>]*)>|link(?:at)?\(.*"(?P<whole>[^"]+)", .*"(?P<name>[^"]+)")'
)


def calls(folder: Path, how: str) -> list[tuple[str, Path]]:
    """What a writer of 21 commits and a compaction asks of the kernel: syncs and new names, in their order."""
    strace, trace = needed("strace"), folder / "trace"
    watched = [strace, "-f", "-y", "-s", "4096", "-e", "trace=fsync,fdatasync,link,linkat", "-o", str(trace)]
    command = [*watched, sys.executable, "-c", WRITER, str(folder / "lake"), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        if call := _CALL.search(line):
            is_sync = call["synced"] is not None
            found.append(("sync" if is_sync else "name", Path(call["synced"] if is_sync else call["name"])))
    return [(kind, path) for kind, path in found if folder / "lake" in (path, *path.parents)]


@pytest.mark.integration
def test_a_commit_counts_when_it_and_its_files_are_on_the_disk(tmp_path: Path) -> None:
    """Its data, their folder and its own bytes are synced before the commit has its name, and then the name is."""
    found = calls(tmp_path, "durable")
    table = tmp_path / "lake" / "rag" / "scores"
    log = table / "_delta_log"
    named = [path for kind, path in found if kind == "name" and path.parent == log]
    # deltalake makes some commits by itself: the first, and that of the compaction.
    own = [path for path in named if '"engineInfo": "dialwatch"' in path.read_text()]
    assert len(own) >= 20
    for commit in own:
        at = found.index(("name", commit))
        before = {path for kind, path in found[:at] if kind == "sync"}
        added = [table / one["add"]["path"] for one in map(json.loads, commit.read_text().splitlines()) if "add" in one]
        assert added
        assert {*added, *(path.parent for path in added)} <= before
        assert found[at - 1] == ("sync", found[at - 1][1])
        assert found[at - 1][1].name.startswith(".")
        assert ("sync", log) in found[at:]
    synced = {path for kind, path in found if kind == "sync"}
    # deltalake syncs nothing: what it wrote is synced after it.
    commits = {path for path in log.iterdir() if path.suffix == ".json"}
    assert commits - set(own) - synced == set()
    assert {path for path in log.iterdir() if "checkpoint" in path.name} - synced == set()
    live = Lake(str(tmp_path / "lake")).table(SCORES, "rag").snapshot()
    assert live is not None
    assert {Path(uri.removeprefix("file://")) for uri in live.file_uris()} - synced == set()


@pytest.mark.integration
def test_a_lake_that_is_not_durable_waits_for_no_disk(tmp_path: Path) -> None:
    """The default: what the kernel has is enough for a process that is killed."""
    assert [path for kind, path in calls(tmp_path, "usual") if kind == "sync"] == []


def test_a_disk_that_refuses_keeps_the_commit_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the sync is an error of the append, and no row is there."""
    table = Lake(str(tmp_path), Storage(durable=True)).table(SCORES, "rag")
    table.append(SCORES.rows([{"response_id": "1"}]))

    def refuse(path: Path) -> None:
        if path.suffix == ".parquet":
            raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(log_files, "sync", refuse)
    with pytest.raises(OSError, match="Input/output"):
        table.append(SCORES.rows([{"response_id": "2"}]))
    assert Lake(str(tmp_path)).table(SCORES, "rag").read(["response_id"]).num_rows == 1


def test_a_durable_lake_has_the_rows_of_any_other(tmp_path: Path) -> None:
    """After appends and a compaction, through new handles and one that stays."""
    lake = Lake(str(tmp_path), Storage(durable=True))
    for number in range(25):
        lake.table(SCORES, "rag").append(SCORES.rows([{"response_id": str(number)}]))
    compact(lake.table(SCORES, "rag"))
    rows = lake.table(SCORES, "rag").read(["response_id"])
    assert sorted(map(int, rows["response_id"].to_pylist())) == list(range(25))
    assert [path.name for path in tmp_path.iterdir()] == ["rag"]
