"""DIAL's logs and people's signals, as rows in the lake."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collector.commit.batch import Counts
    from collector.pipeline.collector import Collector
    from collector.runners.follow import follow_files, prepare
    from collector.runners.workers import WorkerError, collect_with_workers
    from collector.settings import CollectorSettings
    from collector.signals import ImplicitSignals
    from collector.sources.files.settings import FilesSettings
    from collector.sources.files.source import FileSource
    from collector.sources.http.app import create_app
    from collector.sources.http.settings import HttpSettings
    from collector.sources.kafka.settings import KafkaSettings
    from collector.sources.kafka.source import KafkaSource

__all__ = [
    "Collector",
    "CollectorSettings",
    "Counts",
    "FileSource",
    "FilesSettings",
    "HttpSettings",
    "ImplicitSignals",
    "KafkaSettings",
    "KafkaSource",
    "WorkerError",
    "collect_with_workers",
    "create_app",
    "follow_files",
    "prepare",
]

# Imported when they are used: a web framework and a client of Kafka take longer than a small file takes to collect.
_MODULES = {
    "Collector": "pipeline.collector",
    "CollectorSettings": "settings",
    "Counts": "commit.batch",
    "FileSource": "sources.files.source",
    "FilesSettings": "sources.files.settings",
    "HttpSettings": "sources.http.settings",
    "ImplicitSignals": "signals",
    "KafkaSettings": "sources.kafka.settings",
    "KafkaSource": "sources.kafka.source",
    "WorkerError": "runners.workers",
    "collect_with_workers": "runners.workers",
    "create_app": "sources.http.app",
    "follow_files": "runners.follow",
    "prepare": "runners.follow",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
