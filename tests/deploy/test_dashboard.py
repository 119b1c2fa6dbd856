"""The Grafana dashboard as committed: its panels, rows and links."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import yaml

from deploy.grafana.dashboard import PATH, dashboard_json
from monitor.pages.answers.query import AnswerQuery

NOW = datetime.now(UTC)
LABELS = {"deployment": "apps/a b&c=d", "metric": "faithfulness_claims", "incident": "3f2a91c07b54"}
LABELS |= {"tool": "orders/get & more"}


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(PATH.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def test_committed_dashboard_is_the_generated_one() -> None:
    """The committed JSON is, byte for byte, what dashboard.py gives."""
    assert PATH.read_text() == dashboard_json(), "run `python -m deploy.grafana.dashboard`"


def test_panels_have_their_own_place() -> None:
    """No two panels lie on each other, and none goes beyond Grafana's 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_rows_and_what_they_are_about() -> None:
    """What fires comes first, dialwatch itself last."""
    rows = [panel["title"] for panel in json.loads(PATH.read_text())["panels"] if panel["type"] == "row"]
    assert rows == ["Alerts", "Quality", "People", "Traffic", "Agents", "Limits", "Pipeline"]


def links_by_query(panel: dict[str, Any]) -> dict[str, list[str]]:
    """The addresses of links, by the query whose series have them; `*` for those of all cells of a table."""
    found: dict[str, list[str]] = {}
    for override in panel["fieldConfig"]["overrides"]:
        of = "*" if override["matcher"]["id"] == "byRegexp" else override["matcher"]["options"]
        for one in override["properties"]:
            if one["id"] == "links":
                found.setdefault(of, []).extend(link["url"] for link in one["value"])
    return found


def filled_in(url: str) -> str:
    """A link as Grafana fills it in: values by their format, and the address of the pages as it is."""
    given = {"${dialwatch:raw}": "https://dialwatch.example/base"}
    given |= {f"${{__{end}:date:YYYY-MM-DD}}": f"2026-11-{day}" for end, day in (("from", 19), ("to", 20))}
    for labels in ("__field.labels", "__data.fields"):
        given |= {f"${{{labels}.{name}:percentencode}}": quote(text, safe="") for name, text in LABELS.items()}
    for name, text in given.items():
        url = url.replace(name, text)
    assert "$" not in url
    return url


def test_series_of_a_deployment_lead_to_its_pages() -> None:
    """Each link, filled in as Grafana does, is an address of ours with this deployment, metric and period."""
    found = set()
    for panel in panels():
        links = links_by_query(panel)
        for target in panel["targets"]:
            legend, mine = target["legendFormat"], links.get(target["refId"], links.get("*", []))
            assert bool(mine) == ("{{deployment}}" in legend or panel["type"] == "table"), panel["title"]
            for url in mine:
                address = urlsplit(filled_in(url))
                assert f"{address.scheme}://{address.netloc}" == "https://dialwatch.example"
                query = dict(parse_qsl(address.query, strict_parsing=True))
                found.add(address.path)
                of_metric = "{{metric}}" in legend or panel["type"] == "table"
                if address.path == "/base/deployment":
                    assert query == {"name": LABELS["deployment"]}
                elif address.path == "/base/incident":
                    assert query == {"id": LABELS["incident"]}
                else:
                    asked = AnswerQuery.read(query, NOW)
                    assert (asked.deployment, asked.since.day, asked.until.day) == (LABELS["deployment"], 19, 20)
                    assert asked.tool == (LABELS["tool"] if "{{tool}}" in legend else "")
                    assert (asked.metric, asked.order) == ((LABELS["metric"], "asc") if of_metric else ("", "desc"))
    assert found == {"/base/deployment", "/base/answers", "/base/incident"}


def test_every_panel_leads_to_a_page() -> None:
    """By its series, or by its title; a heatmap by its exemplars."""
    for panel in panels():
        links = [link["url"] for link in panel.get("links") or []]
        assert links_by_query(panel) or links or panel["type"] == "heatmap", panel["title"]
        for url in links:
            assert urlsplit(filled_in(url)).path in ("/base/", "/base/incidents")
    for link in json.loads(PATH.read_text())["links"]:
        assert urlsplit(filled_in(link["url"])).path in ("/base/", "/base/incidents")


def test_charts_of_many_have_a_sorted_table() -> None:
    """The highest of now first, so that nobody looks for a colour among many."""
    for panel in panels():
        if panel["type"] == "timeseries":
            legend = panel["options"]["legend"]
            assert (legend["displayMode"], legend["sortBy"], legend["sortDesc"]) == ("table", "Last *", True)


def test_variables_are_those_that_the_queries_use() -> None:
    """None is missing, and none is left over; the number of series has its usual value."""
    board = json.loads(PATH.read_text())
    variables = {one["name"]: one for one in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([board["panels"], board["links"]])))
    assert {name for name in used if not name.startswith("__")} == variables.keys()
    assert variables["most"]["current"]["value"] == "10"
    assert "10" in variables["most"]["query"].split(",")


def test_exemplars_lead_to_their_answer() -> None:
    """The label that the monitor writes is the one that Grafana links, and `$` is escaped for its provisioning."""
    path = PATH.with_name("provisioning") / "datasources" / "prometheus.yaml"
    (source,) = yaml.safe_load(path.read_text())["datasources"]
    (destination,) = source["jsonData"]["exemplarTraceIdDestinations"]
    assert destination["name"] == "response_id"
    assert destination["url"] == "http://localhost:9464/answer?response_id=$${__value.raw}"
