"""`dialwatch digest`: what a person reads before receivers get it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from dialwatch.cli import app
from dialwatch.errors import ConfigError
from lake.tables.lake import Lake
from tests.monitor.conftest import ScoreColumns


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def run(folder: Path, *arguments: str, **monitor: Any) -> Result:
    settings = {"lake": {"root": str(folder / "lake")}, "monitor": {"external_url": "https://watch.example"} | monitor}
    (folder / "dialwatch.yaml").write_text(json.dumps(settings))
    return CliRunner().invoke(app, ["digest", "-c", str(folder / "dialwatch.yaml"), *arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a lake that had two requests yesterday, one of each deployment."""
    rows = ScoreColumns(Lake(str(tmp_path / "lake")))
    at = datetime.now(UTC).replace(hour=0) - timedelta(hours=3)
    for name in ("hr-leave", "<gpt>"):
        rows.logs(name, {"requested_at": at, "date": at.date(), "price": 0.5})
    return tmp_path


def test_a_digest_is_printed_and_nothing_is_written(folder: Path) -> None:
    before = files_below(folder / "lake")
    done = run(folder, "--every", "daily", currency="EUR")
    assert done.exit_code == 0, done.output
    first, _, total, _, *rows = done.output.splitlines()
    assert first.startswith("Digest of ")
    assert first.endswith("(UTC): no deployment got worse, no incident")
    assert total == "All together: 2 requests, 0 % failed; cost 1.00 EUR."
    assert rows[:2] == [
        "<gpt>: 1 request, 0 % failed; cost 0.50 EUR",
        "hr-leave: 1 request, 0 % failed; cost 0.50 EUR",
    ]
    assert files_below(folder / "lake") == before


def test_the_page_is_that_of_the_mail(folder: Path) -> None:
    done = run(folder, "--html", "--every", "daily")
    assert done.output.startswith("<!DOCTYPE html>")
    assert "&lt;gpt&gt;" in done.output
    assert 'href="https://watch.example"' in done.output


def test_a_receiver_has_its_deployments(folder: Path) -> None:
    """One that the settings do not have is an error that names those that they have."""
    webhooks = [{"name": "hr", "url": "https://a.example", "format": "slack", "deployments": ["hr-*"]}]
    done = run(folder, "--receiver", "hr", digest="daily", webhooks=webhooks)
    assert "hr-leave" in done.output
    assert "gpt" not in done.output
    done = run(folder, "--receiver", "it", webhooks=webhooks)
    assert isinstance(done.exception, ConfigError)
    assert "no receiver 'it'; known: hr" in str(done.exception)


def test_off_is_a_word_of_yaml(tmp_path: Path, folder: Path) -> None:
    """It reads `off` as false; without a setting the digest is that of a week."""
    for value in ("off", False):
        done = run(folder, digest=value)
        assert done.output.startswith("Digest of the week ")
    assert run(folder, digest="hourly").exit_code != 0
