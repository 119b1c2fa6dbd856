from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.browser import excess_of_file
from tests.commands import dialwatch

pytestmark = pytest.mark.integration


def scores(folder: Path) -> list[str]:
    row = {"question": "Q?", "documents": ["a"], "context": ["the sky is blue"], "answer": "blue sky"}
    pq.write_table(pa.Table.from_pylist([row, row | {"context": None}]), folder / "answers.parquet")
    return ["score", "answers.parquet", "-o", "metrics.parquet"]


def calibration(folder: Path) -> list[str]:
    labels = [f"{number % 10 / 10},{int(number % 10 > 4)}" for number in range(200)]
    (folder / "labels.csv").write_text("\n".join(["score,label", *labels]))
    return ["judge", "calibrate", "labels.csv"]


@pytest.mark.parametrize("report", [scores, calibration])
def test_a_report_fits_a_phone(tmp_path: Path, report: Callable[[Path], list[str]]) -> None:
    """At 390 pixels nothing makes the page of a report scroll sideways."""
    done = dialwatch(*report(tmp_path), "--html", "report.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert excess_of_file(tmp_path / "report.html", tmp_path) == (0, "")
