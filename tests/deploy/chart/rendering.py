"""Renderings of the chart that are kept beside the tests, one of each file of values in the folder `ci` of the chart.

`python -m tests.deploy.chart.rendering` writes them anew with the `helm` of the path.
"""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "dialwatch"
GOLDENS = Path(__file__).parent / "goldens"
CHART_HASH = GOLDENS / "chart.sha256"
SHAPES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))

Manifest = dict[str, Any]


def values_file(shape: str) -> Path:
    return CHART / "ci" / f"{shape}-values.yaml"


def golden(shape: str) -> list[Manifest]:
    return list(yaml.safe_load_all((GOLDENS / f"{shape}.yaml").read_text()))


def rendered(shape: str, helm: str = "helm") -> list[Manifest]:
    """Render the chart, and name the copied rules and dashboard in place of repeating them."""
    flags = ["--namespace", "dialwatch", "--kube-version", "1.31.0", "--values", str(values_file(shape))]
    command = [helm, "template", "dialwatch", str(CHART), *flags]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return [_shortened(manifest) for manifest in yaml.safe_load_all(text) if manifest]


def chart_hash() -> str:
    """Give one hash of all files that the renderings are made of."""
    whole = hashlib.sha256()
    for path in sorted(CHART.rglob("*")):
        if path.is_file() and "files" not in path.relative_to(CHART).parts:
            whole.update(f"{path.relative_to(CHART)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _shortened(manifest: Manifest) -> Manifest:
    if manifest["kind"] == "PrometheusRule":
        assert manifest["spec"] == yaml.safe_load((CHART / "files/rules.yml").read_text())
        manifest["spec"] = "as files/rules.yml"
    for name, text in manifest.get("data", {}).items():
        if name.endswith(".json"):
            assert json.loads(text) == json.loads((CHART / "files/dashboard.json").read_text())
            manifest["data"][name] = "as files/dashboard.json"
    return manifest


def main() -> None:
    """Write all renderings, and the hash of the chart that they are of."""
    for shape in SHAPES:
        (GOLDENS / f"{shape}.yaml").write_text(yaml.safe_dump_all(rendered(shape), width=120))
    CHART_HASH.write_text(chart_hash() + "\n")


if __name__ == "__main__":
    main()
