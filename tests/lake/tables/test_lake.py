from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lake.spec.schemas import SCORES
from lake.tables.lake import Lake, folder_name
from lake.tables.storage import Storage, UnsupportedStoreError
from tests.servers import Bucket

HOSTILE_NAMES = [
    "rag-app",
    "applications/9c8bYtq2xTzEe4nQ/support-bot__1.2.0",
    "../../outside",
    "..",
    "a%2Fb",
    "a/b",
    "tab\tnewline\nnull\x00",
    "😀 emoji",
    "x" * 300,
    "x" * 299 + "y",
]


def write_to(lake: Lake, name: str | None) -> None:
    lake.table(SCORES, name).append(SCORES.rows([{"score_id": "s", "deployment": name}]))


def test_names_of_deployments_come_back(tmp_path: Path) -> None:
    """Every deployment that has a table is listed under its own name; None stands for rows without one."""
    lake = Lake(str(tmp_path / "root"))
    for name in [*HOSTILE_NAMES, None]:
        write_to(lake, name)
    (tmp_path / "root" / "not a deployment").mkdir()
    (tmp_path / "root" / "_delta_sharing").mkdir()
    assert lake.deployments() == [*sorted(HOSTILE_NAMES), None]
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_names_of_deployments_come_back_from_an_object_store(bucket: Bucket) -> None:
    """The same holds on an S3-like store."""
    lake = Lake(bucket.uri, bucket.storage)
    assert lake.deployments() == []
    for name in HOSTILE_NAMES:
        write_to(lake, name)
    assert lake.deployments() == sorted(HOSTILE_NAMES)
    assert lake.table(SCORES, "..").read()["deployment"].to_pylist() == [".."]


def test_a_folder_without_a_table_is_no_deployment_of_a_long_name(tmp_path: Path) -> None:
    """A writer that was killed before its first commit, or a broken table, hides no other deployment."""
    lake = Lake(str(tmp_path))
    write_to(lake, "x" * 300)
    (tmp_path / folder_name("y" * 300)).mkdir()
    broken = tmp_path / folder_name("z" * 300) / "scores" / "_delta_log"
    broken.mkdir(parents=True)
    (broken / f"{0:020}.json").write_text("no json")
    assert lake.deployments() == ["x" * 300]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), min_size=1, max_size=3)
)
def test_any_name_keeps_its_rows_to_itself(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    """Rows of any deployment stay inside the root and are read back under its name alone."""
    root = tmp_path_factory.mktemp("lake")
    lake = Lake(str(root / "root"))
    for name in names:
        write_to(lake, name)
    assert lake.deployments() == sorted(names)
    for name in names:
        assert lake.table(SCORES, name).read()["deployment"].to_pylist() == [name]
    assert [path.name for path in root.iterdir()] == ["root"]


@pytest.mark.parametrize("scheme", ["gs", "az", "abfss", "hdfs", "memory", "https", "s3n"])
def test_a_store_that_is_not_of_s3s_kind_is_refused_in_words(scheme: str) -> None:
    """For a lake, and for every other place that is read or written."""
    uri = f"{scheme}://bucket/prefix"
    for refused in (Lake, Storage().filesystem):
        with pytest.raises(
            UnsupportedStoreError, match=f"stores by {scheme}:// are not supported; give a folder, or s3"
        ):
            refused(uri)
