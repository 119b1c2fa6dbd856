"""Checks of the collector's sources: the broker and its topics, and the files."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from kafka.errors import KafkaError

from collector import CollectorSettings, FilesSettings, KafkaSettings
from collector.sources.files.listing import Listing
from collector.sources.kafka.client import connect
from dialwatch.actions.checks.finding import Finding, failed, guarded, skipped, well
from lake import Storage

_ADVICE = "check collector.kafka.bootstrap_servers, security_protocol, the certificates and the log-in"
_CLOSE_MILLISECONDS = 2_000


def check_sources(settings: CollectorSettings, storage: Storage) -> list[Finding]:
    """Look at each source that is configured; no consumer group is joined, so that no partition moves."""
    found: list[Finding] = []
    if settings.kafka is not None:
        found += guarded("kafka", partial(_kafka, settings.kafka), _ADVICE)
    if settings.files is not None:
        found += guarded("files", partial(_files, settings.files, storage), "check collector.files.paths")
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


def _files(settings: FilesSettings, storage: Storage) -> list[Finding]:
    found = []
    for path in settings.paths:
        number = sum(1 for _ in Listing(path, storage, lambda: datetime.now(UTC)).find())
        text = f"{path} names {number} files"
        found.append(well("files", text) if number else failed("files", f"{text}: check the path"))
    return found
