from .commit.batch import Counts
from .pipeline.collector import Collector
from .runners.follow import follow_files, prepare
from .runners.workers import WorkerError, collect_with_workers
from .settings import CollectorSettings
from .signals import ImplicitSignals
from .sources.files.settings import FilesSettings
from .sources.files.source import FileSource
from .sources.http.app import create_app
from .sources.http.settings import HttpSettings
from .sources.kafka.settings import KafkaSettings
from .sources.kafka.source import KafkaSource

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
