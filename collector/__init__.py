"""DIAL's logs and people's signals, as rows in the lake."""

from collector.batch import Counts
from collector.follow import follow_files
from collector.pipeline import Collector
from collector.settings import CollectorSettings, FilesSettings, HttpSettings
from collector.sources.files import FileSource
from collector.sources.http import create_app

__all__ = [
    "Collector",
    "CollectorSettings",
    "Counts",
    "FileSource",
    "FilesSettings",
    "HttpSettings",
    "create_app",
    "follow_files",
]
