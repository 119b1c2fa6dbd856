"""What runs that ask a judge take: a scripted endpoint, and a lake."""

from pathlib import Path

import pytest

from lake.tables.lake import Lake
from tests.evaluator.judges.conftest import bench, server, stage

__all__ = ["bench", "server", "stage"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))
