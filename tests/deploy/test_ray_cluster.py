"""The example of a Ray cluster, as far as it can be checked without the operator KubeRay."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from evaluator.engines import RaySettings
from tests.deploy.chart.test_chart import KUBERNETES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
CLUSTER: dict[str, Any] = yaml.safe_load((FOLDER / "raycluster.yaml").read_text())
TEMPLATES = [
    CLUSTER["spec"]["headGroupSpec"]["template"],
    *(g["template"] for g in CLUSTER["spec"]["workerGroupSpecs"]),
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_its_pods_are_valid_and_may_do_little(template: dict[str, Any]) -> None:
    """Fields are known to Kubernetes; nobody is root, and no container gains rights."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ray"}, **template}
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    for container in template["spec"]["containers"]:
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["resources"]["limits"] == container["resources"]["requests"]


def test_cluster_and_image_have_the_version_of_ray_that_the_tests_run() -> None:
    """Ray Client refuses another version."""
    (locked,) = re.findall(r"^ray(?:\[.*\])?==(\S+)", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    (image,) = re.findall(r"^FROM rayproject/ray:(\S+?)-py", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)
    assert CLUSTER["spec"]["rayVersion"] == image == locked


def test_its_address_is_one_that_the_settings_take() -> None:
    """The comment names the head's service, as the operator calls it, and the port of Ray Client."""
    (address,) = re.findall(r"evaluator\.ray\.address: (\S+)", (FOLDER / "raycluster.yaml").read_text())
    assert RaySettings(address=address).address == f"ray://{CLUSTER['metadata']['name']}-head-svc:10001"
    ports = [port["containerPort"] for port in TEMPLATES[0]["spec"]["containers"][0]["ports"]]
    assert 10001 in ports


def test_all_packages_are_in_the_image() -> None:
    """The Dockerfile copies every package that pyproject.toml builds."""
    copied = re.findall(r"^COPY --chown=ray (\w+) ", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)
    assert sorted(copied) == ["collector", "dialwatch", "evaluator", "lake", "monitor", "runtime"]
