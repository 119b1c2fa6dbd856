"""The public names of the packages, which are imported when they are first used."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

LAZY = ("evaluator.judges", "lake")


def imported_from(path: Path) -> set[str]:
    """Modules that a file takes names from."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_can_be_imported(package: str) -> None:
    """The stub beside `__init__.py`, which names the module of each, is right."""
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", LAZY)
def test_a_package_does_not_import_its_own_public_names(package: str) -> None:
    """Its modules import each other, so that the rules of layers see which one needs which."""
    folder = Path(__file__).parents[1] / package.replace(".", "/")
    assert [path for path in folder.rglob("*.py") if package in imported_from(path)] == []
