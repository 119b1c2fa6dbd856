"""Which tests of a folder reach a line of a module, and which of them are run for a mutant of it.

They are measured once (see pytest_plugin.py) and kept by file of tests. A file is measured again when it is another, or
for a mutant of a module that is another than at that time.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ["collector", "evaluator", "monitor", "lake", "runtime", "dialwatch"]
KEPT = ROOT / ".cache" / "mutants" / "reach"
LONGEST = 60.0  # processor seconds of the tests that are run for one mutant


@dataclass
class Reach:
    """What was measured of one file of tests."""

    version: str  # of the file of tests
    tree: str  # version of all packages
    modules: dict[str, str]  # modules of the package, each with its version
    seconds: dict[str, float] = field(default_factory=dict)  # of the processor, of each test that passes
    reached: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # by module and line: tests


Measure = Callable[[list[str]], dict[str, Any]]
"""Runs files of tests, and returns what pytest_plugin.Reach writes."""


def tests_of(tree: Path, file: str) -> list[str]:
    """The tests of a module's folder, the file of its name first; of a package's own modules, those beside them."""
    folder = Path(file).parent
    while not (tree / "tests" / folder).is_dir():
        folder = folder.parent
    tests = Path("tests") / folder
    files = (tree / tests).glob("test_*.py") if len(folder.parts) == 1 else (tree / tests).rglob("test_*.py")
    return sorted(
        (str(path.relative_to(tree)) for path in files), key=lambda path: (not is_named_for(path, file), path)
    )


def is_named_for(tests: str, file: str) -> bool:
    """Is it `test_news.py` of `news.py`?"""
    return Path(tests).name == f"test_{Path(file).name}"


def chosen(reaches: list[Reach], file: str, source: str, line: int) -> dict[str, float]:
    """The tests that are run for a mutant in a line of a module, in their order, with their seconds."""
    seconds = {test: taken for reach in reaches for test, taken in reach.seconds.items()}
    lines = statement_lines(source, line)
    if lines is None:  # an import runs it: whoever calls a function of the module, or is named for it, may see it
        named = {test for test in seconds if is_named_for(test.split("::")[0], file)}
        tests = reaching(reaches, file, function_lines(source)) | named or set(seconds)
    else:
        tests = reaching(reaches, file, lines)
    return first_of({test: seconds[test] for test in tests}, file)


def reaching(reaches: list[Reach], file: str, lines: set[int]) -> set[str]:
    """The tests that reach one of some lines of a module."""
    return {
        test
        for reach in reaches
        for line, tests in reach.reached.get(file, {}).items()
        if int(line) in lines
        for test in tests
    }


def first_of(seconds: dict[str, float], file: str) -> dict[str, float]:
    """The tests of the file named for the module, then others, quick ones first, as many as there is time for."""
    order = sorted(seconds, key=lambda test: (not is_named_for(test.split("::")[0], file), seconds[test], test))
    run, total = dict[str, float](), 0.0
    for test in order:
        total += seconds[test]
        if run and total > LONGEST:
            break
        run[test] = seconds[test]
    return run


def statement_lines(source: str, line: int) -> set[int] | None:
    """The lines of the statement, or of the head of the block, at a line; None if it is in no function."""
    found: set[int] | None = None
    inside = [(node, False) for node in ast.parse(source).body]
    while inside:
        node, in_function = inside.pop()
        last = node.end_lineno or node.lineno
        if not node.lineno <= line <= last:
            continue
        nested = [child for child in blocks(node) if isinstance(child, ast.stmt)]
        head = min([child.lineno for child in nested] + [last + 1])
        found = set(range(node.lineno, max(head, node.lineno + 1))) if in_function else None
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        inside = [(child, in_function or is_function) for child in nested]
    return found


def blocks(node: ast.AST) -> list[ast.AST]:
    """The statements inside a statement: of its body, its other branches, handlers and cases."""
    return [
        inner
        for child in ast.iter_child_nodes(node)
        for inner in (blocks(child) if isinstance(child, ast.ExceptHandler | ast.match_case) else [child])
    ]


def function_lines(source: str) -> set[int]:
    """The lines of the bodies of all functions."""
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {line for f in functions for line in range(f.body[0].lineno, (f.end_lineno or f.lineno) + 1)}


def reaches_of(tree: Path, file: str, measure: Measure) -> list[Reach]:
    """What each file of tests of a module's folder reaches; those are measured that are not known."""
    module = version(tree / file)
    tests = tests_of(tree, file)
    kept = {path: load(tree, path) for path in tests}
    stale = [path for path, reach in kept.items() if reach is None or reach.modules.get(file) != module]
    if stale:
        package = tree / file.split("/")[0]
        modules = {str(path.relative_to(tree)): version(path) for path in package.rglob("*.py")}
        everything = measure(stale)
        for path in stale:
            kept[path] = save(path, of_tests(path, everything, version(tree / path), version_of_all(tree), modules))
    return [reach for reach in kept.values() if reach is not None]


def of_tests(
    path: str, measured: dict[str, Any], its_version: str, tree_version: str, modules: dict[str, str]
) -> Reach:
    """The part of what was measured that is of one file of tests."""
    seconds = {test: taken for test, taken in measured["tests"].items() if test.split("::")[0] == path}
    reached: dict[str, dict[str, list[str]]] = {}
    for module, lines in measured["reached"].items():
        if module in modules:
            here = {line: [test for test in tests if test in seconds] for line, tests in lines.items()}
            reached[module] = {line: tests for line, tests in here.items() if tests}
    return Reach(its_version, tree_version, modules, seconds, reached)


def version(path: Path) -> str:
    """A digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def version_of_all(tree: Path) -> str:
    """A digest of all packages."""
    files = sorted(path for package in PACKAGES for path in (tree / package).rglob("*.py"))
    return hashlib.sha256("".join(version(path) for path in files).encode()).hexdigest()[:16]


def load(tree: Path, path: str) -> Reach | None:
    """What was measured of a file of tests, if it is still the same."""
    try:
        reach = Reach(**json.loads((KEPT / f"{path}.json").read_text("utf-8")))
    except (FileNotFoundError, TypeError):  # not measured, or kept in another form
        return None
    return reach if reach.version == version(tree / path) else None


def save(path: str, reach: Reach) -> Reach:
    """Keep it."""
    (KEPT / f"{path}.json").parent.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{path}.json").write_text(json.dumps(vars(reach)), "utf-8")
    return reach
