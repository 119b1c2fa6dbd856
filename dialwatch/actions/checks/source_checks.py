"""Checks of the collector's sources: the broker and its topics, and the files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from kafka.errors import KafkaError

from collector import CollectorSettings, FilesSettings, KafkaSettings
from collector.sources.files.listing import Listing, LogFile
from collector.sources.files.open_file import OpenFile, UnreadableFileError
from collector.sources.files.source import NO_FILE
from collector.sources.kafka.client import connect
from dialwatch.actions.checks.finding import Finding, failed, guarded, skipped, well
from lake.tables.storage import Storage
from runtime.durations import duration

_ADVICE = "check collector.kafka.bootstrap_servers, security_protocol, the certificates and the log-in"
_CLOSE_MILLISECONDS = 2_000
_MOST_OPENED = 20
"""Files of a path that are opened, the newest first."""


def check_sources(settings: CollectorSettings, storage: Storage, lake: str) -> list[Finding]:
    """Look at each source that is configured; no consumer group is joined, so that no partition moves.

    Files below the root of the `lake` are no logs.
    """
    found: list[Finding] = []
    if settings.kafka is not None:
        found += guarded("kafka", partial(_kafka, settings.kafka), _ADVICE)
    if settings.files is not None:
        found += guarded(
            "files", partial(_files, settings, settings.files, storage, lake), "check collector.files.paths"
        )
    if settings.http is not None:
        found.append(well("http", f"lines are taken on {settings.http.listen}, {_who_may_send(settings)}"))
    return found or [skipped("sources", "no collector.kafka, .files or .http is configured")]


def _who_may_send(settings: CollectorSettings) -> str:
    return "with a token" if settings.http and settings.http.token else "from own networks, without a token"


def _kafka(settings: KafkaSettings) -> list[Finding]:
    try:
        consumer = connect(settings.model_copy(update={"group_id": None, "group_instance_id": None}))
    except KafkaError as error:
        text = f"{', '.join(settings.bootstrap_servers)} does not answer ({type(error).__name__}: {error}): {_ADVICE}"
        return [failed("kafka", text)]
    try:
        known = consumer.topics()
        found = [well("kafka", f"{', '.join(settings.bootstrap_servers)} answers")]
        for topic in settings.topics:
            partitions = consumer.partitions_for_topic(topic) if topic in known else None
            if partitions:
                found.append(well("kafka", f"topic {topic} has {len(partitions)} partitions"))
            else:
                found.append(failed("kafka", f"there is no topic {topic}, or this user may not see it"))
    finally:
        consumer.close(autocommit=False, timeout_ms=_CLOSE_MILLISECONDS)
    return found


def _files(settings: CollectorSettings, files: FilesSettings, storage: Storage, lake: str) -> list[Finding]:
    now = datetime.now(UTC)
    return [
        _path(path, list(Listing(path, storage, lambda: now, lake).find()), storage, now, settings.silent_after)
        for path in files.paths
    ]


def _path(path: str, found: Sequence[LogFile], storage: Storage, now: datetime, silent_after: float | None) -> Finding:
    text = f"{path} names {len(found)} file{'' if len(found) == 1 else 's'}"
    if not found:
        return failed("files", f"{path}: {NO_FILE}")
    newest_first = sorted(found, key=lambda file: (file.modified_at or now, file.uri), reverse=True)
    for file in newest_first[:_MOST_OPENED]:
        try:
            opened = OpenFile.open(file, storage)
        except UnreadableFileError as error:
            return failed("files", f"{text}: {error}")
        if opened is not None:
            opened.close()
    written = newest_first[0].modified_at
    if written is None:
        return well("files", text)
    text += f", the newest was written {duration(max(round((now - written).total_seconds()), 0))} ago"
    if silent_after is not None and (now - written).total_seconds() > silent_after:
        return failed("files", f"{text}: see that its writer is at work and still writes there")
    return well("files", text)
