"""The form of a silence in Chromium: of the texts of its choices only those of what is chosen are shown."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from monitor.service.monitor import Monitor
from tests.browser import dump
from tests.monitor.pages.incidents.conftest import incident_id

pytestmark = pytest.mark.integration

_CHOOSE = """<script>
document.querySelector('.choices [value="METRIC"]').closest("details").open = true;
for (const value of ["METRIC", "24"]) document.querySelector(`.choices [value="${value}"]`).click();
const shown = [...document.querySelectorAll(".choices .effect")].filter(one => one.offsetHeight > 0);
document.title = shown.map(one => one.textContent).join(" | ");
</script></body>"""


def test_only_the_texts_of_what_is_chosen_are_shown(client: TestClient, monitor: Monitor, tmp_path: Path) -> None:
    """Without a script of the page: the one here only clicks and reads."""
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    style = client.get("/static/dialwatch.css").text
    page = re.sub(r"<link[^>]*>", "", page).replace("</head>", f"<style>{style}</style></head>")
    file = tmp_path / "incident.html"
    file.write_text(page.replace("</body>", _CHOOSE.replace("METRIC", "faithfulness_kprecision")), "utf-8")
    (title,) = re.findall("<title>(.*?)</title>", dump(file.as_uri(), tmp_path), re.DOTALL)[:1]
    what, how_long = html.unescape(" ".join(title.split())).split(" | ")
    assert "answer words found in the documents" in what
    assert "whatever else begins in this deployment" in what
    assert "ends by itself at 21 Nov, 12:00 UTC" in how_long
    assert "--for 24h" in how_long
    assert "--for 4h" not in how_long
