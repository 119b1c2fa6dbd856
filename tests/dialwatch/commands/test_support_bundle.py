"""`dialwatch support-bundle`: what maintainers get, and what they must not."""

from __future__ import annotations

import json
import stat
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lake.spec.root_tables import SERVICES
from lake.spec.schemas import TABLES
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from tests.commands import dialwatch
from tests.servers import free_port

CANARY = "canary"
NOW = datetime.now(UTC)
NAMES = {"deployment": "rag-app", "host": "a-host", "part": "collector", "state": "running", "reason": "cut"}
"""Columns that name no text of a person."""


def row_of(spec: TableSpec) -> dict[str, Any]:
    """A row with a canary in each text that is no name."""
    row: dict[str, Any] = {"date": NOW.date()} if spec.by_date else {}
    for column in spec.schema:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            row[column.name] = NAMES.get(column.name, CANARY)
        elif pa.types.is_binary(column.type):
            row[column.name] = CANARY.encode()
        elif pa.types.is_timestamp(column.type):
            row[column.name] = NOW
        elif pa.types.is_integer(column.type):
            row[column.name] = 3
    return row


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A row in every table; the errors of parts are the store's own words, and none here."""
    made = Lake(str(tmp_path / "lake"))
    for spec in TABLES.values():
        row = row_of(spec) | ({"error": None} if spec is SERVICES else {})
        made.table(spec, "rag-app" if spec.per_deployment else None).append(spec.rows([row]))
    return made


def bundle(folder: Path, text: str = "") -> tuple[str, dict[str, str]]:
    config = folder / "dialwatch.yaml"
    config.write_text(f"lake: {{root: {folder}/lake}}\n{text}")
    done = dialwatch("support-bundle", "-c", config, "--output", "bundle.zip", folder=folder)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(folder / "bundle.zip") as archive:
        return done.stdout, {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.usefixtures("lake")
def test_no_text_and_no_secret_is_in_it(tmp_path: Path) -> None:
    """A canary stands in each text column of every table, and in each secret and free text of the settings."""
    (tmp_path / "secret").write_text("whsec_" + "canary+A" * 6)
    for name in ("token", "key"):
        (tmp_path / name).write_text(f"{CANARY}-{name}-0123456789")
    text = f"""
collector:
  http: {{listen: "127.0.0.1:8080", token_file: {tmp_path}/token}}
  redaction: {{own: {{staff: "{CANARY}[0-9]+"}}, key_file: {tmp_path}/key}}
evaluator:
  judges: {{strict: {{base_url: "http://{CANARY}:{CANARY}@127.0.0.1:9/{CANARY}", model: gpt,
                     api_key_file: {tmp_path}/key,
                     allow_unpriced: true}}}}
  aspects: {{polite: {{definition: "Is {CANARY} polite?"}}}}
monitor:
  access: {{token_file: {tmp_path}/token}}
  webhooks: [{{url: "https://127.0.0.1:9/{CANARY}", secret_file: {tmp_path}/secret}}]
  silences: [{{until: 2030-01-01T00:00:00Z, comment: {CANARY}}}]
"""
    said, parts = bundle(tmp_path, text)
    assert len(parts) > 7
    for name, content in parts.items():
        assert CANARY not in content, name
        assert CANARY not in said
    shown = json.loads(parts["settings.json"])
    assert shown["collector"]["http"]["token"] == "(secret)"
    assert shown["evaluator"]["judges"]["strict"]["base_url"] == "http://127.0.0.1:9"
    assert shown["evaluator"]["every"] == 60


@pytest.mark.usefixtures("lake")
def test_it_says_how_the_installation_is(tmp_path: Path) -> None:
    """Tables with their sizes, parts, counts by day, and the checks; the archive is its owner's."""
    said, parts = bundle(tmp_path)
    assert "Look into it before you send it" in said
    assert stat.S_IMODE((tmp_path / "bundle.zip").stat().st_mode) == 0o600
    tables = json.loads(parts["tables.json"])
    assert {one["table"] for one in tables} == set(TABLES)
    assert all((one["version"], one["files"], one["rows"]) >= (0, 1, 1) for one in tables)
    (service,) = json.loads(parts["services.json"])
    assert (service["part"], service["host"]) == ("collector", "a-host")
    (day,) = json.loads(parts["lines.json"])
    assert day["lines_sum"] == 3
    (rejected,) = json.loads(parts["rejections.json"])
    assert (rejected["reason"], rejected["count_all"]) == ("cut", 1)
    assert "ok       lake" in parts["check.txt"]


def test_what_cannot_be_made_says_so_and_the_rest_is_there(tmp_path: Path) -> None:
    """A part that does not run, and a table that is broken."""
    log = tmp_path / "lake" / "rag-app" / "parsed_logs" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("no json")
    _, parts = bundle(tmp_path, f"monitor: {{listen: '127.0.0.1:{free_port()}'}}\n")
    assert parts["metrics-monitor.txt"].startswith("could not be made: ConnectError")
    assert "versions.json" in parts


def test_a_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    """Another name is asked for."""
    (tmp_path / "bundle.zip").write_text("mine")
    done = dialwatch("support-bundle", "--lake", "lake", "--output", "bundle.zip", folder=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "bundle.zip").read_text() == "mine"
