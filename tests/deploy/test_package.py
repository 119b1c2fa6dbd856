"""The package that a user installs: the wheel that is built from the sdist."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from dialwatch import __version__

ROOT = Path(__file__).parents[2]
PACKAGES = ("collector", "dialwatch", "evaluator", "lake", "monitor", "runtime")


def build(target: str, source: Path, into: Path) -> Path:
    """Build an sdist or a wheel, without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = into.glob("dialwatch-*")
    return built


@pytest.mark.integration
def test_the_wheel_of_the_sdist_has_every_file_of_the_packages(tmp_path: Path) -> None:
    """Templates, lexicons, stubs and the demo's questions too, which no import would miss."""
    sdist = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    wheel = build("wheel", tmp_path / f"dialwatch-{__version__}", tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith(PACKAGES) and "dist-info" not in name}
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    assert held == {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert wheel.name == f"dialwatch-{__version__}-py3-none-any.whl"
