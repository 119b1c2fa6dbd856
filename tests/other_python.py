"""Programs that run in an environment of another Python, of packages that ours does not have."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_other_python(target: str, arguments: list[str]) -> str:
    """Run Python in the environment that `make <target>` makes, and give what it prints; in CI there must be one.

    `DIALWATCH_<TARGET>_PYTHON` names another one.
    """
    python = os.environ.get(f"DIALWATCH_{target.upper()}_PYTHON", str(ROOT / f".venv-{target}" / "bin" / "python"))
    if shutil.which(python) is None:
        message = f"there is no {python}: THIS TEST DID NOT RUN; `make {target}` makes one"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
