"""The Helm chart, by its kept renderings: sound manifests, pods that may do little, ports and settings that agree."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from typer.testing import CliRunner

import dialwatch
from dialwatch.cli import app
from dialwatch.config import Settings
from dialwatch.config_loading import load_settings
from tests.deploy.chart.rendering import (
    CHART,
    CHART_HASH,
    ROOT,
    SHAPES,
    Manifest,
    chart_hash,
    golden,
    rendered,
    values_file,
)

KUBERNETES = "1.31"
OF_CUSTOM_RESOURCES = {"PodMonitor", "PrometheusRule", "ScaledObject"}
each_shape = pytest.mark.parametrize("shape", SHAPES)


def pods(shape: str) -> Iterator[Manifest]:
    """Give each pod's template."""
    for manifest in golden(shape):
        spec = manifest.get("spec")
        if manifest["kind"] == "CronJob":
            yield manifest["spec"]["jobTemplate"]["spec"]["template"]
        elif isinstance(spec, dict) and "template" in spec:
            yield spec["template"]


def containers(pod: Manifest) -> list[Manifest]:
    return pod["spec"].get("initContainers", []) + pod["spec"]["containers"]


def of_kind(shape: str, kind: str) -> list[Manifest]:
    return [manifest for manifest in golden(shape) if manifest["kind"] == kind]


def selected(shape: str, labels: dict[str, str]) -> list[Manifest]:
    return [pod for pod in pods(shape) if labels.items() <= pod["metadata"]["labels"].items()]


def port_names(pod: Manifest) -> set[str]:
    return {port["name"] for container in containers(pod) for port in container.get("ports", [])}


def test_renderings_are_of_this_chart() -> None:
    """The kept renderings were made of the chart as it is."""
    assert CHART_HASH.read_text().strip() == chart_hash(), "the chart has changed: run `make chart`"


def test_rules_and_dashboard_are_those_of_the_repository() -> None:
    """A chart cannot read files outside of its folder: it holds copies, byte for byte."""
    pairs = {"rules.yml": "prometheus/rules/dialwatch.yml", "dashboard.json": "grafana/dialwatch.json"}
    for copy, source in pairs.items():
        assert (CHART / "files" / copy).read_bytes() == (ROOT / "deploy" / source).read_bytes(), f"make chart: {copy}"


def test_chart_installs_this_version() -> None:
    """The tag of the image, if none is given, is the version of the package."""
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == dialwatch.__version__


@each_shape
def test_manifests_are_valid(shape: str) -> None:
    """Each manifest of Kubernetes itself has known fields alone, of the right types."""
    plain = [manifest for manifest in golden(shape) if manifest["kind"] not in OF_CUSTOM_RESOURCES]
    assert plain
    for manifest in plain:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_validation_finds_a_wrong_field() -> None:
    """The check above is one: an unknown field is refused."""
    (service, *_) = of_kind("one", "Service")
    service["spec"]["selectors"] = service["spec"].pop("selector")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, KUBERNETES, strict=True)


@each_shape
def test_pods_may_do_little(shape: str) -> None:
    """All pods keep to the profile `restricted`, with a root that is read only, limits, and no token of the cluster."""
    for pod in pods(shape):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        for container in containers(pod):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]


@each_shape
def test_mounted_volumes_exist(shape: str) -> None:
    """What a container mounts is a volume of its pod, or a claim of its set; each of them is mounted, once a path."""
    claims = {"data"}
    for pod in pods(shape):
        there = [volume["name"] for volume in pod["spec"]["volumes"]]
        assert len(there) == len(set(there))
        for container in containers(pod):
            mounts = container["volumeMounts"]
            assert {mount["name"] for mount in mounts} == {*there, *claims}
            assert len({mount["mountPath"] for mount in mounts}) == len(mounts)


def test_own_volumes_are_mounted_everywhere() -> None:
    """The models of the values of `split` are in each container, to be read."""
    for pod in pods("split"):
        assert {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}} in pod["spec"][
            "volumes"
        ]
        for container in containers(pod):
            assert {"name": "models", "mountPath": "/models", "readOnly": True} in container["volumeMounts"]


@each_shape
def test_commands_exist(shape: str) -> None:
    """What the containers run are commands of dialwatch with the configuration that is mounted."""
    for pod in pods(shape):
        for container in containers(pod):
            *command, option, path = container["args"]
            assert (option, path) == ("-c", "/etc/dialwatch/dialwatch.yaml")
            result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
            assert result.exit_code == 0, result.output
            assert "-c" in result.output
            mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
            assert mounts["/etc/dialwatch"] == "config"


@each_shape
def test_ports_agree(shape: str) -> None:
    """Probes, Services and PodMonitors name ports of the pods that they ask."""
    for pod in pods(shape):
        for container in pod["spec"]["containers"]:
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                if asked := container.get(probe):
                    assert (asked.get("httpGet") or asked["tcpSocket"])["port"] in port_names(pod)
    for service in of_kind(shape, "Service"):
        (pod,) = selected(shape, service["spec"]["selector"])
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= port_names(pod)
    for monitor in of_kind(shape, "PodMonitor"):
        (pod,) = selected(shape, monitor["spec"]["selector"]["matchLabels"])
        assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} <= port_names(pod)


@each_shape
def test_probes_ask_whether_a_part_is_ready(shape: str) -> None:
    """Every part that serves is asked for /readyz; who answers for itself alone is restarted by /healthz."""
    serving = [pod["spec"]["containers"][0] for pod in pods(shape) if port_names(pod)]
    assert len(serving) == (1 if shape == "one" else 3)
    for container in serving:
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        answers_for_itself = container["name"] in ("collector", "evaluator")
        assert ("httpGet" in container["livenessProbe"]) is answers_for_itself


@pytest.fixture
def settings(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings that the pods read, with secrets of ours in files and environment."""
    (text,) = [m["data"]["dialwatch.yaml"] for m in of_kind(shape, "ConfigMap") if "dialwatch.yaml" in m["data"]]
    for secret in set(re.findall(r"/run/secrets/dialwatch/(\S+)", text)):
        file = tmp_path / secret
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("whsec_" + "c2VjcmV0" * 4)
    config = tmp_path / "dialwatch.yaml"
    config.write_text(text.replace("/run/secrets/dialwatch", str(tmp_path)))
    for pod in pods(shape):
        for variable in pod["spec"]["containers"][0].get("env", []):
            monkeypatch.setenv(variable["name"], "a secret of some length")
    return load_settings(config)


@each_shape
def test_configuration_is_one_that_dialwatch_takes(shape: str, settings: Settings) -> None:
    """The ConfigMap is read without an error; the parts listen where the pods' ports are, and pages need a token."""
    listening = {
        "pages": settings.monitor.listen,
        "metrics": settings.monitor.metrics_listen,
        "collector": settings.collector.metrics_listen,
        "evaluator": settings.evaluator.metrics_listen,
        "ingest": settings.collector.http and settings.collector.http.listen,
    }
    declared: dict[str, Any] = {
        port["name"]: f"0.0.0.0:{port['containerPort']}"
        for pod in pods(shape)
        for container in containers(pod)
        for port in container.get("ports", [])
    }
    assert declared == {name: address for name, address in listening.items() if address}
    assert settings.monitor.access not in (None, "none")
    assert settings.collector.http is None or settings.collector.http.token
    # By namespace and release.
    assert settings.lake.installation == "dialwatch/dialwatch"


def test_collectors_are_scaled_by_their_own_messages() -> None:
    """KEDA asks for the lag of this namespace and installation."""
    (scaled,) = of_kind("split", "ScaledObject")
    query = scaled["spec"]["triggers"][0]["metadata"]["query"]
    assert '{namespace="dialwatch",installation="dialwatch/dialwatch"}' in query


@each_shape
def test_secrets_are_mounted_where_the_configuration_looks(shape: str) -> None:
    """Each secret file of the configuration lies below a mounted Secret."""
    (text,) = [m["data"]["dialwatch.yaml"] for m in of_kind(shape, "ConfigMap") if "dialwatch.yaml" in m["data"]]
    folders = {str(Path(path).parent) for path in re.findall(r"/run/secrets/\S+", text)}
    for pod in pods(shape):
        for container in containers(pod):
            assert folders <= {mount["mountPath"] for mount in container["volumeMounts"]}


@each_shape
def test_network_policy_lets_only_ports_of_the_pods_through(shape: str) -> None:
    """Every port of a pod can be reached by somebody, and no other port."""
    (policy,) = of_kind(shape, "NetworkPolicy")
    let_through = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    used = {port["containerPort"] for pod in pods(shape) for item in containers(pod) for port in item.get("ports", [])}
    assert used <= let_through <= {8000, 8080, 9463, 9464, 9465}


def test_jobs_have_the_names_that_the_rules_ask_for() -> None:
    """Each part's PodMonitor gives the name of the job by which rules know the part."""
    jobs = {
        relabeling["replacement"]
        for monitor in of_kind("split", "PodMonitor")
        for relabeling in monitor["spec"]["podMetricsEndpoints"][0]["relabelings"]
    }
    asked = set(re.findall(r'job="([\w-]+)"', (CHART / "files/rules.yml").read_text()))
    assert asked
    assert asked <= jobs


def test_schema_refuses_unknown_values() -> None:
    """All shipped values keep to the schema, which knows each of them; a misspelt one is refused."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    default = yaml.safe_load((CHART / "values.yaml").read_text())
    jsonschema.validate(default, schema)
    assert schema["properties"].keys() - {"global"} == default.keys()
    for shape in SHAPES:
        jsonschema.validate(default | yaml.safe_load(values_file(shape).read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(default | {"collectors": {}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(default | {"mode": "many"}, schema)


@pytest.fixture(scope="session")
def helm() -> str:
    if (found := shutil.which("helm")) is None:
        pytest.skip("NO HELM ON THIS MACHINE: the chart was not rendered anew, its kept renderings were checked")
    return found


@pytest.mark.integration
@each_shape
def test_helm_renders_what_is_kept(helm: str, shape: str) -> None:
    """Helm finds nothing wrong with the chart and makes of it what is kept."""
    subprocess.run([helm, "lint", "--strict", CHART, "--values", values_file(shape)], check=True, timeout=60)
    assert rendered(shape, helm) == golden(shape)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("flags", "is_missing"),
    [
        ("", True),
        ("--set config.monitor.access=none", False),
        ("--set secretEnv[0].name=DIALWATCH_MONITOR__ACCESS__TOKEN,secretEnv[0].secret=s,secretEnv[0].key=k", False),
        ("--set env[0].name=DIALWATCH_MONITOR__ACCESS,env[0].value=none", False),
        ("--set env[0].name=AWS_REGION,env[0].value=eu", True),
    ],
)
def test_notes_say_that_access_is_missing_only_where_it_is(helm: str, flags: str, is_missing: bool) -> None:
    command = [helm, "install", "dialwatch", str(CHART), "--dry-run=client"]
    told = subprocess.run([*command, *shlex.split(flags)], check=True, capture_output=True, text=True, timeout=60)
    assert ("Nothing says who may see the pages" in told.stdout) is is_missing


@pytest.mark.integration
@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--set mode=split", "needs a lake on a store"),
        ("--set mode=split --set config.lake.root=s3://b/l", "needs config.collector.kafka"),
        ("--set collectors.replicas=3", "collectors"),
    ],
)
def test_helm_refuses_what_cannot_work(helm: str, flags: str, complaint: str) -> None:
    """Values that no pod could work with end the installation with a word on what is missing."""
    command = [helm, "template", "dialwatch", CHART, "--kube-version", "1.31.0", *shlex.split(flags)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    assert complaint in result.stderr
