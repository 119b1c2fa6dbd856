"""Metrics at an address of their own, over real connections."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from dialwatch.config import Settings
from dialwatch.services.running import monitoring
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.commands import dialwatch
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

PATHS = ("/metrics", "/healthz", "/readyz")


def settings_for(folder: Path, listen: str | None, access: object = None) -> Settings:
    lake = Lake(str(folder / "lake"))
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([{"deployment": "rag"}]))
    section = {"listen": f"127.0.0.1:{free_port()}", "metrics_listen": listen, "access": access, "refresh_seconds": 0.2}
    return Settings.model_validate({"lake": {"root": lake.root}, "monitor": section})


@pytest.mark.parametrize("access", [None, {"token": "correct horse battery staple"}])
def test_metrics_have_an_address_of_their_own(tmp_path: Path, access: object) -> None:
    """The three are there without access and under any name, and no page is; at the pages they are not."""
    listen = f"127.0.0.1:{free_port()}"
    settings = settings_for(tmp_path, listen, access)
    with monitoring(settings, settings.lake.open()) as pages:
        wait_for(lambda: httpx.get(f"http://{listen}/readyz").status_code == 200)
        token = {"Authorization": "Bearer correct horse battery staple"}
        for path in PATHS:
            assert httpx.get(f"http://{listen}{path}", headers={"Host": "dialwatch.example.com"}).status_code == 200
            assert httpx.get(f"{pages}{path}", headers=token).status_code == 404
        assert "rag" in httpx.get(f"http://{listen}/metrics").text
        for path in ("/", "/overview.json", "/answers", "/sign-in", "/static/dialwatch.css"):
            assert httpx.get(f"http://{listen}{path}", headers=token).status_code == 404
        overview = httpx.get(f"{pages}/", headers=token)
        assert overview.status_code == 200
        assert '"/metrics"' not in overview.text


def test_without_the_setting_they_are_at_the_pages(tmp_path: Path) -> None:
    """As before, with their links on the overview."""
    settings = settings_for(tmp_path, None)
    with monitoring(settings, settings.lake.open()) as pages:
        wait_for(lambda: httpx.get(f"{pages}/readyz").status_code == 200)
        assert [httpx.get(f"{pages}{path}").status_code for path in PATHS] == [200] * 3
        assert 'href="/metrics"' in httpx.get(f"{pages}/").text


@pytest.mark.parametrize("listen", ["taken", "nowhere"])
def test_an_address_that_cannot_be_is_said_at_the_start(tmp_path: Path, listen: str) -> None:
    """One that is taken, here by the pages, and one that is none: a message with the name of the setting."""
    pages = f"127.0.0.1:{free_port()}"
    chosen = pages if listen == "taken" else listen
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f'lake: {{root: {tmp_path}/lake}}\nmonitor: {{listen: "{pages}", metrics_listen: "{chosen}"}}\n')
    done = dialwatch("monitor", "-c", str(config), folder=tmp_path)
    assert done.returncode == 2
    assert "monitor.metrics_listen: " in done.stderr
    assert chosen in done.stderr
    assert "Traceback" not in done.stderr
