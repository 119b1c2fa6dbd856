"""Two evaluators in processes of their own that share the deployments of a lake."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import httpx
import pytest

from dialwatch.config import Settings
from dialwatch.services import running
from dialwatch.services.ending import wait_for_signal
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from tests.evaluator.conftest import Traffic
from tests.killing import kill, start
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

DEPLOYMENTS = [f"app-{number}" for number in range(24)]


def evaluate(root: str, address: str) -> None:
    """An evaluator whose passes are an hour apart, so that only the group makes it begin one."""
    evaluator = {"every": "1h", "context_grace": 0, "metrics": ["context_present"], "metrics_listen": address}
    settings = Settings.model_validate({"lake": {"root": root}, "evaluator": evaluator})
    with running.only_evaluator(settings):
        wait_for_signal()


def members(address: str) -> float:
    text = httpx.get(f"http://{address}/metrics").text
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("dialwatch_evaluator_group_"))


def scored(lake: Lake) -> Counter[tuple[str, str]]:
    """How many rows of scores each answer of each deployment has."""
    return Counter(
        (name, event)
        for name in DEPLOYMENTS
        for event in lake.table(SCORES, name).read(["event_id"])["event_id"].to_pylist()
    )


def test_one_that_is_killed_is_replaced_by_the_other(tmp_path: Path) -> None:
    """Each answer has one score: the other makes those of the one that was killed, with no pass due for an hour."""
    lake = Lake(str(tmp_path))
    for name in DEPLOYMENTS:
        app = Traffic(lake, name)
        app.log(app.answer("first"))
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    workers = [start(evaluate, lake.root, address) for address in addresses]
    try:
        for address in addresses:
            wait_for(partial(_is_up, address))
            wait_for(lambda at=address: members(at) == 2)
        wait_for(lambda: len(scored(lake)) == len(DEPLOYMENTS))
        for name in DEPLOYMENTS:
            app = Traffic(lake, name)
            app.log(app.answer("second", 1))
        kill(workers[0])
        wait_for(lambda: members(addresses[1]) == 1, seconds=90)
        wait_for(lambda: len(scored(lake)) == 2 * len(DEPLOYMENTS))
        assert set(scored(lake).values()) == {1}
    finally:
        for worker in workers:
            kill(worker)


def _is_up(address: str) -> bool:
    try:
        return httpx.get(f"http://{address}/healthz").status_code == 200
    except httpx.TransportError:
        return False
