"""The image, the compose file and the configurations beside them, as far as they can be checked without an engine."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dialwatch.config import Settings, load_settings
from dialwatch.serving.addresses import parse_address

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def arguments(instruction: str) -> list[str]:
    return [value for name, value in instructions() if name == instruction]


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in compose()["services"]["dialwatch"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{.*\}", "a token", value))
    return load_settings(DEPLOY / "dialwatch.yaml")


def test_every_copied_path_exists_and_is_let_through() -> None:
    """What the Dockerfile copies is in the repository, and .dockerignore lets it into the build."""
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [path for value in arguments("COPY") if not value.startswith("--from") for path in shlex.split(value)[:-1]]
    assert copied
    for path in copied:
        assert (ROOT / path).exists(), path
    assert set(copied) == let_through


def test_image_holds_every_package_of_the_wheel() -> None:
    """Every package that the wheel is made of is copied into the build."""
    packages = re.search(r"^packages = \[(.+)\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert packages
    copied = " ".join(arguments("COPY"))
    assert all(f"./{name}" in copied for name in re.findall(r'"(\w+)"', packages[1]))


def test_image_runs_as_nobody_special() -> None:
    """The last stage runs as a user that is not root, without the tools of development."""
    assert arguments("USER")[-1] == "10001:10001"
    assert "[dev]" not in (DEPLOY / "Dockerfile").read_text()


@pytest.mark.integration
def test_image_serves_where_its_configuration_says(settings: Settings) -> None:
    """The exposed ports and the health check are those that the image's configuration listens on."""
    assert settings.collector.http
    listening = [parse_address(address)[1] for address in (settings.collector.http.listen, settings.monitor.listen)]
    assert [int(port) for port in arguments("EXPOSE")[0].split()] == listening
    assert f"http://127.0.0.1:{listening[1]}/healthz" in arguments("HEALTHCHECK")[0]
    assert settings.lake.root.startswith(arguments("VOLUME")[0] + "/")
    assert "/etc/dialwatch/dialwatch.yaml" in arguments("CMD")[0]


def test_lines_over_http_need_the_token(settings: Settings) -> None:
    """The compose file gives the collector a token, and refuses to start without one."""
    assert settings.collector.http
    assert settings.collector.http.token
    assert ":?" in compose()["services"]["dialwatch"]["environment"]["DIALWATCH_COLLECTOR__HTTP__TOKEN"]


def test_compose_mounts_only_what_exists() -> None:
    """Every mounted path stands beside the compose file, every named volume is declared."""
    parsed = compose()
    for service in parsed["services"].values():
        for volume in service["volumes"]:
            source = re.sub(r"\$\{\w+:-(.+?)\}", r"\1", volume).split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in parsed["volumes"], volume
    build = parsed["services"]["dialwatch"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")


def test_compose_agrees_with_the_configuration(settings: Settings) -> None:
    """Ports, log folder and lake in the compose file are those of the configuration, and of Prometheus' target."""
    assert settings.collector.http
    assert settings.collector.files
    service = compose()["services"]["dialwatch"]
    published = {int(port.rsplit(":", 1)[1]) for port in service["ports"]}
    ports = [parse_address(address)[1] for address in (settings.collector.http.listen, settings.monitor.listen)]
    assert published == set(ports)
    mounted = [re.sub(r"\$\{.*?\}", "", volume).split(":")[1] for volume in service["volumes"]]
    assert [str(Path(path).parent) for path in settings.collector.files.paths] == ["/var/log/dial"]
    assert "/var/log/dial" in mounted
    assert any(settings.lake.root.startswith(path + "/") for path in mounted)
    prometheus = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    assert prometheus["scrape_configs"][0]["static_configs"] == [{"targets": [f"dialwatch:{ports[1]}"]}]


def test_images_are_pinned_and_watched() -> None:
    """Images of others carry a full version; every service has a health check, dialwatch's is in its image."""
    services = compose()["services"]
    for name in ("prometheus", "grafana"):
        assert re.fullmatch(r"[\w/]+:v?\d+\.\d+\.\d+", services[name]["image"])
        assert services[name]["healthcheck"]["test"]
    assert arguments("HEALTHCHECK")


def test_grafana_finds_its_data_source_and_dashboard() -> None:
    """The provisioned data source is Prometheus' service, and the dashboard is mounted where Grafana looks."""
    grafana = compose()["services"]["grafana"]
    (source,) = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/dialwatch.yaml").read_text())["providers"]
    target = f"{provider['options']['path']}/dialwatch.json"
    assert f"./grafana/dialwatch.json:{target}:ro" in grafana["volumes"]
    assert grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == target


def test_vector_ships_whole_lines_to_the_collector(settings: Settings) -> None:
    """Vector reads lines of any length that Core writes and posts them as JSON that the collector takes."""
    vector = yaml.safe_load((DEPLOY / "vector/dialwatch.yaml").read_text())
    source, sink = vector["sources"]["dial_core_logs"], vector["sinks"]["dialwatch"]
    assert source["max_line_bytes"] >= 30 << 20
    assert sink["inputs"] == ["dial_core_logs"]
    assert sink["uri"].endswith("/data")
    assert (sink["encoding"], sink["compression"]) == ({"codec": "json"}, "gzip")
    assert sink["auth"] == {"strategy": "bearer", "token": "${DIALWATCH_TOKEN}"}
    assert settings.collector.http
    assert sink["batch"]["max_bytes"] < settings.collector.http.max_body_bytes


@pytest.mark.integration
def test_prometheus_takes_its_configuration(promtool: str) -> None:
    """promtool finds nothing wrong with the configuration."""
    path = DEPLOY / "prometheus/prometheus.yml"
    result = subprocess.run([promtool, "check", "config", path], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
