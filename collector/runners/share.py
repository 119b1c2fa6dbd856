"""One process' share of the files that several read into one lake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collector.commit.batch import Counts
from collector.pipeline.collector import Collector
from collector.pipeline.settings import PipelineSettings
from collector.sources.files.listing import LogFile
from collector.sources.files.source import FileSource
from lake import Lake, LostRaceError, Storage

_MOST_RACES = 20


@dataclass(frozen=True)
class Share:
    """All that a process must know to read its part: the lake, where the files are, and which of them are its own."""

    root: str
    lake_storage: Storage
    settings: PipelineSettings
    paths: Sequence[str]
    storage: Storage
    chosen: frozenset[str]
    log_level: int


@dataclass(frozen=True)
class Outcome:
    """What became of the lines, and the files that could not be read, by URI, with the reason."""

    counts: Counts
    unreadable: dict[str, str]


def collect_share(share: Share, stop: Callable[[], bool]) -> Outcome:
    """Read and commit the share, or what was read of it when `stop` says so."""
    collector = Collector(Lake(share.root, share.lake_storage), share.settings)
    source = _ShareSource(share)
    races = 0
    while True:
        try:
            source.read_into(collector, stop)
            collector.flush()
            break
        except LostRaceError:
            # A collector outside reads the same files: what it has committed is passed over at the next try.
            races += 1
            if races == _MOST_RACES:
                raise
    source.close()
    return Outcome(collector.totals, source.unreadable)


class _ShareSource(FileSource):
    def __init__(self, share: Share) -> None:
        super().__init__(share.paths, share.storage, exclude=share.root)
        self._chosen = share.chosen

    def find(self) -> list[LogFile]:
        return [file for file in super().find() if file.uri in self._chosen]
