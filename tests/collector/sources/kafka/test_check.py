"""`dialwatch check` with a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import dialwatch
from tests.kafka.topics import make_topic

pytestmark = pytest.mark.integration


def test_the_broker_and_its_topics_are_looked_at(tmp_path: Path, kafka: str) -> None:
    """A topic that is there has its partitions told, and one that is not is a failure."""
    topic = make_topic(kafka, partitions=3)
    config = tmp_path / "dialwatch.yaml"
    config.write_text(
        f'lake: {{root: {tmp_path}/lake}}\ncollector: {{kafka: {{bootstrap_servers: ["{kafka}"], '
        f"topics: [{topic}, missing]}}}}\n"
    )
    done = dialwatch("check", "-c", config, folder=tmp_path)
    assert done.returncode == 1
    assert f"topic {topic} has 3 partitions" in done.stdout
    assert [line.split()[1:5] for line in done.stdout.splitlines() if line.startswith("FAILED")] == [
        ["kafka", "there", "is", "no"]
    ]
