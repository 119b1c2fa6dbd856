"""DIAL's logs and people's signals, as rows in the lake."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collector.batch import Counts
    from collector.follow import follow_files, prepare
    from collector.pipeline import Collector
    from collector.settings import CollectorSettings, FilesSettings, HttpSettings
    from collector.signals import ImplicitSignals
    from collector.sources.files import FileSource
    from collector.sources.http import create_app
    from collector.sources.kafka import KafkaSource
    from collector.sources.kafka_settings import KafkaSettings
    from collector.workers import WorkerError, collect_with_workers

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
    "Collector": "pipeline",
    "CollectorSettings": "settings",
    "Counts": "batch",
    "FileSource": "sources.files",
    "FilesSettings": "settings",
    "HttpSettings": "settings",
    "ImplicitSignals": "signals",
    "KafkaSettings": "sources.kafka_settings",
    "KafkaSource": "sources.kafka",
    "WorkerError": "workers",
    "collect_with_workers": "workers",
    "create_app": "sources.http",
    "follow_files": "follow",
    "prepare": "follow",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
