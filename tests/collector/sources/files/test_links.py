"""Symbolic links in and around watched folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line


def write(path: Path, number: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(chat_line(number) + b"\n")
    return path


def found(*paths: object, exclude: str | None = None) -> list[str]:
    """Names of the files that are found, below the folder of the test."""
    files = FileSource([str(path) for path in paths], Storage(), exclude=exclude).find()
    return [file.uri.partition("/watched/")[2] or file.uri.rpartition("/")[2] for file in files]


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A folder with one log, and beside it a file and a folder that nobody named."""
    write(tmp_path / "watched" / "a.log", 1)
    write(tmp_path / "else" / "secret.log", 2)
    return tmp_path / "watched"


@pytest.mark.parametrize("pattern", ["", "*.log", "**/*", "*/*.log"])
def test_no_link_leads_out_of_a_watched_folder(watched: Path, pattern: str, caplog: pytest.LogCaptureFixture) -> None:
    """Links to files and folders elsewhere, also by way of another link and of `..`, give no line; the log says so."""
    outside = watched.parent / "else"
    (watched / "file.log").symlink_to(outside / "secret.log")
    (watched / "twice.log").symlink_to("file.log")
    (watched / "up.log").symlink_to("../else/secret.log")
    (watched / "folder").symlink_to(outside)
    (watched / "folder.log").symlink_to(outside)
    source = FileSource([f"{watched}/{pattern}"], Storage())
    for _ in range(3):
        names = [Path(file.uri).name for file in source.find()]
        assert names == ([] if pattern == "*/*.log" else ["a.log"])
    warnings = [line for line in caplog.messages if "is not followed, as it leads outside" in line]
    assert len(warnings) == len(set(warnings)) > 0
    if pattern != "*/*.log":
        assert sum("file.log is" in line or "twice.log is" in line or "up.log is" in line for line in warnings) == 3
    assert any("folder" in line for line in warnings)


def test_a_watched_folder_may_be_a_link_itself(watched: Path) -> None:
    """Where a folder that is named, or one above it, is a link, what stands in it is read."""
    link = watched.parent / "link"
    link.symlink_to(watched)
    (watched.parent / "above").symlink_to(watched.parent)
    assert found(link) == found(f"{link}/*.log") == ["a.log"]
    assert found(f"{watched.parent}/above/watched/*.log") == found(f"{watched.parent}/above/link/") == ["a.log"]


def test_a_file_that_is_named_may_be_a_link(watched: Path) -> None:
    """Who names a file knows where it leads."""
    (watched / "current.log").symlink_to(watched.parent / "else" / "secret.log")
    assert found(watched / "current.log") == ["current.log"]


@pytest.mark.parametrize("pattern", ["", "*.log"])
def test_links_that_stay_in_the_folder_are_followed(watched: Path, pattern: str) -> None:
    """As Kubernetes mounts a volume: each name leads through `..data` to a folder of the same mount."""
    write(watched / "..2026_11_20" / "core.log", 3)
    (watched / "..data").symlink_to("..2026_11_20")
    (watched / "core.log").symlink_to("..data/core.log")
    names = found(f"{watched}/{pattern}")
    assert names == (["..2026_11_20/core.log", "a.log"] if not pattern else ["a.log", "core.log"])
    lake = Lake(str(watched.parent / "lake"))
    collector = Collector(lake, CollectorSettings())
    source = FileSource([f"{watched}/{pattern}"], Storage())
    source.read_into(collector)
    collector.flush()
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 2


def test_a_file_and_links_to_it_are_one_file(watched: Path) -> None:
    """As loggers keep a link to the newest file: each line is taken once, also one that cannot be read."""
    log, lake = watched / "a.log", Lake(str(watched.parent / "lake"))
    (watched / "current.log").symlink_to("a.log")
    (watched.parent / "0.log").symlink_to(log)
    collector = Collector(lake, CollectorSettings())
    source = FileSource([str(watched.parent / "0.log"), f"{watched}/*.log"], Storage())
    for number in (2, 3):
        with log.open("ab") as file:
            file.write(b"a stack trace\n" + chat_line(number) + b"\n")
        source.read_into(collector)
        counts = collector.flush()
        assert (counts.rejected, counts.duplicates) == (1, 0)
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 3
    assert [file.uri for file in source.find()] == [str(log)]
    assert source.find()[0].named_by == tuple(source.paths)


def test_no_link_leads_into_the_lake(watched: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not from a folder that holds both, not through a lake that is itself a link, and not by a file's own name."""
    root = watched / "lake"
    lake = Lake(str(root))
    lake.table(REJECTED).append(REJECTED.rows([{"raw": b"{"}]))
    commit = min(root.rglob("*.json"))
    (watched / "commit.log").symlink_to(commit)
    (watched / "tables.log").symlink_to(root / "_rejected")
    (watched.parent / "lake-link").symlink_to(root)
    for exclude in (str(root), str(watched.parent / "lake-link")):
        paths = [watched, f"{watched}/*.log", f"{watched}/**/*.json", watched / "commit.log"]
        assert found(*paths, exclude=exclude) == ["a.log"]
    assert any("commit.log is not followed, as it leads into the lake" in line for line in caplog.messages)


def test_a_file_that_became_a_link_after_it_was_found_is_not_read(
    watched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at is what is opened: a link in its place is refused, and passed over at the next look."""
    lake = Lake(str(watched.parent / "lake"))
    collector, source = Collector(lake, CollectorSettings()), FileSource([str(watched)], Storage())
    listed = source.find()
    (watched / "a.log").unlink()
    (watched / "a.log").symlink_to(watched.parent / "else" / "secret.log")
    with monkeypatch.context() as patch:
        patch.setattr(source, "find", lambda: listed)
        source.read_into(collector)
    assert list(source.unreadable) == [str(watched / "a.log")]
    source.read_into(collector)
    assert collector.flush().lines == 0


def test_many_links_do_not_fill_the_log(watched: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each is logged once, and a hundred at most."""
    for number in range(150):
        (watched / f"{number}.log").symlink_to(os.devnull)
    source = FileSource([str(watched)], Storage())
    for _ in range(2):
        source.find()
    assert sum("is not followed" in line for line in caplog.messages) == 100
    assert sum("further links" in line for line in caplog.messages) == 1
