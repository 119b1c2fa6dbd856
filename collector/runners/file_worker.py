"""The task of one worker process: collect a share of the files that several processes read into one lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.commit.batch import Counts
from collector.pipeline.collector import Collector
from collector.pipeline.settings import PipelineSettings
from collector.sources.files.listing import LogFile
from collector.sources.files.source import FileSource
from lake.delta_log.change import LostRaceError
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from runtime.lean_process import tune_memory
from runtime.logs import Logs, configure_logs

_MOST_RACES = 20


@dataclass(frozen=True)
class FileCollection:
    """Parameters of all workers: the lake, the settings, and the paths of the files."""

    root: str
    lake_storage: Storage
    settings: PipelineSettings
    paths: Sequence[str]
    storage: Storage
    logs: Logs


@dataclass(frozen=True)
class CollectedFiles:
    """Counts of the lines, and the files that could not be read: URI and reason."""

    counts: Counts
    unreadable: dict[str, str]


def collect_share(collection: FileCollection, share: frozenset[str]) -> CollectedFiles:
    """Read and commit the files with these URIs."""
    configure_logs(collection.logs)
    tune_memory()
    collector = Collector(Lake(collection.root, collection.lake_storage), collection.settings)
    source = _Share(collection, share)
    races = 0
    while True:
        try:
            source.read_into(collector)
            collector.flush()
            break
        except LostRaceError:
            # A collector outside reads the same files: what it has committed is passed over at the next try.
            races += 1
            if races == _MOST_RACES:
                raise
    source.close()
    return CollectedFiles(collector.totals, source.unreadable)


class _Share(FileSource):
    """Source with only the files that this worker reads."""

    def __init__(self, collection: FileCollection, share: frozenset[str]) -> None:
        super().__init__(collection.paths, collection.storage, exclude=collection.root)
        self._share = share

    def find(self) -> list[LogFile]:
        return [file for file in super().find() if file.uri in self._share]
