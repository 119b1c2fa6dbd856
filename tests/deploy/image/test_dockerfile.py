"""The Dockerfile and the configurations beside it, as far as they can be checked without an engine."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from dialwatch.config import Settings
from dialwatch.config_loading import load_settings
from dialwatch.serving.addresses import parse_address

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def arguments(instruction: str) -> list[str]:
    return [value for name, value in instructions() if name == instruction]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("DIALWATCH_MONITOR__ACCESS", "none")
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
    assert "--group dev" not in (DEPLOY / "Dockerfile").read_text()


def test_image_with_models_has_what_models_need() -> None:
    """What is installed besides `requirements.lock` are the packages of the extra `models`."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["models"]
    named = re.search(r"set -- ([a-z -]+) \\\n", (DEPLOY / "Dockerfile").read_text())
    assert named
    assert named[1].split() == [re.split("[^a-z-]", package)[0] for package in extra]


@pytest.mark.integration
def test_image_serves_where_its_configuration_says(settings: Settings) -> None:
    """The exposed ports and the health check are those that the image's configuration listens on."""
    assert settings.collector.http
    listening = [parse_address(address)[1] for address in (settings.collector.http.listen, settings.monitor.listen)]
    assert [int(port) for port in arguments("EXPOSE")[0].split()] == listening
    assert f"http://127.0.0.1:{listening[1]}/healthz" in arguments("HEALTHCHECK")[0]
    assert settings.lake.root.startswith(arguments("VOLUME")[0] + "/")
    assert "/etc/dialwatch/dialwatch.yaml" in arguments("CMD")[0]


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
