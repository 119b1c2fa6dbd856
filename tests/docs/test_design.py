"""Decisions of `docs/design` that the code could leave: what they say of it is so."""

import re
from pathlib import Path

from monitor.pages import rendering
from monitor.pages.rendering import POLICY

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "design"


def test_no_page_needs_a_script() -> None:
    """The one script that there is stands in the decision, and only pages with keys have it and allow it."""
    said = (DESIGN / "no-javascript.md").read_text("utf-8")
    scripts = {path.name for path in (ROOT / "monitor" / "pages" / "static").glob("*.js")}
    assert scripts == set(re.findall(r"(\w+\.js)`", said))
    assert POLICY.startswith("default-src 'none'")
    assert "script-src" not in POLICY
    allowing = [path for path in (ROOT / "monitor").rglob("*.py") if "script-src" in path.read_text("utf-8")]
    assert allowing == [Path(rendering.__file__)]
    loading = {path.name for path in (ROOT / "monitor").rglob("*.html") if "<script" in path.read_text("utf-8")}
    assert loading == {"keys.html"}


def test_every_module_and_page_that_a_decision_names_is_there() -> None:
    packages = ("collector", "dialwatch", "evaluator", "lake", "monitor", "runtime", "tests")
    modules = {str(path.relative_to(ROOT)) for name in packages for path in (ROOT / name).rglob("*.py")}
    for page in DESIGN.glob("*.md"):
        said = page.read_text("utf-8")
        for module in re.findall(r"`((?:\w+/)*\w+\.py)`", said):
            assert module in modules or any(path.endswith(f"/{module}") for path in modules), f"{page.name}: {module}"
        assert page.name == "index.md" or f"({page.name})" in (DESIGN / "index.md").read_text("utf-8")
