"""A pytest plugin that runs chosen tests in a given order, and tells what failed or which lines each test reached.

    python -m pytest -p tests.mutants.pytest_plugin --chosen chosen.json --failed failed.json FILES
    python -m pytest -p tests.mutants.pytest_plugin --reach reach.json FILES

Lines are measured by coverage.py, with one context for each test. What a fixture of a module or of the session reaches
counts for every test that uses it, not only for the first. Threads count for the test that is under way.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from coverage import Coverage

FIXTURE = "fixture "  # a context begins with it that is no test's


def pytest_addoption(parser: pytest.Parser) -> None:
    """Files that tell the plugin what to do, and that it writes."""
    parser.addoption("--chosen", type=Path, help="JSON: the ids of the tests to run, in their order")
    parser.addoption("--failed", type=Path, help="JSON, written: the id of the test that failed")
    parser.addoption("--reach", type=Path, help="JSON, written: processor seconds of each test, lines that it reached")
    parser.addoption("--reach-in", action="append", help="a package whose lines are measured")


def pytest_configure(config: pytest.Config) -> None:
    """Do what the options ask for."""
    if config.getoption("--chosen"):
        config.pluginmanager.register(Chosen(config.getoption("--chosen")))
    if config.getoption("--failed"):
        config.pluginmanager.register(Failed(config.getoption("--failed")))
    if config.getoption("--reach"):
        config.pluginmanager.register(Reach(config.getoption("--reach"), config.getoption("--reach-in")))


class Chosen:
    """Runs chosen tests alone and in their order."""

    def __init__(self, chosen: Path) -> None:
        self._order = {test: number for number, test in enumerate(json.loads(chosen.read_text("utf-8")))}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out and order."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )


class Failed:
    """Writes which test failed."""

    def __init__(self, failed: Path) -> None:
        self._failed = failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what failed."""
        if report.failed:
            self._failed.write_text(json.dumps(report.nodeid), "utf-8")


class Reach:
    """Measures which lines each test reaches, and how long it takes."""

    def __init__(self, written: Path, packages: list[str]) -> None:
        self._written = written
        self._coverage = measured(packages)
        self._context = ""
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._of_fixture: dict[str, set[str]] = defaultdict(set)

    def pytest_sessionstart(self) -> None:
        """Begin to measure."""
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure one test, and the time of the processor, which does not depend on what else the machine does."""
        for name in getattr(item, "fixturenames", ()):
            self._of_fixture[FIXTURE + name].add(item.nodeid)
        began = time.process_time()
        try:
            return (yield from self._within(item.nodeid))
        finally:
            self._seconds[item.nodeid] = time.process_time() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Measure a fixture that is made once for several tests."""
        if fixturedef.scope == "function":
            return (yield)
        return (yield from self._within(FIXTURE + fixturedef.argname))

    def _within(self, context: str) -> Generator[None, object, object]:
        before, self._context = self._context, context
        self._coverage.switch_context(context)
        try:
            return (yield)
        finally:
            self._context = before
            self._coverage.switch_context(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what failed."""
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write what was measured: tests that pass, and files with their lines and the tests that reach them."""
        self._coverage.stop()
        data = self._coverage.get_data()
        lines = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
        tests = {test: seconds for test, seconds in self._seconds.items() if test not in self._failed}
        reached = {
            str(Path(file).relative_to(Path.cwd())): {
                line: sorted(self._tests(contexts) & tests.keys()) for line, contexts in of_file.items()
            }
            for file, of_file in lines.items()
        }
        self._written.write_text(
            json.dumps({"tests": tests, "failed": sorted(self._failed), "reached": reached}), "utf-8"
        )

    def _tests(self, contexts: list[str]) -> set[str]:
        return {test for context in contexts for test in self._of_fixture.get(context, {context})}


def measured(packages: list[str]) -> Coverage:
    """coverage.py for some packages, that keeps its data in memory."""
    from coverage import Coverage  # whoever only runs chosen tests does not wait for it

    made = Coverage(data_file=None, config_file=False, source=[str(Path.cwd() / package) for package in packages])
    made.set_option("run:disable_warnings", ["no-data-collected"])  # where all tests of a folder start processes
    return made
