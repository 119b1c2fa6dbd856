from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

from lake.spec.table_spec import TableSpec

ROOT = Path(__file__).parents[2]
COLUMNS = ROOT / "docs" / "columns.md"
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
SHOWN = {page: re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE) for page in PAGES}
PACKAGES = [shown[0] for shown in SHOWN.values()]
PUBLIC = [(package, name) for package in PACKAGES for name in import_module(package).__all__]


def documented_constants(package: ModuleType) -> Iterator[str]:
    """Names of the package that are assigned with a text behind, which is how a constant is documented."""
    for path in Path(inspect.getfile(package)).parent.rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for statement, following in pairwise(body):
            match statement, following:
                case (
                    ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str())),
                ):
                    yield name


CONSTANTS = {package: set(documented_constants(import_module(package))) for package in PACKAGES}


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=[".".join(pair) for pair in PUBLIC])
def test_every_public_name_is_documented(package: str, name: str) -> None:
    """What `__all__` names has a docstring, so that the site's pages of the packages leave nothing out."""
    value = getattr(import_module(package), name)
    if isinstance(value, TableSpec):
        assert f"## {value.name}\n" in COLUMNS.read_text(encoding="utf-8")
    else:
        is_code = inspect.isclass(value) or inspect.isroutine(value)
        assert (is_code and value.__doc__) or name in CONSTANTS[package]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_functions_that_share_their_modules_name_are_shown(page: Path) -> None:
    """The generator takes such a name for the module: so its page names the function itself."""
    package, *others = SHOWN[page]
    modules = {module.name for module in iter_modules(import_module(package).__path__)}
    shared = sorted(modules & set(import_module(package).__all__))
    assert others == [f"{package}.{name}.{name}" for name in shared]


def test_the_site_has_the_public_packages() -> None:
    """The library's packages have a page each, and each page is in the site's navigation."""
    assert {"lake", "evaluator.metrics", "evaluator.judges", "evaluator.calibration"} <= set(PACKAGES)
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r'= "([\w/-]+\.md)"', navigation)) == pages
