"""A page in a real browser: its tree, and whether it fits a phone."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

from tests.servers import needed

PHONE = 390
"""Pixels."""
DESKTOP = 1280
"""Pixels."""
WIDE = 1920
"""Pixels."""

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_FRAME = """<!doctype html><title>waiting</title>
<iframe id="page" {source} width="{width}" height="800" style="border:0"></iframe>
<script>
document.getElementById("page").onload = event => {{
  const root = event.target.contentDocument.documentElement;
  const wide = [...root.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1);
  document.title = `measured ${{root.scrollWidth - root.clientWidth}}: ` +
    wide.slice(0, 5).map(e => `${{e.tagName}}.${{e.className}}`).join(" ");
}};
</script>"""


def dump(url: str, folder: Path, *flags: str) -> str:
    """Chromium's own tree of a page, as HTML, after its scripts ran; `folder` is for the browser's files."""
    command = [
        needed("chromium"),
        *_FLAGS,
        *flags,
        f"--user-data-dir={folder / 'chromium'}",
        "--virtual-time-budget=10000",
    ]
    return subprocess.run([*command, "--dump-dom", url], capture_output=True, timeout=240, check=True).stdout.decode()


def frame_of(path: str, width: int = PHONE) -> str:
    """A page that shows another one of its server in a frame as wide as a phone, and measures it."""
    return _FRAME.format(source=f'src="{html.escape(path)}"', width=width)


def excess_on_phone(url: str, folder: Path) -> tuple[int, str]:
    """By how many pixels a page framed by `frame_of` is wider than a phone, and which elements are."""
    page = dump(url, folder)
    measured = re.search(r"<title>measured (-?\d+): (.*?)</title>", page)
    assert measured, page[:500]
    return int(measured[1]), measured[2]


def excess_of_file(page: Path, folder: Path) -> tuple[int, str]:
    """The same of a page that stands in a file."""
    framed = folder / "framed.html"
    framed.write_text(_FRAME.format(source=f'srcdoc="{html.escape(page.read_text())}"', width=PHONE))
    return excess_on_phone(framed.as_uri(), folder)
