"""Commands that run until they are stopped."""

from __future__ import annotations

from pathlib import Path

from fastapi.routing import APIRoute
from typer.testing import CliRunner

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app
from collector.sources.http.settings import HttpSettings
from dialwatch.cli import app
from lake.tables.lake import Lake


def test_the_help_of_collect_http_names_every_address(tmp_path: Path) -> None:
    """What may be posted is what the endpoint takes."""
    endpoint = create_app(Collector(Lake(str(tmp_path)), CollectorSettings()), HttpSettings())
    taken = {one.path for one in endpoint.routes if isinstance(one, APIRoute) and "POST" in one.methods}
    said = CliRunner().invoke(app, ["collect", "http", "--help"], env={"COLUMNS": "200"}).stdout
    assert taken == {"/data", "/signals", "/scores"}
    assert {path for path in taken if path not in said} == set()
