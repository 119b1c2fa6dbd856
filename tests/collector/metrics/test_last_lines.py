from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from collector.metrics.last_lines import LastLines
from collector.metrics.prometheus import LastLineMetric

NAME = "dialwatch_source_last_line_timestamp_seconds"


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000.0
        self.lines = LastLines(lambda: datetime.fromtimestamp(self.seconds, UTC), lambda: self.seconds)


def test_the_metric_has_every_source_that_is_configured() -> None:
    """The time of the newest line, and 0 for a source that never had one; others are left out."""
    clock, registry = Clock(), CollectorRegistry()
    registry.register(LastLineMetric(clock.lines))
    for source in ("file /logs/a", "kafka core"):
        clock.lines.expect(source, "look")
    clock.seconds += 5
    clock.lines.note("kafka core")
    clock.lines.note("http")
    assert registry.get_sample_value(NAME, {"source": "file /logs/a"}) == 0
    assert registry.get_sample_value(NAME, {"source": "kafka core"}) == 1_005
    assert registry.get_sample_value(NAME, {"source": "http"}) is None


def test_a_source_without_lines_is_a_problem_after_the_time() -> None:
    """Of the time since its last line, or since it was expected; with its name and what to do."""
    clock = Clock()
    clock.lines.expect("http", "see that Vector runs")
    clock.lines.expect("kafka core", "see that Core logs")
    clock.seconds += 1800
    clock.lines.note("kafka core")
    clock.seconds += 1799
    assert clock.lines.problem(3600) is None
    clock.seconds += 1
    assert clock.lines.problem(3600) == "http: no line came for 60 minutes: see that Vector runs"
    assert clock.lines.problem(None) is None
    clock.lines.note("http")
    assert clock.lines.problem(3600) is None


def test_a_source_that_lacks_its_files_is_a_problem_after_a_minute() -> None:
    """Whatever came before, and however long sources may be silent; a log that is rotated is away for a moment."""
    clock = Clock()
    clock.lines.expect("file /logs/*", "look")
    clock.lines.note("file /logs/*")
    for missing in ("no file matches", None, "no file matches", "no file matches"):
        clock.lines.note_missing("file /logs/*", missing)
        assert clock.lines.problem(None) is None
        clock.seconds += 40
    assert clock.lines.problem(None) == "file /logs/*: no file matches"
    clock.lines.note_missing("file /logs/*", None)
    assert clock.lines.problem(None) is None


def test_a_source_that_others_read_is_not_missed() -> None:
    """A member of a consumer group without a partition stands by."""
    clock = Clock()
    clock.lines.expect("kafka core", "look")
    clock.seconds += 3599
    clock.lines.excuse("kafka core")
    clock.seconds += 3599
    assert clock.lines.problem(3600) is None
