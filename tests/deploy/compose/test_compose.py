"""The compose files: as far as they can be checked without an engine and without images."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dialwatch.config import Settings
from dialwatch.config_loading import load_settings
from dialwatch.serving.addresses import parse_address
from tests.deploy.compose.stack import DEPLOY, FILES, by_default, mounts, services, stack
from tests.servers import needed

CONFIGURATION = "compose/dialwatch.yaml"
SERVICES = sorted(services())
# Its start writes its own configuration.
WRITES_ITS_ROOT = {"kafka"}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of secrets, as the script writes it."""
    folder = tmp_path_factory.mktemp("compose")
    shutil.copy(DEPLOY / "compose/secrets.sh", folder)
    subprocess.run(["sh", folder / "secrets.sh"], check=True, capture_output=True)
    return folder / "secrets"


@pytest.fixture
def configuration(secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file and the environment that dialwatch reads in its container."""
    for name, value in services()["dialwatch"]["environment"].items():
        monkeypatch.setenv(name, by_default(value))
    path = tmp_path / "dialwatch.yaml"
    path.write_text((DEPLOY / CONFIGURATION).read_text().replace("/run/secrets", f"{secrets}"))
    return path


@pytest.fixture
def settings(configuration: Path) -> Settings:
    """What dialwatch takes from them."""
    return load_settings(configuration)


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_bounded_and_watched(name: str) -> None:
    """Every service has limits of memory, processors and processes, and a health check."""
    service = services()[name]
    assert {"mem_limit", "cpus", "pids_limit", "restart"} <= service.keys()
    assert service["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_confined(name: str) -> None:
    """Every service is without capabilities, and all but those that cannot have a root that is read only."""
    service = services()[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is (name not in WRITES_ITS_ROOT)


@pytest.mark.parametrize("name", SERVICES)
def test_image_is_pinned(name: str) -> None:
    """Images of others carry a full version."""
    image = services()[name]["image"]
    assert image == "dialwatch" or re.fullmatch(r"[\w/-]+:v?\d+\.\d+(\.\d+)?(-alpine[\d.]*)?", image)


@pytest.mark.integration
@pytest.mark.parametrize("files", [FILES[:1], FILES], ids=["alone", "with DIAL"])
def test_what_is_named_is_there(files: tuple[str, ...], secrets: Path) -> None:
    """Every mounted path is in the repository; every volume, secret and service that is named is declared."""
    parsed = stack(*files)
    for service in parsed["services"].values():
        for source, _ in mounts(service):
            assert (DEPLOY / source).exists() if source.startswith(".") else source in parsed["volumes"], source
        assert set(service.get("secrets", ())) <= parsed["secrets"].keys()
        assert set(service.get("depends_on", ())) <= parsed["services"].keys()
        for variable in re.findall(r"/run/secrets/(\w+)", json.dumps(service)):
            assert variable in service["secrets"], variable
    files_of_secrets = {
        Path(secret["file"]).relative_to("compose/secrets").name for secret in parsed["secrets"].values()
    }
    assert files_of_secrets <= {path.name for path in secrets.iterdir()}
    build = parsed["services"]["dialwatch"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")


def test_secrets_are_in_files_alone() -> None:
    """No variable of a service's environment holds a secret, and git knows none of the files."""
    for service in services().values():
        for name in service.get("environment", {}):
            assert not re.search(r"(PASSWORD|TOKEN|SECRET|_KEY)$", name.upper()), name
    assert "deploy/compose/secrets/" in (DEPLOY.parent / ".gitignore").read_text().splitlines()


@pytest.mark.integration
def test_secrets_are_random_and_kept(secrets: Path) -> None:
    """Each is another, nobody else may enter the folder, and a second run of the script changes none."""
    written = {path.name: path.read_text() for path in secrets.iterdir()}
    assert len(set(written.values())) == len(written)
    assert all(len(text) >= 32 for text in written.values())
    assert secrets.stat().st_mode & 0o777 == 0o700
    again = subprocess.run(["sh", secrets.parent / "secrets.sh"], check=True, capture_output=True, text=True)
    assert again.stdout == ""
    assert written == {path.name: path.read_text() for path in secrets.iterdir()}
    assert written["store_key"] in json.loads(written["store_identities"])["identities"][0]["credentials"][0].values()
    assert written["dial_key"] in json.loads(written["dial_keys"])["keys"]


@pytest.mark.integration
def test_open_ports_ask_for_a_token(settings: Settings, secrets: Path) -> None:
    """All ports are published to this machine alone, but that of lines, which needs the sender's token."""
    published = [port for service in services().values() for port in service.get("ports", ())]
    assert [port for port in published if not port.startswith("127.0.0.1:")] == ["8080:8080"]
    assert len(published) == len({port.split(":")[-2] for port in published})
    assert settings.collector.http
    assert settings.collector.http.token
    assert settings.collector.http.token.get_secret_value() == (secrets / "sender_token").read_text()
    assert parse_address(settings.collector.http.listen)[1] == 8080


@pytest.mark.integration
def test_dialwatch_is_where_the_others_look(settings: Settings) -> None:
    """Ports and folders of dialwatch's configuration are those of the compose file and of Prometheus' targets."""
    service = services()["dialwatch"]
    assert settings.collector.http
    assert settings.collector.files
    assert settings.evaluator.metrics_listen
    pages, lines, evaluator = (
        parse_address(address)[1]
        for address in (settings.monitor.listen, settings.collector.http.listen, settings.evaluator.metrics_listen)
    )
    assert {int(port.rsplit(":", 1)[1]) for port in service["ports"]} == {pages, lines}
    assert f"http://127.0.0.1:{pages}/healthz" in service["healthcheck"]["test"][-1]
    targets = dict(mounts(service))
    assert settings.collector.files.paths == ["/var/log/dial/*.log"]
    assert targets["dial-logs"] == "/var/log/dial"
    assert settings.lake.root.startswith(targets["dialwatch"] + "/")
    prometheus = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    scraped = [target for job in prometheus["scrape_configs"] for target in job["static_configs"][0]["targets"]]
    assert scraped == [f"dialwatch:{port}" for port in (pages, lines, evaluator)]


@pytest.mark.integration
def test_alerts_of_both_reach_alertmanager(settings: Settings) -> None:
    """Prometheus and dialwatch send to Alertmanager's service, and dialwatch may reach its private address."""
    prometheus = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    (manager,) = prometheus["alerting"]["alertmanagers"]
    assert manager["static_configs"] == [{"targets": ["alertmanager:9093"]}]
    (webhook,) = settings.monitor.webhooks
    assert (webhook.format, webhook.url.host, webhook.url.port) == ("alertmanager", "alertmanager", 9093)
    assert "alertmanager" in settings.monitor.internal_hosts


@pytest.mark.integration
@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["alertname=DialwatchRegression", "deployment=rag-app"], "nobody"),
        (["alertname=DialwatchRegression", "deployment=rag-app", "incident=1"], "team"),
        (["alertname=DialwatchMonitorDown"], "team"),
    ],
)
def test_alertmanager_sends_each_incident_once(labels: list[str], receiver: str) -> None:
    """What dialwatch reports itself is dropped where Prometheus' rules say it again; all else reaches the team."""
    command = [needed("amtool"), "config", "routes", "test", "--config.file", DEPLOY / "compose/alertmanager.yml"]
    found = subprocess.run([*command, *labels], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == receiver


@pytest.mark.integration
def test_kafka_and_store_are_where_the_page_says(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that docs/operations.md gives for Kafka and a store lead to their services."""
    page = (DEPLOY.parent / "docs/operations.md").read_text()
    given = dict(re.findall(r"^    (LAKE|KAFKA)='?(.*?)'?$", page, re.MULTILINE))
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", given["LAKE"])
    monkeypatch.setenv("DIALWATCH_COLLECTOR__KAFKA", given["KAFKA"])
    settings = load_settings(configuration)
    listener = services()["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert settings.collector.kafka
    assert settings.collector.kafka.bootstrap_servers == [listener.removeprefix("PLAINTEXT://")]
    store = services()["store"]
    bucket = next(word for word in store["command"] if word.startswith("-bucket=")).removeprefix("-bucket=")
    assert settings.lake.root.startswith(f"s3://{bucket}/")
    assert settings.lake.storage.endpoint_url == "http://store:8333"
    assert store["healthcheck"]["test"][-1] == "http://127.0.0.1:8333/healthz"


def test_core_knows_the_application() -> None:
    """Core's configuration leads to the application's service and port, and its key may use it."""
    config = json.loads((DEPLOY / "compose/dial/config.json").read_text())
    all_services = services()
    for name, application in config["applications"].items():
        host, port = re.fullmatch(r"http://(\w+):(\d+)/.*", application["endpoint"]).groups()  # type: ignore[union-attr]
        assert all_services[host]["entrypoint"][-1] == port
        assert name in config["roles"]["default"]["limits"]
    read = json.loads(all_services["core"]["environment"]["aidial.config.files"])
    assert dict(mounts(all_services["core"]))["./compose/dial/config.json"] == read[0]
    assert "http://application:5000/openai/deployments/rag-app/chat/completions" in json.dumps(config)


def test_vector_reads_what_core_writes() -> None:
    """Vector has Core's folder of logs, read only, where its configuration looks; its health is asked where it is."""
    core, vector = services()["core"], services()["vector"]
    logs = dict(mounts(core))["core-logs"]
    assert f"core-logs:{logs}:ro" in vector["volumes"]
    configuration = yaml.safe_load((DEPLOY / "vector/dialwatch.yaml").read_text())
    assert configuration["sources"]["dial_core_logs"]["include"] == [f"{logs}/*.log"]
    assert dict(mounts(vector))["vector"] == configuration["data_dir"]
    health: dict[str, Any] = yaml.safe_load((DEPLOY / "compose/dial/vector-health.yaml").read_text())
    assert f"http://{health['api']['address']}/health" in vector["healthcheck"]["test"]
    for target in re.findall(r"--config (\S+)", vector["entrypoint"][-1]):
        assert target in dict(mounts(vector)).values()


def test_grafana_finds_its_data_source_and_dashboard() -> None:
    """The provisioned data source is Prometheus' service, and the dashboard is mounted where Grafana looks."""
    grafana = services()["grafana"]
    (source,) = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/dialwatch.yaml").read_text())["providers"]
    target = f"{provider['options']['path']}/dialwatch.json"
    assert dict(mounts(grafana))["./grafana/dialwatch.json"] == target
    assert grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == target
