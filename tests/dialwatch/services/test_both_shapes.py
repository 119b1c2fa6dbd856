"""One process for everything, and one for each part: both export what the shipped rules ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from dialwatch.config import Settings
from dialwatch.services import running
from lake.spec.schemas import PARSED_LOGS
from lake.spec.service_vocabulary import RequestKind, StoreUser
from lake.store.requests import RequestCounts
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

RULES = Path(__file__).parents[3] / "deploy" / "prometheus" / "rules" / "dialwatch.yml"
SHAPES = {
    "one process": [running.all_services],
    "split": [running.only_collector, running.only_evaluator, running.only_monitor],
}
OF_KAFKA = {"dialwatch_collector_lag_messages", "dialwatch_collector_missed_messages_total"}
PARTS = ("collector", "evaluator", "monitor")


@pytest.mark.parametrize("shape", SHAPES)
def test_each_part_has_its_metrics_and_probes(tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each at an address of its own: `/readyz` once the lake takes rows, `/healthz`, and metrics of its process.

    Every sample says whose it is.
    """
    requests = RequestCounts()
    monkeypatch.setattr("lake.store.requests.REQUESTS", requests)
    if shape == "one process":
        for user in StoreUser:
            requests.add(user, RequestKind.GET)
    addresses = {part: f"127.0.0.1:{free_port()}" for part in PARTS}
    settings = settings_for(tmp_path, addresses)
    with ExitStack() as stack:
        for run in SHAPES[shape]:
            stack.enter_context(run(settings))
        for part, address in addresses.items():
            wait_for(partial(answers, f"http://{address}/readyz"))
            wait_for(partial(answers, f"http://{address}/healthz"))
            for path in ("/healthz", "/readyz", "/metrics"):
                asked = httpx.head(f"http://{address}{path}")
                assert (asked.status_code, asked.content) == (200, b""), (part, path)
        newest = "dialwatch_collector_newest_request_age_seconds"
        wait_for(lambda: newest in httpx.get(f"http://{addresses['collector']}/metrics").text)
        texts = {part: httpx.get(f"http://{address}/metrics").text for part, address in addresses.items()}
    shown = {part: families(text) for part, text in texts.items()}
    for part, found in shown.items():
        assert {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"} <= found, part
    assert {name for name in shown["evaluator"] if name.startswith("dialwatch_evaluator_")}
    # No series has two owners, so that sums over all parts count nothing twice.
    own = [set(re.findall(r"^(dialwatch_.*) \S+$", text, re.MULTILINE)) for text in texts.values()]
    assert sum(map(len, own)) == len(set().union(*own))
    counted = [name for name in set().union(*own) if name.startswith("dialwatch_store_requests_total")]
    assert len(counted) == (len(StoreUser) if shape == "one process" else 0)
    for text in texts.values():
        unlabelled = [line for line in text.splitlines() if line[:1] != "#" and 'installation="staging"' not in line]
        assert unlabelled == []
    assert asked_by_rules() - OF_KAFKA <= set().union(*shown.values())


def answers(url: str) -> bool:
    return httpx.get(url).status_code == 200


def settings_for(folder: Path, addresses: Mapping[str, str]) -> Settings:
    root = str(folder / "lake")
    (folder / "aidial.log").write_bytes(chat_line(1) + b"\n")
    Lake(root).table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([{"deployment": "rag"}]))
    sections: dict[str, Any] = {
        "collector": {
            "files": {"paths": [str(folder / "*.log")]},
            "flush_seconds": 0.1,
            "metrics_listen": addresses["collector"],
        },
        "evaluator": {"metrics_listen": addresses["evaluator"], "judge_calls": str(folder / "judge_calls.sqlite")},
        "monitor": {
            "listen": f"127.0.0.1:{free_port()}",
            "metrics_listen": addresses["monitor"],
            "refresh_seconds": 0.2,
            "external_url": "https://dialwatch.example",
        },
    }
    return Settings.model_validate({"lake": {"root": root, "installation": "staging"}, **sections})


def families(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))


def asked_by_rules() -> set[str]:
    """Names of metrics in the expressions and texts of all rules, without those that rules themselves record."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    texts = [text for rule in rules for text in (rule["expr"], *rule.get("annotations", {}).values())]
    names = {name for text in texts for name in re.findall(r"(?<![:\w])dialwatch_\w+(?!:)\b", without(text, recorded))}
    return names - recorded


def without(text: str, recorded: set[str]) -> str:
    for name in recorded:
        text = text.replace(name, "")
    return text
