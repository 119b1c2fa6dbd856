"""What pages say in tables, figures and examples, compared with the code, or with the page that a figure comes from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.routing import APIRoute

from dialwatch.config_loading import load_settings
from evaluator.metrics import metric_named
from lake.spec.alert_vocabulary import LimitKind
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.pages.overview.query import Column
from monitor.pages.overview.rows import State
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.docs.test_references import NAMES, PAGES

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = {"lake", "collector", "evaluator", "monitor", "log"}
SECRET = "whsec_" + "c2VjcmV0" * 4


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def served(folder: Path) -> set[str]:
    """Addresses that a browser or a script opens, with a token."""
    settings = MonitorSettings.model_validate({"access": {"token": SECRET}})
    app = create_app(Monitor(Lake(str(folder)), settings, lambda: datetime.now(UTC)), settings)
    described = {path for path, item in app.openapi()["paths"].items() if "get" in item}
    return described | {route.path for route in app.routes if isinstance(route, APIRoute) and "GET" in route.methods}


def listed(page: str) -> set[str]:
    """Addresses of the tables, without the column in the middle, which says what they give."""
    rows = [line.split("|") for line in text_of(page).splitlines() if line.startswith("| `/")]
    return {found for row in rows for cell in (row[1], *row[3:]) for found in re.findall(r"`(/[^`?]*)", cell)}


def settings_in(text: str) -> Iterator[dict[str, Any]]:
    """Examples of dialwatch.yaml: blocks with one or more of its sections, and nothing else."""
    fenced = r"^```\w*\n(.*?)^```"
    blocks = re.findall(fenced, text, re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"(?:^ {4}.*\n)+", re.sub(fenced, "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    for block in blocks:
        try:
            values = yaml.safe_load(textwrap.dedent(block))
        except yaml.YAMLError:
            continue
        if isinstance(values, dict) and values.keys() <= SECTIONS:
            yield values


def with_secrets(values: Any, file: Path) -> Any:
    if isinstance(values, list):
        return [with_secrets(item, file) for item in values]
    if not isinstance(values, dict):
        return values
    return {key: str(file) if key.endswith("_file") else with_secrets(item, file) for key, item in values.items()}


def test_the_page_of_the_monitor_lists_its_addresses(tmp_path: Path) -> None:
    """All that the application serves is in the tables, and nothing else, but for the form and a link's next answer."""
    assert listed("monitor.md") | {"/sign-in", "/answers/neighbour"} == served(tmp_path)
    assert "`/sign-in`" in text_of("monitor.md")


def test_the_page_of_json_lists_the_addresses_that_give_it(tmp_path: Path) -> None:
    """Each page's data has its line."""
    assert listed("json.md") == {path for path in served(tmp_path) if path.endswith(".json")}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_an_example_of_settings_can_be_used(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a configuration; where it is a part of one, the rest is added: a lake, a judge, a key."""
    secret, file = tmp_path / "secret", tmp_path / "dialwatch.yaml"
    secret.write_text(SECRET)
    monkeypatch.setenv("DIALWATCH_COLLECTOR__REDACTION__KEY", SECRET)
    for values in settings_in(page.read_text(encoding="utf-8")):
        values.setdefault("lake", {}).setdefault("root", "lake-data")
        if "strict" in str(values):
            values["evaluator"].setdefault("judges", {"strict": {"base_url": "http://judge", "model": "m"}})
            values["evaluator"]["judges"]["strict"].setdefault("allow_unpriced", True)
        file.write_text(yaml.safe_dump(with_secrets(values, secret)))
        load_settings(file)


def test_examples_of_settings_are_found() -> None:
    """The test above looks at something."""
    found = [len(list(settings_in(page.read_text(encoding="utf-8")))) for page in PAGES]
    assert sum(found) >= 15


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_message_of_the_docs_has_the_version_of_its_metric(page: Path) -> None:
    """`metric faithfulness_kprecision, version 4` is what the code gives."""
    text = re.sub(r"\s*\n>?\s*", " ", page.read_text(encoding="utf-8"))
    for name, version in re.findall(r"metric (\w+), version (\S+?)[.,]? ", text):
        assert metric_named(name).version == version


def test_the_limits_are_those_of_the_page() -> None:
    """The table names each limit, and no other."""
    table = text_of("alerts.md").partition("\n## Limits\n")[2].partition("\n\nA share")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(LimitKind)


def test_the_states_and_orders_of_the_overview_are_those_of_the_page() -> None:
    """Values of the parameters `state` and `sort`."""
    for name, values in (("state", State), ("sort", Column)):
        row = re.search(rf"^\| `{name}` \| ([^|]*) \|", text_of("monitor.md"), re.MULTILINE)
        assert row is not None
        assert set(re.findall(r"`([^`]+)`", row[1])) == set(values)


@pytest.mark.parametrize("page", ["operations.md", "scaling.md"])
def test_the_speed_of_a_collector_is_that_of_the_benchmarks(page: str) -> None:
    """Figures of one process, without and with the raw responses."""
    table = text_of("benchmarks.md")
    kept, dropped = (
        re.search(rf"^\| 1 process, {what} \|[^|]*\|[^|]*\| (\d+) \|", table, re.MULTILINE)
        for what in ("raw response kept", "not kept")
    )
    assert kept is not None
    assert dropped is not None
    text = " ".join(text_of(page).split())
    assert re.search(rf"\b{dropped[1]} MB of log[^.|]*, {kept[1]} if raw responses are kept", text)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_lower_tier_is_called_a_warning(page: Path) -> None:
    """The word of the column is told in the glossary and in the page of the columns alone."""
    text = page.read_text(encoding="utf-8")
    assert page.name in ("glossary.md", "columns.md") or "`warn`" not in text
