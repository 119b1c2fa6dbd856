"""The alert rules: each fires when it should, is silent when it should be, and is loaded by a real Prometheus."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.rule_cases import CASES, RECORDED, Case
from tests.deploy.rule_series import TIERS, of_installation, tier
from tests.deploy.rule_texts import PAGES, PAGES_ELSEWHERE, TEXTS
from tests.servers import free_port, wait_for

PROMETHEUS = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES = PROMETHEUS / "rules" / "dialwatch.yml"
PRODUCTION, STAGING = "production", "staging"


def rules(kind: str = "alert") -> list[dict[str, Any]]:
    """The rules that are alerts, or `record`."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


@pytest.mark.integration
def test_promtool_accepts_the_rules_and_the_configuration(promtool: str) -> None:
    """Prometheus's own checks have nothing to say."""
    for command in (["check", "rules", str(RULES)], ["check", "config", str(PROMETHEUS / "prometheus.yml")]):
        result = subprocess.run([promtool, *command], capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stdout + result.stderr


def test_every_rule_says_what_to_do() -> None:
    """Each has a severity that is page or warning, a summary, a description, and a link to a page."""
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "warning"), rule["alert"]
        assert set(rule["annotations"]) == {"summary", "description", "link", "runbook_url"}, rule["alert"]
        assert rule["annotations"]["description"].endswith("."), rule["alert"]


def test_every_rule_has_its_runbook() -> None:
    """Its address names a section of the docs, which says what it means, where to look and what to do."""
    page = (PROMETHEUS.parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
    runbooks = page.partition("\n## Runbooks\n")[2]
    sections = {found[1]: found[2] for found in re.finditer(r"^### (\w+)\n(.*?)(?=^### |\Z)", runbooks, re.M | re.S)}
    assert list(sections) == list(dict.fromkeys(rule["alert"] for rule in rules()))
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == f"docs/operations.md#{rule['alert'].lower()}"
        found = re.fullmatch(
            r"\s*\*\*Means\.\*\* (.+)\*\*Look\.\*\* (.+)\*\*Do\.\*\* (.+)", sections[rule["alert"]], re.S
        )
        assert found, rule["alert"]
        assert all(len(part.split()) > 3 for part in found.groups()), rule["alert"]


def test_every_rule_is_tested_both_ways() -> None:
    """No alert is without a case where it fires and one where it does not."""
    for rule in rules():
        assert {case.fires for case in cases_of(rule)} == {True, False}, (rule["alert"], rule["labels"])
    assert {case.alert for case in CASES} == {rule["alert"] for rule in rules()}


@pytest.mark.integration
def test_each_rule_fires_when_it_should_and_only_then(promtool: str, tmp_path: Path) -> None:
    """Series of two hours go through the rules as Prometheus evaluates them.

    Each case of an alert is an installation of its own, all in one Prometheus: none hides or raises another's alert.
    """
    plans = []
    for rule in rules():
        # An alert's annotations need not be written again for each case: `for` and `expr` are what is tested.
        groups = [{"name": "all", "rules": [*rules("record"), {**rule, "annotations": {}, "labels": {}}]}]
        cases = cases_of(rule)
        for hours in {case.hours for case in cases}:
            together = [case for case in cases if case.hours == hours and case.is_known]
            tests = [rule_test(together), *(rule_test([case]) for case in cases if not case.is_known)]
            name = f"{rule['alert']}-{rule['labels']['severity']}-{hours}"
            plans.append(plan(tmp_path, name, groups, tests, "10m" if hours > 2 else "1m"))
    promtool_tests(promtool, plans)


def cases_of(rule: dict[str, Any]) -> list[Case]:
    return [case for case in CASES if case.alert == rule["alert"] and case.severity in ("", rule["labels"]["severity"])]


@pytest.mark.integration
def test_a_regression_has_one_severity(promtool: str, tmp_path: Path) -> None:
    """Both rules of the name together: a page is no warning beside it, and a warning wakes nobody."""
    both = [rule for rule in rules() if rule["alert"] == "DialwatchRegression"]
    groups = [{"name": "all", "rules": [{**rule, "annotations": {}} for rule in both]}]
    tests: list[dict[str, Any]] = [
        {
            "interval": "1m",
            "input_series": [
                {"series": one, "values": text}
                for one, text in tier("1x120", "1x120" if severity == "page" else "0x120").items()
            ],
            "alert_rule_test": [
                {
                    "eval_time": "2h",
                    "alertname": "DialwatchRegression",
                    "exp_alerts": [{"exp_labels": {"severity": severity, "deployment": "a", "metric": "m"}}],
                }
            ],
        }
        for severity in TIERS
    ]
    promtool_tests(promtool, [plan(tmp_path, "severities", groups, tests)])


@pytest.mark.integration
@pytest.mark.parametrize("alert", TEXTS)
def test_the_texts_have_values_times_and_an_address(promtool: str, tmp_path: Path, alert: str) -> None:
    """As Prometheus fills them in, and without what is not known; another installation's are no matter."""
    text = TEXTS[alert]
    elsewhere = of_installation(
        STAGING, {**PAGES_ELSEWHERE, **dict.fromkeys(text.least, "0"), **dict.fromkeys(text.more, "7")}
    )
    known = {**PAGES, **text.series}
    for series, summary, link in ((known, text.summary, text.link), (text.least, text.least_summary, "/" + text.page)):
        rule = next(one for one in rules() if one["alert"] == alert and one["labels"]["severity"] == text.severity)
        alone = {**rule, "annotations": {name: rule["annotations"][name] for name in ("summary", "link")}}
        labels = {**text.labels, "severity": text.severity, "installation": PRODUCTION}
        expected = [{"exp_labels": labels, "exp_annotations": {"summary": summary, "link": link}}]
        test = {
            "interval": "1m",
            "input_series": [
                {"series": name, "values": f"{value}x120"}
                for name, value in {**elsewhere, **of_installation(PRODUCTION, series)}.items()
            ],
            "alert_rule_test": [{"eval_time": "2h", "alertname": alert, "exp_alerts": expected}],
        }
        promtool_tests(promtool, [plan(tmp_path, f"text-{len(series)}", [{"name": "all", "rules": [alone]}], [test])])


def rule_test(cases: list[Case]) -> dict[str, Any]:
    """A test of cases of one alert that last as long, each as the installation of its place."""
    series: dict[str, str] = {}
    expected = []
    for place, case in enumerate(cases):
        series |= of_installation(f"number-{place}", case.series)
        of_it = f',installation="number-{place}"' if case.is_known else ""
        firing = f'count(ALERTS{{alertname="{case.alert}",alertstate="firing"{of_it}}}) > bool 0 or vector(0)'
        samples = [{"labels": "{}", "value": int(case.fires)}]
        expected.append({"expr": firing, "eval_time": f"{case.hours}h", "exp_samples": samples})
    return {
        "name": cases[0].alert,
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": expected,
    }


@pytest.mark.integration
def test_each_recording_rule_gives_what_its_name_says(promtool: str, tmp_path: Path) -> None:
    """Each is tested, and absent, rather than 0 or nothing divided by nothing, while nothing happens."""
    assert RECORDED.keys() == {rule["record"] for rule in rules("record")}
    groups = [{"name": "all", "rules": rules("record")}]
    tests: list[dict[str, Any]] = []
    for name, (found, labels, value) in RECORDED.items():
        series = of_installation(PRODUCTION, found)
        written = ", ".join(f'{label}="{one}"' for label, one in {**labels, "installation": PRODUCTION}.items())
        samples = {"moving": (series, [{"labels": f"{name}{{{written}}}", "value": value}])}
        if "ratio" in name:
            samples["at rest"] = (dict.fromkeys(series, "7x120"), [])
        for how, (values, expected) in samples.items():
            tests.append(
                {
                    "name": f"{name} {how}",
                    "interval": "1m",
                    "input_series": [{"series": one, "values": text} for one, text in values.items()],
                    "promql_expr_test": [{"expr": name, "eval_time": "2h", "exp_samples": expected}],
                }
            )
    promtool_tests(promtool, [plan(tmp_path, "recorded", groups, tests)])


def plan(folder: Path, name: str, groups: list[dict[str, Any]], tests: list[dict[str, Any]], every: str = "1m") -> str:
    """Write rules and their tests: few rules in a file, as promtool evaluates all of a file for each test."""
    (folder / f"{name}.rules.yml").write_text(yaml.safe_dump({"groups": groups}))
    written = {"rule_files": [f"{name}.rules.yml"], "evaluation_interval": every, "tests": tests}
    (folder / f"{name}.yml").write_text(yaml.safe_dump(written, sort_keys=False))
    return str(folder / f"{name}.yml")


def promtool_tests(promtool: str, plans: list[str]) -> None:
    result = subprocess.run([promtool, "test", "rules", *plans], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def exporter() -> Iterator[str]:
    """A process whose monitor sees a regression, and whose books do not add up."""
    text = b'dialwatch_regression_active{deployment="rag-app",metric="m"} 1\ndialwatch_unaccounted_lines 2\n'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.integration
def test_a_real_prometheus_loads_the_rules_and_fires(prometheus: str, exporter: str, tmp_path: Path) -> None:
    """With the configuration that is deployed, but for the address, alerts fire with their texts filled in."""
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(PROMETHEUS / pattern) for pattern in configuration["rule_files"]]
    for job in configuration["scrape_configs"]:
        job["static_configs"] = [{"targets": [exporter]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    address = f"127.0.0.1:{free_port()}"
    command = [
        prometheus,
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address={address}",
    ]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            firing = wait_for(lambda: _firing(address, {"DialwatchRegression", "DialwatchLinesUnaccounted"}))
        finally:
            process.terminate()
    summaries = {alert["annotations"]["summary"] for alert in firing}
    assert "rag-app got worse in m" in summaries
    assert "2 log lines have become nothing that the collector counts" in summaries


def _firing(address: str, names: set[str]) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://{address}/api/v1/alerts", timeout=5) as answer:
        alerts = json.load(answer)["data"]["alerts"]
    firing = [alert for alert in alerts if alert["state"] == "firing"]
    return firing if names <= {alert["labels"]["alertname"] for alert in firing} else []
